"""Element types of Tile IR as NumPy dtypes, and exact conversions between them.

Integers are signless in Tile IR; they live in signed NumPy arrays and an operation's signedness reads them
anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from msgspec import Struct

Array = npt.NDArray[Any]
"""A tile: its element type is known when the program runs, not when it is checked, so NumPy's stubs see
any."""

Dtype = np.dtype[np.generic]


class UnsupportedOperation(Exception):
    """The interpreter has no meaning for an operation, a mode or a type; the message names it."""


def _dtype(name: str) -> Dtype:
    found: Dtype = np.dtype(getattr(ml_dtypes, name))
    return found


ELEMENTS: Mapping[str, Dtype] = MappingProxyType(
    {
        "i1": np.dtype(np.bool_),
        "i8": np.dtype(np.int8),
        "i16": np.dtype(np.int16),
        "i32": np.dtype(np.int32),
        "i64": np.dtype(np.int64),
        "f16": np.dtype(np.float16),
        "bf16": _dtype("bfloat16"),
        "f32": np.dtype(np.float32),
        "tf32": np.dtype(np.float32),
        "f64": np.dtype(np.float64),
        "f8E4M3FN": _dtype("float8_e4m3fn"),
        "f8E5M2": _dtype("float8_e5m2"),
        "f8E8M0FNU": _dtype("float8_e8m0fnu"),
        "f4E2M1FN": _dtype("float4_e2m1fn"),
    }
)
UNSIGNED: Mapping[str, type[np.unsignedinteger]] = MappingProxyType(
    {"i8": np.uint8, "i16": np.uint16, "i32": np.uint32, "i64": np.uint64}
)


def element_dtype(name: str) -> Dtype:
    """The NumPy dtype that holds elements of Tile IR type `name`. Raises UnsupportedOperation."""
    found = ELEMENTS.get(name)
    if found is None:
        raise UnsupportedOperation(f"element type {name}")
    return found


def is_float(dtype: Dtype) -> bool:
    """Whether `dtype` is a float, those of ml_dtypes included (their kind is `V` or `f`)."""
    return dtype.kind in "fV"


def width(array: Array) -> int:
    """Bits of an integer element."""
    return 1 if array.dtype == np.bool_ else array.dtype.itemsize * 8


def as_unsigned(array: Array) -> Array:
    """The same bits read as unsigned."""
    if array.dtype == np.bool_:
        return array.astype(np.uint8)
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def as_signed(array: Array) -> Array:
    """The same bits read as signed; an i1 is -1 or 0."""
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def wrap(array: Array, dtype: Dtype) -> Array:
    """Keeps the low bits that fit `dtype`."""
    return (array & 1).astype(np.bool_) if dtype == np.bool_ else array.astype(dtype)


def flush(array: Array) -> Array:
    """Denormal f32 elements become zeros of their sign."""
    if array.dtype != np.float32:
        return array
    tiny = np.abs(array) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), array), array)


def round_tf32(array: Array, rounding: str = "nearest_even") -> Array:
    """f32 elements rounded to tf32's 10 bits of fraction; NaN and infinities stay. Raises UnsupportedOperation."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    negative = bits >> 31
    # What is added to the magnitude before its last 13 bits are cut off.
    match rounding:
        case "nearest_even":
            more = 0xFFF + ((bits >> 13) & 1)
        case "nearest_away":
            more = np.full_like(bits, 0x1000)
        case "zero":
            more = np.zeros_like(bits)
        case "negative_inf":
            more = 0x1FFF * negative
        case "positive_inf":
            more = 0x1FFF * (1 - negative)
        case _:
            raise UnsupportedOperation(f"rounding {rounding} to tf32")
    rounded = ((bits + more) & 0xFFFFE000).astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(array), rounded, array)


SMALLEST_F16 = 2.0**-14
"""The smallest normal number."""
OVER_F16 = 65520.0
"""What rounds to infinity."""


def _to_f16(array: Array) -> Array:
    """f32 to nearest even. NumPy does so as well, but takes twenty times as long for what underflows or overflows: for
    more than a few of those another way is shorter."""
    size = np.abs(array)
    under, over = (size < SMALLEST_F16) & (array != 0), (size >= OVER_F16) & (size < np.inf)
    if (np.count_nonzero(under) + np.count_nonzero(over)) * 16 <= array.size:
        with np.errstate(all="ignore"):
            return array.astype(np.float16)
    plain = np.where(over, np.copysign(np.float32(np.inf), array), np.where(under, np.float32(0), array))
    found = np.asarray(plain.astype(np.float16))
    # Below the smallest normal number elements are multiples of 2 ** -24, and their bits are how many.
    count = np.rint(size[under] * np.float32(2.0**24)).astype(np.uint16)
    found.view(np.uint16)[under] = count | np.where(np.signbit(array[under]), np.uint16(0x8000), np.uint16(0))
    return found


def convert(array: Array, target: str) -> Array:
    """Float to float, rounding to nearest even. From f64 through a round-to-odd f32, so that nothing rounds
    twice."""
    dtype = element_dtype(target)
    if target == "tf32":
        return round_tf32(array.astype(np.float32))
    if array.dtype == dtype:
        return array
    if array.dtype == np.float64 and dtype.itemsize < 4:
        array = narrow_to_odd(array)
    if dtype.itemsize == 1 and array.dtype != np.float32:
        array = array.astype(np.float32)
    if dtype == np.float16 and array.dtype == np.float32:
        return _to_f16(array)
    with np.errstate(all="ignore"):
        return array.astype(dtype)


def narrow_to_odd(array: Array) -> Array:
    """f64 to f32 rounding to odd: an inexact result has its last bit set, so a later rounding is the only
    one."""
    with np.errstate(all="ignore"):
        near = array.astype(np.float32)
        back = near.astype(np.float64)
        step = np.where(back < array, np.float32(np.inf), np.float32(-np.inf))
        even = (near.view(np.uint32) & 1) == 0
        inexact = np.isfinite(array) & (back != array)
        moved = np.nextafter(near, step)
        # An overflowed finite value sits at infinity: its odd neighbour is the largest finite f32.
        return np.where(inexact & even, moved, near)


class Limits(Struct, frozen=True):
    """Largest and smallest finite value, smallest normal and denormal, unit in the last place at 1."""

    largest: float
    lowest: float
    tiny: float
    denormal: float
    epsilon: float


def limits(dtype: Dtype) -> Limits:
    """What a float type can hold."""
    info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    numbers = (info.max, info.min, info.tiny, info.smallest_subnormal, info.eps)
    return Limits(*(float(n) for n in numbers))
