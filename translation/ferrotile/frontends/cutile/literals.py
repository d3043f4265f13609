"""Typing of constants: ranges, rounding, default types, and folding with Python's own rules."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable

from msgspec import Struct

from ferrotile.program import dtypes
from ferrotile.program.dtypes import DType, Kind

Number = int | float | bool

_FOLDS: dict[str, Callable[[Number, Number], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "min": min,
    "max": max,
    "cdiv": lambda a, b: -(-a // b),
    "atan2": math.atan2,
}
_LARGEST = 4096
"""Largest exponent or shift that is folded: beyond it a constant could take all memory."""


def fold(symbol: str, a: Number, b: Number) -> Number | None:
    """`a symbol b` in Python's arithmetic; None where Python raises or gives no number."""
    if symbol in ("**", "<<") and (abs(b) > _LARGEST or abs(a) > 1 << _LARGEST):
        return None
    try:
        result = _FOLDS[symbol](a, b)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return result if isinstance(result, (int, float)) else None


_UNARY_FOLDS: dict[str, Callable[[Number], object]] = {
    "exp": math.exp,
    "exp2": lambda x: 2**x,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: x**-0.5,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "floor": math.floor,
    "ceil": math.ceil,
    "negative": operator.neg,
    "abs": abs,
    "isnan": math.isnan,
}


def fold_unary(name: str, value: Number) -> Number | None:
    """A function of a constant by Python's `math`; None where that raises or gives no number."""
    if name == "exp2" and abs(value) > _LARGEST:
        return None
    try:
        result = _UNARY_FOLDS[name](value)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return result if isinstance(result, (int, float)) else None


def bounds(dtype: DType) -> tuple[int, int]:
    """Smallest and largest value of an integer type or bool."""
    match dtype.kind:
        case Kind.SIGNED:
            return -(1 << dtype.bits - 1), (1 << dtype.bits - 1) - 1
        case Kind.BOOL:
            return 0, 1
        case _:
            return 0, (1 << dtype.bits) - 1


def fits(value: int, dtype: DType) -> bool:
    low, high = bounds(dtype)
    return low <= value <= high


def default_dtype(value: Number) -> DType | None:
    """The type of a loose constant that has to become concrete; None for an integer beyond 64 bits."""
    if isinstance(value, bool):
        return dtypes.BOOL
    if isinstance(value, float):
        return dtypes.F32
    if -(1 << 31) <= value < 1 << 31:
        return dtypes.I32
    return next((d for d in (dtypes.I64, dtypes.U64) if fits(value, d)), None)


class Format(Struct, frozen=True):
    """A small float format: exponents of the normal numbers, bits after the point, and what is beyond the largest."""

    lowest: int
    highest: int
    precision: int
    infinite: bool = True
    """Whether it has infinities; without them nothing beyond the largest number can be represented."""


FORMATS = {
    "f16": Format(-14, 15, 10),
    "bf16": Format(-126, 127, 7),
    "tf32": Format(-126, 127, 10),
    "f8e4m3fn": Format(-6, 8, 3, False),
    "f8e5m2": Format(-14, 15, 2),
    "f4e2m1fn": Format(0, 2, 1, False),
}


def round_to(value: float, form: Format) -> float:
    """The nearest number of the format, ties to even; infinity beyond the largest, also where the format has none."""
    if value == 0.0 or not math.isfinite(value):
        return value
    exponent = max(math.frexp(value)[1] - 1, form.lowest)
    step = math.ldexp(1.0, exponent - form.precision)
    rounded = round(value / step) * step
    return rounded if abs(rounded) <= largest(form) else math.copysign(math.inf, value)


def largest(form: Format) -> float:
    """The largest finite number. Formats without infinities give up only the last one, for NaN, except f4."""
    spare = 1 if form.infinite or form.precision == 1 else 2
    return (2.0 - spare * math.ldexp(1.0, -form.precision)) * math.ldexp(1.0, form.highest)


def round_f32(value: float) -> float:
    if not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def canonical_float(value: float, dtype: DType) -> float:
    """The number of the type that is nearest. e8m0 has powers of two alone: ties go up, as they do there. What a type
    variable stands for rounds again when it is known."""
    match "f32" if dtype.variable is not None else dtype.name:
        case "f64":
            return value
        case "f32":
            return round_f32(value)
        case "f8e8m0fnu":
            if value == 0.0:
                return math.ldexp(1.0, -127)
            if not math.isfinite(value):
                return math.nan
            fraction, exponent = math.frexp(value)
            power = exponent - 1 + (fraction >= 0.75)
            return math.ldexp(1.0, max(power, -127)) if power <= 127 else math.nan
        case name:
            return round_to(value, FORMATS[name])


def wrap(value: int, dtype: DType) -> int:
    """The low bits of an integer, read with the type's sign."""
    low = value & (1 << dtype.bits) - 1
    return low - (1 << dtype.bits) if dtype.kind is Kind.SIGNED and low >> dtype.bits - 1 else low


def cast(value: Number, source: DType | None, dtype: DType) -> Number | None:
    """A constant converted to a type when the kernel is compiled; None where Python's own conversion fails. Loose
    constants (`source` None) are f32 first if they are floats."""
    if source is None and isinstance(value, float):
        value = round_f32(value)
    try:
        if dtype.kind is Kind.BOOL:
            return bool(value)
        if dtype.is_integer:
            return wrap(int(value), dtype)
        return canonical_float(float(value), dtype)
    except (OverflowError, ValueError):
        return None
