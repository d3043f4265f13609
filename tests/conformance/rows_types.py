"""Element types of conformance rows, and the exact values of comparisons."""

from __future__ import annotations

import numpy as np
from rows import Array, Reference

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
NARROW = ("i16", "u16")
"""Integers whose `+ - * <<` cutile has no operator for."""
FLOATS = ("f16", "bf16", "f32", "f64")
PYTHON = {
    "bool": "ct.bool_",
    "f16": "ct.float16",
    "bf16": "ct.bfloat16",
    "f32": "ct.float32",
    "f64": "ct.float64",
    "tf32": "ct.tfloat32",
    "f8e4m3fn": "ct.float8_e4m3fn",
    "f8e5m2": "ct.float8_e5m2",
    "f8e8m0fnu": "ct.float8_e8m0fnu",
    "f4e2m1fn": "ct.float4_e2m1fn",
    **{f"i{b}": f"ct.int{b}" for b in (8, 16, 32, 64)},
    **{f"u{b}": f"ct.uint{b}" for b in (8, 16, 32, 64)},
}
COMPARISONS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def compared(symbol: str) -> Reference:
    """The exact value of a comparison of `a` and `b`."""
    return lambda a, b: COMPARISONS[symbol](a, b)


def f32(x: Array) -> Array:
    """Integers as f32 rounds them."""
    rounded: Array = x.astype(np.float64).astype(np.float32).astype(np.float64)
    return rounded
