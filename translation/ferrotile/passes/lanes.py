"""Integer index tiles as `start + lane`: which axis the lanes run along, and what the start is made of."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.program.ir import Operation, Statement, Value
from ferrotile.program.types import Shape, Size, TileType

Start = Value | int
_ONE = Size(1)


class Lanes(Struct, frozen=True):
    """`sum(starts) + lane`, the lane counting along `axis` (from the right, so negative) of extent `size`, or 0 on all
    lanes when `axis` is None. Starts are rank-0 integers."""

    starts: tuple[Start, ...]
    axis: int | None = None
    size: Size = _ONE


def lanes(value: Value, defined: Mapping[int, Statement]) -> Lanes | None:
    """The form of an integer tile; None when it has another one."""
    kind = value.type
    assert isinstance(kind, TileType)
    if not kind.shape:
        return Lanes((value,))
    source = defined.get(value.id)
    if not isinstance(source, Operation):
        return None
    match source.opcode:
        case "constant":
            number = source.attribute("value")
            return Lanes((number,)) if isinstance(number, int) else None
        case "iota":
            (size,) = kind.shape
            if size.value > 1 << kind.dtype.bits - 1:
                return None  # the lanes wrap around
            return Lanes((), None if size.value == 1 else -1, size)
        case "exti":
            return lanes(source.operands[0], defined)
        case "broadcast":
            return lanes(source.operands[0], defined)
        case "reshape":
            inner = source.operands[0]
            assert isinstance(inner.type, TileType)
            found = lanes(inner, defined)
            return None if found is None else _reshaped(found, inner.type.shape, kind.shape)
        case "addi" | "subi" if kind.dtype.bits >= 32:
            a, b = (lanes(v, defined) for v in source.operands)
            return _sum(a, b, source.opcode == "subi")
        case _:
            return None


def _sum(a: Lanes | None, b: Lanes | None, minus: bool) -> Lanes | None:
    if a is None or b is None or (a.axis is not None and b.axis is not None):
        return None
    others = b.starts
    if minus:
        if b.axis is not None or not all(isinstance(s, int) for s in b.starts):
            return None
        others = tuple(-s for s in b.starts if isinstance(s, int))
    along = a if a.axis is not None else b
    return Lanes((*a.starts, *others), along.axis, along.size)


def _reshaped(found: Lanes, old: Shape, new: Shape) -> Lanes | None:
    """The form after a reshape that adds or drops unit axes."""
    if found.axis is None:
        return found
    before = [k for k, s in enumerate(old) if s.value != 1]
    after = [k for k, s in enumerate(new) if s.value != 1]
    if [old[k].value for k in before] != [new[k].value for k in after]:
        return None
    place = before.index(len(old) + found.axis)
    return replace(found, axis=after[place] - len(new))
