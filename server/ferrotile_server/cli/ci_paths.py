"""Where a finding is, as the services say it that show findings beside the code: paths from the root of the checkout,
ranges over several lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ferrotile.syntax.positions import Encoding, LineTable
from ferrotile.syntax.span import Span
from msgspec import Struct


class Range(Struct, frozen=True):
    """1-based lines and columns, in characters; the end is exclusive, as in SARIF."""

    line: int
    column: int
    end_line: int
    end_column: int


class Ranges:
    """The ranges of one text's spans, which count bytes of its UTF-8 form."""

    def __init__(self, text: str) -> None:
        self._data = text.encode("utf-8", errors="replace")
        self._table = LineTable(self._data)

    def of(self, span: Span) -> Range:
        """Total: what lies beyond the end is at the end."""
        start = min(span.start, len(self._data))
        end = min(max(span.end, start), len(self._data))
        line, column = self._table.position(start, Encoding.UTF32)
        last, after = self._table.position(end, Encoding.UTF32)
        if last > line and after == 0:  # a line's end belongs to that line
            last -= 1
            bounds = slice(self._table.line_start(last), self._table.line_end(last))
            after = len(self._data[bounds].decode(errors="replace").rstrip("\r\n"))
        if last == line:
            after = max(after, column + 1)  # something to show
        return Range(line + 1, column + 1, last + 1, after + 1)


def checkout(environment: Mapping[str, str] = os.environ) -> Path:
    """The root that paths are relative to: GitHub's workspace where that is said, else the current folder."""
    said = environment.get("GITHUB_WORKSPACE")
    return Path(os.path.abspath(said if said else os.curdir))


def relative(path: Path, root: Path) -> str | None:
    """`path` below `root`, with `/`; None where it lies elsewhere."""
    try:
        return Path(os.path.abspath(path)).relative_to(root).as_posix()
    except ValueError:
        return None
