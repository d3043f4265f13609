"""Text for people: colours and tables in a terminal, plain and unwrapped in a pipe."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PIPE_WIDTH = 400
"""Columns of a table in a pipe: wide enough that no cell is wrapped or cut."""


def use_colour(stream: TextIO) -> bool:
    """Whether `stream` wants colours: a terminal does, unless NO_COLOR is set (no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


class Style(Struct, frozen=True):
    """ANSI styles, or none at all."""

    on: bool

    def _wrap(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on else text

    def bold(self, text: str) -> str:
        return self._wrap("1", text)

    def red(self, text: str) -> str:
        return self._wrap("1;31", text)

    def yellow(self, text: str) -> str:
        return self._wrap("33", text)

    def green(self, text: str) -> str:
        return self._wrap("32", text)

    def blue(self, text: str) -> str:
        return self._wrap("34", text)

    def dim(self, text: str) -> str:
        return self._wrap("2", text)


def stdout_style() -> Style:
    """The style of standard output."""
    return Style(use_colour(sys.stdout))


def console(stream: TextIO | None = None) -> Console:
    """A rich console on `stream` (default standard output) that behaves in pipes."""
    from rich.console import Console

    file = stream or sys.stdout
    colour = use_colour(file)
    return Console(
        file=file,
        width=None if file.isatty() else PIPE_WIDTH,
        no_color=not colour,
        force_terminal=colour,
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_table(table: Table) -> None:
    """Print a table on standard output; in a pipe without the spaces that pad its last column."""
    target = console()
    if sys.stdout.isatty():
        target.print(table)
        return
    with target.capture() as capture:
        target.print(table)
    print("\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n")))


def plural(count: int, noun: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
