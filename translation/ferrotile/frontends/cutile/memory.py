"""Block ids, views, loads and stores."""

from __future__ import annotations

from ferrotile.frontends.cutile.arguments import PADDINGS, Arguments, Spec
from ferrotile.frontends.cutile.conversion import (
    convert,
    implicit_cast,
    materialise,
    operand,
    reshape,
    tile_of,
)
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import NONE, Abstract, Array, Const, Global, Tile, TupleOf
from ferrotile.program import dtypes
from ferrotile.program.dtypes import Kind
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, Size, TileType, ViewType

I32 = TileType(dtypes.I32)


def _axis_op(opcode: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        axis = args.integer("axis")
        if not 0 <= axis <= 2:
            raise args.refused("axis", "FT205", f"`{args.name}` takes axis 0, 1 or 2, not {axis}")
        return Tile(ctx.emit(opcode, (), I32, axis=axis))

    return Spec("axis", handler)


def order_of(args: Arguments, rank: int) -> tuple[int, ...]:
    """`order` as a permutation: "C", "F" or a tuple."""
    value = args.values.get("order", Const("C"))
    if value == Const("C") or value == NONE:
        return tuple(range(rank))
    if value == Const("F"):
        return tuple(reversed(range(rank)))
    if not isinstance(value, TupleOf):
        raise args.refused("order", "FT205", '`order` must be "C", "F" or a tuple of axes')
    order = tuple(a % rank if -rank <= a < rank else a for a in args.ints("order"))
    if sorted(order) != list(range(rank)):
        raise args.refused("order", "FT204", f"order {order} is no permutation of the array's {rank} axes")
    return order


def make_view(ctx: Context, args: Arguments, array: Array, tile: Shape, padding: str | None) -> Value:
    view = ViewType(array.type.dtype, tile, order_of(args, array.type.rank), padding)
    return ctx.emit("make_view", (array.value,), view)


def _index(ctx: Context, args: Arguments, rank: int) -> tuple[Value, ...]:
    items = args.items("index")
    if len(items) != rank:
        raise args.refused("index", "FT204", f"{len(items)} indices for an array of rank {rank}")
    out: list[Value] = []
    for item in items:
        value = operand(ctx, item, "index")
        if isinstance(value, Const):
            if isinstance(value.value, float):
                raise args.refused("index", "FT203", "an index must be an integer")
            out.append(materialise(ctx, value, dtypes.I32))
            continue
        type_ = value.type
        if type_.dtype.kind is not Kind.SIGNED:
            raise args.refused("index", "FT203", f"an index must be a signed integer, not {type_.dtype}")
        if type_.rank:
            raise args.refused("index", "FT204", f"an index must be a scalar, not {type_}")
        out.append(convert(ctx, value.value, dtypes.I32))
    return tuple(out)


def _hints(args: Arguments) -> tuple[int | None, bool | None]:
    """`latency` and `allow_tma`; refuses what a view access cannot carry yet."""
    if "check_bounds" in args.values and not args.flag("check_bounds"):
        raise args.refused("check_bounds", "FT301", "`check_bounds=False` has no translation yet")
    for name, weak in (
        ("memory_order", "cuda.tile.MemoryOrder.WEAK"),
        ("memory_scope", "cuda.tile.MemoryScope.NONE"),
    ):
        if args.has(name) and args.get(name) != Global(weak):
            raise args.refused(name, "FT301", f"`{name}` other than the default has no translation yet")
    latency = args.integer("latency") if args.has("latency") else None
    if latency is not None and not 1 <= latency <= 10:
        raise args.refused("latency", "FT205", f"`latency` is 1 to 10, not {latency}")
    return latency, args.flag("allow_tma") if args.has("allow_tma") else None


def _load(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    rank = array.type.rank
    shape = args.shape()
    single = not shape and rank > 0
    tile = (Size(1),) * rank if single else shape
    if len(tile) != rank:
        raise args.refused("shape", "FT204", f"the shape has {len(tile)} dimensions, `{array.name}` has {rank}")
    padding = args.member("padding_mode", "PaddingMode", PADDINGS)
    latency, tma = _hints(args)
    index = _index(ctx, args, rank)
    view = make_view(ctx, args, array, tile, padding)
    result = TileType(array.type.dtype, tile)
    value = ctx.emit("load_view", (view, *index), result, latency=latency, allow_tma=tma)
    return Tile(reshape(ctx, value, ()) if single else value)


def _store(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    rank = array.type.rank
    tile = args.operand("tile")
    value = implicit_cast(ctx, tile, array.type.dtype, f"a store to `{array.name}`")
    if not tile_of(value).rank:
        value = reshape(ctx, value, (Size(1),) * rank)
    shape = tile_of(value).shape
    if len(shape) != rank:
        raise args.refused("tile", "FT204", f"the tile has {len(shape)} dimensions, `{array.name}` has {rank}")
    latency, tma = _hints(args)
    index = _index(ctx, args, rank)
    view = make_view(ctx, args, array, shape, None)
    ctx.builder.effect("store_view", (view, value, *index), ctx.span, latency=latency, allow_tma=tma)
    return NONE


def _num_tiles(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    shape = args.shape()
    rank = array.type.rank
    if len(shape) != rank:
        raise args.refused("shape", "FT204", f"the shape has {len(shape)} dimensions, `{array.name}` has {rank}")
    axis = args.integer("axis")
    if not -rank <= axis < rank:
        raise args.refused("axis", "FT204", f"axis {axis} is out of range for rank {rank}")
    view = make_view(ctx, args, array, shape, None)
    return Tile(ctx.emit("num_tiles", (view,), I32, axis=axis % rank))


def extents(ctx: Context, array: Array) -> TupleOf:
    """`array.shape`; extents that nobody reads are dropped later."""
    return TupleOf(tuple(Tile(ctx.emit("extent", (array.value,), I32, axis=axis)) for axis in range(array.type.rank)))


_HINTS = "order? check_bounds? latency? allow_tma? memory_order? memory_scope?"
FUNCTIONS = {
    "bid": _axis_op("block_id"),
    "num_blocks": _axis_op("num_blocks"),
    "num_tiles": Spec("array axis shape order?", _num_tiles),
    "load": Spec(f"array index shape * padding_mode? {_HINTS}", _load),
    "store": Spec(f"array index tile * {_HINTS}", _store),
}
