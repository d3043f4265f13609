"""Element accesses: gather, scatter, and linear offsets into an array's memory."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import (
    broadcast,
    broadcast_shape,
    implicit_cast,
    materialise,
    operand,
    own_dtype,
    shape_of,
    tile_of,
)
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import NONE, Abstract, Array, Const, RawMemory, Tile, describe
from ferrotile.program import dtypes
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, TileType


class Place(Struct, frozen=True):
    """Which elements an access touches: operands after the array, the lanes' shape, and the attributes that say it."""

    array: Array
    index: tuple[Value, ...]
    shape: Shape
    mask: Value | None
    linear: bool
    bounds: bool

    @property
    def attributes(self) -> dict[str, bool | None]:
        return {
            "linear": self.linear or None,
            "bounds": self.bounds or None,
            "masked": True if self.mask is not None else None,
        }

    def operands(self, *values: Value) -> tuple[Value, ...]:
        return (self.array.value, *self.index, *values, *((self.mask,) if self.mask is not None else ()))


def place_of(ctx: Context, args: Arguments) -> Place:
    """`array, indices` of a gather, scatter or atomic, or `memory, offset` of raw memory."""
    receiver = args.get("array")
    if isinstance(receiver, RawMemory):
        offset = _index(ctx, args, "indices", args.get("indices"), "The offset")
        lanes = tile_of(offset).shape
        return Place(receiver.array, (offset,), lanes, _mask(ctx, args, lanes), True, False)
    array = args.array()
    rank = array.type.rank
    items = args.items("indices")
    if len(items) != rank:
        raise args.refused("indices", "FT204", f"{len(items)} indices for `{array.name}`, which has {rank} dimensions")
    indices = tuple(_index(ctx, args, "indices", item, "An index") for item in items)
    shape: Shape = ()
    for value in indices:
        shape = broadcast_shape(ctx, shape, tile_of(value).shape)
    bounds = "check_bounds" not in args.values or args.flag("check_bounds")
    return Place(array, indices, shape, _mask(ctx, args, shape), False, bounds and rank > 0)


def _index(ctx: Context, args: Arguments, name: str, item: Abstract, what: str) -> Value:
    value = operand(ctx, item, "index")
    dtype = own_dtype(ctx, value)
    if not dtype.is_integer:
        raise args.refused(name, "FT203", f"{what} must be an integer, not {dtype}")
    if isinstance(value, Const) and dtype == dtypes.U64:
        raise args.refused(name, "FT208", f"the index {value.value} does not fit in 64 bits")
    return materialise(ctx, value, dtype if isinstance(value, Tile) else dtypes.I32 if _small(value) else dtypes.I64)


def _small(value: Const) -> bool:
    return isinstance(value.value, int) and -(1 << 31) <= value.value < 1 << 31


def _mask(ctx: Context, args: Arguments, shape: Shape) -> Value | None:
    if not args.has("mask"):
        return None
    value = args.operand("mask")
    if own_dtype(ctx, value) != dtypes.BOOL:
        raise args.refused("mask", "FT203", f"`mask` must be a tile of bool, not {describe(value)}")
    return fitted(ctx, args, "mask", materialise(ctx, value), shape)


def fitted(ctx: Context, args: Arguments, name: str, value: Value, shape: Shape) -> Value:
    """The value broadcast to the lanes' shape, which it must not extend."""
    own = tile_of(value).shape
    tail = shape[len(shape) - len(own) :] if len(own) <= len(shape) else ()
    if len(own) > len(shape) or any(o.value not in (1, s.value) for o, s in zip(own, tail, strict=True)):
        texts = [f"({', '.join(map(str, s))})" for s in (own, shape)]
        raise args.refused(name, "FT204", f"`{name}` with shape {texts[0]} does not fit indices of shape {texts[1]}")
    return broadcast(ctx, value, shape)


def stored(ctx: Context, args: Arguments, name: str, place: Place) -> Value:
    """A value that is written to the array, cast and broadcast as cuTile does."""
    value = args.operand(name)
    cast = implicit_cast(ctx, value, place.array.type.dtype, f"`{args.name}` on `{place.array.name}`")
    return fitted(ctx, args, name, cast, place.shape)


def latency_of(args: Arguments) -> int | None:
    latency = args.integer("latency") if args.has("latency") else None
    if latency is not None and not 1 <= latency <= 10:
        raise args.refused("latency", "FT205", f"`latency` is 1 to 10, not {latency}")
    return latency


def _gather(ctx: Context, args: Arguments) -> Abstract:
    place = place_of(ctx, args)
    latency = latency_of(args)
    dtype = place.array.type.dtype
    padding: Value | None = None
    if args.has("padding_value") or not place.linear:
        value = args.operand("padding_value") if args.has("padding_value") else Const(0)
        cast = implicit_cast(ctx, value, dtype, f"the padding of `{args.name}`")
        padding = cast if not shape_of(value) else fitted(ctx, args, "padding_value", cast, place.shape)
    if not place.bounds and place.mask is None:
        padding = None  # no lane is masked
    values = (padding,) if padding is not None else ()
    result = ctx.emit(
        "gather", place.operands(*values), TileType(dtype, place.shape), **place.attributes,
        padded=True if values else None, latency=latency,
    )  # fmt: skip
    return Tile(result)


def _scatter(ctx: Context, args: Arguments) -> Abstract:
    place = place_of(ctx, args)
    value = stored(ctx, args, "value", place)
    latency = latency_of(args)
    ctx.builder.effect("scatter", place.operands(value), ctx.span, **place.attributes, latency=latency)
    return NONE


FUNCTIONS = {
    "gather": Spec("array indices * mask? padding_value? check_bounds? latency?", _gather),
    "scatter": Spec("array indices value * mask? check_bounds? latency?", _scatter),
}
RAW_METHODS = {
    "load_offset": Spec("array indices * mask? padding_value? latency?", _gather),
    "store_offset": Spec("array indices value * mask? latency?", _scatter),
}
