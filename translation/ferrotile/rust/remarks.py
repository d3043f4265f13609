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
        self._waiting = waiting
        self._told = [0] * len(waiting)

    def until(self, offset: int) -> Iterator[str]:
        """The comments before a statement at this offset; each comes once."""
        for k, (span, comments) in enumerate(self._waiting):
            if span.start <= offset < span.end:
                while self._told[k] < len(comments) and comments[self._told[k]].start <= offset:
                    self._told[k] += 1
                    yield comments[self._told[k] - 1].text

    def mark(self) -> tuple[int, ...]:
        """The state now, for `back_to`."""
        return tuple(self._told)

    def back_to(self, mark: tuple[int, ...]) -> None:
        """Lets the comments that came since come again."""
        self._told[:] = mark


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
