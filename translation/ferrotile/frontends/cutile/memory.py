"""Block ids, views, loads and stores."""

from __future__ import annotations

from ferrotile.frontends.cutile.arguments import PADDINGS, Arguments, Spec
from ferrotile.frontends.cutile.atomics import memory_order
from ferrotile.frontends.cutile.conversion import (
    convert,
    implicit_cast,
    materialise,
    operand,
    reshape,
    tile_of,
)
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.gather import latency_of
from ferrotile.frontends.cutile.values import NONE, Abstract, Array, Const, Tile, TupleOf, describe
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


def make_view(ctx: Context, array: Array, tile: Shape, order: tuple[int, ...], padding: str | None) -> Value:
    """The partition view of an array, or of its single elements where `tile` is empty."""
    whole = tile or (Size(1),) * array.type.rank
    return ctx.emit("make_view", (array.value,), ViewType(array.type.dtype, whole, order, padding))


def index_of(ctx: Context, args: Arguments, rank: int) -> tuple[Value, ...]:
    """`index`: one signed integer scalar an axis, as i32."""
    items = args.items("index")
    if len(items) != rank:
        raise args.refused("index", "FT204", f"{len(items)} indices for an array of rank {rank}")
    return tuple(scalar_index(ctx, args, item, "index") for item in items)


def scalar_index(ctx: Context, args: Arguments, item: Abstract, name: str) -> Value:
    """A signed integer scalar as i32."""
    value = operand(ctx, item, name)
    if isinstance(value, Const):
        if isinstance(value.value, float) or (value.dtype is not None and value.dtype.kind is not Kind.SIGNED):
            raise args.refused(name, "FT203", f"an index must be a signed integer, not {describe(value)}")
        return materialise(ctx, value, dtypes.I32)
    type_ = value.type
    if type_.dtype.kind is not Kind.SIGNED:
        raise args.refused(name, "FT203", f"an index must be a signed integer, not {type_.dtype}")
    if type_.rank:
        raise args.refused(name, "FT204", f"an index must be a scalar, not {type_}")
    return convert(ctx, value.value, dtypes.I32)


def hints_of(args: Arguments) -> dict[str, int | bool | None]:
    """`latency` and `allow_tma`. `check_bounds=False` only promises what the translation need not know."""
    if "check_bounds" in args.values:
        args.flag("check_bounds")
    return {"latency": latency_of(args), "allow_tma": args.flag("allow_tma") if args.has("allow_tma") else None}


def order_and_scope(args: Arguments, allowed: tuple[str, ...]) -> dict[str, str | None]:
    """`memory_order` and `memory_scope`, left out when weak."""
    order, scope = memory_order(args, allowed, ("weak", None))
    return {"memory_order": None if order == "weak" else order, "memory_scope": scope}


def load_tile(
    ctx: Context, args: Arguments, array: Array, shape: Shape, order: tuple[int, ...], padding: str | None
) -> Abstract:
    """A tile of a partition view; rank 0 when `shape` is empty."""
    rank = array.type.rank
    hints = {**hints_of(args), **order_and_scope(args, ("weak", "relaxed", "acquire"))}
    index = index_of(ctx, args, rank)
    view = make_view(ctx, array, shape, order, padding)
    assert isinstance(view.type, ViewType)
    value = ctx.emit("load_view", (view, *index), TileType(array.type.dtype, view.type.tile), **hints)
    return Tile(reshape(ctx, value, shape))


def store_tile(ctx: Context, args: Arguments, array: Array, value: Value, order: tuple[int, ...]) -> None:
    """A store through a partition view; a scalar is a tile of one element."""
    rank = array.type.rank
    shape = tile_of(value).shape or (Size(1),) * rank
    if len(shape) != rank:
        raise args.refused("tile", "FT204", f"the tile has {len(shape)} dimensions, `{array.name}` has {rank}")
    value = reshape(ctx, value, shape)
    hints = {**hints_of(args), **order_and_scope(args, ("weak", "relaxed", "release"))}
    index = index_of(ctx, args, rank)
    view = make_view(ctx, array, shape, order, None)
    ctx.builder.effect("store_view", (view, value, *index), ctx.span, **hints)


def _load(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    rank = array.type.rank
    shape = args.shape()
    if shape and len(shape) != rank:
        raise args.refused("shape", "FT204", f"the shape has {len(shape)} dimensions, `{array.name}` has {rank}")
    padding = args.member("padding_mode", "PaddingMode", PADDINGS)
    return load_tile(ctx, args, array, shape, order_of(args, rank), padding)


def _store(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    value = implicit_cast(ctx, args.operand("tile"), array.type.dtype, f"a store to `{array.name}`")
    store_tile(ctx, args, array, value, order_of(args, array.type.rank))
    return NONE


def count_tiles(ctx: Context, args: Arguments, array: Array, shape: Shape, order: tuple[int, ...]) -> Abstract:
    """The number of tiles along `axis`."""
    rank = array.type.rank
    axis = args.integer("axis")
    if not -rank <= axis < rank:
        raise args.refused("axis", "FT204", f"axis {axis} is out of range for rank {rank}")
    view = make_view(ctx, array, shape, order, None)
    return Tile(ctx.emit("num_tiles", (view,), I32, axis=axis % rank))


def _num_tiles(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    shape = args.shape()
    rank = array.type.rank
    if shape and len(shape) != rank:
        raise args.refused("shape", "FT204", f"the shape has {len(shape)} dimensions, `{array.name}` has {rank}")
    return count_tiles(ctx, args, array, shape, order_of(args, rank))


def strides(ctx: Context, array: Array) -> TupleOf:
    """`array.strides`; the last axis of an array has stride 1."""
    last = array.type.rank - 1
    found = [Tile(ctx.emit("stride", (array.value,), I32, axis=axis)) for axis in range(last)]
    return TupleOf((*found, *((Tile(materialise(ctx, Const(1), dtypes.I32)),) if last >= 0 else ())))


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
