"""Conformance of conversions: every pair of element types, rounding modes, bits."""

from __future__ import annotations

import numpy as np
from rows import TYPE_CHECKED, Result, Row, elementwise, refused
from rows_types import FLOATS, INTEGERS, PYTHON


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
        elementwise(
            # Tile IR 13.4 alone rounds so; both compilers are asked for 13.3.
            "convert-rounding",
            {"a": "f32", "b": "f64"},
            [
                *(
                    Result(f"b.astype(ct.float32, rounding_mode=ct.RoundingMode.{r})", "f32")
                    for r in ("RN", "RZ", "RM", "RP")
                ),
                Result("a.astype(ct.float16, rounding_mode=ct.RoundingMode.RZ)", "f16"),
                Result("a.astype(ct.bfloat16, rounding_mode=ct.RoundingMode.RZ)", "bf16"),
                Result("a.astype(ct.tfloat32, rounding_mode=ct.RoundingMode.RA).astype(ct.float32)", "f32"),
            ],
            TYPE_CHECKED,
        ),
        refused(
            "sqrt-rounding",
            {"a": "f32"},
            "b = ct.sqrt(a, rounding_mode=ct.RoundingMode.RZI)\nct.store(a_, (i,), b)",
            "FT203",
            "ct.RoundingMode.RZI",
        ),
        refused(
            "bitcast-width", {"a": "f32"}, "b = ct.bitcast(a, ct.int16)\nct.store(a_, (i,), b)", "FT203", "ct.int16"
        ),
        refused("bitcast-bool", {"a": "bool"}, "b = ct.bitcast(a, ct.int8)\nct.store(a_, (i,), a)", "FT203", "ct.int8"),
        refused(
            "astype-rounding",
            {"a": "i32"},
            "b = a.astype(ct.float32, rounding_mode=ct.RoundingMode.RZ)\nct.store(a_, (i,), a)",
            "FT203",
            "ct.RoundingMode.RZ",
        ),
    ]
    return rows


ROWS = tuple(_conversion_rows())
