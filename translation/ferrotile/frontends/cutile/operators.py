"""Operators on any abstract values: numbers and tiles compute, tuples, strings and types compare at once."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ferrotile.frontends.cutile import arithmetic, matrix, records, strings
from ferrotile.frontends.cutile.conversion import Operand, operand, own_dtype
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import (
    Abstract,
    ClassOf,
    Const,
    DictOf,
    DTypeOf,
    Formatted,
    Function,
    Global,
    Member,
    Poison,
    Record,
    Tile,
    TupleOf,
    Unusable,
    describe,
)

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.MatMult: "@",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
UNARY = {
    ast.USub: arithmetic.negative,
    ast.UAdd: arithmetic.positive,
    ast.Invert: arithmetic.invert,
    ast.Not: arithmetic.logical_not,
}


def operate(ctx: Context, symbol: str, left: Abstract, right: Abstract) -> Abstract:
    """A binary operator on any values: tuples and strings join, numbers and tiles compute."""
    match left, right:
        case TupleOf(items=a), TupleOf(items=b) if symbol == "+":
            return TupleOf(a + b)
        case (Const(value=str()) | Formatted(), Const(value=str()) | Formatted()) if symbol == "+":
            return strings.joined([*_pieces(left), *_pieces(right)])
        case (Record(), _) | (_, Record()):
            return records.operate_records(ctx, symbol, left, right)
    a_, b_ = (operand(ctx, v, f"operand of `{symbol}`") for v in (left, right))
    if symbol == "@":
        return matrix.matmul(ctx, a_, b_)
    found = arithmetic.binary(ctx, symbol, a_, b_)
    if isinstance(found, Const) and isinstance(found.value, int):
        own_dtype(ctx, found)
    return found


def _pieces(value: Abstract) -> list[strings.Piece]:
    return strings.pieces_of(value) or []


def unary(ctx: Context, op: ast.unaryop, value: Abstract) -> Abstract:
    """`-`, `+`, `~`, `not` of a number or a tile."""
    return UNARY[type(op)](ctx, operand(ctx, value, "operand"))


def compare_two(ctx: Context, op: ast.cmpop, left: Abstract, right: Abstract) -> Abstract:
    """One comparison of a chain, including `is` and `in`."""
    match op:
        case ast.Is() | ast.IsNot():
            if Const(None) not in (left, right):
                raise ctx.refused("FT203", "`is` needs `None` on one side")
            return Const((left == right) is isinstance(op, ast.Is))
        case ast.In() | ast.NotIn():
            found = _contained(ctx, left, right)
            return found if isinstance(op, ast.In) else arithmetic.logical_not(ctx, found)
    symbol = _COMPARE[type(op)]
    match left, right:
        case (Record(), _):
            return records.compare_records(ctx, symbol, left, right)
        case Const(value=str() as a), Const(value=str() as b):
            return Const(_ON_STRINGS[symbol](a, b))
        case TupleOf(items=a_), TupleOf(items=b_):
            return _compare_tuples(ctx, symbol, a_, b_)
        case (
            (DTypeOf(), DTypeOf())
            | (Global(), Global())
            | (Function(), Function())
            | (Member(), Member())
            | (ClassOf(), ClassOf())
        ) if symbol in ("==", "!="):
            return Const((left == right) is (symbol == "=="))
    if not _is_number(left) or not _is_number(right):
        raise ctx.refused("FT203", f"`{symbol}` of {describe(left)} and {describe(right)}")
    return arithmetic.binary(ctx, symbol, operand(ctx, left), operand(ctx, right))


_ON_STRINGS: dict[str, Callable[[str, str], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _is_number(value: Abstract) -> bool:
    if isinstance(value, (Unusable, Poison)):
        return True
    return isinstance(value, Tile) or (isinstance(value, Const) and isinstance(value.value, (bool, int, float)))


def _contained(ctx: Context, value: Abstract, container: Abstract) -> Operand:
    """`value in container`: the comparisons with the items, joined by `|`; a match known at once decides."""
    if isinstance(container, DictOf):
        if not isinstance(value, Const) or not isinstance(value.value, str):
            raise ctx.refused("FT203", f"a key must be a string, not {describe(value)}")
        return Const(value.value in dict(container.items))
    if not isinstance(container, TupleOf):
        raise ctx.refused("FT203", f"`in` needs a tuple, not {describe(container)}")
    found: Operand | None = None
    for item in container.items:
        one = operand(ctx, compare_two(ctx, ast.Eq(), value, item))
        if isinstance(one, Tile) and one.type.rank:
            raise ctx.refused("FT203", f"`in` needs scalars, not {describe(value)} and {describe(item)}")
        if isinstance(one, Const) and one.value:
            return one
        found = one if found is None else operand(ctx, arithmetic.binary(ctx, "|", found, one))
    return Const(False) if found is None else found


def _compare_tuples(ctx: Context, symbol: str, left: tuple[Abstract, ...], right: tuple[Abstract, ...]) -> Abstract:
    if symbol not in ("==", "!="):
        raise ctx.refused("FT203", f"`{symbol}` is not supported for tuples")
    if all(map(_constant, (*left, *right))):
        return Const((_plain(ctx, left) == _plain(ctx, right)) is (symbol == "=="))
    if len(left) != len(right):
        return Const(symbol == "!=")
    for item in (*left, *right):
        if isinstance(item, Tile) and item.type.rank:
            raise ctx.refused("FT203", "tuples of tiles cannot be compared")
        if not isinstance(item, (TupleOf, DTypeOf)) and not (_is_number(item) or isinstance(item, Const)):
            raise ctx.refused("FT203", f"tuples that hold {describe(item)} cannot be compared")
    found: Operand = Const(True)
    for a, b in zip(left, right, strict=True):
        found = operand(ctx, arithmetic.binary(ctx, "&", found, operand(ctx, compare_two(ctx, ast.Eq(), a, b))))
    return found if symbol == "==" else arithmetic.logical_not(ctx, found)


def _constant(value: Abstract) -> bool:
    if isinstance(value, TupleOf):
        return all(map(_constant, value.items))
    return isinstance(value, (Const, DTypeOf, Global, Function, Member))


def _plain(ctx: Context, items: tuple[Abstract, ...]) -> tuple[object, ...]:
    return tuple(
        _plain(ctx, i.items) if isinstance(i, TupleOf) else ctx.literal(i) if isinstance(i, Const) else i for i in items
    )
