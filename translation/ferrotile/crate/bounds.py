"""Which arrays a kernel may access outside of their extents: what host code must check, or its caller promise.

A tile's index is inside where it is a block id, a loop counter or a number that the launch's grid and extents bound; an
element's where its own bounds check masks it. What an index is below host code can often compute: then that is a check.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from ferrotile.crate.limits import Limit, Limits
from ferrotile.passes.affine import non_negative
from ferrotile.passes.quotients import Bounds, Scalars
from ferrotile.passes.space import Space
from ferrotile.passes.uses import array_of, next_id, regions
from ferrotile.program.ir import Block, If, Operation, Program, Value
from ferrotile.program.types import ViewType
from ferrotile.signatures.model import Signature

_TILES = frozenset(("load_view", "store_view"))
_ELEMENTS = frozenset(("gather", "scatter", "atomic_rmw", "atomic_cas"))
_UNTOLD = frozenset(("load_ptr", "store_ptr", "load_special", "store_special", "reduce_view"))
_READS = frozenset(("load_view", "load_ptr", "gather", "load_special", "atomic_rmw", "atomic_cas", "reduce_view"))
"""Also updates: what they write depends on what was there."""


class Reach(Struct, frozen=True):
    """`outside`: arrays that may be accessed outside of their extents, unless the `limits` hold. `read`: arrays whose
    elements are read. `facts`: launch facts that this takes for granted, where the grid is not known. `divisible`: the
    author says of some values that they are divisible."""

    outside: tuple[str, ...]
    limits: tuple[Limit, ...]
    read: frozenset[str]
    facts: tuple[str, ...]
    divisible: bool


def reach_of(program: Program, signature: Signature, owned: Collection[str], checked: Collection[str] = ()) -> Reach:
    """Of a kernel program as the front end made it; `owned` are arrays of which the Rust lets a block access its own
    tile alone, `checked` those whose tiles it loads with a check."""
    names = {p.value.id: p.name for p in program.parameters}
    space = Space(program, signature)
    constants = {c.name: int(c.value) for c in program.constants}
    bounds = Bounds(signature, names, Scalars(dict(space.defined), constants, next_id(program), program.span))
    limits = Limits(space, names)
    outside: dict[str, None] = {}
    found: dict[Limit, None] = {}
    read: set[str] = set()
    divisible = False
    for operation, guarded in _walk(program.body, False):
        divisible |= operation.opcode == "assume_div_by"
        if operation.opcode not in _TILES | _ELEMENTS | _UNTOLD:
            continue
        array = array_of(operation.operands[0], space.defined)
        name = names.get(array.id, "") if array is not None else ""
        if operation.opcode in _READS:
            read.add(name)
        if name in owned or (name in checked and operation.opcode == "load_view"):
            continue
        asked = _asked(operation, array, name, bounds, limits)
        if asked is None or (asked and guarded):
            outside[name or "an array"] = None
        else:
            found.update(dict.fromkeys(asked))
    kept = tuple(one for one in found if one.array not in outside)
    return Reach(tuple(outside), kept, frozenset(read), tuple(bounds.hypotheses), divisible)


def _walk(block: Block, guarded: bool) -> Iterator[tuple[Operation, bool]]:
    """All operations, and whether a branch stands around each."""
    for statement in block.statements:
        if isinstance(statement, Operation):
            yield statement, guarded
            continue
        for region in regions(statement):
            yield from _walk(region, guarded or isinstance(statement, If))


def _asked(
    operation: Operation, array: Value | None, name: str, bounds: Bounds, limits: Limits
) -> tuple[Limit, ...] | None:
    """What must hold for an access to stay inside; None where no check is known."""
    if operation.opcode in _ELEMENTS:
        return () if operation.attribute("bounds") and not operation.attribute("linear") else None
    view = operation.operands[0]
    if operation.opcode not in _TILES or array is None or not isinstance(view.type, ViewType):
        return None
    made = bounds.scalars.source(view)
    if not isinstance(made, Operation) or made.operands[0].id != array.id:
        return None
    asked: list[Limit] = []
    index = operation.operands[2 if operation.opcode == "store_view" else 1 :][: len(view.type.tile)]
    for d, value in enumerate(index):
        axis, size = view.type.dim_map[d], view.type.tile[d]
        extent = bounds.extent(array, axis)
        if extent is not None and bounds.below_tiles(value, extent, size.value):
            continue
        limit = limits.below(value)
        if limit is None or not _natural(value, bounds, limits):
            return None
        asked.append(Limit(name, axis, size.symbol or size.value, limit))
    return tuple(asked)


def _natural(value: Value, bounds: Bounds, limits: Limits) -> bool:
    """Whether an index is not negative: also a remainder of Python's, which has the sign of what divides."""
    return non_negative(value, bounds.scalars.defined) or limits.remainder_of_natural(value)
