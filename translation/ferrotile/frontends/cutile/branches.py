"""Run-time branches: two blocks, the variables that differ after them, and what each yields."""

from __future__ import annotations

from collections.abc import Callable

from ferrotile.frontends.cutile.conversion import constant, convert, operand
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.merging import Leaf, parts, rebuilt, side_value, try_merge
from ferrotile.frontends.cutile.values import (
    Abstract,
    Const,
    DictOf,
    DTypeOf,
    Function,
    Global,
    Record,
    Tile,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.program import dtypes
from ferrotile.program.ir import Block, End, If, Statement, Terminator, Value
from ferrotile.syntax.span import Span

YIELD = Terminator(End.YIELD)


def truth(ctx: Context, test: Abstract) -> bool | Value:
    """What `ct.bool_(test)` is, as every condition has it: a constant's truth (which pins it), or a rank-0 bool."""
    match test:
        case Const():
            return bool(ctx.literal(test))
        case TupleOf(items=items) if all(map(_constant, items)):
            return bool(items)
        case DTypeOf() | Function() | Global():
            return True
    value = operand(ctx, test, "condition")
    assert isinstance(value, Tile)
    if value.type.rank:
        raise ctx.refused("FT209", f"a condition must be a scalar, not {describe(value)}: use `ct.where`")
    return convert(ctx, value.value, dtypes.BOOL)


def _constant(value: Abstract) -> bool:
    if isinstance(value, TupleOf):
        return all(map(_constant, value.items))
    return isinstance(value, (Const, DTypeOf, Function, Global))


def as_bool(ctx: Context, test: Abstract) -> Const | Tile:
    """The operand of `and` and `or`: a strictly typed bool."""
    found = truth(ctx, test)
    return Const(found, None, dtypes.BOOL) if isinstance(found, bool) else Tile(found)


def choose(
    ctx: Context,
    test: Abstract,
    then: Callable[[], Abstract],
    otherwise: Callable[[], Abstract],
    name: str = "",
    place: Callable[[], Span] | None = None,
) -> Abstract:
    """The value of `then() if test else otherwise()`; a constant test evaluates one side only. Values of different
    types give one that cannot be used; `place` is where the second is."""
    condition = truth(ctx, test)
    if isinstance(condition, bool):
        return then() if condition else otherwise()
    span = ctx.span
    sides: tuple[list[Statement], list[Statement]] = ([], [])
    with ctx.builder.block(sides[0]):
        first = then()
    with ctx.builder.block(sides[1]):
        second = otherwise()
    leaves: list[Leaf] = []
    merged = try_merge(ctx, first, second, leaves, name, span if place is None else place())
    blocks = []
    for side, statements in enumerate(sides):
        with ctx.builder.block(statements):
            values = tuple(side_value(ctx, leaf, side) for leaf in leaves)
        blocks.append(Block(tuple(statements), Terminator(End.YIELD, values)))
    ctx.builder.append(If(condition, blocks[0], blocks[1], tuple(x.result for x in leaves), span))
    return merged


def branch(
    ctx: Context,
    condition: Value,
    then: Callable[[], Terminator | None],
    otherwise: Callable[[], Terminator | None],
) -> Terminator | None:
    """An `if` statement. Gives the terminator that the rest of the block has, None when it goes on."""
    span = ctx.span
    frame = ctx.frame
    before = frame.variables
    sides: tuple[list[Statement], list[Statement]] = ([], [])
    ends: list[Terminator | None] = []
    variables: list[dict[str, Abstract]] = []
    places = frame.places
    stored: set[str] = set()
    for statements, run in zip(sides, (then, otherwise), strict=True):
        frame.variables = dict(before)
        with ctx.builder.block(statements):
            frame.places = dict(places)
            ends.append(run())
        stored.update(n for n, place in frame.places.items() if place is not places.get(n))
        variables.append(frame.variables)
    frame.variables = dict(before)
    leaves: list[Leaf] = []
    after: Terminator | None = None
    if ends[0] is not None and ends[1] is not None:
        return _both_end(ctx, condition, sides, (ends[0], ends[1]))
    if ends[0] is None and ends[1] is None:
        for name in dict.fromkeys((*variables[0], *variables[1])):
            missing = Unusable("FT202", f"`{name}` may be undefined: it is set on one path only", ctx.header(span))
            a, b = (v.get(name, missing) for v in variables)
            place = frame.places.get(name, span)
            frame.variables[name] = try_merge(ctx, a, b, leaves, name, place, name in stored)
            _name_results(ctx, frame.variables[name], name)
    elif ends[0] is not None:
        # As in cuTile Python, the other branch is what follows the `if`.
        idle = Block((), YIELD)
        ctx.builder.append(If(condition, Block(tuple(sides[0]), ends[0]), idle, (), span))
        for statement in sides[1]:
            ctx.builder.append(statement)
        frame.variables = variables[1]
        return None
    else:
        for name, value in variables[0].items():
            frame.variables[name] = _escape(ctx, value, None if name in stored else before.get(name), leaves)
            _name_results(ctx, frame.variables[name], name)
    blocks = []
    for side, statements in enumerate(sides):
        end = ends[side]
        if end is None:
            with ctx.builder.block(statements):
                end = Terminator(End.YIELD, tuple(side_value(ctx, leaf, side) for leaf in leaves))
        blocks.append(Block(tuple(statements), end))
    ctx.builder.append(If(condition, blocks[0], blocks[1], tuple(x.result for x in leaves), span))
    return after


def returned_early(ctx: Context, value: Abstract) -> Abstract:
    """The value of a helper whose `return` is not its end. Even where the path is known, cuTile Python has it from a
    loop's `break`: that is a use of it, and a product with two uses is not contracted."""
    leaves: list[Leaf] = []
    escaped = _escape(ctx, value, None, leaves)
    if not leaves:
        return value
    condition = constant(ctx, True, dtypes.BOOL, ())
    ends = tuple(Block((), Terminator(End.YIELD, tuple(side_value(ctx, x, 0) for x in leaves))) for _ in range(2))
    ctx.builder.append(If(condition, ends[0], ends[1], tuple(x.result for x in leaves), ctx.span))
    return escaped


def _name_results(ctx: Context, value: Abstract, name: str) -> None:
    if isinstance(value, Tile):
        ctx.builder.name(value.value, name)


def _escape(ctx: Context, value: Abstract, before: Abstract | None, leaves: list[Leaf]) -> Abstract:
    """A value that leaves the one branch that goes on: its run-time parts become results."""
    if value == before:
        return value
    match value:
        case TupleOf() | Record() | DictOf():
            return rebuilt(value, [_escape(ctx, i, None, leaves) for i in parts(value)])
        case Tile():
            result = ctx.builder.fresh(value.value.type)
            leaves.append(Leaf(result, (value, value)))
            return Tile(result)
        case _:
            return value


def _both_end(
    ctx: Context,
    condition: Value,
    sides: tuple[list[Statement], list[Statement]],
    ends: tuple[Terminator, Terminator],
) -> Terminator:
    """Neither branch goes on: the second one's end moves behind the `if`, so that every block has one end."""
    first, second = ends
    results = tuple(ctx.builder.fresh(v.type) for v in second.values)
    alike = first.kind is second.kind
    then_end = Terminator(End.YIELD, first.values) if alike else first
    ctx.builder.append(
        If(
            condition,
            Block(tuple(sides[0]), then_end),
            Block(tuple(sides[1]), Terminator(End.YIELD, second.values)),
            results,
            ctx.span,
        )
    )
    return Terminator(second.kind, results)
