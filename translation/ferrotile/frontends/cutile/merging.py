"""Joining of the values that a variable has on several paths, and what a loop carries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ferrotile.frontends.cutile.conversion import Operand, is_loose, materialise, own_dtype
from ferrotile.frontends.cutile.environment import Context, Refused
from ferrotile.frontends.cutile.literals import fits
from ferrotile.frontends.cutile.values import Abstract, Const, Poison, Tile, TupleOf, Unusable, describe
from ferrotile.program.dtypes import Kind
from ferrotile.program.ir import Value
from ferrotile.program.types import TileType, same_shape


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value that leaves an `if`: its result, and what each branch gives for it."""

    result: Value
    sides: tuple[Operand, Operand]


class Mismatch(Exception):
    """Two values have no common type; the message says why."""


def equal_constants(a: Const, b: Const) -> bool:
    return type(a.value) is type(b.value) and a.dtype == b.dtype and _same_number(a.value, b.value)


def _same_number(a: object, b: object) -> bool:
    return a == b and str(a) == str(b)


def merge(ctx: Context, a: Abstract, b: Abstract, leaves: list[Leaf]) -> Abstract:
    """One value for both paths; run-time parts become results, listed in `leaves`. Raises Mismatch."""
    match a, b:
        case TupleOf(items=x), TupleOf(items=y) if len(x) == len(y):
            return TupleOf(tuple(merge(ctx, p, q, leaves) for p, q in zip(x, y, strict=True)))
        case (Unusable() | Poison(), _):
            return a
        case (_, Unusable() | Poison()):
            return b
        case Const(), Const() if equal_constants(a, b):
            if a.symbol == b.symbol:
                return a
            ctx.pin(a.symbol, b.symbol)
            return Const(a.value, None, a.dtype)
        case Tile(), Tile() if a.value.id == b.value.id:
            return a
        case (Tile() | Const(), Tile() | Const()) if _numeric(a) and _numeric(b):
            return Tile(_leaf(ctx, a, b, leaves))
    if a == b:
        return a
    raise Mismatch(f"{describe(a)} on one path, {describe(b)} on the other")


def _numeric(value: Operand) -> bool:
    return isinstance(value, Tile) or isinstance(value.value, (bool, int, float))


def _leaf(ctx: Context, a: Operand, b: Operand, leaves: list[Leaf]) -> Value:
    typed, other = (b, a) if is_loose(a) and not is_loose(b) else (a, b)
    dtype = own_dtype(ctx, typed)
    shape = typed.type.shape if isinstance(typed, Tile) else ()
    if is_loose(other) and not is_loose(typed):
        assert isinstance(other, Const)
        if not _adapts(other, TileType(dtype, shape)):
            raise Mismatch(f"{describe(a)} on one path, {describe(b)} on the other")
    else:
        second = other.type if isinstance(other, Tile) else TileType(own_dtype(ctx, other))
        if second.dtype != dtype or not same_shape(second.shape, shape):
            raise Mismatch(f"{describe(a)} on one path, {describe(b)} on the other")
        shape = ctx.join_shape(shape, second.shape)
    result = ctx.builder.fresh(TileType(dtype, shape))
    leaves.append(Leaf(result, (a, b)))
    return result


def _adapts(value: Const, type_: TileType) -> bool:
    """Whether a loose constant can take a scalar's type."""
    if type_.rank:
        return False
    raw = value.value
    match type_.dtype.kind:
        case Kind.BOOL:
            return isinstance(raw, bool)
        case Kind.SIGNED | Kind.UNSIGNED:
            return isinstance(raw, int) and fits(raw, type_.dtype)
        case _:
            return isinstance(raw, (int, float))


def side_value(ctx: Context, leaf: Leaf, side: int) -> Value:
    """What one branch yields for a leaf, made in the block that is open."""
    type_ = leaf.result.type
    assert isinstance(type_, TileType)
    return materialise(ctx, leaf.sides[side], type_.dtype, type_.shape)


# loops


def carry(ctx: Context, value: Abstract, name: str, initial: list[Value], arguments: list[Value]) -> Abstract:
    """The template of a carried variable: its run-time parts become arguments, started from `initial`."""
    match value:
        case TupleOf(items=items):
            return TupleOf(tuple(carry(ctx, i, name, initial, arguments) for i in items))
        case Tile() | Const(value=bool() | int() | float()):
            start = materialise(ctx, value)
            argument = ctx.builder.fresh(start.type, name)
            initial.append(start)
            arguments.append(argument)
            return Tile(argument)
        case _:
            return value


def next_values(ctx: Context, template: Abstract, value: Abstract) -> Iterator[Value]:
    """The values that `value` hands to the next trip; raises Mismatch."""
    match template, value:
        case TupleOf(items=x), TupleOf(items=y) if len(x) == len(y):
            for p, q in zip(x, y, strict=True):
                yield from next_values(ctx, p, q)
            return
        case Tile(), Const(value=bool() | int() | float()) if is_loose(value):
            if not _adapts(value, template.type):
                raise Mismatch(f"{describe(template)} before the loop, {describe(value)} in it")
            yield materialise(ctx, value, template.type.dtype)
            return
        case Tile(), Tile() | Const():
            if isinstance(value, Const) and value.value is None:
                raise Mismatch("a number before the loop, None in it")
            found = materialise(ctx, value)
            assert isinstance(found.type, TileType)
            if found.type.dtype == template.type.dtype and same_shape(found.type.shape, template.type.shape):
                ctx.join_shape(found.type.shape, template.type.shape)
                yield found
                return
        case _ if template == value:
            return
    raise Mismatch(f"{describe(template)} before the loop, {describe(value)} in it")


def placeholders(ctx: Context, template: Abstract) -> Iterator[Value]:
    """Values of the right types for a variable that does not fit; the body is interpreted again."""
    match template:
        case TupleOf(items=items):
            for item in items:
                yield from placeholders(ctx, item)
        case Tile():
            yield template.value


def after_loop(template: Abstract, results: Iterator[Value]) -> Abstract:
    match template:
        case TupleOf(items=items):
            return TupleOf(tuple(after_loop(i, results) for i in items))
        case Tile():
            return Tile(next(results))
        case _:
            return template


def try_merge(ctx: Context, a: Abstract, b: Abstract, leaves: list[Leaf], name: str) -> Abstract:
    """`merge`, or a value that refuses its use."""
    kept = len(leaves)
    try:
        return merge(ctx, a, b, leaves)
    except Mismatch as mismatch:
        del leaves[kept:]
        return Unusable("FT207", f"the type of `{name}` depends on the path taken: {mismatch}")
    except Refused as refused:
        del leaves[kept:]
        return Unusable(refused.diagnostic.code, refused.diagnostic.message)
