"""`sum`, `prod`, `max`, `min`: one `reduce` an axis, lowest first."""

from __future__ import annotations

from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import convert, materialise, reshape, tile_of
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.shapes import normalised
from ferrotile.frontends.cutile.values import Abstract, Tile
from ferrotile.program import dtypes
from ferrotile.program.dtypes import Kind
from ferrotile.program.types import Size, TileType


def _reduction(function: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        if not args.mode().plain:
            raise ctx.refused(
                "FT301", f"`{args.name}` with a rounding, flush-to-zero or NaN mode has no translation yet"
            )
        value = materialise(ctx, args.operand("x"))
        dtype = tile_of(value).dtype
        if dtype.kind is Kind.STORAGE:
            raise ctx.refused("FT203", f"`{args.name}` is not defined for {dtype}")
        if dtype.kind is Kind.BOOL:
            value = convert(ctx, value, dtypes.I32)
        shape = tile_of(value).shape
        given = args.ints("axis") if args.has("axis") else range(len(shape))
        axes = sorted({normalised(args, "axis", a, len(shape)) for a in given})
        for done, axis in enumerate(axes):
            type_ = tile_of(value)
            at = axis - done
            rest = TileType(type_.dtype, type_.shape[:at] + type_.shape[at + 1 :])
            value = ctx.emit("reduce", (value,), rest, axis=at, function=function)
        if args.flag("keepdims"):
            value = reshape(ctx, value, tuple(Size(1) if k in axes else s for k, s in enumerate(shape)))
        return Tile(value)

    modes = "rounding_mode?" if function in ("sum", "prod") else "propagate_nan?"
    return Spec(f"x axis? * keepdims? flush_to_zero? {modes}", handler)


FUNCTIONS = {name: _reduction(name) for name in ("sum", "prod", "max", "min")}
