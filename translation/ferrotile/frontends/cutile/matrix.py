"""`mma`, `matmul` and `@`."""

from __future__ import annotations

from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import (
    Operand,
    broadcast,
    broadcast_shape,
    constant,
    convert,
    materialise,
    promote,
    reshape,
    tile_of,
)
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import Abstract, Tile
from ferrotile.program import dtypes
from ferrotile.program.dtypes import DType
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, Size, TileType, same_shape

_F8 = (dtypes.F8E4M3FN, dtypes.F8E5M2)
_ACCUMULATORS: dict[DType, tuple[DType, ...]] = {
    dtypes.F16: (dtypes.F16, dtypes.F32),
    dtypes.BF16: (dtypes.F32,),
    dtypes.F32: (dtypes.F32,),
    dtypes.TF32: (dtypes.F32,),
    dtypes.F64: (dtypes.F64,),
    dtypes.F8E4M3FN: (dtypes.F16, dtypes.F32),
    dtypes.F8E5M2: (dtypes.F16, dtypes.F32),
    dtypes.I8: (dtypes.I32,),
    dtypes.U8: (dtypes.I32,),
}
"""Accumulator types that `mma` takes; the first is `matmul`'s."""
_IN_ALL = (dtypes.F32,)
"""Those that it takes for every type that a variable stands for."""


def _mma(ctx: Context, args: Arguments) -> Abstract:
    x = materialise(ctx, args.operand("x"))
    y = materialise(ctx, args.operand("y"))
    acc = materialise(ctx, args.operand("acc"))
    for name, value in (("x", x), ("y", y), ("acc", acc)):
        if tile_of(value).rank not in (2, 3):
            raise args.refused(name, "FT204", f"`mma` takes tiles of rank 2 or 3, `{name}` has {tile_of(value).rank}")
    fast = args.flag("use_fast_acc")
    if fast and tile_of(x).dtype not in _F8:
        raise args.refused("use_fast_acc", "FT203", f"`use_fast_acc` is for 8-bit floats, not {tile_of(x).dtype}")
    return Tile(multiply(ctx, x, y, acc, fast))


_SCALES: dict[str, dict[str, tuple[int, ...]]] = {
    "f8e4m3fn": {"f8e8m0fnu": (32,)},
    "f8e5m2": {"f8e8m0fnu": (32,)},
    "f4e2m1fn": {"f8e8m0fnu": (16, 32), "f8e4m3fn": (16,)},
}
"""Element type -> scale type -> elements that share a scale."""


def _mma_scaled(ctx: Context, args: Arguments) -> Abstract:
    names = ("x", "y", "acc", "x_scale", "y_scale")
    x, y, acc, x_scale, y_scale = (materialise(ctx, args.operand(n)) for n in names)
    for name, value in zip(names, (x, y, acc, x_scale, y_scale), strict=True):
        if tile_of(value).rank not in (2, 3):
            raise args.refused(name, "FT204", f"`{name}` of `mma_scaled` must have rank 2 or 3")
    kind, scale = tile_of(x).dtype, tile_of(x_scale).dtype
    if tile_of(y).dtype != kind or tile_of(y_scale).dtype != scale:
        raise ctx.refused("FT203", "`mma_scaled` needs equal types of both operands and of both scales")
    if kind.name not in _SCALES or scale.name not in _SCALES[kind.name]:
        raise ctx.refused("FT203", f"`mma_scaled` does not take {kind} with scales of {scale}")
    if tile_of(acc).dtype != dtypes.F32:
        raise args.refused("acc", "FT203", f"`mma_scaled` needs an f32 accumulator, not {tile_of(acc).dtype}")
    blocks = _SCALES[kind.name][scale.name]
    for name, value, factors, axis in (("x_scale", x, x_scale, -1), ("y_scale", y, y_scale, -2)):
        _check_scale(ctx, args, name, tile_of(value).shape, tile_of(factors).shape, axis, blocks)
    x, y, shape = _paired(ctx, x, y, acc)
    batch = tile_of(x).shape[:-2]
    x_scale = broadcast(ctx, x_scale, (*batch, *tile_of(x_scale).shape[-2:]))
    y_scale = broadcast(ctx, y_scale, (*batch, *tile_of(y_scale).shape[-2:]))
    return Tile(ctx.emit("mmaf_scaled", (x, y, acc, x_scale, y_scale), TileType(dtypes.F32, shape)))


def _check_scale(
    ctx: Context, args: Arguments, name: str, shape: Shape, scale: Shape, axis: int, blocks: tuple[int, ...]
) -> None:
    axis %= len(shape)
    fits = len(shape) == len(scale) and all(
        a.value == b.value or d == axis for d, (a, b) in enumerate(zip(shape, scale, strict=True))
    )
    if not fits or shape[axis].value % scale[axis].value or shape[axis].value // scale[axis].value not in blocks:
        sizes = " or ".join(map(str, blocks))
        raise args.refused(name, "FT204", f"`{name}` must have one scale for {sizes} elements along axis {axis}")
    ctx.pin(shape[axis].symbol, scale[axis].symbol)


def multiply(ctx: Context, x: Value, y: Value, acc: Value, fast: bool = False) -> Value:
    """`x @ y + acc` with all checks; batches broadcast."""
    first, second, total = tile_of(x), tile_of(y), tile_of(acc)
    integers = (dtypes.I8, dtypes.U8)
    mixed = first.dtype in integers and second.dtype in integers
    if first.dtype != second.dtype and not mixed:
        raise ctx.refused("FT203", f"`mma` needs equal types, not {first.dtype} and {second.dtype}")
    allowed = _IN_ALL if first.dtype.variable else _ACCUMULATORS.get(first.dtype)
    if allowed is None:
        raise ctx.refused("FT203", f"`mma` does not take {first.dtype}")
    if not any(total.dtype.identical(d) for d in allowed):
        names = " or ".join(d.name for d in allowed)
        raise ctx.refused("FT203", f"`mma` of {first.dtype} needs an accumulator of {names}, not {total.dtype}")
    x, y, shape = _paired(ctx, x, y, acc)
    if first.dtype in integers:
        return ctx.emit("mmai", (x, y, acc), TileType(total.dtype, shape))
    return ctx.emit("mmaf", (x, y, acc), TileType(total.dtype, shape), fast_acc=fast or None)


def _paired(ctx: Context, x: Value, y: Value, acc: Value) -> tuple[Value, Value, Shape]:
    """Operands with equal batches, and the shape of their product, which must be the accumulator's."""
    first, second, total = tile_of(x), tile_of(y), tile_of(acc)
    if first.shape[-1].value != second.shape[-2].value:
        raise ctx.refused("FT204", f"inner dimensions differ: {first.shape[-1].value} and {second.shape[-2].value}")
    ctx.join_size(first.shape[-1], second.shape[-2])
    batch = broadcast_shape(ctx, first.shape[:-2], second.shape[:-2])
    result = (*batch, first.shape[-2], second.shape[-1])
    if not same_shape(result, total.shape):
        shown = [f"({', '.join(map(str, s))})" for s in (result, total.shape)]
        raise ctx.refused("FT204", f"the product has shape {shown[0]}, the accumulator {shown[1]}")
    shape = ctx.join_shape(result, total.shape)
    x = broadcast(ctx, x, (*batch, *first.shape[-2:]))
    y = broadcast(ctx, y, (*batch, *second.shape[-2:]))
    return x, y, shape


def matmul(ctx: Context, a: Operand, b: Operand) -> Abstract:
    """`a @ b`: promotes, accumulates in the type's own accumulator, casts back."""
    if not isinstance(a, Tile) or not isinstance(b, Tile):
        raise ctx.refused("FT203", "`@` needs two tiles")
    dtype = promote(ctx, a, b)
    if dtype not in _ACCUMULATORS:
        raise ctx.refused("FT203", f"`@` does not take {dtype}")
    ranks = a.type.rank, b.type.rank
    if not all(1 <= r <= 3 for r in ranks):
        raise ctx.refused("FT204", f"`@` takes tiles of rank 1 to 3, not {ranks[0]} and {ranks[1]}")
    x, y = convert(ctx, a.value, dtype), convert(ctx, b.value, dtype)
    if ranks[0] == 1:
        x = reshape(ctx, x, (Size(1), *a.type.shape))
    if ranks[1] == 1:
        y = reshape(ctx, y, (*b.type.shape, Size(1)))
    batch = broadcast_shape(ctx, tile_of(x).shape[:-2], tile_of(y).shape[:-2])
    shape = (*batch, tile_of(x).shape[-2], tile_of(y).shape[-1])
    acc = constant(ctx, 0, _ACCUMULATORS[dtype][0], shape)
    result = convert(ctx, multiply(ctx, x, y, acc), dtype)
    rows = () if ranks[0] == 1 else (shape[-2],)
    columns = () if ranks[1] == 1 else (shape[-1],)
    return Tile(reshape(ctx, result, (*batch, *rows, *columns)))


FUNCTIONS = {
    "mma": Spec("x y acc * use_fast_acc?", _mma),
    "mma_scaled": Spec("x x_scale y y_scale acc", _mma_scaled),
    "matmul": Spec("x y", lambda ctx, args: matmul(ctx, args.operand("x"), args.operand("y"))),
}
