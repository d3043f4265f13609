"""Conformance of integer and bool arithmetic, comparison and logic: operation x element type."""

from __future__ import annotations

import numpy as np
from rows import PROVED, Array, Reference, Result, Row, elementwise, refused
from rows_types import COMPARISONS, INTEGERS, SIGNED, compared, f32


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
                PROVED,
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
                PROVED,
                lines=_divisor(d),
            )
        )
        if not signed:
            rows.append(refused(f"floor-divide-{d}", both, "c = a // b\nct.store(a_, (i,), c)", "FT220", "a // b"))
        rows.append(
            elementwise(
                f"integer-compare-{d}",
                both,
                [Result(f"a {s} b", "bool", compared(s)) for s in COMPARISONS]
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
                    Result("a / d", "f32", lambda a, b, s=signed: f32(a) / f32(_safe(b, s))),
                    Result("a + 0.5", "f32", lambda a, b: f32(a) + 0.5),
                    Result("ct.sqrt(abs(a))", "f32"),
                    Result("a < 2.5", "bool", lambda a, b: f32(a) < 2.5),
                ],
                lines=_divisor(d),
            )
        )
    return rows


def _absolute(dtype: str) -> Reference:
    """cuTile's `abs` reads the bits of every integer as signed."""
    bits = int(dtype[1:])
    return lambda a, b: np.abs(np.where(a >= 2 ** (bits - 1), a - 2**bits, a))


def _named_rows() -> list[Row]:
    functions = {
        "equal": "==",
        "not_equal": "!=",
        "less": "<",
        "less_equal": "<=",
        "greater": ">",
        "greater_equal": ">=",
    }
    return [
        elementwise(
            "named-functions",
            {"a": "i32", "b": "i32", "c": "f32", "d": "f32"},
            [
                *(Result(f"ct.{n}(a, b)", "bool", compared(s)) for n, s in functions.items()),
                *(
                    Result(f"ct.{n}(c, d)", "bool", lambda c, d, s=s: COMPARISONS[s](c, d))
                    for n, s in functions.items()
                ),
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


ROWS = (*_integer_rows(), *_named_rows(), *_bool_rows())
