"""`cumsum`, `cumprod`, and `reduce` and `scan` with the author's own function.

A function that is one operation becomes a `reduce` or `scan` of that operation. Any other is applied to whole tiles,
pair by pair in a tree: the order of the elements is kept, and only how they are bracketed is ferrotile's choice, as
it is the compiler's in Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.frontends.cutile import combining
from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.combining import Combine, OwnFunction, own_function
from ferrotile.frontends.cutile.conversion import broadcast, broadcast_shape, materialise, operand, reshape, tile_of
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.modes import check_mode
from ferrotile.frontends.cutile.reductions import arithmetic_tile, kept, reduce_axis
from ferrotile.frontends.cutile.shapes import normalised
from ferrotile.frontends.cutile.values import Abstract, Const, Tile, TupleOf
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, Size, TileType


def _running(name: str, function: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        mode = args.mode()
        value = arithmetic_tile(ctx, args)
        kind = tile_of(value)
        if mode.rounding is not None or mode.ftz:
            check_mode(args, name, kind.dtype)
        axis = normalised(args, "axis", args.integer("axis") if args.has("axis") else 0, kind.rank)
        rounding = None if mode.rounding == "nearest_even" else mode.rounding
        reverse = args.flag("reverse") or None
        result = ctx.emit(
            "scan", (value,), kind, axis=axis, function=function, reverse=reverse, rounding=rounding, ftz=mode.ftz
        )
        return Tile(result)

    return Spec("x axis? * reverse? rounding_mode? flush_to_zero?", handler)


def _operands(ctx: Context, args: Arguments) -> tuple[Value, ...]:
    """The tiles of `x`, broadcast to one shape."""
    values = [materialise(ctx, operand(ctx, item, "operand of a reduction")) for item in args.items("x")]
    if not values:
        raise args.refused("x", "FT205", f"`{args.name}` needs at least one tile")
    shape: Shape = ()
    for value in values:
        shape = broadcast_shape(ctx, shape, tile_of(value).shape)
    return tuple(broadcast(ctx, v, shape) for v in values)


def _identities(ctx: Context, args: Arguments, count: int) -> tuple[int | float | bool, ...]:
    items = args.items("identity")
    if len(items) != count:
        raise args.refused("identity", "FT205", f"{len(items)} identities for {count} tiles")
    found = []
    for item in items:
        if not isinstance(item, Const) or not isinstance(item.value, (bool, int, float)):
            raise args.refused("identity", "FT205", "the identity must be a constant number")
        ctx.pin(item.symbol)
        found.append(item.value)
    return tuple(found)


def _check_identity(args: Arguments, combine: Combine, identity: float, kind: TileType) -> None:
    wanted = combining.neutral(combine.function, kind.dtype)
    same = math.isclose(identity, wanted, rel_tol=0.0) or (combine.function == "and" and identity in (-1, True))
    if not same:
        why = f"{identity!r} is not the neutral element of the function: pass {wanted!r}"
        raise args.refused("identity", "FT203", why)


def _reduce(ctx: Context, args: Arguments) -> Abstract:
    values = _operands(ctx, args)
    identities = _identities(ctx, args, len(values))
    kind = tile_of(values[0])
    axis = normalised(args, "axis", args.integer("axis"), kind.rank)
    several = isinstance(args.get("x"), TupleOf)
    function = own_function(ctx, args, values, several)
    combine = function.simple
    if combine is not None:
        _check_identity(args, combine, identities[0], kind)
        results: tuple[Value, ...] = (reduce_axis(ctx, values[0], axis, combine.function, **combine.modes),)
    else:
        _say_how_bracketed(ctx, args, function)
        results = _reduce_pairs(ctx, values, axis, function.apply)
    if args.flag("keepdims"):
        results = tuple(reshape(ctx, r, kept(kind.shape, [axis])) for r in results)
    return TupleOf(tuple(map(Tile, results))) if several else Tile(results[0])


def _scan(ctx: Context, args: Arguments) -> Abstract:
    values = _operands(ctx, args)
    identities = _identities(ctx, args, len(values))
    kind = tile_of(values[0])
    axis = normalised(args, "axis", args.integer("axis"), kind.rank)
    several = isinstance(args.get("x"), TupleOf)
    reverse = args.flag("reverse")
    function = own_function(ctx, args, values, several)
    combine = function.simple
    if combine is not None:
        _check_identity(args, combine, identities[0], kind)
        scanned = ctx.emit(
            "scan", values, kind, axis=axis, function=combine.function, reverse=reverse or None, **combine.modes
        )
        results: tuple[Value, ...] = (scanned,)
    else:
        _say_how_bracketed(ctx, args, function)
        results = _scan_pairs(ctx, values, axis, reverse, function.apply)
    return TupleOf(tuple(map(Tile, results))) if several else Tile(results[0])


def _say_how_bracketed(ctx: Context, args: Arguments, function: OwnFunction) -> None:
    if function.rounds:
        text = (
            f"the function of this `{args.name}` rounds, and cutile 0.5 has no `{args.name}` for it: the elements are "
            "combined in pairs, so the last bits may differ from the original's"
        )
        ctx.diagnostics.append(diagnostic("FT408", text, ctx.span))


Apply = Callable[[tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]]


def _part(ctx: Context, value: Value, axis: int, index: int, size: int) -> Value:
    """The part `index` of `size` elements along the axis."""
    kind = tile_of(value)
    at = tuple(materialise(ctx, Const(index if d == axis else 0)) for d in range(kind.rank))
    shape = (*kind.shape[:axis], Size(size), *kind.shape[axis + 1 :])
    ctx.pin(kind.shape[axis].symbol)
    return ctx.emit("extract", (value, *at), TileType(kind.dtype, shape))


def _split(ctx: Context, value: Value, axis: int, inner: int) -> Value:
    """The axis as two, the inner one of `inner` elements."""
    shape = tile_of(value).shape
    ctx.pin(shape[axis].symbol)
    outer = Size(shape[axis].value // inner)
    return reshape(ctx, value, (*shape[:axis], outer, Size(inner), *shape[axis + 1 :]))


def _reduce_pairs(ctx: Context, values: tuple[Value, ...], axis: int, apply: Apply) -> tuple[Value, ...]:
    count = tile_of(values[0]).shape[axis].value
    while count > 1:
        count //= 2
        sides = []
        for side in (0, 1):
            parts = (_part(ctx, _split(ctx, v, axis, 2), axis + 1, side, 1) for v in values)
            sides.append(tuple(_drop(ctx, p, axis + 1) for p in parts))
        values = apply(sides[0], sides[1])
    return tuple(_drop(ctx, v, axis) for v in values)


def _drop(ctx: Context, value: Value, axis: int) -> Value:
    shape = tile_of(value).shape
    return reshape(ctx, value, shape[:axis] + shape[axis + 1 :])


def _scan_pairs(ctx: Context, values: tuple[Value, ...], axis: int, reverse: bool, apply: Apply) -> tuple[Value, ...]:
    """Runs of 1, 2, 4, .. elements: the second half of each run is combined with the first half's last."""
    shape = tile_of(values[0]).shape
    count = shape[axis].value
    length = 1
    inner = axis + 1
    while length < count:
        runs = [_split(ctx, v, axis, 2 * length) for v in values]
        halves = [tuple(_part(ctx, r, inner, side, length) for r in runs) for side in (0, 1)]
        done, open_ = (halves[1], halves[0]) if reverse else (halves[0], halves[1])
        at = 0 if reverse else length - 1
        last = tuple(broadcast(ctx, _part(ctx, v, inner, at, 1), tile_of(v).shape) for v in done)
        combined = apply(last, open_)
        joined = zip(combined, done, strict=True) if reverse else zip(done, combined, strict=True)
        values = tuple(reshape(ctx, _cat(ctx, a, b, inner), shape) for a, b in joined)
        length *= 2
    return values


def _cat(ctx: Context, a: Value, b: Value, axis: int) -> Value:
    kind = tile_of(a)
    shape = (*kind.shape[:axis], Size(2 * kind.shape[axis].value), *kind.shape[axis + 1 :])
    return ctx.emit("cat", (a, b), TileType(kind.dtype, shape), axis=axis)


FUNCTIONS = {
    "cumsum": _running("cumsum", "sum"),
    "cumprod": _running("cumprod", "prod"),
    "reduce": Spec("x axis func identity * keepdims?", _reduce),
    "scan": Spec("x axis func identity * reverse?", _scan),
}
