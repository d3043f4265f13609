"""The author's comments in the Rust: which of them stay, and in front of which statement."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ferrotile.comments import Comments, PlacedComment
from ferrotile.passes.uses import walk
from ferrotile.program.ir import Program
from ferrotile.syntax.span import Span


def rust_comment(text: str) -> str:
    """A Python comment as one of Rust."""
    return "//" + text.removeprefix("#").rstrip()


class Queues:
    """Comments that still wait for their statement, one queue a function."""

    def __init__(self, waiting: Sequence[tuple[Span, Sequence[PlacedComment]]]) -> None:
        self._waiting = [(span, list(comments)) for span, comments in waiting]

    def until(self, offset: int) -> Iterator[str]:
        """The comments before a statement at this offset; each comes once."""
        for span, comments in self._waiting:
            if span.start <= offset < span.end:
                while comments and comments[0].start <= offset:
                    yield comments.pop(0).text


class Shown:
    """The comments of a kernel without those on code that has no trace in its program."""

    def __init__(self, comments: Comments, program: Program) -> None:
        places = sorted({s.span.start for s in walk(program.body)})

        def seen(code: Span) -> bool:
            first = bisect_left(places, code.start)
            return first < len(places) and places[first] < code.end

        self._functions = [
            (span, [c for c in placed if all(map(seen, c.needs))]) for span, placed in comments.functions
        ]

    def queues(self) -> Queues:
        """All of them, waiting."""
        return Queues(self._functions)
