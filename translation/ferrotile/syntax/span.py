"""Half-open byte ranges in a UTF-8 source text: the one notion of place that every layer below the editor uses."""

from __future__ import annotations

from msgspec import Struct


class Span(Struct, frozen=True, order=True):
    """Bytes `start` to `end` (exclusive) of the source's UTF-8 text."""

    start: int
    end: int

    def touches(self, other: Span) -> bool:
        """Whether the two ranges overlap or meet."""
        return self.start <= other.end and other.start <= self.end


NOWHERE = Span(0, 0)
