"""Element types as bits, for machines that have NumPy alone: names, sizes, and the numbers that bits stand for."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.generic]
"""Elements as unsigned integers of their size."""
Numbers = NDArray[np.float64]


class FloatFormat(NamedTuple):
    """A binary float: the widths of its fields. Without `infinite` numbers the largest exponent has finite ones, and
    the one pattern of all ones is NaN."""

    exponent: int
    mantissa: int
    infinite: bool = True

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def epsilon(self) -> float:
        """The distance from 1 to the next number."""
        return 2.0**-self.mantissa

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return float(2.0 ** (2 - 2 ** (self.exponent - 1)))


FLOATS: Mapping[str, FloatFormat] = MappingProxyType(
    {
        "f64": FloatFormat(11, 52),
        "f32": FloatFormat(8, 23),
        "tf32": FloatFormat(8, 23),
        "f16": FloatFormat(5, 10),
        "bf16": FloatFormat(8, 7),
        "f8e5m2": FloatFormat(5, 2),
        "f8e4m3fn": FloatFormat(4, 3, infinite=False),
    }
)
"""Floats that are compared within a tolerance. Other types are compared bit by bit."""


def numbers(bits: Bits, name: str) -> Numbers:
    """The elements in binary64, exactly; for the types of `FLOATS`."""
    match name:
        case "f64" | "f32" | "tf32" | "f16":
            return bits.view(f"f{bits.dtype.itemsize}").astype(np.float64)
        case "bf16":
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        case _:
            return _table(FLOATS[name])[bits.astype(np.int64)]


def _table(of: FloatFormat) -> Numbers:
    """The number of each bit pattern."""
    pattern = np.arange(1 << of.bits)
    field, mantissa = (pattern >> of.mantissa) & ((1 << of.exponent) - 1), pattern & ((1 << of.mantissa) - 1)
    bias, top = 2 ** (of.exponent - 1) - 1, (1 << of.exponent) - 1
    normal = (1 + mantissa * of.epsilon) * 2.0 ** (field - bias)
    value = np.where(field == 0, mantissa * of.epsilon * 2.0 ** (1 - bias), normal)
    if of.infinite:
        value = np.where(field == top, np.where(mantissa == 0, np.inf, np.nan), value)
    else:
        value = np.where((field == top) & (mantissa == (1 << of.mantissa) - 1), np.nan, value)
    return np.where(pattern >> (of.bits - 1) == 1, -value, value)


def shown(bits: int, name: str, size: int) -> str:
    """One element as people read it: a number, with its bits where it is a float."""
    if name in FLOATS:
        value = float(numbers(np.array([bits], f"u{size}"), name)[0])
        return f"{value:.9g} (0x{bits:0{2 * size}x})"
    if name == "bool":
        return str(bool(bits))
    raw = struct.pack("<Q", bits)[:size]
    return str(int.from_bytes(raw, "little", signed=name.startswith("i")))
