"""Joining of the values that a variable has on several paths, and what a loop carries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ferrotile.frontends.cutile.conversion import Operand, constant, materialise, own_dtype
from ferrotile.frontends.cutile.environment import Context, Refused
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    Const,
    DictOf,
    Poison,
    RawMemory,
    Record,
    Tile,
    TiledView,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.program.ir import Value
from ferrotile.program.types import TileType, same_shape
from ferrotile.syntax.span import Span


class Leaf(Struct, frozen=True):
    """One value that leaves an `if`: its result, and what each branch gives for it."""

    result: Value
    sides: tuple[Operand, Operand]


class Mismatch(Exception):
    """Two values have no common type; the message says why."""


def equal_constants(ctx: Context, a: Const, b: Const) -> bool:
    """Whether both stay one constant; as in cuTile Python, 0.0 and -0.0 do, as the first one."""
    if a.value != b.value:
        return False
    if not _numeric(a) or not _numeric(b):
        return type(a.value) is type(b.value)
    return own_dtype(ctx, a).identical(own_dtype(ctx, b))


Aggregate = TupleOf | Record | DictOf


def parts(value: Aggregate) -> tuple[Abstract, ...]:
    """What an aggregate holds, in order."""
    return tuple(v for _, v in value.items) if isinstance(value, DictOf) else value.items


def rebuilt(value: Aggregate, items: Iterable[Abstract]) -> Aggregate:
    """An aggregate like `value` of other parts."""
    match value:
        case TupleOf():
            return TupleOf(tuple(items))
        case Record(cls=cls):
            return Record(cls, tuple(items))
        case DictOf(items=old):
            return DictOf(tuple((k, v) for (k, _), v in zip(old, items, strict=True)))


def alike(a: Aggregate, b: Aggregate) -> bool:
    """Whether two aggregates have one structure at the top."""
    match a, b:
        case TupleOf(items=x), TupleOf(items=y):
            return len(x) == len(y)
        case Record(cls=first), Record(cls=second):
            return first is second
        case DictOf(items=p), DictOf(items=q):
            return [k for k, _ in p] == [k for k, _ in q]
        case _:
            return False


def merge(ctx: Context, a: Abstract, b: Abstract, leaves: list[Leaf], stored: bool = False) -> Abstract:
    """One value for both paths; run-time parts become results, listed in `leaves`. What is `stored` on a path is a
    result even if it is one value: that is a use of it, and a product with two uses is not contracted. Raises
    Mismatch."""
    match a, b:
        case (TupleOf() | Record() | DictOf(), TupleOf() | Record() | DictOf()) if alike(a, b):
            return rebuilt(a, (merge(ctx, p, q, leaves, stored) for p, q in zip(parts(a), parts(b), strict=True)))
        case (Unusable() | Poison(), _):
            return a
        case (_, Unusable() | Poison()):
            return b
        case Const(), Const() if equal_constants(ctx, a, b):
            if a.symbol == b.symbol and a.dtype == b.dtype:
                return a
            ctx.pin(a.symbol, b.symbol)
            return Const(a.value, None, a.dtype or b.dtype)
        case Tile(), Tile() if a.value.id == b.value.id and not (stored and a.type.dtype.is_float):
            return a
        case (Tile() | Const(), Tile() | Const()) if _numeric(a) and _numeric(b):
            return Tile(_leaf(ctx, a, b, leaves))
    if a == b:
        return a
    if type(a) is type(b) and isinstance(a, (Array, TiledView, RawMemory)):
        raise ctx.refused("FT302", "an array chosen at run time has no form in cutile 0.5: choose between loaded tiles")
    raise Mismatch(f"{describe(a)} on one path, {describe(b)} on the other")


def _numeric(value: Operand) -> bool:
    return isinstance(value, Tile) or isinstance(value.value, (bool, int, float))


def _leaf(ctx: Context, a: Operand, b: Operand, leaves: list[Leaf]) -> Value:
    """Both paths must have one type; a loose constant counts as what it is alone, as cuTile Python has it."""
    first, second = (v.type if isinstance(v, Tile) else TileType(own_dtype(ctx, v)) for v in (a, b))
    if not first.dtype.identical(second.dtype) or not same_shape(first.shape, second.shape):
        raise Mismatch(f"{describe(a)} on one path, {describe(b)} on the other")
    result = ctx.builder.fresh(TileType(first.dtype, ctx.join_shape(first.shape, second.shape), first.pointer))
    leaves.append(Leaf(result, (a, b)))
    return result


def side_value(ctx: Context, leaf: Leaf, side: int) -> Value:
    """What one branch yields for a leaf, made in the block that is open."""
    type_ = leaf.result.type
    assert isinstance(type_, TileType)
    return materialise(ctx, leaf.sides[side], type_.dtype, type_.shape)


# loops


def carry(ctx: Context, value: Abstract, name: str, initial: list[Value], arguments: list[Value]) -> Abstract:
    """The template of a carried variable: its run-time parts become arguments, started from `initial`."""
    match value:
        case TupleOf() | Record() | DictOf():
            return rebuilt(value, (carry(ctx, i, name, initial, arguments) for i in parts(value)))
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
        case (TupleOf() | Record() | DictOf(), TupleOf() | Record() | DictOf()) if alike(template, value):
            for p, q in zip(parts(template), parts(value), strict=True):
                yield from next_values(ctx, p, q)
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


def late_template(ctx: Context, shape: Abstract, name: str, initial: list[Value], arguments: list[Value]) -> Abstract:
    """The template of a variable that only the loop sets: it starts as anything, here zeros. `shape` is what it holds
    where the loop is left."""
    match shape:
        case TupleOf() | Record() | DictOf():
            return rebuilt(shape, (late_template(ctx, i, name, initial, arguments) for i in parts(shape)))
        case Tile() | Const(value=bool() | int() | float()):
            type_ = shape.type if isinstance(shape, Tile) else TileType(own_dtype(ctx, shape))
            initial.append(constant(ctx, 0, type_.dtype, type_.shape))
            argument = ctx.builder.fresh(type_, name.lstrip("$"))
            arguments.append(argument)
            return Tile(argument)
        case _:
            return shape


def common(ctx: Context, name: str, values: Sequence[tuple[Abstract | None, Span]]) -> Abstract | Unusable | None:
    """What stands for the type of all values; None when one is missing, an error's description when they differ."""
    if not values or any(v is None or isinstance(v, (Unusable, Poison)) for v, _ in values):
        return None
    (first, _), *rest = values
    assert first is not None
    for value, place in rest:
        assert value is not None
        try:
            merge(ctx, first, value, [])
        except Mismatch as mismatch:
            return Unusable("FT207", path_message(name, mismatch), place)
        except Refused:
            return None
    return first


def placeholders(ctx: Context, template: Abstract) -> Iterator[Value]:
    """Values of the right types for a variable that does not fit; the body is interpreted again."""
    match template:
        case TupleOf() | Record() | DictOf():
            for item in parts(template):
                yield from placeholders(ctx, item)
        case Tile():
            yield template.value


def after_loop(template: Abstract, results: Iterator[Value]) -> Abstract:
    match template:
        case TupleOf() | Record() | DictOf():
            return rebuilt(template, [after_loop(i, results) for i in parts(template)])
        case Tile():
            return Tile(next(results))
        case _:
            return template


def try_merge(
    ctx: Context, a: Abstract, b: Abstract, leaves: list[Leaf], name: str, span: Span, stored: bool = True
) -> Abstract:
    """`merge`, or a value that refuses its use; `span` is where the second value was assigned."""
    kept = len(leaves)
    try:
        return merge(ctx, a, b, leaves, stored)
    except Mismatch as mismatch:
        del leaves[kept:]
        return Unusable("FT207", path_message(name, mismatch), span)
    except Refused as refused:
        del leaves[kept:]
        return Unusable(refused.diagnostic.code, refused.diagnostic.message, span)


def path_message(name: str, mismatch: Mismatch) -> str:
    what = "the returned value" if name == "$retval" else f"`{name}`" if name else "the value"
    return f"the type of {what} depends on the path taken: {mismatch}"
