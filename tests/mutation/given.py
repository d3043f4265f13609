"""A mutant and what is known of it, as the rows of reasons look at it."""

from __future__ import annotations

from collections.abc import Callable

from edit import Edit
from ferrotile_runner.tileir.model import Entry, Operation
from known import Known, Sides
from msgspec import Struct


class Given(Struct, frozen=True):
    """A mutant, and what is known of the translation that it was made from."""

    sides: Sides
    known: Known
    changed: Known
    kind: str
    edit: Edit
    mutant: Entry

    @property
    def at(self) -> Operation:
        return self.edit.at

    @property
    def new(self) -> Operation | None:
        """What the operation has become, where it is still one of its name."""
        return next((op for op in reversed(self.edit.becomes) if op.name == self.at.name), None)


class Reason(Struct, frozen=True):
    """`kinds` empty: any."""

    words: str
    kinds: frozenset[str]
    applies: Callable[[Given], bool]


def kinds(*names: str) -> frozenset[str]:
    return frozenset(names)
