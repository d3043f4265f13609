"""Whether different blocks scatter to different elements: as `disjoint` does for tiles, with lanes as bounded counters.

An index tile is a sum of block scalars and lane numbers. Two instances, each a block, a trip and a lane, are taken to
write one element; where block and lanes follow from that, no two of them do. Index arithmetic is taken not to overflow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ferrotile.passes.accesses import Access
from ferrotile.passes.affine import Affine
from ferrotile.passes.disjoint import determined, index_values, strides
from ferrotile.passes.elements import element_access
from ferrotile.passes.space import Space
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import Shape, TileType, ViewType

_OPEN = Affine(0, (("lane", 1),))
"""Stands for an index of unknown form: `lane` alone is bounded by nothing, so nothing follows from it."""


class _Elements(Struct, frozen=True):
    """What one access touches: an affine form an axis of the array, and the extent of each lane symbol."""

    access: Access
    index: tuple[Affine, ...]
    lanes: Mapping[str, int]


def exclusive(space: Space, accesses: Sequence[Access]) -> bool:
    """Whether no element of one array is written twice by a store, or by one block and touched by another, as far as
    all `accesses` to it are gathers, scatters and tiles of views."""
    if any(a.view is None and a.operation.opcode not in ("gather", "scatter") for a in accesses):
        return False
    found = [_elements(space, a) for a in accesses]
    stores = [e for e in found if e.access.store]
    return all(_one_to_one(space, s) for s in stores) and all(
        _apart(space, s, e) for s in stores for e in found if e is not s
    )


def element_forms(space: Space, access: Access) -> tuple[tuple[Affine, ...], Mapping[str, int]]:
    """The index of a gather or scatter, a form an axis, and the extents of its lanes."""
    found = _elements(space, access)
    return found.index, found.lanes


def element_strides(space: Space, accesses: Sequence[Access]) -> dict[int, int]:
    """What the grid's axes would have to be for the scatters to be one to one."""
    found: dict[int, int] = {}
    for access in accesses:
        if access.operation.opcode == "scatter":
            found |= strides(space, access, _elements(space, access).index)
    return found


def _one_to_one(space: Space, store: _Elements) -> bool:
    """Whether neither two blocks nor two lanes of one store write one element."""
    blocks = determined(space, store.access, store.index, store.lanes)
    # The lanes of one store have its scalars in common, also those that come from memory.
    inside = [Affine(0, tuple(t for t in form.terms if t[0] in store.lanes)) for form in store.index]
    lanes = determined(space, store.access, inside, store.lanes)
    return blocks >= {f"bid{k}" for k in space.many} and lanes >= store.lanes.keys()


def _apart(space: Space, a: _Elements, b: _Elements) -> bool:
    """Whether two accesses touch one element only from one block."""
    if len(a.index) != len(b.index):
        return False
    same = tuple(x for x, y in zip(a.index, b.index, strict=True) if x == y)
    lanes = {s: max(a.lanes.get(s, 1), b.lanes.get(s, 1)) for s in (*a.lanes, *b.lanes)}
    return determined(space, a.access, same, lanes) >= {f"bid{k}" for k in space.many}


def _elements(space: Space, access: Access) -> _Elements:
    if access.view is not None:
        return _tile(space, access, access.view)
    found = element_access(access.operation)
    lanes = {f"lane{k - len(found.shape)}": s.value for k, s in enumerate(found.shape) if s.value != 1}
    forms = (_OPEN,) if found.linear else tuple(_form(space, v) or _OPEN for v in found.index)
    return _Elements(access, forms, lanes)


def _tile(space: Space, access: Access, view: ViewType) -> _Elements:
    """The elements of a tile: along each axis the index times the extent, and a lane."""
    forms = [_OPEN] * len(view.tile)
    lanes: dict[str, int] = {}
    if view.sparse is not None or view.steps is not None:
        return _Elements(access, tuple(forms), lanes)
    for d, (size, value) in enumerate(zip(view.tile, index_values(access), strict=True)):
        form = space.form(value).times(size.value)
        if size.value != 1:
            name = f"lane{d - len(view.tile)}"
            lanes[name] = size.value
            form = form.plus(Affine(0, ((name, 1),)))
        forms[view.dim_map[d]] = form
    return _Elements(access, tuple(forms), lanes)


def _form(space: Space, value: Value) -> Affine | None:
    """An index tile as scalars and lanes, each lane symbol named by its axis from the right; None for any other."""
    kind = value.type
    assert isinstance(kind, TileType)
    if not kind.shape:
        return space.form(value)
    source = space.defined.get(value.id)
    if not isinstance(source, Operation):
        return None
    match source.opcode:
        case "constant":
            number = source.attribute("value")
            return Affine(number) if isinstance(number, int) else None
        case "iota":
            (size,) = kind.shape
            if size.value > 1 << kind.dtype.bits - 1:
                return None  # the lanes wrap around
            return Affine(0, (("lane-1", 1),) if size.value != 1 else ())
        case "exti" | "broadcast":
            return _form(space, source.operands[0])
        case "reshape":
            inner = source.operands[0]
            assert isinstance(inner.type, TileType)
            form = _form(space, inner)
            return None if form is None else _reshaped(form, inner.type.shape, kind.shape)
        case "addi" | "subi" | "muli" if kind.dtype.bits >= 32:
            a, b = (_form(space, v) for v in source.operands)
            return None if a is None or b is None else _combined(source.opcode, a, b)
        case _:
            return None


def _combined(opcode: str, a: Affine, b: Affine) -> Affine | None:
    if opcode != "muli":
        return a.plus(b, -1 if opcode == "subi" else 1)
    if b.known is not None:
        return a.times(b.known)
    return b.times(a.known) if a.known is not None else None


def _reshaped(form: Affine, old: Shape, new: Shape) -> Affine | None:
    """The form after a reshape that adds or drops unit axes."""
    before = [k - len(old) for k, s in enumerate(old) if s.value != 1]
    after = [k - len(new) for k, s in enumerate(new) if s.value != 1]
    if [old[k].value for k in before] != [new[k].value for k in after]:
        return None if any(s.startswith("lane") for s, _ in form.terms) else form
    names = {f"lane{b}": f"lane{a}" for b, a in zip(before, after, strict=True)}
    return Affine(form.constant, tuple(sorted((names.get(s, s), k) for s, k in form.terms)))
