"""Conformance of promotion, literals and scalars."""

from __future__ import annotations

import numpy as np
from rows import PROVED, Result, Row, elementwise, file_of, refused
from rows_types import FLOATS, INTEGERS, SIGNED


def _promotion_rows() -> list[Row]:
    rows = [
        elementwise(
            "promotion-signed",
            {"a": "i8", "b": "i16", "c": "i32", "d": "i64"},
            [
                Result("a * c", "i32", lambda a, b, c, d: a * c),
                Result("b + d", "i64", lambda a, b, c, d: b + d),
                Result("c - d", "i64", lambda a, b, c, d: c - d),
                Result("a < c", "bool", lambda a, b, c, d: a < c),
                Result("ct.where(a < c, b, d)", "i64", lambda a, b, c, d: np.where(a < c, b, d)),
                Result("c << a.astype(ct.int32) % 8", "i32", lambda a, b, c, d: c << (a % 8)),
                Result("max(a, c)", "i32", lambda a, b, c, d: np.maximum(a, c)),
            ],
        ),
        elementwise(
            "promotion-unsigned",
            {"a": "u8", "b": "u16", "c": "u32", "d": "u64"},
            [
                Result("a * c", "u32", lambda a, b, c, d: a * c),
                Result("b + d", "u64", lambda a, b, c, d: b + d),
                Result("c - d", "u64", lambda a, b, c, d: c - d),
                Result("a < c", "bool", lambda a, b, c, d: a < c),
                Result("min(b, c)", "u32", lambda a, b, c, d: np.minimum(b, c)),
            ],
        ),
        elementwise(
            "promotion-float",
            {"a": "f16", "b": "bf16", "c": "f32", "d": "f64", "e": "i64", "f": "u8"},
            [
                Result("a + c", "f32", lambda a, b, c, d, e, f: a + c),
                Result("b * c", "f32", lambda a, b, c, d, e, f: b * c),
                Result("c - d", "f64", lambda a, b, c, d, e, f: c - d),
                Result("a * e", "f16"),
                Result("b + f", "bf16"),
                Result("e * c", "f32"),
                Result("d + e", "f64", lambda a, b, c, d, e, f: d + e.astype(np.float64)),
                Result("a < c", "bool", lambda a, b, c, d, e, f: a < c),
                Result("ct.maximum(a, c)", "f32", lambda a, b, c, d, e, f: np.fmax(a, c)),
            ],
        ),
        elementwise(
            "literals",
            {"a": "f16", "b": "bf16", "c": "f64", "d": "u8", "e": "i32"},
            [
                Result("a + 0.1", "f16"),
                Result("b * 0.1", "bf16"),
                Result("c * 0.1", "f64", lambda a, b, c, d, e: c * float(np.float32(0.1))),
                Result("d + 200", "u8", lambda a, b, c, d, e: d + 200),
                Result("d * 1.5", "f32", lambda a, b, c, d, e: d * 1.5),
                Result("e + 2**31 // 2", "i32", lambda a, b, c, d, e: e + 2**30),
                Result("e + ct.int64(5)", "i64", lambda a, b, c, d, e: e + 5),
                Result("c + ct.float64(0.1) * 3", "f64", lambda a, b, c, d, e: c + float(np.float32(0.1)) * 3),
                Result("e + (7 // -2)", "i32", lambda a, b, c, d, e: e - 4),
                Result("e + (-7 % 3)", "i32", lambda a, b, c, d, e: e + 2),
                Result("d < 255", "bool", lambda a, b, c, d, e: d < 255),
                Result("c + ct.sqrt(2.0)", "f64", lambda a, b, c, d, e: c + float(np.float32(np.sqrt(2.0)))),
                Result("e + ct.int8(100) + ct.int8(100)", "i32", lambda a, b, c, d, e: e + 200),
                Result("e + (ct.int8(100) + ct.int8(100))", "i32", lambda a, b, c, d, e: e - 56),
                Result("e * ct.floor(2.5)", "i32", lambda a, b, c, d, e: e * 2),
            ],
        ),
        # A NaN is the bits of an integer in the Rust.
        elementwise(
            "not-a-number",
            {"a": "f32"},
            [Result("ct.where(a > 0, a, float('nan'))", "f32", lambda a: np.where(a > 0, a, np.nan))],
            PROVED,
        ),
        elementwise(
            "infinities",
            {"a": "f32", "b": "bf16", "c": "f16"},
            [
                Result("ct.full((T,), -float('inf'), ct.float32) + a", "f32", lambda a, b, c: a - np.inf),
                Result("ct.where(a > 0, a, float('-inf'))", "f32", lambda a, b, c: np.where(a > 0, a, -np.inf)),
                Result("ct.where(b > 0, b, float('inf'))", "bf16", lambda a, b, c: np.where(b > 0, b, np.inf)),
                Result("ct.where(c > 0, c, -float('inf'))", "f16", lambda a, b, c: np.where(c > 0, c, -np.inf)),
                Result("ct.full((T,), 1.0, ct.bfloat16) * b", "bf16", lambda a, b, c: b),
            ],
        ),
    ]
    pairs = [("i32", "u32"), ("i8", "u64"), ("f16", "bf16"), ("f32", "tf32"), ("f8e5m2", "f8e5m2")]
    for a, b in pairs:
        rows.append(
            refused(f"promotion-{a}-{b}", {"a": a, "b": b}, "c = a + b\nct.store(a_, (i,), c)", "FT203", "a + b")
        )
    rows += [
        refused("literal-range", {"a": "i8"}, "b = a + 200\nct.store(a_, (i,), b)", "FT208", "a + 200"),
        refused("literal-sign", {"a": "u8"}, "b = a + (-1)\nct.store(a_, (i,), b)", "FT208", "a + (-1)"),
        refused("bitwise-types", {"a": "i32", "b": "i64"}, "c = a & b\nct.store(b_, (i,), c)", "FT203", "a & b"),
        refused("bitwise-float", {"a": "f32"}, "c = a & 1\nct.store(a_, (i,), c)", "FT203", "a & 1"),
        refused("bool-add", {"a": "bool"}, "c = a + a\nct.store(a_, (i,), c)", "FT203", "a + a"),
        refused("bool-max", {"a": "bool"}, "c = max(a, a)\nct.store(a_, (i,), c)", "FT203", "max(a, a)"),
        refused("integer-power", {"a": "i32"}, "c = a ** 2\nct.store(a_, (i,), c)", "FT302", "a ** 2"),
        refused("float-cdiv", {"a": "f32"}, "c = ct.cdiv(a, 2.0)\nct.store(a_, (i,), c)", "FT203", "ct.cdiv(a, 2.0)"),
        refused("float-divmod", {"a": "f32"}, "c = divmod(a, a)[0]\nct.store(a_, (i,), c)", "FT203", "divmod(a, a)"),
        refused("integer-floor", {"a": "i32"}, "c = ct.floor(a)\nct.store(a_, (i,), c)", "FT203", "ct.floor(a)"),
        refused("float-invert", {"a": "f32"}, "c = ~a\nct.store(a_, (i,), c)", "FT203", "~a"),
        refused("float-shift", {"a": "f32"}, "c = a << 1\nct.store(a_, (i,), c)", "FT203", "a << 1"),
        refused("integer-atan2", {"a": "i32"}, "c = ct.atan2(a, a)\nct.store(a_, (i,), c)", "FT203", "ct.atan2(a, a)"),
        refused("f8-compare", {"a": "f8e4m3fn"}, "c = ct.where(a < a, a, a)\nct.store(a_, (i,), c)", "FT203", "a < a"),
        refused(
            "isnan-integer",
            {"a": "i32"},
            "c = ct.where(ct.isnan(a), a, a)\nct.store(a_, (i,), c)",
            "FT203",
            "ct.isnan(a)",
        ),
        refused("store-narrows", {"a": "f32", "b": "f16"}, "ct.store(b_, (i,), a)", "FT206", "ct.store(b_, (i,), a)"),
    ]
    return rows


def _scalar_rows() -> list[Row]:
    """Rank-0 values: block ids, scalars and items of tiles go through other Rust forms than tiles."""
    source = """
import cuda.tile as ct

# ferrotile: x: f32[N], y: f32[N], n: i32, s: f32, m: i64, u: u32, T=16, grid=(N/T)
@ct.kernel
def row(x, y, n, s, m, u, T: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, (i,), (T,))
    k = (i * n + 3) // (n + 1) - (i - 5) % (n + 2)
    k = k + abs(i - 2 * n) - min(n, i) * max(n, 2) + ct.cdiv(n, 3)
    k = k + (i << 2) + (n >> 1) + (i & 6) + (n | 1) + (i ^ n) + ~i
    f = ct.exp(s) * 2.0 + s / 3 - ct.sqrt(abs(s)) + ct.maximum(s, 0.25) + ct.minimum(s, 1) + (s // 2.0) + s % 0.5
    w = (m * 3 + k) % 7 + (m // 2) - abs(m)
    v = (u * 3 + 4294967295) % 5 + (u >> 1)
    g = ct.where(n > 1, f, 0.5) if s != s else f * 2
    a = a * k + f + w + v + g + (n != 2) + (not n) + n / 4 + ct.float32(k)
    ct.store(y, (i,), a)
"""
    rows = [Row("scalars", source.lstrip("\n"), PROVED)]
    for d in INTEGERS:
        signed = d in SIGNED
        floor = "n // 3" if signed else "ct.cdiv(n, 3)"
        directive = f"x: f32[N], y: f32[N], n: {d}, m: {d}, T=16, grid=(N/T)"
        text = (
            "i = ct.bid(0)\na = ct.load(x, (i,), (T,))\n"
            f"k = (n + m) * 3 - (n & 6) + (m | 1) + (n ^ m) + ~n + (n << 1) + (m >> 1) + {floor} + n % 5\n"
            "k = k + abs(n) + min(n, m) + max(n, 2) + ct.cdiv(m, 2) + ct.where(n < m, n, m) - (-n)\n"
            "if n < m:\n    k = k + 1\nif (n == 2) | (m != 3) | (n >= m):\n    k = k * 2\n"
            "a = a + k + n / 4 + (not n) + k.astype(ct.int8) + k.astype(ct.uint64) + k.astype(ct.float16)\n"
            "ct.store(y, (i,), a)\n"
        )
        rows.append(Row(f"scalars-{d}", file_of(directive, "x, y, n, m, T: ct.Constant[int]", text), PROVED))
    for d in FLOATS:
        directive = f"x: {d}[N], y: {d}[N], s: {d}, t: {d}, T=16, grid=(N/T)"
        text = (
            "i = ct.bid(0)\na = ct.load(x, (i,), (T,))\n"
            "f = s * t + 2 - s / 3 + ct.exp(s) + abs(t) + min(s, 0.25) + max(t, s) + s // 2 + t % 0.5 + (-s)\n"
            "if s < t:\n    f = f + 1\nif (s != t) & (s > 0.1):\n    f = f * ct.sqrt(t)\n"
            "g = ct.where(s > 0.5, f, t)\na = a * f + g + (not s) + f.astype(ct.int32)\n"
            "ct.store(y, (i,), a)\n"
        )
        rows.append(Row(f"scalars-{d}", file_of(directive, "x, y, s, t, T: ct.Constant[int]", text), PROVED))
    return rows


ROWS = (*_promotion_rows(), *_scalar_rows())
