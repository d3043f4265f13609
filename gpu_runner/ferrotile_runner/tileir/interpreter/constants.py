"""Literals of Tile IR text as elements."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    UnsupportedOperation,
    convert,
    element_dtype,
    is_float,
)
from ferrotile_runner.tileir.model import Attribute


def parse_literal(text: str, element: str) -> Array:
    """One literal as a rank-0 tile: `true`, `-1`, `1.5e+00`, `nan`, or the bits of a float as
    `0xFF800000`."""
    dtype = element_dtype(element)
    word = text.strip()
    if word in ("true", "false"):
        return np.asarray(word == "true").astype(dtype)
    if not is_float(dtype):
        value = int(word, 0)
        if dtype == np.bool_:
            return np.asarray(bool(value & 1))
        bits = dtype.itemsize * 8
        value %= 2**bits
        return np.asarray(value - 2**bits if value >= 2 ** (bits - 1) else value).astype(dtype)
    if word.lower().lstrip("-").startswith("0x"):
        unsigned = np.dtype(f"u{dtype.itemsize}")
        return np.asarray(int(word, 16), dtype=unsigned).view(dtype)
    if element == "f64" or word.lower().lstrip("+-") in ("nan", "inf"):
        return convert(np.asarray(float(word)), element)
    return convert(_to_f64_odd(word), element)


def _to_f64_odd(word: str) -> Array:
    """The decimal as f64; where f64 cannot hold it, its odd neighbour, so that the next rounding is the
    only one."""
    value = float(word)
    exact = Fraction(word)
    if Fraction(value) != exact and np.float64(value).view(np.uint64) & 1 == 0:
        value = float(np.nextafter(value, np.inf if exact > Fraction(value) else -np.inf))
    return np.asarray(value)


def parse_constant(attribute: Attribute, element: str) -> Array:
    """The value of `constant`: a scalar, or a nested list as an array of its shape."""
    if not isinstance(attribute, str):
        raise UnsupportedOperation(f"constant {attribute!r}")
    text = attribute.strip()
    if not text.startswith("["):
        return parse_literal(text, element)
    words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
    flat = np.stack([parse_literal(word, element) for word in words])
    return flat.reshape(_list_shape(text))


def _list_shape(text: str) -> tuple[int, ...]:
    shape: list[int] = []
    items = text.replace(" ", "")
    while items.startswith("["):
        parts, depth, start = [], 0, 1
        for at, letter in enumerate(items):
            depth += (letter == "[") - (letter == "]")
            if (letter == "," and depth == 1) or depth == 0:
                parts.append(items[start:at])
                start = at + 1
        shape.append(len(parts))
        items = parts[0]
    return tuple(shape)


def parse_identities(attribute: Attribute, elements: Sequence[str]) -> tuple[Array, ...]:
    """The identity of each operand of `reduce` or `scan`."""
    if not isinstance(attribute, tuple):
        raise UnsupportedOperation(f"identities {attribute!r}")
    return tuple(parse_literal(str(word), element) for word, element in zip(attribute, elements, strict=True))
