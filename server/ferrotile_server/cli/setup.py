"""`ferrotile setup`: builds `ferrotile-host`, which compiles cuTile Rust for the rungs above `translated`."""

from __future__ import annotations

import sys

from ferrotile_runner.process import ProcessError
from ferrotile_runner.setup import SetupError
from ferrotile_runner.setup import setup as build
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ferrotile_server.cli.output import console
from ferrotile_server.cli.paths import PathError


def _build_with_bar() -> None:
    columns = (
        TextColumn("ferrotile-host"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        build(lambda fraction, message: bar.update(task, completed=fraction, description=message[:40]))


def _build_with_lines() -> None:
    """For logs: a line for every tenth of the work."""
    said = -1

    def say(fraction: float, message: str) -> None:
        nonlocal said
        tenth = int(fraction * 10)
        if tenth > said and fraction < 1.0:
            said = tenth
            print(f"ferrotile-host {tenth * 10:3} %  {message}", file=sys.stderr, flush=True)

    build(say)


def run() -> int:
    """Exit code 2 where something is missing that ferrotile cannot make itself."""
    try:
        if sys.stderr.isatty():
            _build_with_bar()
        else:
            _build_with_lines()
    except (SetupError, ProcessError) as error:
        raise PathError(str(error)) from None
    print("ferrotile-host is ready")
    return 0
