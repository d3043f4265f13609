"""Making tiles and changing their shape."""

from __future__ import annotations

from collections import Counter

from ferrotile.frontends.cutile.arguments import ROUNDINGS, Arguments, Spec
from ferrotile.frontends.cutile.arithmetic import binary
from ferrotile.frontends.cutile.conversion import (
    broadcast,
    cast_constant,
    convert,
    materialise,
    operand,
    own_dtype,
    reshape,
    tile_of,
)
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.modes import check_float_conversion
from ferrotile.frontends.cutile.values import Abstract, Const, DTypeOf, Tile, TupleOf
from ferrotile.program import dtypes
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, Size, TileType


def same_count(ctx: Context, a: Shape, b: Shape) -> bool:
    """Whether two shapes have equally many elements. Pins the sizes unless their names tell it alone."""
    if Counter(s for s in a if s != Size(1)) != Counter(s for s in b if s != Size(1)):
        ctx.pin_shape(a, b)
    return _product(a) == _product(b)


def _product(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size.value
    return count


def _full(ctx: Context, args: Arguments) -> Abstract:
    value = args.operand("value")
    shape = args.shape()
    return Tile(materialise(ctx, value, args.dtype(), shape))


def _filled(number: int) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        return Tile(materialise(ctx, Const(number), args.dtype(), args.shape()))

    return Spec("shape dtype", handler)


def _arange(ctx: Context, args: Arguments) -> Abstract:
    size = args.shape("size")
    dtype = args.dtype()
    if len(size) != 1:
        raise args.refused("size", "FT204", "`arange` takes one size")
    lanes = ctx.emit("iota", (), TileType(dtype if dtype.is_integer else dtypes.I32, size))
    result: Abstract = Tile(convert(ctx, lanes, dtype))
    for name, symbol, neutral in (("step", "*", 1), ("start", "+", 0)):
        if not args.has(name):
            continue
        given = args.operand(name)
        if isinstance(given, Const):
            if ctx.literal(given) == neutral:
                continue
            given = cast_constant(ctx, given, dtype)
        else:
            given = Tile(convert(ctx, given.value, dtype))
        result = binary(ctx, symbol, operand(ctx, result), given)
    return result


def _reshape(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    old = tile_of(value).shape
    items = args.items("shape")
    if any(isinstance(i, Const) and i.value == -1 for i in items):
        known = [i for i in items if not (isinstance(i, Const) and i.value == -1)]
        if len(known) != len(items) - 1:
            raise args.refused("shape", "FT204", "only one dimension may be -1")
        inner = Arguments(ctx, args.name, {"shape": TupleOf(tuple(known))}, args.spans)
        sizes = list(inner.shape())
        rest, remainder = divmod(_product(old), _product(tuple(sizes)))
        if remainder:
            raise args.refused("shape", "FT204", f"{_product(old)} elements do not fit the shape")
        missing = [s for s in old if s not in sizes and s.value == rest]
        at = next(k for k, i in enumerate(items) if isinstance(i, Const) and i.value == -1)
        sizes.insert(at, missing[0] if len(missing) == 1 else Size(rest))
        shape = tuple(sizes)
    else:
        shape = args.shape()
    if not same_count(ctx, old, shape):
        raise args.refused("shape", "FT204", f"cannot reshape {_product(old)} elements to {_product(shape)}")
    return Tile(reshape(ctx, value, shape))


def permute_value(ctx: Context, value: Value, axes: tuple[int, ...]) -> Value:
    type_ = tile_of(value)
    if axes == tuple(range(type_.rank)):
        return value
    shape = tuple(type_.shape[a] for a in axes)
    return ctx.emit("permute", (value,), TileType(type_.dtype, shape), axes=axes)


def normalised(args: Arguments, name: str, axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise args.refused(name, "FT204", f"axis {axis} is out of range for rank {rank}")
    return axis % rank if rank else 0


def _permute(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    rank = tile_of(value).rank
    axes = tuple(normalised(args, "axes", a, rank) for a in args.ints("axes"))
    if sorted(axes) != list(range(rank)):
        raise args.refused("axes", "FT204", f"{axes} is no permutation of {rank} axes")
    return Tile(permute_value(ctx, value, axes))


def _transpose(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    rank = tile_of(value).rank
    if args.has("axis0") != args.has("axis1"):
        raise ctx.refused("FT205", "`transpose` takes both axes or neither")
    if not args.has("axis0"):
        if rank != 2:
            raise ctx.refused("FT204", f"`transpose` without axes needs rank 2, not {rank}")
        return Tile(permute_value(ctx, value, (1, 0)))
    first = normalised(args, "axis0", args.integer("axis0"), rank)
    second = normalised(args, "axis1", args.integer("axis1"), rank)
    axes = list(range(rank))
    axes[first], axes[second] = axes[second], axes[first]
    return Tile(permute_value(ctx, value, tuple(axes)))


def _expand_dims(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    shape = tile_of(value).shape
    axis = normalised(args, "axis", args.integer("axis"), len(shape) + 1)
    return Tile(reshape(ctx, value, (*shape[:axis], Size(1), *shape[axis:])))


def _broadcast_to(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    shape = args.shape()
    old = tile_of(value).shape
    tail = shape[len(shape) - len(old) :] if len(old) <= len(shape) else ()
    if len(old) > len(shape) or any(o.value not in (1, n.value) for o, n in zip(old, tail, strict=True)):
        raise args.refused("shape", "FT204", f"({', '.join(map(str, old))}) does not broadcast to that shape")
    return Tile(broadcast(ctx, value, shape))


def _cat(ctx: Context, args: Arguments) -> Abstract:
    tiles = [materialise(ctx, operand(ctx, t)) for t in args.items("tiles")]
    if len(tiles) == 1:
        return Tile(tiles[0])
    if len(tiles) != 2:
        raise args.refused("tiles", "FT205", "`cat` takes one or two tiles")
    a, b = tile_of(tiles[0]), tile_of(tiles[1])
    if a.dtype != b.dtype or a.rank != b.rank:
        raise args.refused("tiles", "FT203", f"`cat` needs equal element types and ranks, not {a} and {b}")
    axis = normalised(args, "axis", args.integer("axis"), a.rank)
    sizes: list[Size] = []
    for k, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)):
        if x.value != y.value:
            raise args.refused("tiles", "FT204", f"dimension {k} differs: {x.value} and {y.value}")
        if k == axis:
            ctx.pin(x.symbol, y.symbol)
            sizes.append(Size(x.value + y.value))
        else:
            sizes.append(ctx.join_size(x, y))
    return Tile(ctx.emit("cat", (tiles[0], tiles[1]), TileType(a.dtype, tuple(sizes)), axis=axis))


def _astype(ctx: Context, args: Arguments) -> Abstract:
    x, dtype = args.operand("x"), args.dtype()
    source = own_dtype(ctx, x)
    rounding = args.member("rounding_mode", "RoundingMode", ROUNDINGS)
    between_floats = source.is_float and dtype.is_float
    if rounding is not None and not between_floats:
        raise args.refused("rounding_mode", "FT203", f"a rounding mode is for float to float, not {source} to {dtype}")
    if between_floats and not source.identical(dtype):
        check_float_conversion(args, source, dtype, rounding)
    if rounding == "nearest_even":
        rounding = None
    if isinstance(x, Const) and rounding is None:
        return cast_constant(ctx, x, dtype)
    return Tile(convert(ctx, materialise(ctx, x), dtype, rounding))


def _bitcast(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    dtype = args.dtype()
    type_ = tile_of(value)
    if type_.dtype == dtype:
        return Tile(value)
    if dtypes.BOOL in (type_.dtype, dtype) or type_.dtype.bits != dtype.bits:
        raise args.refused("dtype", "FT203", f"`bitcast` from {type_.dtype} to {dtype}: the widths differ")
    return Tile(ctx.emit("bitcast", (value,), TileType(dtype, type_.shape)))


def _item(ctx: Context, args: Arguments) -> Abstract:
    value = materialise(ctx, args.operand("x"))
    if not same_count(ctx, tile_of(value).shape, ()):
        raise ctx.refused("FT204", "`item` needs a tile of one element")
    return Tile(reshape(ctx, value, ()))


def constructor(ctx: Context, dtype: DTypeOf, args: Arguments) -> Abstract:
    """`ct.float32(x)`: a strictly typed constant, or a cast."""
    x = args.operand("x")
    if isinstance(x, Tile):
        return Tile(convert(ctx, x.value, dtype.dtype))
    return cast_constant(ctx, x, dtype.dtype)


FUNCTIONS = {
    "full": Spec("shape fill_value dtype", lambda ctx, a: _full(ctx, _renamed(a))),
    "zeros": _filled(0),
    "ones": _filled(1),
    "arange": Spec("size * dtype start? step?", _arange),
    "reshape": Spec("x shape", _reshape),
    "permute": Spec("x axes", _permute),
    "transpose": Spec("x axis0? axis1?", _transpose),
    "expand_dims": Spec("x axis", _expand_dims),
    "broadcast_to": Spec("x shape", _broadcast_to),
    "cat": Spec("tiles axis", _cat),
    "astype": Spec("x dtype * rounding_mode?", _astype),
    "bitcast": Spec("x dtype", _bitcast),
}
METHODS = {
    **{n: FUNCTIONS[n] for n in ("reshape", "permute", "transpose", "astype")},
    "item": Spec("x", _item),
}


def _renamed(args: Arguments) -> Arguments:
    values = {"value" if k == "fill_value" else k: v for k, v in args.values.items()}
    spans = {"value" if k == "fill_value" else k: v for k, v in args.spans.items()}
    return Arguments(args.ctx, args.name, values, spans)
