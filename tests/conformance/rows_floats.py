"""Conformance of float arithmetic, math and their keywords: operation x element type x keyword."""

from __future__ import annotations

import numpy as np
from rows import Array, Result, Row, elementwise, refused
from rows_types import COMPARISONS, FLOATS, compared


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
                [Result(f"a {s} b", "bool", compared(s)) for s in COMPARISONS]
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
                *(
                    Result(f"ct.{f}(a, b, {ftz})", "f32")
                    for f in ("add", "sub", "mul", "truediv", "minimum", "maximum")
                ),
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
        refused(
            "full-division",
            both,
            f"c = ct.truediv(a, b, {full})\nct.store(b_, (i,), c)",
            "FT302",
            "ct.truediv(a, b, rounding_mode=ct.RoundingMode.FULL)",
        ),
    ]
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
        rows.append(
            refused(f"keyword-{name}", {"a": dtype, "b": dtype}, f"c = {call}\nct.store(b_, (i,), c)", "FT203", at)
        )
    return rows


ROWS = (*_float_rows(), *_keyword_rows())
