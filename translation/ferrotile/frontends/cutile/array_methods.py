"""Attributes and methods of arrays, tiled views and raw memory."""

from __future__ import annotations

from collections.abc import Callable

from ferrotile.frontends.cutile import atomics, gather, memory
from ferrotile.frontends.cutile.arguments import PADDINGS, Arguments, Spec
from ferrotile.frontends.cutile.conversion import implicit_cast, materialise, operand, reshape
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import (
    NONE,
    Abstract,
    Array,
    Const,
    DTypeOf,
    RawMemory,
    Tile,
    TiledView,
    TupleOf,
)
from ferrotile.program.ir import Value
from ferrotile.program.types import ArrayType, Shape, Size, TileType, ViewType

Receiver = Array | TiledView | RawMemory


def attribute(ctx: Context, receiver: Receiver, name: str) -> Abstract | None:
    """`receiver.name` where it is no method; None when there is no such attribute."""
    match receiver:
        case Array(value=value) if isinstance(value.type, ArrayType):
            match name:
                case "dtype":
                    return DTypeOf(receiver.type.dtype)
                case "ndim":
                    return Const(receiver.type.rank)
                case "shape":
                    return memory.extents(ctx, receiver)
                case "strides":
                    return memory.strides(ctx, receiver)
        case TiledView(array=array, shape=shape, steps=steps):
            match name:
                case "dtype":
                    return DTypeOf(array.type.dtype)
                case "tile_shape":
                    return TupleOf(tuple(Const(s.value, s.symbol) for s in shape))
                case "traversal_steps":
                    whole = shape or (Size(1),) * array.type.rank
                    numbers = steps or tuple(s.value for s in whole)
                    return TupleOf(tuple(Const(n) for n in numbers))
        case RawMemory(array=array) if name == "dtype":
            return DTypeOf(array.type.dtype)
    return None


def methods(receiver: Receiver) -> dict[str, Spec]:
    """The methods that a receiver has."""
    match receiver:
        case Array():
            return ARRAY
        case TiledView():
            return TILED_VIEW
        case RawMemory():
            return RAW_MEMORY


def _slice(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    rank = array.type.rank
    axis = args.integer("axis")
    if not -rank <= axis < rank:
        raise args.refused("axis", "FT204", f"axis {axis} is out of range for rank {rank}")
    bounds: list[Value] = []
    known: list[int] = []
    for name in ("start", "stop"):
        bound = operand(ctx, args.get(name), name)
        if isinstance(bound, Const) and isinstance(bound.value, int):
            if bound.value < 0:
                raise args.refused(name, "FT204", f"the {name} of a slice must not be negative")
            known.append(bound.value)
        bounds.append(memory.scalar_index(ctx, args, args.get(name), name))
    if len(known) == 2 and known[1] < known[0]:
        raise args.refused("stop", "FT204", f"the slice stops at {known[1]}, before its start {known[0]}")
    part = ctx.emit("slice", (array.value, *bounds), array.type, axis=axis % rank)
    ctx.builder.name(part, f"{array.name}_part")
    return Array(part, array.name)


def _tiled_view(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    rank = array.type.rank
    shape = args.shape("tile_shape")
    if shape and len(shape) != rank:
        raise args.refused("tile_shape", "FT204", f"the shape has {len(shape)} dimensions, `{array.name}` has {rank}")
    padding = args.member("padding_mode", "PaddingMode", PADDINGS)
    steps: tuple[int, ...] | None = None
    if args.has("traversal_steps"):
        steps = args.ints("traversal_steps")
        whole = shape or (Size(1),) * rank
        if len(steps) != rank or any(s < 1 for s in steps):
            raise args.refused("traversal_steps", "FT204", f"`traversal_steps` must be {rank} positive integers")
        if steps == tuple(s.value for s in whole):
            ctx.pin_shape(shape)
            steps = None
    return TiledView(array, shape, padding, steps)


def _view(args: Arguments) -> TiledView:
    view = args.get("array")
    assert isinstance(view, TiledView)
    return view


def _identity(view: TiledView) -> tuple[int, ...]:
    return tuple(range(view.array.type.rank))


def _strided(ctx: Context, view: TiledView, padding: str | None) -> Value:
    array = view.array
    whole = view.shape or (Size(1),) * array.type.rank
    kind = ViewType(array.type.dtype, whole, _identity(view), padding, view.steps)
    return ctx.emit("make_view", (array.value,), kind)


def _load(ctx: Context, args: Arguments) -> Abstract:
    view = _view(args)
    if view.steps is None:
        return memory.load_tile(ctx, args, view.array, view.shape, _identity(view), view.padding)
    hints = memory.hints_of(args)
    index = memory.index_of(ctx, args, view.array.type.rank)
    made = _strided(ctx, view, view.padding)
    whole = view.shape or (Size(1),) * view.array.type.rank
    value = ctx.emit("load_special", (made, *index), TileType(view.array.type.dtype, whole), **hints)
    return Tile(reshape(ctx, value, view.shape))


def _broadcast(ctx: Context, args: Arguments, name: str, view: TiledView) -> Value:
    value = materialise(ctx, args.operand(name))
    whole: Shape = view.shape or (Size(1),) * view.array.type.rank
    wide = gather.fitted(ctx, args, name, value, view.shape)
    return reshape(ctx, wide, whole)


def _store(ctx: Context, args: Arguments) -> Abstract:
    view = _view(args)
    array = view.array
    tile = args.operand("tile")
    cast = implicit_cast(ctx, tile, array.type.dtype, f"a store to `{array.name}`")
    args.values["tile"] = Tile(cast)
    value = _broadcast(ctx, args, "tile", view)
    if view.steps is None:
        memory.store_tile(ctx, args, array, value, _identity(view))
        return NONE
    hints = memory.hints_of(args)
    index = memory.index_of(ctx, args, array.type.rank)
    ctx.builder.effect("store_special", (_strided(ctx, view, None), value, *index), ctx.span, **hints)
    return NONE


def _count(ctx: Context, args: Arguments) -> Abstract:
    view = _view(args)
    if view.steps is not None:
        raise ctx.refused("FT301", "`num_tiles` of a view with `traversal_steps` has no translation yet")
    return memory.count_tiles(ctx, args, view.array, view.shape, _identity(view))


def _reduce(mode: str) -> Callable[[Context, Arguments], Abstract]:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        view = _view(args)
        array = view.array
        atomics.check_dtype(args, mode, array.type.dtype, array.name)
        atomics.settle_update(ctx, args, mode, array.type.dtype, False)
        cast = implicit_cast(ctx, args.operand("update"), array.type.dtype, f"`{args.name}` on `{array.name}`")
        args.values["update"] = Tile(cast)
        value = _broadcast(ctx, args, "update", view)
        index = memory.index_of(ctx, args, array.type.rank)
        made = _strided(ctx, view, None)
        ctx.builder.effect(
            "reduce_view", (made, value, *index), ctx.span, mode=mode, memory_order="relaxed", memory_scope="device"
        )
        return NONE

    return handler


def _raw(ctx: Context, args: Arguments) -> Abstract:
    return RawMemory(args.array())


ARRAY = {
    "slice": Spec("array axis start stop", _slice),
    "tiled_view": Spec("array tile_shape * padding_mode? traversal_steps?", _tiled_view),
    "get_raw_memory": Spec("array", _raw),
}
TILED_VIEW = {
    "load": Spec("array index * check_bounds? latency? allow_tma?", _load),
    "store": Spec("array index tile * check_bounds? latency? allow_tma?", _store),
    "num_tiles": Spec("array axis", _count),
    **{
        f"atomic_store_{mode}": Spec("array index update", _reduce(mode))
        for mode in ("add", "max", "min", "and", "or", "xor")
    },
}
RAW_MEMORY = {**gather.RAW_METHODS, **atomics.RAW_METHODS}
