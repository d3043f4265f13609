"""Subscripts."""

from __future__ import annotations

import ast

from ferrotile.frontends.cutile.conversion import materialise, reshape
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.records import special
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    Const,
    DictOf,
    IndexRange,
    Record,
    Tile,
    TupleOf,
    describe,
)
from ferrotile.program.types import Size


def subscript(ctx: Context, node: ast.expr) -> Abstract:
    """`base[index]`: items of tuples and dictionaries, and new axes of tiles."""
    assert isinstance(node, ast.Subscript)
    base = ctx.usable(node.value)
    match base:
        case TupleOf(items=items):
            return _tuple_item(ctx, items, node.slice)
        case DictOf(items=items):
            return _dictionary_item(ctx, dict(items), ctx.usable(node.slice))
        case Record():
            found = special(ctx, base, "getitem", ctx.usable(node.slice))
            if found is None:
                raise ctx.refused("FT203", f"{describe(base)} cannot be subscripted")
            return found
        case Tile():
            return _new_axes(ctx, base, node.slice)
        case Array():
            raise ctx.refused("FT203", "arrays cannot be subscripted: use `ct.load`")
        case _:
            raise ctx.refused("FT203", f"{describe(base)} cannot be subscripted")


def _tuple_item(ctx: Context, items: tuple[Abstract, ...], index: ast.expr) -> Abstract:
    if isinstance(index, ast.Slice):
        parts = (index.lower, index.upper, index.step)
        value: Abstract = IndexRange(*(ctx.usable(p) if p is not None else Const(None) for p in parts))
    else:
        value = ctx.usable(index)
    if isinstance(value, IndexRange):
        bounds: list[int | None] = []
        for part in (value.start, value.stop, value.step):
            if not isinstance(part, Const) or not (part.value is None or isinstance(part.value, int)):
                raise ctx.refused("FT203", "tuple slices must be constant")
            raw = ctx.literal(part)
            bounds.append(None if raw is None else int(raw))
        if bounds[2] == 0:
            raise ctx.refused("FT203", "the step of a slice is zero")
        return TupleOf(items[slice(*bounds)])
    if not isinstance(value, Const) or not isinstance(value.value, int) or isinstance(value.value, bool):
        raise ctx.refused("FT203", "tuple indices must be constant integers")
    at = int(ctx.literal(value) or 0)
    if not -len(items) <= at < len(items):
        raise ctx.refused("FT204", f"index {at} is out of range of a tuple of {len(items)}")
    return items[at]


def _dictionary_item(ctx: Context, items: dict[str, Abstract], key: Abstract) -> Abstract:
    if not isinstance(key, Const) or not isinstance(key.value, str):
        raise ctx.refused("FT203", f"a key must be a string, not {describe(key)}")
    if key.value not in items:
        raise ctx.refused("FT203", f"the key `{key.value}` is not in the dictionary")
    return items[key.value]


def _new_axes(ctx: Context, tile: Tile, index: ast.expr) -> Abstract:
    """`x[None, :, ...]`: only new axes, full slices and one ellipsis."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    slices = sum(isinstance(p, ast.Slice) for p in parts)
    shape = list(tile.type.shape)
    out: list[Size] = []
    ellipsis = False
    for part in parts:
        match part:
            case ast.Constant(value=None):
                out.append(Size(1))
            case ast.Slice(lower=None, upper=None, step=None) if shape:
                out.append(shape.pop(0))
            case ast.Constant(value=value) if value is Ellipsis and not ellipsis:
                ellipsis = True
                taken = max(len(tile.type.shape) - slices, 0)
                out.extend(shape[:taken])
                del shape[:taken]
            case _:
                raise ctx.refused("FT205", "a tile is indexed with None, `:` and `...` only: use `ct.extract`")
    return Tile(reshape(ctx, materialise(ctx, tile), (*out, *shape)))
