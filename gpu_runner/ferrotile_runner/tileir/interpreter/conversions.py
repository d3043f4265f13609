"""Conversions between element types, rounding once."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    UnsupportedOperation,
    as_signed,
    as_unsigned,
    convert,
    element_dtype,
    flush,
    limits,
    round_tf32,
    wrap,
)
from ferrotile_runner.tileir.interpreter.modes import Function, Modes
from ferrotile_runner.tileir.interpreter.rounding import NEAREST, narrow

SATURATING = frozenset({"f8E4M3FN", "f8E5M2"})


def _read(array: Array, modes: Modes) -> Array:
    return as_signed(array) if modes.signed else as_unsigned(array)


def _exti(args: tuple[Array, ...], modes: Modes) -> Array:
    return _read(args[0], modes).astype(element_dtype(modes.element))


def _trunci(args: tuple[Array, ...], modes: Modes) -> Array:
    return wrap(args[0], element_dtype(modes.element))


def _itof(args: tuple[Array, ...], modes: Modes) -> Array:
    value, dtype = _read(args[0], modes), element_dtype(modes.element)
    if value.dtype.itemsize == 8 and dtype.itemsize < 8:
        # i64 does not fit f64: the lost bits are or-ed into the last kept one before the only rounding that
        # counts.
        big = np.abs(value.astype(np.float64)) >= 2.0**53
        sticky = (value >> value.dtype.type(12)) | ((value & value.dtype.type(4095)) != 0)
        wide = np.where(big, sticky.astype(np.float64) * 4096.0, value.astype(np.float64))
    elif dtype.itemsize == 8:
        if modes.rounding not in NEAREST and value.dtype.itemsize == 8:
            raise UnsupportedOperation(f"rounding {modes.rounding} from i64 to f64")
        return value.astype(dtype)
    else:
        wide = value.astype(np.float64)
    return _saturated(wide, narrow(wide, modes.element, dtype, modes.rounding), modes.element)


def _ftoi(args: tuple[Array, ...], modes: Modes) -> Array:
    """Towards zero; to `i1` whatever is not zero is true, NaN too (measured on sm_90). Out of range is not promised:
    saturates, NaN is 0; the same on both sides."""
    value, dtype = args[0].astype(np.float64), element_dtype(modes.element)
    if dtype == np.bool_:
        return np.asarray(value != 0)
    bits = dtype.itemsize * 8
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if modes.signed else (0, 2**bits - 1)
    whole = np.where(np.isnan(value), 0.0, np.trunc(value))
    wide = np.dtype(np.int64 if modes.signed else np.uint64)
    inside = np.where((whole > float(low)) & (whole < float(high)), whole, 0.0).astype(wide)
    result = np.where(whole >= float(high), wide.type(high), np.where(whole <= float(low), wide.type(low), inside))
    return result.astype(np.dtype(f"{'i' if modes.signed else 'u'}{dtype.itemsize}")).view(dtype)


def _ftof(args: tuple[Array, ...], modes: Modes) -> Array:
    """`flush_to_zero` is that of PTX's `cvt.ftz`: f32 denormals become zeros of their sign, taken and given."""
    if not modes.ftz:
        return _saturated(args[0], _rounded(args[0], modes), modes.element)
    return flush(np.asarray(_saturated(args[0], _rounded(flush(args[0]), modes), modes.element)))


def _saturated(source: Array, result: Array, element: str) -> Array:
    """To f8 what is too large, and infinity, becomes the largest number: PTX has `cvt.satfinite` alone for these
    (measured on sm_90)."""
    if element not in SATURATING:
        return result
    with np.errstate(all="ignore"):
        wide = result.astype(np.float32)
        largest = np.where(source < 0, -limits(result.dtype).largest, limits(result.dtype).largest)
        over = ~np.isfinite(wide) & ~np.isnan(source.astype(np.float64))
        saturated: Array = np.where(over, largest.astype(np.float32), wide).astype(result.dtype)
    return saturated


def _rounded(value: Array, modes: Modes) -> Array:
    if modes.rounding in NEAREST:
        return convert(value, modes.element)
    dtype = element_dtype(modes.element)
    if modes.element == "tf32" and value.dtype.itemsize <= dtype.itemsize:
        return round_tf32(value.astype(np.float32), modes.rounding)
    if value.dtype == dtype or (value.dtype.itemsize < dtype.itemsize and dtype.itemsize >= 4):
        return convert(value, modes.element)  # exact
    return narrow(np.ascontiguousarray(value.astype(np.float64)), modes.element, dtype, modes.rounding)


def _bitcast(args: tuple[Array, ...], modes: Modes) -> Array:
    return np.ascontiguousarray(args[0]).view(element_dtype(modes.element)).reshape(args[0].shape)


def _select(args: tuple[Array, ...], modes: Modes) -> Array:
    return np.where(args[0].astype(np.bool_), args[1], args[2])


CONVERSIONS: Mapping[str, Function] = MappingProxyType(
    {
        "exti": _exti,
        "trunci": _trunci,
        "itof": _itof,
        "ftoi": _ftoi,
        "ftof": _ftof,
        "bitcast": _bitcast,
        "select": _select,
    }
)
