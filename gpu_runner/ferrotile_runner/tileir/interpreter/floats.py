"""Element-wise float operations of Tile IR, rounded once in any direction.

+ - * / sqrt and fma of f16, bf16 and f32 go through f64 rounded to odd where f32 itself does not round exactly.
Transcendental functions are computed in f64 and rounded; the same on both sides, at most an ulp off the hardware's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    UnsupportedOperation,
    convert,
    element_dtype,
    flush,
    narrow_to_odd,
)
from ferrotile_runner.tileir.interpreter.integers import COMPARE
from ferrotile_runner.tileir.interpreter.modes import Function, Modes
from ferrotile_runner.tileir.interpreter.rounding import (
    NEAREST,
    Exact,
    directed_f64,
    fma_f32,
    narrow,
    nearest_fraction,
    odd_fma,
    odd_product,
    odd_quotient,
    odd_root,
    odd_sum,
    to_odd,
    two_product,
    two_sum,
)

_NAMES: Mapping[np.dtype[np.generic], str] = MappingProxyType(
    {element_dtype(name): name for name in ("f16", "bf16", "f32", "f64")}
)


def _name_of(dtype: np.dtype[np.generic]) -> str:
    return _NAMES[dtype]


def _finish(value: Array, dtype: np.dtype[np.generic], modes: Modes) -> Array:
    if value.dtype != dtype:
        value = convert(value, "f16") if dtype == np.float16 else value.astype(dtype)
    return flush(value) if modes.ftz else value


def _working(args: tuple[Array, ...], modes: Modes) -> tuple[Array, ...]:
    """Operands in the type to compute in: f32 for narrower floats, their own otherwise."""
    wide = tuple(x if x.dtype in (np.float32, np.float64) else x.astype(np.float32) for x in args)
    return tuple(flush(x) for x in wide) if modes.ftz else wide


class _Rounded(Struct, frozen=True):
    """An operation that is rounded once: by NumPy to nearest in f32 and f64, to odd in f64, as a fraction."""

    near: Callable[..., Array]
    odd: Callable[..., Array]
    exact: Exact

    def __call__(self, args: tuple[Array, ...], modes: Modes) -> Array:
        dtype = args[0].dtype
        wide = _working(args, modes)
        if modes.rounding in NEAREST:
            return _finish(self.near(*wide), dtype, modes)
        if dtype == np.float64:
            near = np.asarray(self.near(*wide))
            lanes = tuple(np.broadcast_to(x, near.shape) for x in wide)
            return directed_f64(near, lanes, modes.rounding, self.exact)
        parts = (np.asarray(x.astype(np.float64), order="C") for x in np.broadcast_arrays(*wide))
        value = np.ascontiguousarray(self.odd(*parts))
        return _finish(narrow(value, _name_of(dtype), dtype, modes.rounding), dtype, modes)


def _sum(a: Fraction, b: Fraction) -> Fraction | None:
    return a + b or None


def _root(a: Fraction) -> Fraction | None:
    """The root to 200 bits; exact roots are found to be so by the caller's comparison."""
    if a <= 0:
        return None
    scale = 1 << 200
    whole = math.isqrt(a.numerator * a.denominator * scale * scale)
    root = Fraction(whole, a.denominator * scale)
    return root if root * root == a else root + Fraction(1, a.denominator * scale * 2)


def _fma_exact(a: Fraction, b: Fraction, c: Fraction) -> Fraction | None:
    return a * b + c or None


def fma(args: tuple[Array, ...], modes: Modes) -> Array:
    """a * b + c rounded once."""
    dtype = args[0].dtype
    wide = _working(args, modes)
    if dtype == np.float64:
        near = _fma64(*wide)
        if modes.rounding in NEAREST:
            return near
        lanes = tuple(np.broadcast_to(x, near.shape) for x in wide)
        return directed_f64(near, lanes, modes.rounding, _fma_exact)
    a, b, c = (np.asarray(x.astype(np.float64), order="C") for x in np.broadcast_arrays(*wide))
    if dtype == np.float32 and modes.rounding in NEAREST:
        return _finish(fma_f32(a, b, c), dtype, modes)
    value = odd_fma(a, b, c)
    if modes.rounding not in NEAREST:
        return _finish(narrow(value, _name_of(dtype), dtype, modes.rounding), dtype, modes)
    return _finish(narrow_to_odd(value), dtype, modes)


def _fma64(a: Array, b: Array, c: Array) -> Array:
    a, b, c = (np.ascontiguousarray(x) for x in np.broadcast_arrays(a, b, c))
    uh, ul = two_product(a, b)
    th, tl = two_sum(c, ul)
    vh, vl = two_sum(uh, th)
    result = vh + to_odd(*two_sum(tl, vl))
    plain = np.where(np.isfinite(a) & np.isfinite(b) & np.isinf(c), c, a * b + c)  # a product too large is none
    sizes = np.stack([np.abs(x) for x in (a, b, c, uh)])
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    extreme = finite & (((sizes != 0) & (sizes < 2.0**-900)) | (sizes > 2.0**900)).any(axis=0)
    result = np.where(finite & (uh != 0), result, plain)
    for place in np.argwhere(extreme):
        at = tuple(place)
        exact = Fraction(float(a[at])) * Fraction(float(b[at])) + Fraction(float(c[at]))
        result[at] = nearest_fraction(exact) if exact else float(plain[at])
    return result


def _plain(operation: Callable[..., Array]) -> Function:
    """An operation that is exact, or that NumPy rounds exactly, without directed rounding."""

    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        if modes.rounding not in NEAREST:
            raise UnsupportedOperation(f"rounding {modes.rounding} of {args[0].dtype}")
        return _finish(operation(*_working(args, modes)), args[0].dtype, modes)

    return apply


def _minmax(number: Callable[..., Array], either: Callable[..., Array], sign: int) -> Function:
    """Drops NaN (`number`) unless told to propagate it (`either`); -0 counts as less than +0. `sign` is 1 for the
    greater, -1 for the less: of two zeros that is their sum, or the negated sum of the negated ones."""

    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        a, b = _working(args, modes)
        chosen = np.asarray((either if modes.propagate_nan else number)(a, b))
        zero = chosen == 0
        if bool(zero.any()):
            a, b = np.broadcast_arrays(a, b)
            both = zero & (a == 0) & (b == 0)
            chosen[both] = a[both] + b[both] if sign > 0 else -(-a[both] - b[both])
        return _finish(chosen, args[0].dtype, modes)

    return apply


def _through_f64(operation: Callable[..., Array]) -> Function:
    def apply(args: tuple[Array, ...], modes: Modes) -> Array:
        wide = tuple(x.astype(np.float64) for x in _working(args, modes))
        value = np.asarray(operation(*wide))
        return _finish(convert(value, _name_of(args[0].dtype)), args[0].dtype, modes)

    return apply


def _integer_power(args: tuple[Array, ...], modes: Modes) -> Array:
    return _through_f64(lambda x: np.power(x, args[1].astype(np.float64)))(args[:1], modes)


def _cmpf(args: tuple[Array, ...], modes: Modes) -> Array:
    a, b = _working(args, modes)
    nan = np.isnan(a) | np.isnan(b)
    result = COMPARE[modes.predicate](a, b)
    return result & ~nan if modes.ordered else result | nan


def _negate(args: tuple[Array, ...], modes: Modes) -> Array:
    return np.negative(args[0])


def _rsqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)


FLOATS: Mapping[str, Function] = MappingProxyType(
    {
        "addf": _Rounded(np.add, odd_sum, _sum),
        "subf": _Rounded(np.subtract, lambda a, b: odd_sum(a, -b), lambda a, b: _sum(a, -b)),
        "mulf": _Rounded(np.multiply, odd_product, lambda a, b: a * b or None),
        "divf": _Rounded(np.divide, odd_quotient, lambda a, b: a / b if a and b else None),
        "sqrt": _Rounded(np.sqrt, odd_root, _root),
        "remf": _plain(np.fmod),
        "fma": fma,
        "minf": _minmax(np.fmin, np.minimum, -1),
        "maxf": _minmax(np.fmax, np.maximum, 1),
        "negf": _negate,
        "absf": _plain(np.abs),
        "floor": _plain(np.floor),
        "ceil": _plain(np.ceil),
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
        "fpowf": _through_f64(np.power),
        "fpowi": _integer_power,
        "atan2": _through_f64(np.arctan2),
    }
)
