"""A compiler's refusal of a kernel."""

from __future__ import annotations


class CompileError(Exception):
    """`message` is the compiler's; `line` counts from 1, `column` from 0 in characters, both in the text that it was
    given; None = unknown."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message if line is None else f"{line}:{column}: {message}")
        self.message = message
        self.line = line
        self.column = column
