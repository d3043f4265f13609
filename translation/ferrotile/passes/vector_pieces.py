"""Gathers of vectors that start between tiles: at no multiple of their length, but of half, a quarter or an eighth of
it. That many tiles of that length, side by side, are the vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ferrotile.passes.elements import ElementAccess
from ferrotile.passes.lanes import Lanes, lanes
from ferrotile.passes.quotients import Scalars
from ferrotile.program.dtypes import I32
from ferrotile.program.ir import Operation, Statement, Value
from ferrotile.program.types import Size, TileType

Lift = Callable[[Operation], Sequence[Statement] | None]
"""What a gather of a whole tile becomes."""
_SHORTEST = 4
"""Pieces are no shorter."""


def in_pieces(scalars: Scalars, access: ElementAccess, lift: Lift) -> Sequence[Statement] | None:
    """The gather as lifted pieces and their concatenation; None where it has none such."""
    operation = access.operation
    along = [(axis, lanes(v, scalars.defined)) for axis, v in enumerate(access.index)]
    moving = [(axis, form) for axis, form in along if form is not None and form.axis is not None]
    if operation.opcode != "gather" or access.mask is not None or len(access.shape) != 1:
        return None
    if len(moving) != 1 or any(form is None for _, form in along) or not _plain_padding(access):
        return None
    ((axis, form),) = moving
    dtype = access.index[axis].type
    if form is None or not isinstance(dtype, TileType) or dtype.dtype != I32:
        return None
    whole = form.size
    for pieces in (2, 4, 8):
        size = Size(whole.value // pieces)
        if size.value < _SHORTEST or not (whole.symbol is None or scalars.pin(whole.symbol)):
            return None
        found = _pieces(scalars, access, lift, axis, form, size, pieces)
        if found is not None:
            return found
    return None


def _pieces(
    scalars: Scalars, access: ElementAccess, lift: Lift, axis: int, form: Lanes, size: Size, pieces: int
) -> list[Statement] | None:
    operation = access.operation
    scalars.made, scalars.span = [], operation.span
    kind = TileType(I32, (size,))
    numbers = [s if isinstance(s, int) else scalars.number(s) for s in form.starts]
    offset = sum(n for n in numbers if n is not None)
    start = scalars.constant(0)
    for part, number in zip(form.starts, numbers, strict=True):
        narrow = scalars.narrow(part) if number is None and not isinstance(part, int) else start
        if narrow is None:
            return None
        start = start if number is not None else scalars.sum(narrow, start)
    found: list[Statement] = []
    values: list[Value] = []
    for piece in range(pieces):
        first = scalars.sum(start, scalars.constant(offset + piece * size.value))
        first = scalars.emit("reshape", (first,), TileType(I32, (Size(1),)))
        first = scalars.emit("broadcast", (first,), kind)
        place = scalars.emit("addi", (first, scalars.emit("iota", (), kind)), kind)
        operands = list(operation.operands)
        operands[1 + axis] = place
        result = Value(scalars.next_id, TileType(access.result_dtype, (size,)))
        scalars.next_id += 1
        found += scalars.made
        lifted = lift(replace(operation, operands=tuple(operands), results=(result,)))
        if lifted is None:
            return None
        found += lifted
        values.append(result)
        scalars.made = []
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        last = len(values) == 2
        values = [_joined(scalars, a, b, operation.result if last else None) for a, b in pairs]
    return [*found, *scalars.made]


def _joined(scalars: Scalars, a: Value, b: Value, result: Value | None) -> Value:
    """Two vectors, one behind the other."""
    assert isinstance(a.type, TileType)
    kind = TileType(a.type.dtype, (Size(2 * a.type.shape[0].value),))
    if result is None:
        return scalars.emit("cat", (a, b), kind, axis=0)
    scalars.made.append(Operation("cat", (a, b), (result,), (("axis", 0),), scalars.span))
    return result


def _plain_padding(access: ElementAccess) -> bool:
    """Whether the padding fits tiles of any length."""
    kind = None if access.padding is None else access.padding.type
    return kind is None or (isinstance(kind, TileType) and not kind.shape)
