"""Element-wise integer and float arithmetic of Tile IR, exactly rounded.

+ - * / sqrt of f16 and bf16 are computed in f32 and rounded once more, which is exact because f32 has more
than 2p + 2 bits; `fma` goes through round-to-odd (Boldo and Melquiond, 2008), so that no result is rounded
twice. Transcendental functions are computed in f64 and rounded; the same on both sides, at most an ulp off
the hardware's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.conversions import CONVERSIONS
from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    UnsupportedOperation,
    as_signed,
    as_unsigned,
    convert,
    flush,
    narrow_to_odd,
    width,
    wrap,
)
from ferrotile_runner.tileir.interpreter.modes import Function, Modes

NEAREST = frozenset({"", "nearest_even", "nearest_int_to_zero", "approx", "full"})


# Integers


def _wrapping(operation: Callable[[Array, Array], Array]) -> Function:
    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        a, b = args
        with np.errstate(all="ignore"):
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


def divi(args: tuple[Array, ...], modes: Modes) -> Array:
    """Integer division with rounding zero, negative_inf or positive_inf."""
    with np.errstate(all="ignore"):
        a, b = (_read(x, modes) for x in args)
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
    with np.errstate(all="ignore"):
        a, b = (_read(x, modes) for x in args)
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
    a, b = (as_unsigned(x).astype(object) for x in args)
    return wrap(np.asarray((a * b) >> width(args[0])).astype(as_unsigned(args[0]).dtype), args[0].dtype)


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


# Floats


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded sum and its exact error (Knuth)."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def to_odd(s: Array, error: Array) -> Array:
    """The value `s + error` rounded to odd, where `s` is it rounded to nearest."""
    even = (s.view(np.uint64) & 1) == 0
    move = np.isfinite(s) & np.isfinite(error) & (error != 0) & even
    return np.where(move, np.nextafter(s, np.where(error > 0, np.inf, -np.inf)), s)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    def split(x: Array) -> tuple[Array, Array]:
        c = 134217729.0 * x
        high = c - (c - x)
        return high, x - high

    p = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _fma64(a: Array, b: Array, c: Array) -> Array:
    a, b, c = (np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b, c))
    uh, ul = _two_product(a, b)
    th, tl = two_sum(c, ul)
    vh, vl = two_sum(uh, th)
    result = vh + to_odd(*two_sum(tl, vl))
    with np.errstate(all="ignore"):
        plain = a * b + c
    sizes = np.stack([np.abs(x) for x in (a, b, c, uh)])
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    extreme = finite & (((sizes != 0) & (sizes < 2.0**-900)) | (sizes > 2.0**900)).any(axis=0)
    result = np.where(finite & (uh != 0), result, plain)
    for place in np.argwhere(extreme):
        at = tuple(place)
        exact = Fraction(float(a[at])) * Fraction(float(b[at])) + Fraction(float(c[at]))
        result[at] = _round_fraction(exact) if exact else float(plain[at])
    return result


def _round_fraction(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator  # Python rounds this quotient once, to nearest even.
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _directed(exact: Array, modes: Modes) -> Array:
    """Rounds f64 values (themselves exact or rounded to odd) to f32 towards a direction."""
    near = exact.astype(np.float32)
    back = near.astype(np.float64)
    towards = {"zero": np.zeros_like(near), "negative_inf": np.full_like(near, -np.inf)}.get(
        modes.rounding, np.full_like(near, np.inf)
    )
    over = {
        "zero": np.abs(back) > np.abs(exact),
        "negative_inf": back > exact,
        "positive_inf": back < exact,
    }.get(modes.rounding)
    if over is None:
        raise UnsupportedOperation(f"rounding {modes.rounding}")
    return np.where(over, np.nextafter(near, towards), near)


def _finish(value: Array, dtype: np.dtype[np.generic], modes: Modes) -> Array:
    result = value if value.dtype == dtype else value.astype(dtype)
    return flush(result) if modes.ftz else result


def _working(args: tuple[Array, ...], modes: Modes) -> tuple[Array, ...]:
    """Operands in the type to compute in: f32 for narrower floats, their own otherwise."""
    wide = tuple(x if x.dtype in (np.float32, np.float64) else x.astype(np.float32) for x in args)
    return tuple(flush(x) for x in wide) if modes.ftz else wide


def _exact(operation: Callable[..., Array]) -> Function:
    """An operation that NumPy rounds exactly in f32 and f64, with directed rounding of + - * in f32."""

    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        with np.errstate(all="ignore"):
            wide = _working(args, modes)
            if modes.rounding in NEAREST:
                return _finish(operation(*wide), args[0].dtype, modes)
            if args[0].dtype != np.float32 or operation not in (np.add, np.subtract, np.multiply):
                raise UnsupportedOperation(f"rounding {modes.rounding} of {args[0].dtype}")
            a, b = (np.ascontiguousarray(x.astype(np.float64)) for x in wide)
            value = a * b if operation is np.multiply else to_odd(*two_sum(a, b if operation is np.add else -b))
            return _finish(_directed(value, modes), args[0].dtype, modes)

    return apply


def fma(args: tuple[Array, ...], modes: Modes) -> Array:
    """a * b + c rounded once."""
    dtype = args[0].dtype
    with np.errstate(all="ignore"):
        wide = _working(args, modes)
        if dtype == np.float64:
            return _fma64(*wide)
        a, b, c = (np.asarray(x.astype(np.float64), order="C") for x in np.broadcast_arrays(*wide))
        value = to_odd(*two_sum(np.ascontiguousarray(a * b), c))  # The product of two f32 is exact in f64.
        if modes.rounding not in NEAREST:
            return _finish(_directed(value, modes), dtype, modes)
        return _finish(value.astype(np.float32) if dtype == np.float32 else narrow_to_odd(value), dtype, modes)


def _minmax(pick: Callable[[Array, Array], Array]) -> Function:
    """Drops NaN unless told to propagate it; -0 counts as less than +0."""

    less = bool(pick(np.zeros(1), np.ones(1))[0])

    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        a, b = _working(args, modes)
        with np.errstate(all="ignore"):
            first = pick(a, b) | ((a == b) & (np.signbit(a) == less))
            chosen = np.where(first, a, b)
            nan_a, nan_b = np.isnan(a), np.isnan(b)
            if modes.propagate_nan:
                chosen = np.where(nan_a | nan_b, np.full_like(chosen, np.nan), chosen)
            else:
                chosen = np.where(nan_a, b, np.where(nan_b, a, chosen))
            return _finish(chosen, args[0].dtype, modes)

    return apply


def _through_f64(operation: Callable[..., Array]) -> Function:
    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        with np.errstate(all="ignore"):
            wide = tuple(x.astype(np.float64) for x in _working(args, modes))
            value = np.asarray(operation(*wide))
            return _finish(convert(value, _name_of(args[0].dtype)), args[0].dtype, modes)

    return apply


def _name_of(dtype: np.dtype[np.generic]) -> str:
    return {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}[dtype.name]


def _cmpf(args: tuple[Array, ...], modes: Modes) -> Array:
    a, b = _working(args, modes)
    with np.errstate(all="ignore"):
        nan = np.isnan(a) | np.isnan(b)
        result = COMPARE[modes.predicate](a, b)
        return result & ~nan if modes.ordered else result | nan


def _negate(args: tuple[Array, ...], modes: Modes) -> Array:
    return np.negative(args[0])


def _absi(args: tuple[Array, ...], modes: Modes) -> Array:
    return np.abs(args[0])


def _negi(args: tuple[Array, ...], modes: Modes) -> Array:
    return args[0] if args[0].dtype == np.bool_ else wrap(-as_unsigned(args[0]), args[0].dtype)


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


ELEMENTWISE: Mapping[str, Function] = MappingProxyType(
    {
        **CONVERSIONS,
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
        "addf": _exact(np.add),
        "subf": _exact(np.subtract),
        "mulf": _exact(np.multiply),
        "divf": _exact(np.divide),
        "sqrt": _exact(np.sqrt),
        "remf": _exact(np.fmod),
        "fma": fma,
        "minf": _minmax(np.less),
        "maxf": _minmax(np.greater),
        "negf": _negate,
        "absf": _exact(np.abs),
        "floor": _exact(np.floor),
        "ceil": _exact(np.ceil),
        "cmpf": _cmpf,
        "exp": _through_f64(np.exp),
        "exp2": _through_f64(np.exp2),
        "log": _through_f64(np.log),
        "log2": _through_f64(np.log2),
        "rsqrt": _through_f64(_rsqrt),
        "sin": _through_f64(np.sin),
        "cos": _through_f64(np.cos),
        "tan": _through_f64(np.tan),
        "sinh": _through_f64(np.sinh),
        "cosh": _through_f64(np.cosh),
        "tanh": _through_f64(np.tanh),
        "pow": _through_f64(np.power),
        "atan2": _through_f64(np.arctan2),
    }
)


def elementwise(opcode: str, args: tuple[Array, ...], modes: Modes) -> Array:
    """Applies one element-wise operation. Raises UnsupportedOperation for one that is not in
    `ELEMENTWISE`."""
    function = ELEMENTWISE.get(opcode)
    if function is None:
        raise UnsupportedOperation(f"operation {opcode}")
    return np.asarray(function(args, modes))
