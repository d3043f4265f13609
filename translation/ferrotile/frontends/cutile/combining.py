"""The author's function of a `reduce` or `scan`: called on scalars to learn what it is, and on tiles to apply it."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct, field

from ferrotile.frontends.cutile.arguments import Arguments, Call
from ferrotile.frontends.cutile.conversion import broadcast, implicit_cast, operand, tile_of
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.literals import bounds
from ferrotile.frontends.cutile.values import Abstract, Tile, TupleOf, describe
from ferrotile.program.dtypes import DType, Kind
from ferrotile.program.ir import Attribute, Operation, Statement, Value
from ferrotile.program.operations import OPERATIONS, Effect
from ferrotile.program.types import TileType

_FUNCTIONS = {
    "addi": "sum", "addf": "sum", "muli": "prod", "mulf": "prod", "mini": "min", "minf": "min", "maxi": "max",
    "maxf": "max", "andi": "and", "ori": "or", "xori": "xor",
}  # fmt: skip

_EXACT = frozenset({"absf", "bitcast", "broadcast", "constant", "maxf", "minf", "negf", "reshape", "select"})
"""Operations that only move, choose or sign floats."""


class Combine(Struct, frozen=True):
    """A function that is one operation."""

    function: str
    modes: dict[str, Attribute] = field(default_factory=dict)


class OwnFunction(Struct, frozen=True):
    """`simple` where the function is one operation; `apply` combines two tiles (or two groups of them). `rounds`: it
    computes with floats, so that another bracketing of the elements may give other last bits."""

    simple: Combine | None
    rounds: bool
    apply: Callable[[tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]]


def neutral(function: str, dtype: DType) -> int | float | bool:
    """The neutral element."""
    match function:
        case "sum" | "or" | "xor":
            return 0
        case "prod":
            return 1
        case "and":
            return -1 if dtype.kind is Kind.SIGNED else bounds(dtype)[1]
    if dtype.is_float:
        return math.inf if function == "min" else -math.inf
    return bounds(dtype)[function == "min"]


def own_function(ctx: Context, args: Arguments, values: tuple[Value, ...], several: bool) -> OwnFunction:
    """Calls the argument `func` once on scalars, to check it and to see what it does."""
    function = args.get("func")
    what = f"the function of `{args.name}`"

    def call(lhs: tuple[Value, ...], rhs: tuple[Value, ...]) -> tuple[Value, ...]:
        found = _call(ctx, args, function, tuple(map(Tile, (*lhs, *rhs))))
        results = found.items if isinstance(found, TupleOf) and several else (found,)
        if len(results) != len(lhs) or (several and not isinstance(found, TupleOf)):
            raise args.refused("func", "FT203", f"{what} returns {describe(found)}, not {len(lhs)} values")
        made = []
        for result, like in zip(results, lhs, strict=True):
            kind = tile_of(like)
            value = implicit_cast(ctx, operand(ctx, result, f"result of {what}"), kind.dtype, what)
            if tile_of(value).rank > kind.rank:
                raise args.refused("func", "FT204", f"{what} returns a tile, not a scalar")
            made.append(broadcast(ctx, value, kind.shape))
        return tuple(made)

    trial: list[Statement] = []
    with ctx.builder.block(trial):
        scalars = [tuple(ctx.builder.fresh(TileType(tile_of(v).dtype)) for v in values) for _ in range(2)]
        results = call(scalars[0], scalars[1])
    for statement in trial:
        if not isinstance(statement, Operation) or OPERATIONS[statement.opcode].effect is not Effect.PURE:
            raise args.refused("func", "FT201", f"{what} may not branch, loop or touch memory")
        if statement.opcode in ("reduce", "scan"):
            raise args.refused("func", "FT201", f"{what} may not reduce or scan itself")
    rounds = any(isinstance(o, Operation) and o.opcode not in _EXACT and _is_float(o) for o in trial)
    return OwnFunction(_simple(trial, scalars, results), rounds, call)


def _is_float(operation: Operation) -> bool:
    return any(isinstance(r.type, TileType) and r.type.dtype.is_float for r in operation.results)


def _simple(trial: list[Statement], scalars: list[tuple[Value, ...]], results: tuple[Value, ...]) -> Combine | None:
    if len(trial) != 1 or len(results) != 1:
        return None
    (operation,) = trial
    assert isinstance(operation, Operation)
    wanted = {scalars[0][0].id, scalars[1][0].id}
    if operation.opcode not in _FUNCTIONS or {v.id for v in operation.operands} != wanted:
        return None
    if operation.result.id != results[0].id:
        return None
    return Combine(_FUNCTIONS[operation.opcode], dict(operation.attributes))


def _call(ctx: Context, args: Arguments, function: Abstract, arguments: tuple[Abstract, ...]) -> Abstract:
    from ferrotile.frontends.cutile.calls import call

    span = args.spans.get("func", ctx.span)
    return call(ctx, function, Call("func", arguments, {}, (span,) * len(arguments), {}))
