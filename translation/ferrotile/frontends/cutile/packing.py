"""Tiles as bytes, tiles from tuples, parts of tiles."""

from __future__ import annotations

from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import cast_constant, convert, materialise, operand, reshape, tile_of
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import Abstract, Const, Tile, TupleOf, describe
from ferrotile.program import dtypes
from ferrotile.program.dtypes import DType
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, Size, TileType


def _flat(ctx: Context, value: Value) -> Value:
    shape = tile_of(value).shape
    count = 1
    for size in shape:
        count *= size.value
    if len(shape) == 1:
        return value
    ctx.pin_shape(shape)
    return reshape(ctx, value, (Size(count),))


def _pack(ctx: Context, args: Arguments) -> Abstract:
    value = _flat(ctx, materialise(ctx, args.operand("x")))
    kind = tile_of(value)
    if kind.dtype == dtypes.BOOL:
        raise args.refused("x", "FT203", "`pack_to_bytes` is not defined for bools")
    return Tile(_bytes(ctx, args, value, dtypes.U8))


def _unpack(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    kind, dtype = tile_of(value), args.dtype()
    if kind.rank != 1 or kind.dtype != dtypes.U8:
        raise args.refused("x", "FT203", f"`unpack_from_bytes` needs a rank-1 tile of u8, not {kind}")
    if dtype == dtypes.BOOL:
        raise args.refused("dtype", "FT203", "`unpack_from_bytes` to bools is not defined")
    return Tile(_bytes(ctx, args, value, dtype))


def _bytes(ctx: Context, args: Arguments, value: Value, dtype: DType) -> Value:
    """A rank-1 tile as one of another width, bit for bit."""
    kind = tile_of(value)
    (size,) = kind.shape
    if kind.dtype.bits == dtype.bits:
        return value if kind.dtype == dtype else ctx.emit("bitcast", (value,), TileType(dtype, kind.shape))
    count, rest = divmod(size.value * kind.dtype.bits, dtype.bits)
    if rest or not count:
        raise args.refused("x", "FT204", f"{size.value} elements of {kind.dtype} are no whole number of {dtype}")
    ctx.pin(size.symbol)
    opcode = "pack" if dtype.bits == 8 and kind.dtype.bits != 8 else "unpack"
    return ctx.emit(opcode, (value,), TileType(dtype, (Size(count),)))


def _items(ctx: Context, args: Arguments, value: Abstract) -> tuple[Shape, list[Abstract]]:
    """Shape and scalars of a nested tuple."""
    if not isinstance(value, TupleOf):
        scalar = operand(ctx, value, "item of `astile`")
        if isinstance(scalar, Tile) and scalar.type.rank:
            raise args.refused("value", "FT204", f"`astile` needs scalars, not {describe(value)}")
        return (), [value]
    count = len(value.items)
    if not count or count & (count - 1):
        raise args.refused("value", "FT204", f"a tuple of {count} is no power of two")
    inner = [_items(ctx, args, item) for item in value.items]
    if len({tuple(s.value for s in shape) for shape, _ in inner}) != 1:
        raise args.refused("value", "FT204", "the tuples inside have different shapes")
    return (Size(count), *inner[0][0]), [scalar for _, scalars in inner for scalar in scalars]


def _astile(ctx: Context, args: Arguments) -> Abstract:
    value, dtype = args.get("value"), args.dtype()
    shape, scalars = _items(ctx, args, value)
    numbers = [cast_constant(ctx, s, dtype) if isinstance(s, Const) else None for s in scalars]
    if not shape:
        scalar = operand(ctx, value)
        return numbers[0] or Tile(convert(ctx, materialise(ctx, scalar), dtype))
    if len(set(map(repr, numbers))) == 1 and numbers[0] is not None:
        return Tile(materialise(ctx, numbers[0], dtype, shape))
    parts = [reshape(ctx, materialise(ctx, operand(ctx, s), dtype), (Size(1),)) for s in scalars]
    while len(parts) > 1:
        pairs = list(zip(parts[::2], parts[1::2], strict=True))
        longer = TileType(dtype, (Size(2 * tile_of(parts[0]).shape[0].value),))
        parts = [ctx.emit("cat", (a, b), longer, axis=0) for a, b in pairs]
    return Tile(reshape(ctx, parts[0], shape))


def sub_tile_index(ctx: Context, args: Arguments, whole: Shape, part: Shape) -> tuple[Value, ...]:
    """The argument `index`: which part of a tile, one int32 an axis."""
    items = args.items("index")
    if len(items) != len(whole) or len(part) != len(whole):
        raise args.refused("index", "FT204", f"a tile of rank {len(whole)} needs {len(whole)} indices and sizes")
    index: list[Value] = []
    for axis, (have, want, item) in enumerate(zip(whole, part, items, strict=True)):
        if have.value % want.value:
            raise ctx.refused("FT204", f"{want.value} does not divide {have.value}, the extent of axis {axis}")
        if have.symbol != want.symbol:
            ctx.pin(have.symbol, want.symbol)
        scalar = operand(ctx, item, "index")
        if isinstance(scalar, Const):
            number = ctx.literal(scalar)
            if not isinstance(number, int) or not 0 <= number < have.value // want.value:
                count = have.value // want.value
                raise args.refused("index", "FT204", f"index {number} of axis {axis} is not in 0..{count}")
        elif scalar.type.dtype != dtypes.I32 or scalar.type.rank:
            raise args.refused("index", "FT203", f"an index must be an int32 scalar, not {describe(scalar)}")
        index.append(materialise(ctx, scalar, dtypes.I32))
    return tuple(index)


def _extract(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    kind = tile_of(value)
    wanted = args.shape()
    shape = wanted or (Size(1),) * kind.rank
    index = sub_tile_index(ctx, args, kind.shape, shape)
    found = ctx.emit("extract", (value, *index), TileType(kind.dtype, shape))
    return Tile(reshape(ctx, found, wanted))


def _insert(ctx: Context, args: Arguments) -> Abstract:
    target = materialise(ctx, args.operand("x"))
    part = materialise(ctx, args.operand("value"))
    kind = tile_of(target)
    if tile_of(part).dtype != kind.dtype:
        raise args.refused("value", "FT203", f"cannot insert {tile_of(part).dtype} into a tile of {kind.dtype}")
    if not tile_of(part).rank:
        part = reshape(ctx, part, (Size(1),) * kind.rank)
    index = sub_tile_index(ctx, args, kind.shape, tile_of(part).shape)
    return Tile(ctx.emit("insert", (target, part, *index), kind))


FUNCTIONS = {
    "pack_to_bytes": Spec("x", _pack),
    "unpack_from_bytes": Spec("x dtype", _unpack),
    "astile": Spec("value * dtype", _astile),
    "extract": Spec("x index shape", _extract),
    "insert": Spec("x index value", _insert),
}
METHODS = {name: FUNCTIONS[name] for name in ("extract", "insert")}
