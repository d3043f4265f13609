"""Conformance of arithmetic, comparison, logic, conversion and math: operation x element type x keyword."""

from __future__ import annotations

import numpy as np
from rows import PROVED, SIMULATED, Array, Reference, Result, Row, elementwise, file_of, refused

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTEGERS = SIGNED + UNSIGNED
NARROW = ("i16", "u16")
"""Integers whose `+ - * <<` cutile has no operator for."""
FLOATS = ("f16", "bf16", "f32", "f64")
PYTHON = {
    "bool": "ct.bool_", "f16": "ct.float16", "bf16": "ct.bfloat16", "f32": "ct.float32", "f64": "ct.float64",
    "tf32": "ct.tfloat32", "f8e4m3fn": "ct.float8_e4m3fn", "f8e5m2": "ct.float8_e5m2",
    "f8e8m0fnu": "ct.float8_e8m0fnu", "f4e2m1fn": "ct.float4_e2m1fn",
    **{f"i{b}": f"ct.int{b}" for b in (8, 16, 32, 64)}, **{f"u{b}": f"ct.uint{b}" for b in (8, 16, 32, 64)},
}  # fmt: skip
COMPARISONS = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}  # fmt: skip


def _compare(symbol: str) -> Reference:
    return lambda a, b: COMPARISONS[symbol](a, b)


def _divisor(dtype: str) -> str:
    """Makes `d` of `b`: never zero, never minus one where the dividend is the least integer."""
    if dtype.startswith("u"):
        return "d = ct.where(b == 0, 3, b)\n"
    return "d = ct.where((b == 0) | (b == -1), -3, b)\n"


def _safe(b: Array, signed: bool) -> Array:
    return np.where((b == 0) | ((b == -1) & signed), -3 if signed else 3, b)


def _integer_rows() -> list[Row]:
    rows = []
    for d in INTEGERS:
        signed = d in SIGNED
        both = {"a": d, "b": d}
        rows.append(
            elementwise(
                f"integer-add-{d}",
                both,
                [
                    Result("a + b", d, lambda a, b: a + b),
                    Result("a - b", d, lambda a, b: a - b),
                    Result("a * b", d, lambda a, b: a * b),
                    Result("ct.add(a, 7)", d, lambda a, b: a + 7),
                    Result("ct.sub(9, b)", d, lambda a, b: 9 - b),
                    Result("ct.mul(a, 3)", d, lambda a, b: a * 3),
                    Result("a << (b & 3)", d, lambda a, b: a << (b & 3)),
                ],
                SIMULATED if d in NARROW else PROVED,
            )
        )
        rows.append(
            elementwise(
                f"integer-bits-{d}",
                both,
                [
                    Result("a & b", d, lambda a, b: a & b),
                    Result("a | b", d, lambda a, b: a | b),
                    Result("a ^ b", d, lambda a, b: a ^ b),
                    Result("~a", d, lambda a, b: ~a),
                    Result("ct.bitwise_not(b)", d, lambda a, b: ~b),
                    Result("a >> (b & 7)", d, lambda a, b: a >> (b & 7)),
                    Result("-a", d, lambda a, b: -a),
                    Result("+b", d, lambda a, b: b),
                    Result("abs(a)", d, _absolute(d)),
                    Result("ct.minimum(a, b)", d, lambda a, b: np.minimum(a, b)),
                    Result("max(a, b)", d, lambda a, b: np.maximum(a, b)),
                ],
            )
        )
        floors = [
            Result("a // d", d, lambda a, b: a // _safe(b, True)),
            Result("ct.floordiv(a, 7)", d, lambda a, b: a // 7),
            Result("divmod(a, d)[0]", d, lambda a, b: a // _safe(b, True)),
            Result("ct.divmod(a, d)[1]", d, lambda a, b: a % _safe(b, True)),
        ]
        rows.append(
            elementwise(
                f"integer-divide-{d}",
                both,
                [
                    Result("a % d", d, lambda a, b, s=signed: a % _safe(b, s)),
                    Result("ct.cdiv(a, d)", d, lambda a, b, s=signed: -(-a // _safe(b, s))),
                    Result("ct.mod(a, 5)", d, lambda a, b: a % 5),
                    *(floors if signed else []),
                ],
                SIMULATED if d in NARROW else PROVED,
                lines=_divisor(d),
            )
        )
        if not signed:
            rows.append(refused(f"floor-divide-{d}", both, "c = a // b\nct.store(a_, (i,), c)", "FT220", "a // b"))
        rows.append(
            elementwise(
                f"integer-compare-{d}",
                both,
                [Result(f"a {s} b", "bool", _compare(s)) for s in COMPARISONS]
                + [Result("ct.where(a < b, a, 1)", d, lambda a, b: np.where(a < b, a, 1))]
                + [Result("ct.where(a, b, a)", d, lambda a, b: np.where(a != 0, b, a))]
                + [Result("not a", "bool", lambda a, b: a == 0)],
            )
        )
        rows.append(
            elementwise(
                f"integer-float-{d}",
                both,
                [
                    Result("a / d", "f32", lambda a, b, s=signed: _f32(a) / _f32(_safe(b, s))),
                    Result("a + 0.5", "f32", lambda a, b: _f32(a) + 0.5),
                    Result("ct.sqrt(abs(a))", "f32"),
                    Result("a < 2.5", "bool", lambda a, b: _f32(a) < 2.5),
                ],
                lines=_divisor(d),
            )
        )
    return rows


def _absolute(dtype: str) -> Reference:
    """cuTile's `abs` reads the bits of every integer as signed."""
    bits = int(dtype[1:])
    return lambda a, b: np.abs(np.where(a >= 2 ** (bits - 1), a - 2**bits, a))


def _f32(x: Array) -> Array:
    return x.astype(np.float64).astype(np.float32).astype(np.float64)


def _named_rows() -> list[Row]:
    functions = {
        "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
    }  # fmt: skip
    return [
        elementwise(
            "named-functions",
            {"a": "i32", "b": "i32", "c": "f32", "d": "f32"},
            [
                *(Result(f"ct.{n}(a, b)", "bool", _compare(s)) for n, s in functions.items()),
                *(Result(f"ct.{n}(c, d)", "bool", lambda c, d, s=s: COMPARISONS[s](c, d)) for n, s in functions.items()),
                Result("ct.bitwise_and(a, b)", "i32", lambda a, b: a & b),
                Result("ct.bitwise_or(a, b)", "i32", lambda a, b: a | b),
                Result("ct.bitwise_xor(a, 5)", "i32", lambda a, b: a ^ 5),
                Result("ct.bitwise_lshift(a, 3)", "i32", lambda a, b: a << 3),
                Result("ct.bitwise_rshift(a, 3)", "i32", lambda a, b: a >> 3),
                Result("ct.negative(a)", "i32", lambda a, b: -a),
                Result("ct.negative(c)", "f32", lambda c: -c),
                Result("ct.abs(c)", "f32", lambda c: np.abs(c)),
                Result("operator.sub(a, b)", "i32", lambda a, b: a - b),
                Result("operator.invert(a)", "i32", lambda a: ~a),
            ],
        ),
    ]


def _bool_rows() -> list[Row]:
    return [
        elementwise(
            "bool",
            {"a": "bool", "b": "bool", "c": "i32"},
            [
                Result("a & b", "bool", lambda a, b, c: a & b),
                Result("a | b", "bool", lambda a, b, c: a | b),
                Result("a ^ b", "bool", lambda a, b, c: a ^ b),
                Result("~a", "bool", lambda a, b, c: 1 - a),
                Result("not b", "bool", lambda a, b, c: 1 - b),
                Result("a == b", "bool", lambda a, b, c: a == b),
                Result("a < b", "bool", lambda a, b, c: a < b),
                Result("a + 1", "i32", lambda a, b, c: a + 1),
                Result("-a", "i32", lambda a, b, c: -a),
                Result("a + c", "i32", lambda a, b, c: a + c),
                Result("a * 1.5", "f32", lambda a, b, c: a * 1.5),
                Result("a & 1", "i32", lambda a, b, c: a & 1),
                Result("c | True", "i32", lambda a, b, c: c | 1),
                Result("a / c", "f32"),
                Result("ct.where(a, b, False)", "bool", lambda a, b, c: a & b),
                Result("abs(a)", "bool", lambda a, b, c: a),
            ],
        ),
    ]


def _float_rows() -> list[Row]:
    rows = []
    for d in FLOATS:
        both = {"a": d, "b": d}
        rows.append(
            elementwise(
                f"float-arithmetic-{d}",
                both,
                [
                    Result("a + b", d, lambda a, b: a + b),
                    Result("a - b", d, lambda a, b: a - b),
                    Result("a * b", d, lambda a, b: a * b),
                    Result("a / b", d, lambda a, b: a / b),
                    Result("-a", d, lambda a, b: -a),
                    Result("abs(b)", d, lambda a, b: np.abs(b)),
                    Result("a * 2", d, lambda a, b: a * 2),
                    Result("1.5 - b", d, lambda a, b: 1.5 - b),
                    Result("2 / b", d, lambda a, b: 2 / b),
                    Result("ct.floor(a)", d, lambda a, b: np.floor(a)),
                    Result("ct.ceil(a)", d, lambda a, b: np.ceil(a)),
                ],
            )
        )
        rows.append(
            elementwise(
                f"float-fma-{d}",
                both | {"c": d},
                [
                    Result("a * b + c", d, lambda a, b, c: a * b + c),
                    Result("c + a * b", d, lambda a, b, c: a * b + c),
                    Result("a * b - c", d, lambda a, b, c: a * b - c),
                    Result("c - a * b", d, lambda a, b, c: c - a * b),
                    Result("a * b + b * c", d),
                    Result("-(a * b) + c", d, lambda a, b, c: c - a * b),
                ],
            )
        )
        rows.append(
            elementwise(
                f"float-divide-{d}",
                both,
                [
                    Result("a // b", d),
                    Result("a % b", d),
                    Result("ct.floordiv(a, 2.0)", d, lambda a, b: np.floor(a / 2.0)),
                    Result("ct.mod(a, 2.0)", d, lambda a, b: _floor_mod(a, 2.0)),
                    Result("ct.pow(abs(a), b)", d),
                    Result("a ** 2", d),
                    Result("a ** 0.5", d),
                    Result("ct.atan2(a, b)", d, lambda a, b: np.arctan2(a, b)),
                ],
            )
        )
        rows.append(
            elementwise(
                f"float-compare-{d}",
                both,
                [Result(f"a {s} b", "bool", _compare(s)) for s in COMPARISONS]
                + [
                    Result("ct.isnan(a)", "bool", lambda a, b: np.isnan(a)),
                    Result("ct.where(a > b, a, b)", d, lambda a, b: np.where(a > b, a, b)),
                    Result("ct.where(a, 1, b)", d),
                    Result("not a", "bool"),
                ],
            )
        )
        rows.append(
            elementwise(
                f"float-extremes-{d}",
                both,
                [
                    Result("ct.minimum(a, b)", d, lambda a, b: np.fmin(a, b)),
                    Result("ct.maximum(a, b)", d, lambda a, b: np.fmax(a, b)),
                    Result("min(a, 0.5)", d, lambda a, b: np.fmin(a, 0.5)),
                    Result("max(0, b)", d, lambda a, b: np.fmax(0, b)),
                    Result("ct.minimum(a, b, propagate_nan=True)", d, lambda a, b: np.minimum(a, b)),
                    Result("ct.maximum(a, b, propagate_nan=True)", d, lambda a, b: np.maximum(a, b)),
                ],
            )
        )
        rows.append(
            elementwise(
                f"float-math-{d}",
                {"a": d},
                [
                    Result("ct.exp(a)", d, np.exp),
                    Result("ct.exp2(a)", d, np.exp2),
                    Result("ct.log(a)", d, np.log),
                    Result("ct.log2(a)", d, np.log2),
                    Result("ct.sqrt(a)", d, np.sqrt),
                    Result("ct.rsqrt(a)", d, lambda a: 1 / np.sqrt(a)),
                    Result("ct.sin(a)", d, np.sin),
                    Result("ct.cos(a)", d, np.cos),
                    Result("ct.tan(a)", d, np.tan),
                    Result("ct.sinh(a)", d, np.sinh),
                    Result("ct.cosh(a)", d, np.cosh),
                    Result("ct.tanh(a)", d, np.tanh),
                ],
            )
        )
        rows.append(
            elementwise(
                f"float-rounding-{d}",
                both,
                [
                    *(
                        Result(f"ct.{f}(a, b, rounding_mode=ct.RoundingMode.{r})", d)
                        for f in ("add", "sub", "mul", "truediv")
                        for r in ("RN", "RZ", "RM", "RP")
                    ),
                ],
            )
        )
        rows.append(
            elementwise(
                f"float-sqrt-rounding-{d}",
                both,
                [
                    *(Result(f"ct.sqrt(a, rounding_mode=ct.RoundingMode.{r})", d) for r in ("RN", "RZ", "RM", "RP")),
                    Result(
                        "ct.add(ct.mul(a, b, rounding_mode=ct.RoundingMode.RZ), a, rounding_mode=ct.RoundingMode.RZ)", d
                    ),
                    Result("ct.add(ct.mul(a, b, rounding_mode=ct.RoundingMode.RZ), a)", d),
                ],
            )
        )
    return rows


def _floor_mod(a: Array, b: float) -> Array:
    return a - np.floor(a / b) * b


def _keyword_rows() -> list[Row]:
    both = {"a": "f32", "b": "f32"}
    approx = "rounding_mode=ct.RoundingMode.APPROX"
    full = "rounding_mode=ct.RoundingMode.FULL"
    ftz = "flush_to_zero=True"
    rows = [
        elementwise(
            "float-flush-to-zero",
            both,
            [
                *(Result(f"ct.{f}(a, b, {ftz})", "f32") for f in ("add", "sub", "mul", "truediv", "minimum", "maximum")),
                *(Result(f"ct.{f}(a, {ftz})", "f32") for f in ("exp2", "rsqrt", "sqrt")),
                Result(f"ct.maximum(a, b, propagate_nan=True, {ftz})", "f32"),
                Result(f"ct.add(ct.mul(a, b, {ftz}), b, {ftz})", "f32"),
                Result(f"ct.add(ct.mul(a, b, {ftz}), b)", "f32"),
            ],
        ),
        elementwise(
            "float-approximate",
            both,
            [
                Result(f"ct.truediv(a, b, {approx})", "f32"),
                Result(f"ct.truediv(a, b, {approx}, {ftz})", "f32"),
                Result(f"ct.sqrt(a, {approx})", "f32"),
                Result(f"ct.sqrt(a, {approx}, {ftz})", "f32"),
                Result(f"ct.exp(a, {approx})", "f32"),
                Result(f"ct.tanh(a, {approx})", "f32"),
                Result(f"ct.exp(a, {full})", "f32"),
                Result(f"ct.tanh(a, {full})", "f32"),
            ],
        ),
        refused("full-division", both, f"c = ct.truediv(a, b, {full})\nct.store(b_, (i,), c)", "FT302",
                "ct.truediv(a, b, rounding_mode=ct.RoundingMode.FULL)"),
    ]  # fmt: skip
    wrong = {
        "approx-add": ("f32", f"ct.add(a, b, {approx})", "ct.RoundingMode.APPROX"),
        "full-sqrt": ("f32", f"ct.sqrt(a, {full})", "ct.RoundingMode.FULL"),
        "rz-exp": ("f32", "ct.exp(a, rounding_mode=ct.RoundingMode.RZ)", "ct.RoundingMode.RZ"),
        "approx-f16": ("f16", f"ct.truediv(a, b, {approx})", "ct.RoundingMode.APPROX"),
        "ftz-f16": ("f16", f"ct.add(a, b, {ftz})", "True"),
        "ftz-f64": ("f64", f"ct.sqrt(a, {ftz})", "True"),
        "rounded-integers": ("i32", "ct.add(a, b, rounding_mode=ct.RoundingMode.RN)", "ct.RoundingMode.RN"),
    }
    for name, (dtype, call, at) in wrong.items():
        rows.append(refused(f"keyword-{name}", {"a": dtype, "b": dtype}, f"c = {call}\nct.store(b_, (i,), c)", "FT203", at))
    return rows


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
        elementwise(
            "infinities",
            {"a": "f32", "b": "bf16", "c": "f16"},
            [
                Result("ct.full((T,), -float('inf'), ct.float32) + a", "f32", lambda a, b, c: a - np.inf),
                Result("ct.where(a > 0, a, float('-inf'))", "f32", lambda a, b, c: np.where(a > 0, a, -np.inf)),
                Result("ct.where(b > 0, b, float('inf'))", "bf16", lambda a, b, c: np.where(b > 0, b, np.inf)),
                Result("ct.where(c > 0, c, -float('inf'))", "f16", lambda a, b, c: np.where(c > 0, c, -np.inf)),
                Result("ct.where(a > 0, a, float('nan'))", "f32", lambda a, b, c: np.where(a > 0, a, np.nan)),
                Result("ct.full((T,), 1.0, ct.bfloat16) * b", "bf16", lambda a, b, c: b),
            ],
        ),
    ]
    pairs = [("i32", "u32"), ("i8", "u64"), ("f16", "bf16"), ("f32", "tf32"), ("f8e5m2", "f8e5m2")]
    for a, b in pairs:
        rows.append(refused(f"promotion-{a}-{b}", {"a": a, "b": b}, "c = a + b\nct.store(a_, (i,), c)", "FT203", "a + b"))
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
        refused("isnan-integer", {"a": "i32"}, "c = ct.where(ct.isnan(a), a, a)\nct.store(a_, (i,), c)", "FT203",
                "ct.isnan(a)"),
        refused("store-narrows", {"a": "f32", "b": "f16"}, "ct.store(b_, (i,), a)", "FT206",
                "ct.store(b_, (i,), a)"),
    ]  # fmt: skip
    return rows


def _conversion_rows() -> list[Row]:
    rows = []
    for source in ("bool", *INTEGERS):
        rows.append(
            elementwise(
                f"convert-{source}-integers",
                {"a": source},
                [Result(f"a.astype({PYTHON[d]})", d, lambda a: a) for d in INTEGERS if d != source]
                + [Result("a.astype(ct.bool_)", "bool", lambda a: a != 0)] * (source != "bool"),
            )
        )
        rows.append(
            elementwise(
                f"convert-{source}-floats",
                {"a": source},
                [Result(f"ct.astype(a, {PYTHON[d]})", d, lambda a: a.astype(np.float64)) for d in FLOATS],
            )
        )
    for source in FLOATS:
        rows.append(
            elementwise(
                f"convert-{source}-integers",
                {"a": source},
                [Result(f"a.astype({PYTHON[d]})", d) for d in (*INTEGERS, "bool")],
            )
        )
        rows.append(
            elementwise(
                f"convert-{source}-floats",
                {"a": source},
                [Result(f"a.astype({PYTHON[d]})", d, lambda a: a) for d in FLOATS if d != source]
                + [Result(f"a.astype({PYTHON[d]})", d) for d in ("f8e4m3fn", "f8e5m2")]
                + [Result("a.astype(ct.tfloat32).astype(ct.float32)", "f32")],
            )
        )
    for source in ("f8e4m3fn", "f8e5m2"):
        rows.append(
            elementwise(
                f"convert-{source}",
                {"a": source},
                [Result(f"a.astype({PYTHON[d]})", d, lambda a: a) for d in FLOATS]
                + [Result("a.astype(ct.int32)", "i32"), Result("a.astype(ct.uint8)", "u8")],
            )
        )
    rows += [
        elementwise(
            "bitcast",
            {"a": "f32", "b": "i32", "c": "f16", "d": "u8", "e": "i64", "f": "bf16"},
            [
                Result("ct.bitcast(a, ct.int32)", "i32"),
                Result("ct.bitcast(a, ct.uint32) ^ 1", "u32"),
                Result("ct.bitcast(b, ct.float32)", "f32"),
                Result("ct.bitcast(c, ct.int16)", "i16"),
                Result("ct.bitcast(f, ct.uint16)", "u16"),
                Result("ct.bitcast(f, ct.float16)", "f16"),
                Result("ct.bitcast(d, ct.float8_e4m3fn).astype(ct.float32)", "f32"),
                Result("ct.bitcast(e, ct.float64)", "f64"),
                Result("ct.bitcast(b, ct.uint32) >> 3", "u32", lambda a, b, c, d, e, f: (b % 2**32) >> 3),
            ],
        ),
        refused("bitcast-width", {"a": "f32"}, "b = ct.bitcast(a, ct.int16)\nct.store(a_, (i,), b)", "FT203",
                "ct.int16"),
        refused("bitcast-bool", {"a": "bool"}, "b = ct.bitcast(a, ct.int8)\nct.store(a_, (i,), a)", "FT203",
                "ct.int8"),
        refused("astype-rounding", {"a": "i32"},
                "b = a.astype(ct.float32, rounding_mode=ct.RoundingMode.RZ)\nct.store(a_, (i,), a)", "FT203",
                "ct.RoundingMode.RZ"),
    ]  # fmt: skip
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
    k = k + abs(i - 2 * n) - min(n, i) * max(n, 2) + ct.cdiv(n, 3) + (i << 2) + (n >> 1) + (i & 6) + (n | 1) + (i ^ n) + ~i
    f = ct.exp(s) * 2.0 + s / 3 - ct.sqrt(abs(s)) + ct.maximum(s, 0.25) + ct.minimum(s, 1) + (s // 2.0) + s % 0.5
    w = (m * 3 + k) % 7 + (m // 2) - abs(m)
    v = (u * 3 + 4294967295) % 5 + (u >> 1)
    g = ct.where(n > 1, f, 0.5) if s != s else f * 2
    a = a * k + f + w + v + g + (n != 2) + (not n) + n / 4 + ct.float32(k)
    ct.store(y, (i,), a)
"""
    rows = [Row("scalars", source.lstrip("\n"), SIMULATED)]
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
        rows.append(Row(f"scalars-{d}", file_of(directive, "x, y, n, m, T: ct.Constant[int]", text), SIMULATED))
    for d in FLOATS:
        directive = f"x: {d}[N], y: {d}[N], s: {d}, t: {d}, T=16, grid=(N/T)"
        text = (
            "i = ct.bid(0)\na = ct.load(x, (i,), (T,))\n"
            "f = s * t + 2 - s / 3 + ct.exp(s) + abs(t) + min(s, 0.25) + max(t, s) + s // 2 + t % 0.5 + (-s)\n"
            "if s < t:\n    f = f + 1\nif (s != t) & (s > 0.1):\n    f = f * ct.sqrt(t)\n"
            "g = ct.where(s > 0.5, f, t)\na = a * f + g + (not s) + f.astype(ct.int32)\n"
            "ct.store(y, (i,), a)\n"
        )
        rows.append(Row(f"scalars-{d}", file_of(directive, "x, y, s, t, T: ct.Constant[int]", text), SIMULATED))
    return rows


ROWS = (
    *_integer_rows(),
    *_named_rows(),
    *_bool_rows(),
    *_float_rows(),
    *_keyword_rows(),
    *_promotion_rows(),
    *_conversion_rows(),
    *_scalar_rows(),
)
