"""Comparisons and truth of abstract host values: known, or unknown under a key that tells equal questions."""

from __future__ import annotations

import ast

from ferrotile.program.dtypes import BOOL, DType
from ferrotile.signatures.values import (
    UNKNOWN,
    Class,
    ElementType,
    FloatValue,
    Function,
    Global,
    Instance,
    Int,
    Known,
    Method,
    Partial,
    Ratio,
    Sequence,
    Shape,
    Table,
    Tensor,
    Unknown,
    Value,
)


def compare(op: ast.cmpop, left: Value, right: Value) -> Value:
    """A comparison: known, or an unknown bool that is the same wherever the same values are compared."""
    match op, left, right:
        case ast.Is(), Unknown() | Global() | Method(), Known(value=None):
            return Unknown(_key(op, left, right), "bool")
        case ast.IsNot(), Unknown() | Global() | Method(), Known(value=None):
            return Unknown(_key(ast.Is(), left, right, "not "), "bool", True)
        case ast.Is(), _, Known(value=None):
            return Known(left == right)
        case ast.IsNot(), _, Known(value=None):
            return Known(left != right)
        case ((ast.Eq() | ast.NotEq()), ElementType(dtype=DType() as a), ElementType(dtype=DType() as b)):
            return Known((a.name == b.name) is isinstance(op, ast.Eq))
        case _, Tensor(), Int() | FloatValue() | Known() | Ratio():
            return Tensor(BOOL, left.rank, left.dims)
        case _, Tensor(), _:
            return Tensor(BOOL)
        case ((ast.In() | ast.NotIn()), _, Sequence(items=items)):
            return _contained(op, left, items)
        case ((ast.In() | ast.NotIn()), _, Table(items=keys, stored=None)) if not keys:
            return Known(isinstance(op, ast.NotIn))
        case ((ast.In() | ast.NotIn()), (Known(value=key) | Int(value=int() as key)), Table(items=keys, stored=None)):
            return Known((key in keys) is isinstance(op, ast.In))
        case _, Known(value=str() | None as a), Known(value=str() | None as b):
            return _ordered(op, a == b, None)
        case _, Known() | Int(value=int()) | Ratio(), Known() | Int(value=int()) | Ratio():
            return _numbers(op, left, right)
        case _, Int(), Int():
            first, second = left.likely, right.likely
            likely: Value = UNKNOWN
            if first is not None and second is not None:
                likely = _ordered(op, first == second, first < second)
            return Unknown(_key(op, left, right), "bool", truth(likely))
        case ast.NotEq(), _, _:
            return Unknown(_key(ast.Eq(), left, right, "not "), "bool")
        case _:
            return Unknown(_key(op, left, right), "bool")


def _numbers(op: ast.cmpop, left: Value, right: Value) -> Value:
    a, b = _exact(left), _exact(right)
    return UNKNOWN if a is None or b is None else _ordered(op, a == b, a < b)


def _exact(value: Value) -> int | float | None:
    match value:
        case Known(value=bool() | float() as number) | Int(value=int() as number):
            return number
        case _:
            return number_of(value)


def _contained(op: ast.cmpop, left: Value, items: tuple[Value, ...]) -> Value:
    found = [truth(compare(ast.Eq(), left, i)) for i in items]
    if True in found:
        return Known(isinstance(op, ast.In))
    return UNKNOWN if None in found else Known(isinstance(op, ast.NotIn))


def _key(op: ast.cmpop, left: Value, right: Value, prefix: str = "") -> str | None:
    sides = [_name(left), _name(right)]
    return None if None in sides else f"{prefix}{type(op).__name__}({sides[0]}, {sides[1]})"


def _name(value: Value) -> str | None:
    match value:
        case Unknown(ident=ident) | Int(ident=str(ident)):
            return ident
        case Int(value=int(number), derived=False):
            return str(number)
        case Known(value=known):
            return repr(known)
        case Global(dotted=dotted):
            return dotted
        case _:
            return None


def _ordered(op: ast.cmpop, equal: bool, less: bool | None) -> Value:
    match op:
        case ast.Eq():
            return Known(equal)
        case ast.NotEq():
            return Known(not equal)
        case ast.Lt() if less is not None:
            return Known(less)
        case ast.LtE() if less is not None:
            return Known(less or equal)
        case ast.Gt() if less is not None:
            return Known(not less and not equal)
        case ast.GtE() if less is not None:
            return Known(not less)
        case _:
            return UNKNOWN


def truth(value: Value) -> bool | None:
    """What `bool(value)` is, where that is known."""
    match value:
        case Known(value=known):
            return bool(known)
        case Int(value=int(number)):
            return number != 0
        case Sequence(items=items):
            return bool(items)
        case Table(items=keys, stored=None):
            return bool(keys)
        case Function() | Partial() | Class() | Instance() | ElementType() | Shape():
            return True
        case _:
            return None


def number_of(value: Value) -> float | None:
    """A number that is known, as a float."""
    match value:
        case Known(value=float(number)):
            return number
        case Int(value=int(number)):
            return float(number)
        case Ratio(top=Int(value=int(a)), bottom=Int(value=int(b))) if b:
            return a / b
        case _:
            return None
