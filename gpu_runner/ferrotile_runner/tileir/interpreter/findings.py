"""What a run notices: accesses and asserts that a correct kernel does not have."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from ferrotile_runner.tileir.model import Location


class FindingKind(Enum):
    ASSERT = "assert"
    """An assert failed."""
    OUTSIDE = "outside"
    """A tile lies wholly outside its view."""
    UNWRITTEN = "unwritten"
    """An element is read that nothing has written."""
    CONFLICT = "conflict"
    """Two blocks write one element, or one reads what another one writes."""
    TWICE = "twice"
    """One store writes an element twice."""
    LOOP = "loop"
    """A loop's step is not positive."""
    ASSUME = "assume"
    """What is assumed of a number does not hold."""


class Need(Struct, frozen=True):
    """What would make an access one inside its array: at least `extent` elements along an axis; `axis` None: in all."""

    array: str
    axis: int | None
    extent: int


class Finding(Struct, frozen=True):
    """`text_line`: of the operation in the disassembly, from 1; `location`: in its source, where the disassembly has
    it. `need`: for `OUTSIDE`, where a larger array would do."""

    kind: FindingKind
    text: str
    location: Location | None = None
    text_line: int = 0
    need: Need | None = None

    def __str__(self) -> str:
        return self.text if self.location is None else f"{self.text} (line {self.location.line})"
