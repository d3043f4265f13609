"""`load_advanced_indexing` and `store_advanced_indexing`: one axis from a tile of indices, the others dense."""

from __future__ import annotations

from ferrotile.frontends.cutile.arguments import PADDINGS, Arguments, Spec
from ferrotile.frontends.cutile.conversion import implicit_cast, materialise, operand, tile_of
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.memory import hints_of, scalar_index
from ferrotile.frontends.cutile.values import NONE, Abstract, Array, SliceOf, Tile, describe
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, Size, TileType, ViewType, same_shape


def _view(ctx: Context, args: Arguments, array: Array, padding: str | None) -> tuple[Value, tuple[Value, ...], Shape]:
    """The gather/scatter view, its index, and the tile's shape."""
    rank = array.type.rank
    if rank < 2:
        other = "gather" if args.name.endswith("load_advanced_indexing") else "scatter"
        raise args.refused("array", "FT204", f"`{args.name}` needs an array of rank 2 or more: use `ct.{other}`")
    items = args.items("indices")
    if len(items) != rank:
        raise args.refused("indices", "FT204", f"{len(items)} indices for `{array.name}`, which has {rank} dimensions")
    shape: list[Size] = []
    index: list[Value] = []
    sparse: list[int] = []
    for axis, item in enumerate(items):
        if isinstance(item, SliceOf):
            length = operand(ctx, item.length, "length")
            inner = Arguments(ctx, args.name, {"indices": item.length}, args.spans)
            if isinstance(length, Tile):
                raise args.refused("indices", "FT205", f"the length of the `ct.Slice` for axis {axis} must be constant")
            shape.extend(inner.shape("indices"))
            index.append(scalar_index(ctx, args, item.start, "indices"))
            continue
        value = operand(ctx, item, "index")
        if not isinstance(value, Tile) or value.type.rank != 1 or not value.type.dtype.is_integer:
            found = describe(item)
            text = f"index {axis} must be a 1-D integer tile or a `ct.Slice`, not {found}"
            raise args.refused("indices", "FT203", text)
        sparse.append(axis)
        shape.append(value.type.shape[0])
        index.append(value.value)
    if len(sparse) != 1:
        raise args.refused("indices", "FT203", f"exactly one index must be a 1-D integer tile, not {len(sparse)}")
    kind = ViewType(array.type.dtype, tuple(shape), tuple(range(rank)), padding, None, sparse[0])
    return ctx.emit("make_view", (array.value,), kind), tuple(index), tuple(shape)


def _load(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    padding = args.member("padding_mode", "PaddingMode", PADDINGS)
    hints = hints_of(args)
    view, index, shape = _view(ctx, args, array, padding)
    return Tile(ctx.emit("load_special", (view, *index), TileType(array.type.dtype, shape), **hints))


def _store(ctx: Context, args: Arguments) -> Abstract:
    array = args.array()
    tile = args.operand("tile")
    hints = hints_of(args)
    view, index, shape = _view(ctx, args, array, None)
    value = implicit_cast(ctx, tile, array.type.dtype, f"a store to `{array.name}`")
    if not same_shape(tile_of(value).shape, shape):
        texts = [f"({', '.join(map(str, s))})" for s in (tile_of(value).shape, shape)]
        raise args.refused("tile", "FT204", f"the tile has shape {texts[0]}, the indices have {texts[1]}")
    ctx.builder.effect("store_special", (view, materialise(ctx, Tile(value)), *index), ctx.span, **hints)
    return NONE


FUNCTIONS = {
    "load_advanced_indexing": Spec("array indices * padding_mode? latency? allow_tma?", _load),
    "store_advanced_indexing": Spec("array indices tile * latency? allow_tma?", _store),
    "Slice": Spec("start length", lambda ctx, args: SliceOf(args.get("start"), args.get("length"))),
}
