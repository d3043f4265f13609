"""Typing of constants: ranges, rounding, default types, and folding with Python's own rules."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable

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
    return next((d for d in (dtypes.I32, dtypes.I64, dtypes.U64) if fits(value, d)), None)


def round_f32(value: float) -> float:
    if not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _round_f16(value: float) -> float:
    try:
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _round_bf16(value: float) -> float:
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    bits += 0x7FFF + (bits >> 16 & 1)
    return float(struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0])


def round_float(value: Number, dtype: DType) -> float:
    """The constant as cuTile Python makes it: through f32 first, whatever the type."""
    try:
        wide = float(value)
    except OverflowError:
        wide = math.inf if value > 0 else -math.inf
    single = round_f32(wide)
    if not math.isfinite(single):
        return single
    match dtype.name:
        case "f16":
            return _round_f16(single)
        case "bf16":
            return _round_bf16(single)
        case _:
            return single
