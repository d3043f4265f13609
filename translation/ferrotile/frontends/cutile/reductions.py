"""`sum`, `prod`, `max`, `min`, `argmax`, `argmin`: one `reduce` an axis, lowest first."""

from __future__ import annotations

from itertools import pairwise

from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import constant, convert, materialise, reshape, tile_of
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.modes import check_mode
from ferrotile.frontends.cutile.shapes import normalised
from ferrotile.frontends.cutile.values import Abstract, Tile
from ferrotile.program import dtypes
from ferrotile.program.dtypes import Kind
from ferrotile.program.ir import Attribute, Value
from ferrotile.program.types import Shape, Size, TileType


def arithmetic_tile(ctx: Context, args: Arguments) -> Value:
    """The argument `x`, which must be of a type with arithmetic; bools become i32."""
    value = materialise(ctx, args.operand("x"))
    dtype = tile_of(value).dtype
    if dtype.kind is Kind.STORAGE:
        raise args.refused("x", "FT203", f"`{args.name}` is not defined for {dtype}: convert to ct.float32 first")
    return convert(ctx, value, dtypes.I32) if dtype.kind is Kind.BOOL else value


def axes_of(args: Arguments, rank: int) -> list[int]:
    """The argument `axis`, in order; None means every axis."""
    given = args.ints("axis") if args.has("axis") else tuple(range(rank))
    axes = sorted(normalised(args, "axis", a, rank) for a in given)
    repeated = next((a for a, b in pairwise(axes) if a == b), None)
    if repeated is not None:
        raise args.refused("axis", "FT204", f"axis {repeated} is given twice")
    return axes


def kept(shape: Shape, axes: list[int]) -> Shape:
    return tuple(Size(1) if k in axes else s for k, s in enumerate(shape))


def reduce_axis(ctx: Context, value: Value, axis: int, function: str, **modes: Attribute) -> Value:
    """One `reduce`, which drops the axis."""
    kind = tile_of(value)
    dtype = dtypes.I32 if function.startswith("arg") else kind.dtype
    result = TileType(dtype, kind.shape[:axis] + kind.shape[axis + 1 :])
    if function.startswith("arg") and kind.shape[axis].value == 1:
        ctx.pin(kind.shape[axis].symbol)
        return constant(ctx, 0, dtype, result.shape)  # there is one index
    return ctx.emit("reduce", (value,), result, axis=axis, function=function, **modes)


def _reduction(function: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        mode = args.mode()
        value = arithmetic_tile(ctx, args)
        kind = tile_of(value)
        if mode.rounding is not None or mode.ftz:
            check_mode(args, function, kind.dtype)
        floats = kind.dtype.is_float
        rounding = None if mode.rounding == "nearest_even" else mode.rounding
        modes = {"rounding": rounding, "ftz": mode.ftz, "propagate_nan": mode.propagate_nan if floats else None}
        axes = axes_of(args, kind.rank)
        for done, axis in enumerate(axes):
            value = reduce_axis(ctx, value, axis - done, function, **modes)
        if args.flag("keepdims"):
            value = reshape(ctx, value, kept(kind.shape, axes))
        return Tile(value)

    modes = "rounding_mode?" if function in ("sum", "prod") else "propagate_nan?"
    return Spec(f"x axis? * keepdims? flush_to_zero? {modes}", handler)


def _arg_reduction(function: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        value = arithmetic_tile(ctx, args)
        kind = tile_of(value)
        nan = (args.flag("propagate_nan") and kind.dtype.is_float) or None
        if not args.has("axis"):
            count = 1
            for size in kind.shape:
                count *= size.value
            if kind.rank > 1:
                ctx.pin_shape(kind.shape)
            flat = reshape(ctx, value, kind.shape if kind.rank == 1 else (Size(count),))
            found = reduce_axis(ctx, flat, 0, function, propagate_nan=nan)
            return Tile(reshape(ctx, found, (Size(1),) * kind.rank if args.flag("keepdims") else ()))
        axis = normalised(args, "axis", args.integer("axis"), kind.rank)
        found = reduce_axis(ctx, value, axis, function, propagate_nan=nan)
        return Tile(reshape(ctx, found, kept(kind.shape, [axis])) if args.flag("keepdims") else found)

    return Spec("x axis? * keepdims? propagate_nan?", handler)


FUNCTIONS = {
    **{name: _reduction(name) for name in ("sum", "prod", "max", "min")},
    **{name: _arg_reduction(name) for name in ("argmax", "argmin")},
}
