"""A host function in parts, as it is planned before its text is written."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from ferrotile.crate.plan import Planned
from ferrotile.signatures.model import ScalarArgument


class CannotLaunch(Exception):
    """A kernel for which no host function can be made; the message says why."""


class Check(Struct, frozen=True):
    """A call of a method of `Launch`: its name and arguments."""

    method: str
    arguments: tuple[str, ...]


class Bind(Struct, frozen=True):
    """The extents of an array, by the names that they get."""

    array: str
    names: tuple[str, ...]


class Let(Struct, frozen=True):
    name: str
    value: str


Step = Check | Bind | Let


class Host(Struct):
    """A host function in parts. `steps` come first; `passed` are the kernel's arguments, `prepared` what is made of
    those that are written. `grid`: the blocks along each axis, where the launch has to say them. `shapes`: the extents
    of arrays that are written and never read, for a function that makes them. `copies`: parameters that are copies of
    arrays from before the launch, and which arrays those are."""

    planned: Planned
    names: Mapping[str, str]
    steps: list[Step] = field(default_factory=list)
    prepared: list[Let] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    grid: tuple[str, ...] | None = None
    grid_argument: bool = False
    promises: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    made: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)


def scalar_arguments(planned: Planned) -> tuple[ScalarArgument, ...]:
    """Scalars that the caller passes: those that are no array's extent."""
    return tuple(a for a in planned.scalars if a.extent is None)
