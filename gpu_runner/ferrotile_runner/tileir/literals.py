"""Literals of Tile IR text as bits, and exact conversions of constants."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import ml_dtypes
import numpy as np

_FLOATS: Mapping[str, tuple[np.dtype[np.generic], type[np.unsignedinteger]]] = MappingProxyType(
    {
        "f16": (np.dtype(np.float16), np.uint16),
        "bf16": (np.dtype(ml_dtypes.bfloat16), np.uint16),
        "f32": (np.dtype(np.float32), np.uint32),
        "tf32": (np.dtype(np.float32), np.uint32),
        "f64": (np.dtype(np.float64), np.uint64),
        "f8E4M3FN": (np.dtype(ml_dtypes.float8_e4m3fn), np.uint8),
        "f8E5M2": (np.dtype(ml_dtypes.float8_e5m2), np.uint8),
        "f8E8M0FNU": (np.dtype(ml_dtypes.float8_e8m0fnu), np.uint8),
    }
)
_EXACT_INTEGERS = MappingProxyType({"f16": 11, "bf16": 8, "f32": 24, "tf32": 11, "f64": 53})


class LiteralError(ValueError):
    """A literal that is no value of its type."""


def _bits(value: float, element: str) -> int:
    if element not in _FLOATS:
        raise LiteralError(f"element type {element}")
    dtype, unsigned = _FLOATS[element]
    with np.errstate(all="ignore"):
        return int(np.asarray(value, dtype=np.float64).astype(dtype).view(unsigned))


def literal(text: str, element: str) -> int:
    """`0xFF800000`, `1.0e+00`, `true`, `-3` of `element` as signed integer, 0/1 or float bits.
    Raises LiteralError."""
    if text in {"true", "false"}:
        return int(text == "true")
    try:
        if element.startswith("i"):
            value = int(text, 0)
            bits = int(element[1:])
            value &= (1 << bits) - 1
            return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value
        if text.lower().startswith("0x"):
            return int(text, 16)
        return _bits(float(text), element) if element != "tf32" else _nearest_tf32(_bits(float(text), element))
    except ValueError as error:
        raise LiteralError(f"{text!r} is no {element}") from error


def _nearest_tf32(bits: int) -> int:
    """To 10 bits behind the point, to nearest even: a text has too few digits to hit the value as an f32."""
    return (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF


def special(name: str, element: str) -> int | None:
    """Bits of a padding value's name (`zero`, `neg_inf`, ...); None where the type has no such value."""
    values = {"zero": 0.0, "neg_zero": -0.0, "nan": float("nan"), "pos_inf": float("inf"), "neg_inf": -float("inf")}
    if element.startswith("i"):
        return 0 if name == "zero" else None
    return _bits(values[name], element) if name in values else None


def integer_to_float(value: int, element: str) -> int | None:
    """Bits of an integer that `element` holds exactly; else None."""
    digits = _EXACT_INTEGERS.get(element)
    return _bits(float(value), element) if digits is not None and abs(value) < 1 << digits else None


def _value(bits: int, element: str) -> float:
    dtype, unsigned = _FLOATS[element]
    return float(np.asarray(bits, dtype=unsigned).view(dtype).astype(np.float64))


def number(bits: int, element: str) -> str | None:
    """A float constant in the fewest digits that say it; None for types that are not handled."""
    if element not in _FLOATS:
        return None
    dtype, unsigned = _FLOATS[element]
    value = np.asarray(bits, dtype=unsigned).view(dtype)
    if element in {"f16", "f32", "f64", "tf32"}:
        return str(value[()])
    return str(float(value.astype(np.float64)))


def recast(bits: int, source: str, target: str) -> int | None:
    """The same bits as a value of another type: a signed number for integers. None for other widths and for types of
    which not every pattern is a value."""
    widths = []
    for element in (source, target):
        if element == "tf32" or (element not in _FLOATS and element[:1] != "i") or element == "i1":
            return None
        widths.append(_FLOATS[element][0].itemsize * 8 if element in _FLOATS else int(element[1:]))
    if widths[0] != widths[1]:
        return None
    plain = bits & ((1 << widths[0]) - 1)
    return plain if target in _FLOATS or plain < 1 << (widths[0] - 1) else plain - (1 << widths[0])


def compare_floats(words: str, a: int, b: int, element: str) -> bool | None:
    """`less_than ordered` of two constants, by their bits; None for types not handled."""
    if element not in _FLOATS:
        return None
    predicate, _, rest = words.partition(" ")
    x, y = _value(a, element), _value(b, element)
    if x != x or y != y:
        return {"ordered": False, "unordered": True}.get(rest)
    table = {
        "equal": x == y,
        "not_equal": x != y,
        "less_than": x < y,
        "less_than_or_equal": x <= y,
        "greater_than": x > y,
        "greater_than_or_equal": x >= y,
    }
    return table.get(predicate)


def convert_float(bits: int, source: str, target: str) -> int | None:
    """Float constant to another float type, to nearest even; None for types or NaNs not handled."""
    if source not in _FLOATS or target not in _FLOATS:
        return None
    value = _value(bits, source)
    if value != value or (math.isinf(value) and target in {"f8E4M3FN", "f8E5M2"}):  # a GPU makes it finite
        return None
    made = _bits(value, target)
    if _value(made, target) == value:
        return made if target != "tf32" or made & 0x1FFF == 0 else None
    # NumPy rounds f64 and f8 through f32: twice.
    return None if source == "f64" or target in {"tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU"} else made
