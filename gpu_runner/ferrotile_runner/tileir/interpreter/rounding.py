"""Rounding once, in any direction and type.

An exact result is brought to f64 rounded to odd (the last bit is set where bits were lost), from which every narrower
type with at least two bits less can be rounded as if from the exact value (Boldo and Melquiond, 2008). f64 itself is
rounded from its neighbour and the sign of the error, or from exact fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np

from ferrotile_runner.tileir.interpreter.elements import Array, Dtype, UnsupportedOperation, convert

NEAREST = frozenset({"", "nearest_even", "nearest_int_to_zero", "approx", "full"})
DIRECTED = frozenset({"zero", "negative_inf", "positive_inf"})


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


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded product and its exact error, away from the ends of the range (Dekker)."""

    def split(x: Array) -> tuple[Array, Array]:
        c = 134217729.0 * x
        high = c - (c - x)
        return high, x - high

    p = a * b
    (ah, al), (bh, bl) = split(a), split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def odd_sum(a: Array, b: Array) -> Array:
    return to_odd(*two_sum(a, b))


def odd_product(a: Array, b: Array) -> Array:
    """Of operands of at most 26 bits the product is exact in f64."""
    return a * b


def odd_quotient(a: Array, b: Array) -> Array:
    """Of operands of at most 26 bits; the sign of the remainder says where the quotient lies."""
    q = np.asarray(a / b)
    p, error = two_product(q, b)
    rest = np.where(np.isfinite(q), (a - p) - error, 0.0)
    return to_odd(q, rest * np.sign(b))


def odd_root(a: Array) -> Array:
    s = np.asarray(np.sqrt(a))
    p, error = two_product(s, s)
    return to_odd(s, np.where(np.isfinite(s), (a - p) - error, 0.0))


def odd_fma(a: Array, b: Array, c: Array) -> Array:
    """Of operands of at most 26 bits."""
    return odd_sum(np.ascontiguousarray(a * b), c)


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """f64 operands that f32 holds, to f32, to nearest even. The sum in f64 rounds to the same f32 as the exact one does
    unless it lies halfway between two of them, or where f32 has fewer digits."""
    s = np.ascontiguousarray(a * b)
    p = s.copy()
    s += c
    near: Array = s.astype(np.float32)
    doubtful = (s.view(np.uint64) & 0x1FFFFFFF) == 0x10000000
    doubtful |= (np.abs(s) < 2.0**-125) & (s != 0)
    if bool(doubtful.any()):
        near[doubtful] = odd_sum(p[doubtful], c[doubtful]).astype(np.float32)
    return near


def step(array: Array, up: Array) -> Array:
    """The next element of the type above (`up`) or below, through zero."""
    bits = np.dtype(f"i{array.dtype.itemsize}")
    raw = np.ascontiguousarray(array).view(bits)
    negative = np.signbit(array)
    zero = array == 0
    moved = raw + np.where(negative == up, -1, 1).astype(bits)
    smallest = np.where(up, bits.type(1), bits.type(np.iinfo(bits).min + 1))
    found: Array = np.where(zero, smallest, moved).astype(bits).view(array.dtype)
    return found


def narrow(value: Array, element: str, dtype: Dtype, rounding: str) -> Array:
    """f64 values, exact or rounded to odd, in a narrower type."""
    if rounding in NEAREST:
        return convert(value, element)
    if rounding not in DIRECTED or element == "tf32":
        raise UnsupportedOperation(f"rounding {rounding} to {element}")
    if element == "f8E8M0FNU":
        return _powers_of_two(value, dtype, rounding)
    near = np.asarray(convert(value, element))
    back = near.astype(np.float64)
    with np.errstate(all="ignore"):
        lost = np.isnan(back) & ~np.isnan(value)
    if bool(lost.any()):  # types without infinity: beyond the largest value
        top = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        near = np.where(lost, np.asarray(np.copysign(top, value)).astype(dtype), near)
        back = near.astype(np.float64)
    over = {
        "zero": np.abs(back) > np.abs(value),
        "negative_inf": back > value,
        "positive_inf": back < value,
    }[rounding]
    up = np.where(value < 0, True, False) if rounding == "zero" else np.full(near.shape, rounding == "positive_inf")
    return np.where(over, step(near, up), near)


def _powers_of_two(value: Array, dtype: Dtype, rounding: str) -> Array:
    fraction, exponent = np.frexp(np.abs(value))
    up = (fraction != 0.5) & (rounding == "positive_inf")
    code = np.clip(exponent - 1 + up + 127, 0, 254)
    code = np.where(np.isnan(value) | (value < 0), 255, np.where(value == 0, 0, np.where(np.isinf(value), 254, code)))
    return np.asarray(code.astype(np.uint8)).view(dtype)


Exact = Callable[..., Fraction | None]
"""The exact result for finite operands; None where the rounded one is already exact (a zero, a division by 0)."""


def directed_f64(near: Array, args: tuple[Array, ...], rounding: str, exact: Exact) -> Array:
    """Directed rounding of f64, lane by lane through fractions. `near`: the result to nearest."""
    result = np.array(near)
    for place in np.ndindex(near.shape):
        operands = [float(arg[place]) for arg in args]
        if not all(np.isfinite(operands)):
            continue
        value = exact(*map(Fraction, operands))
        if value is None:
            continue
        result[place] = round_fraction(value, float(near[place]), rounding)
    return result


def round_fraction(value: Fraction, near: float, rounding: str) -> float:
    """`near`: the fraction rounded to nearest, perhaps infinite."""
    known = Fraction(near) if np.isfinite(near) else None
    above = (near > 0) if known is None else known > value
    if known == value:
        return near
    down = rounding == "negative_inf" or (rounding == "zero" and value > 0)
    if down and above:
        return float(np.nextafter(near, -np.inf))
    if not down and not above:
        return float(np.nextafter(near, np.inf))
    return near


def nearest_fraction(value: Fraction) -> float:
    """To f64, to nearest even."""
    try:
        return value.numerator / value.denominator  # Python rounds this quotient once
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
