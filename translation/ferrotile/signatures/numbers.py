"""Arithmetic on abstract host values. Grids keep their form: products of `ceil(extent / tile)`."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from contextlib import suppress

from ferrotile.program.dtypes import DType
from ferrotile.signatures.comparisons import number_of, truth
from ferrotile.signatures.tensors import Arguments, identity
from ferrotile.signatures.values import (
    UNKNOWN,
    FloatValue,
    Int,
    Known,
    Ratio,
    Sequence,
    Tensor,
    Term,
    Unknown,
    Value,
)

_LIMIT = 1 << 62
_REAL: Mapping[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "log2": math.log2, "log": math.log, "log10": math.log10, "exp": math.exp, "exp2": math.exp2,
    "rsqrt": lambda number: 1.0 / math.sqrt(number), "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
}  # fmt: skip
_WHOLE: Mapping[str, Callable[[float], int]] = {"ceil": math.ceil, "floor": math.floor, "int": int, "round": round}


def ceil_div(top: Value, bottom: Value) -> Int:
    """`ceil(top / bottom)`, with its form where `top` is one extent and `bottom` one tile."""
    if not isinstance(top, Int) or not isinstance(bottom, Int):
        return Int()
    value = None
    guess = None
    if top.value is not None and bottom.value:
        value = -(-top.value // bottom.value)
    elif top.likely is not None and bottom.likely:
        guess = -(-top.likely // bottom.likely)
    if bottom.value == 1:
        return top
    if top.is_literal and bottom.is_literal:
        terms = (Term(f"#{top.value}", bottom.value),) if top.value and bottom.value and bottom.value > 0 else None
        return Int(value, None, terms, guess=guess)
    if top.ident is None and top.terms:
        top = Int(top.value, identity(top), guess=top.guess)
    extent: str | int | None = top.ident if top.ident is not None or top.derived else top.value
    tile: str | int | None = bottom.ident if bottom.ident is not None or bottom.derived else bottom.value
    if extent is None or not tile or top.terms is not None:
        return Int(value, derived=True, guess=guess)
    return Int(value, None, (Term(extent, tile),), guess=guess)


def round_up(node: ast.expr, evaluate: Callable[[ast.expr], Value]) -> Value | None:
    """Ceiling division without a call: `(a + b - 1) // b`, `(a + (b - 1)) // b`, `(a + 63) // 64`, `-(-a // b)`."""
    match node:
        case ast.UnaryOp(
            op=ast.USub(),
            operand=ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=top), op=ast.FloorDiv(), right=bottom),
        ):
            return ceil_div(evaluate(top), evaluate(bottom))
        case ast.BinOp(
            left=ast.BinOp(
                left=ast.BinOp(left=top, op=ast.Add(), right=again), op=ast.Sub(), right=ast.Constant(value=1)
            ),
            op=ast.FloorDiv(),
            right=bottom,
        ) if ast.dump(again) == ast.dump(bottom):
            return ceil_div(evaluate(top), evaluate(bottom))
        case ast.BinOp(
            left=ast.BinOp(
                left=top,
                op=ast.Add(),
                right=ast.BinOp(left=again, op=ast.Sub(), right=ast.Constant(value=1)),
            ),
            op=ast.FloorDiv(),
            right=bottom,
        ) if ast.dump(again) == ast.dump(bottom):
            return ceil_div(evaluate(top), evaluate(bottom))
        case ast.BinOp(
            left=ast.BinOp(left=top, op=ast.Add(), right=ast.Constant(value=int(less))), op=ast.FloorDiv(), right=bottom
        ):
            found = evaluate(bottom)
            return ceil_div(evaluate(top), found) if isinstance(found, Int) and found.value == less + 1 else None
        case _:
            return None


def binary(op: ast.operator, left: Value, right: Value) -> Value:
    match left, right:
        case Tensor(), Tensor():
            if isinstance(op, ast.MatMult):
                return _matmul(left, right)
            return _elementwise(op, left, right)
        case Tensor(), _:
            return _with_scalar(op, left, right)
        case _, Tensor():
            return _with_scalar(op, right, left)
        case Int(), Int():
            return _integers(op, left, right)
        case (Known(value=float()) | FloatValue() | Ratio(), _) | (
            _,
            Known(value=float()) | FloatValue() | Ratio(),
        ):
            return _floats(op, left, right)
        case _:
            return UNKNOWN


def _elementwise(op: ast.operator, left: Tensor, right: Tensor) -> Tensor:
    """Two tensors, broadcast together; an extent that may be broadcast is not known."""
    dtype = _promoted(left.dtype, right.dtype)
    if isinstance(op, ast.Div) and dtype is not None and not dtype.is_float:
        dtype = None
    if left.rank is None or right.rank is None:
        return Tensor(dtype)
    long, short = (left, right) if left.rank >= right.rank else (right, left)
    rank, more = max(left.rank, right.rank), abs(left.rank - right.rank)
    dims: dict[int, Int] = {}
    for axis in range(rank):
        a, b = long.dims.get(axis), short.dims.get(axis - more)
        if axis < more or (b is not None and b.value == 1):
            found = a
        elif a is not None and a.value == 1:
            found = b
        else:
            same = a is not None and b is not None and a.ident is not None and a.ident == b.ident
            found = a if same else next((d for d in (a, b) if d is not None and (d.ident or "").startswith("#")), None)
        if found is not None:
            dims[axis] = found
    return Tensor(dtype, rank, dims)


def _promoted(left: DType | None, right: DType | None) -> DType | None:
    """The element type of torch and NumPy for two of one kind; None where they differ among each other."""
    if left == right or left is None or right is None:
        return left if left == right else None
    if left.is_float != right.is_float:
        return left if left.is_float else right
    if left.is_float and left.bits != right.bits:
        return left if left.bits > right.bits else right
    return None


def _with_scalar(op: ast.operator, tensor: Tensor, other: Value) -> Tensor:
    match other:
        case Int() | Known(value=bool()):
            real = isinstance(op, ast.Div)
        case Known(value=float()) | FloatValue() | Ratio():
            real = True
        case _:
            return Tensor()  # perhaps a tensor that is broadcast
    keeps = tensor.dtype is not None and (tensor.dtype.is_float or not real)
    return Tensor(tensor.dtype if keeps else None, tensor.rank, tensor.dims)


def _integers(op: ast.operator, left: Int, right: Int) -> Value:
    if isinstance(op, ast.Div):
        return Ratio(left, right)
    value = _compute(op, left.value, right.value)
    guess = _compute(op, left.likely, right.likely) if value is None else None
    derived = not (left.is_literal and right.is_literal)
    match op:
        case ast.Mult():
            first, second = left.as_terms(), right.as_terms()
            if first is None or second is None or not derived:
                return Int(value, derived=derived, guess=guess)
            return Int(value, None, (*first, *second), guess=guess)
        # `M // T` leaves out the tail that a launcher of `ceil(M / T)` blocks would write: there must be none.
        case ast.FloorDiv() if left.value and right.value and right.value > 0 and left.value % right.value == 0:
            found = ceil_div(left, right)
            terms = found.terms and tuple(Term(t.extent, t.tile, True) for t in found.terms)
            return Int(found.value, found.ident, terms, found.derived, found.guess)
        case _:
            ident = _same_when(type(op).__name__, left, right) if derived else None
            return Int(value, ident, derived=derived, guess=guess)


def _same_when(op: str, left: Int, right: Int) -> str | None:
    """The identity of a difference, a quotient, ...: the same for the same operation on the same integers."""
    sides = [i.ident or (f"#{i.value}" if i.is_literal and i.value is not None else None) for i in (left, right)]
    return None if None in sides else f"({op} {sides[0]} {sides[1]})"


def _compute(op: ast.operator, a: int | None, b: int | None) -> int | None:
    if a is None or b is None or abs(a) > _LIMIT or abs(b) > _LIMIT:
        return None
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case ast.FloorDiv() if b:
            return a // b
        case ast.Mod() if b:
            return a % b
        case ast.LShift() if 0 <= b < 63:
            return a << b
        case ast.RShift() if 0 <= b < 63:
            return a >> b
        case ast.Pow() if 0 <= b < 63 and abs(a) < 1 << 16:
            return int(a**b) if abs(a) <= 2 or b < 4 else None
        case ast.BitAnd():
            return a & b
        case ast.BitOr():
            return a | b
        case _:
            return None


def _floats(op: ast.operator, left: Value, right: Value) -> Value:
    a, b = number_of(left), number_of(right)
    if a is None or b is None:
        return FloatValue()
    try:
        match op:
            case ast.Add():
                return Known(a + b)
            case ast.Sub():
                return Known(a - b)
            case ast.Mult():
                return Known(a * b)
            case ast.Div() if b:
                return Known(a / b)
            case ast.Pow():
                return Known(math.pow(a, b))
            case _:
                return FloatValue()
    except (OverflowError, ValueError):
        return FloatValue()


def _matmul(left: Tensor, right: Tensor) -> Tensor:
    if left.rank == 2 and right.rank == 2 and 0 in left.dims and 1 in right.dims:
        return Tensor(left.dtype, 2, {0: left.dims[0], 1: right.dims[1]})
    return Tensor(left.dtype)


def unary(op: ast.unaryop, value: Value) -> Value:
    match op, value:
        case ast.USub(), Int():
            known, guess = value.value, value.guess
            derived = not value.is_literal
            return Int(None if known is None else -known, derived=derived, guess=None if guess is None else -guess)
        case ast.USub(), Known(value=float(number)):
            return Known(-number)
        case ast.Not(), _ if (certain := truth(value)) is not None:
            return Known(not certain)
        case ast.Not(), Unknown(ident=ident, likely=likely):
            return Unknown(ident and f"not {ident}", "bool", None if likely is None else not likely)
        case _, Tensor() | FloatValue():
            return value
        case _:
            return UNKNOWN


def method(owner: Value, name: str) -> Value:
    match owner, name:
        case Int(value=known, guess=guess), "bit_length":
            return Int(
                None if known is None else known.bit_length(),
                derived=not owner.is_literal,
                guess=None if guess is None else guess.bit_length(),
            )
        case _:
            return UNKNOWN


def call(dotted: str, arguments: Arguments) -> Value:
    """Functions of numbers: `ct.cdiv`, `math.ceil`, `min`, `next_power_of_2`, `float`, ..."""
    name = dotted.rpartition(".")[2]
    first, second = arguments.get(0), arguments.get(1)
    match name:
        case "cdiv" | "ceildiv" | "ceil_div" if first is not None and second is not None:
            return ceil_div(first, second)
        case "ceil" if isinstance(first, Ratio):
            return ceil_div(first.top, first.bottom)
        case "ceil" | "floor" | "int" | "round" if name != "round" or second is None:
            if isinstance(first, Int):
                return first
            if isinstance(first, Known) and isinstance(first.value, bool):
                return Int(int(first.value))
            if isinstance(first, Unknown) and first.kind == "bool" and name == "int":
                return Int(None, first.ident, guess=None if first.likely is None else int(first.likely))
            if isinstance(first, Unknown) and first.kind is None and name == "int":
                return Int(None, first.ident)
            number = None if first is None else number_of(first)
            if number is None or not math.isfinite(number):
                return Int()
            return Int(_WHOLE[name](number), derived=True)
        case "next_power_of_2" | "next_power_of_two":
            if not isinstance(first, Int):
                return Int()
            known, guess = first.value, first.guess
            return Int(
                None if known is None else 1 << max(known - 1, 0).bit_length(),
                derived=True,
                guess=None if guess is None else 1 << max(guess - 1, 0).bit_length(),
            )
        case "min" | "max":
            numbers = arguments.positional
            if len(numbers) == 1 and isinstance(numbers[0], Sequence):
                numbers = numbers[0].items
            whole = [a for a in numbers if isinstance(a, Int)]
            if not whole or len(whole) != len(numbers):
                return UNKNOWN
            pick = min if name == "min" else max
            known_values = [a.value for a in whole if a.value is not None]
            likely = [a.likely for a in whole if a.likely is not None]
            if len(known_values) == len(whole):
                return Int(pick(known_values), derived=not all(a.is_literal for a in whole))
            return Int(derived=True, guess=pick(likely) if len(likely) == len(whole) else None)
        case "float":
            number = None if first is None else number_of(first)
            return FloatValue() if number is None else Known(number)
        case _ if name in _REAL:
            number = None if first is None else number_of(first)
            with suppress(ArithmeticError, ValueError):
                return FloatValue() if number is None or second is not None else Known(_REAL[name](number))
            return FloatValue()
        case "bool":
            known_truth = None if first is None else truth(first)
            if known_truth is None and isinstance(first, Unknown):
                return Unknown(first.ident, "bool", first.likely)
            return UNKNOWN if known_truth is None else Known(known_truth)
        case _:
            return UNKNOWN
