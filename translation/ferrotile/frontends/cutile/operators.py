"""Operators on any abstract values: numbers and tiles compute, tuples, strings and types compare at once."""

from __future__ import annotations

import ast

from ferrotile.frontends.cutile import arithmetic, branches, matrix
from ferrotile.frontends.cutile.conversion import operand
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import Abstract, Const, DTypeOf, Global, TupleOf, describe

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
        case Const(value=str() as a), Const(value=str() as b) if symbol == "+":
            return Const(a + b)
    a_, b_ = (operand(ctx, v, f"operand of `{symbol}`") for v in (left, right))
    if symbol == "@":
        return matrix.matmul(ctx, a_, b_)
    return arithmetic.binary(ctx, symbol, a_, b_)


def compare_two(ctx: Context, op: ast.cmpop, left: Abstract, right: Abstract) -> Abstract:
    """One comparison of a chain, including `is` and `in`."""
    match op:
        case ast.Is() | ast.IsNot():
            if Const(None) not in (left, right):
                raise ctx.refused("FT203", "`is` needs `None` on one side")
            return Const((left == right) is isinstance(op, ast.Is))
        case ast.In() | ast.NotIn():
            if not isinstance(right, TupleOf):
                raise ctx.refused("FT203", f"`in` needs a tuple, not {describe(right)}")
            found: Abstract = Const(False)
            for item in right.items:
                found = _either(ctx, found, compare_two(ctx, ast.Eq(), left, item))
            if isinstance(op, ast.In):
                return found
            return arithmetic.logical_not(ctx, operand(ctx, found))
    symbol = _COMPARE[type(op)]
    match left, right:
        case Const(value=str() | None), _:
            return _static_compare(ctx, symbol, left, right)
        case _, Const(value=str() | None):
            return _static_compare(ctx, symbol, left, right)
        case (DTypeOf() | Global(), _) | (_, DTypeOf() | Global()):
            return _static_compare(ctx, symbol, left, right)
        case TupleOf(items=a), TupleOf(items=b) if symbol in ("==", "!="):
            plain = [isinstance(i, (Const, DTypeOf)) for i in (*a, *b)]
            if all(plain):
                values = [[i.value if isinstance(i, Const) else i for i in side] for side in (a, b)]
                ctx.pin(*(i.symbol for i in (*a, *b) if isinstance(i, Const)))
                return Const((values[0] == values[1]) is (symbol == "=="))
    return arithmetic.binary(ctx, symbol, operand(ctx, left), operand(ctx, right))


def _either(ctx: Context, a: Abstract, b: Abstract) -> Abstract:
    return branches.choose(ctx, a, lambda: a, lambda: b)


def _static_compare(ctx: Context, symbol: str, a: Abstract, b: Abstract) -> Abstract:
    if symbol not in ("==", "!="):
        raise ctx.refused("FT203", f"`{symbol}` of {describe(a)} and {describe(b)}")
    return Const((a == b) is (symbol == "=="))
