"""Promotion, literals, operators and casts of the cuTile front end, against the rules measured on cuTile Python 1.7."""

from __future__ import annotations

import math

import pytest
from frontend_support import lower, problems, text_of

_KERNEL = """
@ct.kernel
def k(x, y, z, n, T):
    a = ct.load(x, 0, (T,))
    b = ct.load(y, 0, (T,))
    ct.store(z, 0, {})
"""


def _ops(expression: str, x: str = "f32", y: str = "i32", z: str = "f32") -> list[str]:
    lines = text_of(_KERNEL.format(expression), x=f"{x}[1]", y=f"{y}[1]", z=f"{z}[1]", n="i32", T=16)
    skip = ("make_view", "load_view", "store_view", "constant", "const_param")
    found = [line.split(" = ", 1)[1] for line in lines if " = " in line and not line.startswith("kernel")]
    return [op.split(" ", 1)[0] for op in found if not op.startswith(skip)]


@pytest.mark.parametrize(
    ("expression", "types", "expected"),
    [
        ("a + 1", ("f32", "i32", "f32"), ["addf"]),
        ("a + b", ("f32", "i64", "f32"), ["itof", "addf"]),
        ("a + b", ("f16", "f32", "f32"), ["ftof", "addf"]),
        ("b / 3", ("f32", "i64", "f32"), ["itof", "divf"]),
        ("b + 1.5", ("f32", "i32", "f32"), ["itof", "addf"]),
        ("a // 2.0", ("f32", "i32", "f32"), ["divf", "floor"]),
        ("b // 3", ("f32", "i32", "i32"), ["divi"]),
        ("ct.cdiv(b, 3)", ("f32", "i32", "i32"), ["divi"]),
        ("b % 3", ("f32", "i32", "i32"), ["remi", "cmpi", "cmpi", "xori", "cmpi", "andi", "addi", "select"]),
        ("a % 3.0", ("f32", "i32", "f32"), ["remf", "cmpf", "cmpf", "xori", "cmpf", "andi", "addf", "select"]),
        ("a ** 2", ("f32", "i32", "f32"), ["pow"]),
        ("-(b > 1)", ("f32", "i32", "i32"), ["cmpi", "exti", "negi"]),
        ("~b", ("f32", "i32", "i32"), ["xori"]),
        ("ct.exp(b)", ("f32", "i32", "f32"), ["itof", "exp"]),
        ("ct.where(b > 0, a, 1)", ("f32", "i32", "f32"), ["cmpi", "select"]),
        ("max(a, b)", ("f32", "i32", "f32"), ["itof", "maxf"]),
        ("abs(b)", ("f32", "i32", "i32"), ["absi"]),
        ("a + n", ("f32", "i32", "f32"), ["itof", "reshape", "broadcast", "addf"]),
        ("b.astype(ct.int8)", ("f32", "i32", "i8"), ["trunci"]),
        ("b.astype(ct.uint32)", ("f32", "i32", "u32"), ["bitcast"]),
        ("a.astype(ct.int32)", ("f32", "i32", "i32"), ["ftoi"]),
        ("a", ("f16", "i32", "f32"), ["ftof"]),
        ("ct.sum(b > 0)", ("f32", "i32", "i32"), ["cmpi", "exti", "reduce", "reshape"]),
    ],
)
def test_operations(expression: str, types: tuple[str, str, str], expected: list[str]) -> None:
    assert _ops(expression, *types) == expected


@pytest.mark.parametrize(
    ("expression", "dtype", "value"),
    [
        ("0.1", "f32", "0.10000000149011612"),
        ("0.1", "f64", "0.10000000149011612"),
        ("0.1", "f16", "0.0999755859375"),
        ("0.1", "bf16", "0.10009765625"),
        ("1.0 / math.log(2)", "f32", None),
        ("-math.inf", "f32", "-inf"),
        ("7 // -2", "i32", "-4"),
        ("2 ** 10", "i32", "1024"),
    ],
)
def test_constants_pass_through_f32(expression: str, dtype: str, value: str | None) -> None:
    source = f"@ct.kernel\ndef k(x):\n    ct.store(x, 0, {expression})\n"
    if value is None:
        assert problems(source, x=f"{dtype}[1]") == [("FT205", "math.log(2)")]
        return
    assert f"%0 = constant {{value = {value}}} : tile<{dtype}>" in text_of(source, x=f"{dtype}[1]")


def test_module_constants_are_evaluated_on_the_host() -> None:
    source = "L = 1.0 / math.log(2)\n@ct.kernel\ndef k(x):\n    ct.store(x, 0, L)\n"
    assert "%0 = constant {value = 1.4426950216293335} : tile<f32>" in text_of(source, x="f32[1]")


def test_float_not_equal_is_unordered() -> None:
    lines = text_of(_KERNEL.format("(a != a).astype(ct.int32)"), x="f32[1]", y="f32[1]", z="i32[1]", n="i32", T=16)
    compared = [line.split(" = ", 1)[1] for line in lines if "cmpf" in line]
    assert compared == ["cmpf %a, %a {predicate = not_equal, ordering = unordered} : tile<Txbool>"]


@pytest.mark.parametrize(
    ("expression", "types", "code"),
    [
        ("a + b", ("f16", "bf16"), "FT203"),
        ("a + b", ("i32", "u32"), "FT203"),
        ("a & b", ("i32", "i64"), "FT203"),
        ("(a > 0) + (b > 0)", ("i32", "i32"), "FT203"),
        ("a ** b", ("i32", "i32"), "FT302"),
        ("a + 300", ("i8", "i8"), "FT208"),
        ("ct.floor(a)", ("i32", "i32"), "FT203"),
        ("a.astype(ct.float64)", ("f32", "f32"), "FT206"),
    ],
)
def test_refusals(expression: str, types: tuple[str, str], code: str) -> None:
    arguments = {"x": f"{types[0]}[1]", "y": f"{types[1]}[1]", "z": "f32[1]", "n": "i32", "T": 16}
    assert [c for c, _ in problems(_KERNEL.format(expression), **arguments)] == [code]


def test_rounding_and_flush() -> None:
    call = "ct.truediv(a, a, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True)"
    lines = text_of(_KERNEL.format(call), x="f32[1]", y="f32[1]", z="f32[1]", n="i32", T=16)
    assert any(line.endswith("= divf %a, %a {rounding = approx, ftz = true} : tile<Txf32>") for line in lines)


def test_nan_constant_is_finite_text() -> None:
    lowered = lower("@ct.kernel\ndef k(x):\n    ct.store(x, 0, math.nan)\n", x="f32[1]")
    assert lowered.program is not None
    values = [s.attribute("value") for s in lowered.program.body.statements if hasattr(s, "opcode")]
    assert any(isinstance(v, float) and math.isnan(v) for v in values)


@pytest.mark.parametrize(
    ("expression", "types", "expected"),
    [
        # Python computes with strictly typed constants at compile time, in the type, with wrap-around.
        ("b + (ct.int8(100) + ct.int8(100))", ("f32", "i32", "i32"), ["addi"]),
        ("b * ct.floor(2.5)", ("f32", "i32", "i32"), ["muli"]),
        ("a * ct.sqrt(2.0)", ("f32", "i32", "f32"), ["mulf"]),
        # abs reads the bits of unsigned integers as signed: no identity.
        ("abs(b)", ("f32", "u8", "u8"), ["absi"]),
        ("abs(b > 0)", ("f32", "i32", "bool"), ["cmpi", "absi"]),
        # A loose constant makes bools integers in bitwise operations, too.
        ("(b > 0) & 1", ("f32", "i32", "i32"), ["cmpi", "exti", "andi"]),
        ("(b > 0) / 2", ("f32", "i32", "f32"), ["cmpi", "itof", "divf"]),
        ("b.astype(ct.bool_)", ("f32", "i32", "bool"), ["cmpi"]),
        ("a.astype(ct.bool_)", ("f32", "i32", "bool"), ["ftoi"]),
        ("ct.arange(16, dtype=ct.float32, start=0.5, step=2)", ("f32", "i32", "f32"), ["iota", "itof", "mulf", "addf"]),
        ("ct.arange(16, dtype=ct.int32, start=0, step=1)", ("f32", "i32", "i32"), ["iota"]),
        ("ct.cumsum(b > 0)", ("f32", "i32", "i32"), ["cmpi", "exti", "scan"]),
        ("ct.reduce(a, 0, lambda p, q: p + q, 0)", ("f32", "i32", "f32"), ["reduce", "reshape"]),
        ("ct.argmax(b)", ("f32", "i32", "i32"), ["reduce", "reshape"]),
    ],
)
def test_exact_rules(expression: str, types: tuple[str, str, str], expected: list[str]) -> None:
    assert _ops(expression, *types) == expected


@pytest.mark.parametrize(
    ("constant", "dtype", "value"),
    [
        ("ct.int8(100) + ct.int8(100)", "i8", "-56"),
        ("ct.full((16,), 300, ct.int8)", "i8", "44"),
        ("ct.full((16,), 2.7, ct.int32)", "i32", "2"),
        ("ct.full((16,), 0.1, ct.float64)", "f64", "0.10000000149011612"),
        ("ct.full((16,), 0.3, ct.float8_e4m3fn)", "f8e4m3fn", "0.3125"),
        ("ct.full((16,), 1.1, ct.float8_e5m2)", "f8e5m2", "1.0"),
        ("ct.full((16,), 5.0, ct.float8_e8m0fnu)", "f8e8m0fnu", "4.0"),
        ("ct.full((16,), 6.0, ct.float8_e8m0fnu)", "f8e8m0fnu", "8.0"),
        ("ct.full((16,), 0.1, ct.bfloat16)", "bf16", "0.10009765625"),
        ("ct.full((16,), 7 // -2, ct.int32)", "i32", "-4"),
    ],
)
def test_constants_round_and_wrap(constant: str, dtype: str, value: str) -> None:
    lines = text_of(_KERNEL.format(constant), x="f32[1]", y="i32[1]", z=f"{dtype}[1]", n="i32", T=16)
    assert any(f"constant {{value = {value}}} : tile<" in line and dtype in line for line in lines), lines


@pytest.mark.parametrize(
    ("statement", "code", "at"),
    [
        ("max(b > 0, b > 1)", "FT203", "max(b > 0, b > 1)"),
        ("divmod(a, 2.0)[0]", "FT203", "divmod(a, 2.0)"),
        ("ct.add(b, b, rounding_mode=ct.RoundingMode.RZ)", "FT203", "ct.RoundingMode.RZ"),
        ("ct.exp(a, rounding_mode=ct.RoundingMode.RZ)", "FT203", "ct.RoundingMode.RZ"),
        ("ct.truediv(a, a, rounding_mode=ct.RoundingMode.FULL)", "FT302",
         "ct.truediv(a, a, rounding_mode=ct.RoundingMode.FULL)"),
        ("b.astype(ct.uint32) // 3", "FT220", "b.astype(ct.uint32) // 3"),
        ("ct.full((16,), 1e9, ct.float8_e4m3fn)", "FT208", "ct.full((16,), 1e9, ct.float8_e4m3fn)"),
        ("ct.reduce(a, 0, lambda p, q: p + q, 1)", "FT203", "1"),
        ("ct.reduce((a, b), 0, lambda p, q, r, s: (p, q), (0,))[0]", "FT205", "(0,)"),
        ("ct.extract(a, (9,), (2,))", "FT204", "(9,)"),
    ],
)  # fmt: skip
def test_refused_rules(statement: str, code: str, at: str) -> None:
    found = problems(_KERNEL.format(statement), x="f32[1]", y="i32[1]", z="f32[1]", n="i32", T=16)
    assert found[0] == (code, at)
