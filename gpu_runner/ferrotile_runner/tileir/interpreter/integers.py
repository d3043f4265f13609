"""Element-wise integer operations of Tile IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    UnsupportedOperation,
    as_signed,
    as_unsigned,
    width,
    wrap,
)
from ferrotile_runner.tileir.interpreter.modes import Function, Modes


def _wrapping(operation: Callable[[Array, Array], Array]) -> Function:
    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        a, b = args
        return wrap(operation(as_unsigned(a), as_unsigned(b)), a.dtype)

    return apply


def _read(array: Array, modes: Modes) -> Array:
    return as_signed(array) if modes.signed else as_unsigned(array)


def _quotient(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Truncated quotient, remainder, and the divisor made non-zero. Division by zero is undefined: gives
    0."""
    safe = np.where(b == 0, np.ones_like(b), b)
    # The one overflow, INT_MIN / -1, wraps to INT_MIN.
    minus = (safe == -1) if b.dtype.kind == "i" else np.zeros(b.shape, np.bool_)
    divisor = np.where(minus, np.ones_like(b), safe)
    floor = a // divisor
    rest = a - floor * divisor
    up = (rest != 0) & ((a < 0) != (divisor < 0)) & (b.dtype.kind == "i")
    quotient = np.where(minus, -a if b.dtype.kind == "i" else a, floor + up.astype(a.dtype))
    remainder = np.where(minus, np.zeros_like(a), a - quotient * safe)
    return quotient, remainder, safe


def _are_counts(a: Array, b: Array) -> bool:
    """No negative number, and no division by zero: every rounding but up is NumPy's."""
    return a.size > 0 and int(b.min()) > 0 and int(a.min()) >= 0


def divi(args: tuple[Array, ...], modes: Modes) -> Array:
    """Integer division with rounding zero, negative_inf or positive_inf."""
    a, b = (_read(x, modes) for x in args)
    if modes.rounding in ("", "zero", "negative_inf") and _are_counts(a, b):
        return wrap(a // b, args[0].dtype)
    quotient, remainder, divisor = _quotient(a, b)
    inexact, negative = remainder != 0, (remainder < 0) != (divisor < 0)
    match modes.rounding:
        case "" | "zero":
            shift = np.zeros_like(a)
        case "negative_inf":
            shift = -(inexact & negative).astype(a.dtype)
        case "positive_inf":
            shift = (inexact & ~negative).astype(a.dtype)
        case other:
            raise UnsupportedOperation(f"divi rounding {other}")
    return wrap(np.where(b == 0, np.zeros_like(a), quotient + shift), args[0].dtype)


def _remi(args: tuple[Array, ...], modes: Modes) -> Array:
    a, b = (_read(x, modes) for x in args)
    if _are_counts(a, b):
        return wrap(a % b, args[0].dtype)
    return wrap(np.where(b == 0, np.zeros_like(a), _quotient(a, b)[1]), args[0].dtype)


def _extreme(operation: Callable[[Array, Array], Array]) -> Function:
    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        a, b = (_read(x, modes) for x in args)
        return wrap(operation(a, b), args[0].dtype)

    return apply


def _shli(args: tuple[Array, ...], modes: Modes) -> Array:
    a, b = as_unsigned(args[0]), as_unsigned(args[1])
    bits = width(args[0])
    return wrap(np.where(b < bits, a << np.minimum(b, b.dtype.type(bits - 1)), np.zeros_like(a)), args[0].dtype)


def _shri(args: tuple[Array, ...], modes: Modes) -> Array:
    a, b = _read(args[0], modes), as_unsigned(args[1])
    count = np.minimum(b, b.dtype.type(width(args[0]) - 1)).astype(a.dtype)
    gone = np.where(a < 0, -np.ones_like(a), np.zeros_like(a)) if modes.signed else np.zeros_like(a)
    return wrap(np.where(b < width(args[0]), a >> count, gone), args[0].dtype)


def _mulhii(args: tuple[Array, ...], modes: Modes) -> Array:
    bits = width(args[0])
    a, b = (as_unsigned(x).astype(object if bits == 64 else np.uint64) for x in args)
    return wrap(np.asarray((a * b) >> bits).astype(as_unsigned(args[0]).dtype), args[0].dtype)


def _cmpi(args: tuple[Array, ...], modes: Modes) -> Array:
    a, b = (_read(x, modes) for x in args)
    return COMPARE[modes.predicate](a, b)


COMPARE: Mapping[str, Callable[[Array, Array], Array]] = MappingProxyType(
    {
        "equal": np.equal,
        "not_equal": np.not_equal,
        "less_than": np.less,
        "less_than_or_equal": np.less_equal,
        "greater_than": np.greater,
        "greater_than_or_equal": np.greater_equal,
    }
)


def _absi(args: tuple[Array, ...], modes: Modes) -> Array:
    return args[0] if args[0].dtype == np.bool_ else np.abs(args[0])


def _negi(args: tuple[Array, ...], modes: Modes) -> Array:
    return args[0] if args[0].dtype == np.bool_ else wrap(-as_unsigned(args[0]), args[0].dtype)


INTEGERS: Mapping[str, Function] = MappingProxyType(
    {
        "addi": _wrapping(np.add),
        "subi": _wrapping(lambda a, b: a - b),
        "muli": _wrapping(np.multiply),
        "andi": _wrapping(np.bitwise_and),
        "ori": _wrapping(np.bitwise_or),
        "xori": _wrapping(np.bitwise_xor),
        "divi": divi,
        "remi": _remi,
        "mini": _extreme(np.minimum),
        "maxi": _extreme(np.maximum),
        "shli": _shli,
        "shri": _shri,
        "mulhii": _mulhii,
        "absi": _absi,
        "negi": _negi,
        "cmpi": _cmpi,
    }
)
