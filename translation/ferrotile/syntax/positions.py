"""Byte offsets and (line, column) pairs, in LSP's three encodings. Total: any input gives a place."""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from itertools import accumulate

LINE_END = re.compile(rb"\r\n|\n|\r")
_COMMENT_LINE = re.compile(rb"[ \t\x0c]*#")
_COMMENT_FIRST = b" \t\x0c#"


class Encoding(Enum):
    """What one column unit is."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


class LineTable:
    """Line starts of a UTF-8 text. Lines end at `\\n`, `\\r\\n` and `\\r`, as in LSP, and nowhere else."""

    __slots__ = ("_data", "_starts")

    def __init__(self, data: bytes) -> None:
        self._data = data
        # Of bytes, `splitlines` knows these three line ends and no other.
        self._starts = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
        if data and not data.endswith((b"\n", b"\r")):
            self._starts.pop()

    def edited(self, data: bytes, start: int, end: int, delta: int) -> LineTable:
        """The table of `data`, whose bytes before `start` are those of this table's text, and whose last ones are those
        from `end` on, moved by `delta`."""
        # A line more on both sides: the edit can part or join a `\r\n`.
        first = max(self.line_of(start) - 1, 0)
        last = bisect_right(self._starts, end + 1)
        begin = self._starts[first]
        stop = self._starts[last] if last < len(self._starts) else len(self._data)
        middle = LineTable(data[begin : stop + delta])._starts
        made = object.__new__(LineTable)
        made._data = data
        made._starts = [*self._starts[:first], *[begin + s for s in middle]]
        if last < len(self._starts):
            if made._starts[-1] == stop + delta and len(middle) > 1:
                made._starts.pop()
            made._starts += [s + delta for s in self._starts[last:]]
        return made

    def block_start(self, offset: int) -> int:
        """The first byte of the line of `offset`, with the comment lines directly above it."""
        starts, data = self._starts, self._data
        line = bisect_right(starts, offset) - 1 if 0 <= offset <= len(data) else self.line_of(offset)
        # Asked of every kernel at every key: most lines are known by their first byte.
        while line > 0 and data[starts[line - 1]] in _COMMENT_FIRST and _COMMENT_LINE.match(data, starts[line - 1]):
            line -= 1
        return starts[line]

    @property
    def count(self) -> int:
        """Number of lines; at least 1."""
        return len(self._starts)

    def line_start(self, line: int) -> int:
        """First byte of `line` (0-based, clamped to the text)."""
        return self._starts[min(max(line, 0), len(self._starts) - 1)]

    def line_end(self, line: int) -> int:
        """End of `line` without its terminator."""
        line = min(max(line, 0), len(self._starts) - 1)
        if line + 1 == len(self._starts):
            return len(self._data)
        end = self._starts[line + 1]
        return end - (2 if self._data[end - 2 : end] == b"\r\n" else 1)

    def line_of(self, offset: int) -> int:
        """The 0-based line that holds byte `offset`."""
        return bisect_right(self._starts, min(max(offset, 0), len(self._data))) - 1

    def position(self, offset: int, encoding: Encoding = Encoding.UTF16) -> tuple[int, int]:
        """Line and column of a byte offset; one inside a character or a line end moves back to its start."""
        if 0 <= offset < len(self._data) and self._data[offset] < 0x80:  # the common case, quickly
            line = bisect_right(self._starts, offset) - 1
            text = self._data[self._starts[line] : offset]
            if text.isascii() and text[-1:] != b"\r":
                return line, len(text)
        offset = boundary(self._data, offset)
        line = self.line_of(offset)
        text = self._data[self._starts[line] : min(offset, self.line_end(line))]
        return line, _width(text, encoding)

    def offset(self, line: int, column: int, encoding: Encoding = Encoding.UTF16) -> int:
        """Byte offset of a position; past the line's end gives its end, past the last line the text's end."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self._data)
        start, end = self._starts[line], self.line_end(line)
        column = max(column, 0)
        text = self._data[start:end]
        if encoding is Encoding.UTF8 or text.isascii():
            return boundary(self._data, min(start + column, end))
        units = 0
        position = start
        for character in text.decode("utf-8"):
            units += 2 if encoding is Encoding.UTF16 and ord(character) > 0xFFFF else 1
            if units > column:
                break
            position += len(character.encode("utf-8"))
        return position

    def point(self, offset: int) -> tuple[int, int]:
        """Row and byte column as tree-sitter counts them."""
        offset = min(max(offset, 0), len(self._data))
        line = self.line_of(offset)
        return line, offset - self._starts[line]


def boundary(data: bytes, offset: int) -> int:
    """`offset` clamped to `data` and moved back to the start of the character that it falls in."""
    offset = min(max(offset, 0), len(data))
    while 0 < offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset -= 1
    return offset


def _width(text: bytes, encoding: Encoding) -> int:
    if encoding is Encoding.UTF8 or text.isascii():
        return len(text)
    decoded = text.decode("utf-8")
    if encoding is Encoding.UTF32:
        return len(decoded)
    return sum(2 if ord(c) > 0xFFFF else 1 for c in decoded)
