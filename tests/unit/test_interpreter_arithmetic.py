"""Element-wise operations against Python's own arithmetic, exact fractions and hand-computed values."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter.arithmetic import ELEMENTWISE, elementwise
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, convert
from ferrotile_runner.tileir.interpreter.modes import Modes
from hypothesis import given, settings
from hypothesis import strategies as st

I8 = st.integers(-128, 127)
F32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
F64 = st.floats(allow_nan=False, allow_infinity=False)


def one(opcode: str, *args: Array, **modes: object) -> Array:
    return elementwise(opcode, args, Modes(**modes))  # type: ignore[arg-type]


def wrap8(value: int) -> int:
    return (value + 128) % 256 - 128


@given(I8, I8)
def test_integer_arithmetic_wraps(a: int, b: int) -> None:
    x, y = np.array([a], np.int8), np.array([b], np.int8)
    assert one("addi", x, y)[0] == wrap8(a + b)
    assert one("subi", x, y)[0] == wrap8(a - b)
    assert one("muli", x, y)[0] == wrap8(a * b)
    assert one("negi", x)[0] == wrap8(-a)
    assert one("andi", x, y)[0] == a & b
    assert one("ori", x, y)[0] == a | b
    assert one("xori", x, y)[0] == a ^ b
    assert one("mulhii", x, y)[0] == wrap8(((a % 256) * (b % 256)) >> 8)


@given(I8, I8.filter(bool))
def test_division_in_every_rounding_and_signedness(a: int, b: int) -> None:
    x, y = np.array([a], np.int8), np.array([b], np.int8)
    exact = Fraction(a, b)
    assert one("divi", x, y, rounding="zero")[0] == wrap8(math.trunc(exact))
    assert one("divi", x, y, rounding="negative_inf")[0] == wrap8(math.floor(exact))
    assert one("divi", x, y, rounding="positive_inf")[0] == wrap8(math.ceil(exact))
    assert one("remi", x, y)[0] == wrap8(a - b * math.trunc(exact))
    u, v = a % 256, b % 256
    assert one("divi", x, y, signed=False)[0] == wrap8(u // v)
    assert one("divi", x, y, rounding="positive_inf", signed=False)[0] == wrap8(-(-u // v))
    assert one("remi", x, y, signed=False)[0] == wrap8(u % v)


@given(I8, I8)
def test_signedness_of_comparisons_and_extremes(a: int, b: int) -> None:
    x, y = np.array([a], np.int8), np.array([b], np.int8)
    assert bool(one("cmpi", x, y, predicate="less_than")[0]) == (a < b)
    assert bool(one("cmpi", x, y, predicate="less_than", signed=False)[0]) == (a % 256 < b % 256)
    assert one("mini", x, y)[0] == min(a, b)
    assert int(one("maxi", x, y, signed=False)[0]) % 256 == max(a % 256, b % 256)


@given(I8, st.integers(0, 7))
def test_shifts(a: int, count: int) -> None:
    x, n = np.array([a], np.int8), np.array([count], np.int8)
    assert one("shli", x, n)[0] == wrap8(a << count)
    assert one("shri", x, n)[0] == a >> count
    assert one("shri", x, n, signed=False)[0] == wrap8((a % 256) >> count)


def test_booleans_stay_booleans() -> None:
    t, f = np.array([True]), np.array([False])
    assert one("xori", t, t).dtype == np.bool_
    assert not one("xori", t, t)[0]
    assert one("andi", t, f).tolist() == [False]
    assert one("exti", t, element="i32", signed=False)[0] == 1
    assert one("exti", t, element="i32", signed=True)[0] == -1
    assert one("cmpi", t, f, predicate="greater_than", signed=False)[0]


@given(I8)
def test_width_changes(a: int) -> None:
    x = np.array([a], np.int8)
    assert one("exti", x, element="i32")[0] == a
    assert one("exti", x, element="i32", signed=False)[0] == a % 256
    assert one("trunci", np.array([a * 3], np.int32), element="i8")[0] == wrap8(a * 3)
    assert one("trunci", x, element="i1")[0] == bool(a & 1)


def rounded(value: Fraction, dtype: type) -> float:
    """A rational rounded once, to nearest even: the nearest of three neighbours."""
    near = np.array(float(value), np.float64).astype(dtype)
    best = [near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))]
    finite = [n for n in best if np.isfinite(n)]
    gaps = sorted(finite, key=lambda n: (abs(Fraction(float(n)) - value), int(n.view(f"u{n.dtype.itemsize}")) & 1))
    return float(gaps[0])


@settings(max_examples=400)
@given(F32, F32, F32)
def test_f32_fma_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if abs(exact) > Fraction(float(np.finfo(np.float32).max)):
        return
    x, y, z = (np.array([v], np.float32) for v in (a, b, c))
    assert float(one("fma", x, y, z)[0]) == rounded(exact, np.float32)


@settings(max_examples=300)
@given(F64, F64, F64)
def test_f64_fma_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if abs(exact) > Fraction(float(np.finfo(np.float64).max)):
        return
    x, y, z = (np.array([v], np.float64) for v in (a, b, c))
    assert float(one("fma", x, y, z)[0]) == float(exact)


def test_fma_differs_from_multiply_and_add() -> None:
    x = np.array([1 + 2.0**-12], np.float32)
    c = np.array([-(1 + 2.0**-11)], np.float32)
    assert one("addf", one("mulf", x, x), c)[0] == 0
    assert one("fma", x, x, c)[0] == 2.0**-24


def test_bf16_fma_is_not_rounded_twice() -> None:
    """1.5 * 1.0078125... lands on a midpoint of bf16 that a tiny addend must break, 60 bits below."""
    bf16 = ml_dtypes.bfloat16
    a, b = np.array([1 + 2.0**-7], bf16), np.array([1.5], bf16)
    product = Fraction(float(a[0])) * Fraction(float(b[0]))
    low, high = 1.5078125, 1.515625
    assert product == Fraction(low + high) / 2
    up = one("fma", a, b, np.array([2.0**-70], bf16))
    down = one("fma", a, b, np.array([-(2.0**-70)], bf16))
    assert (float(up[0]), float(down[0])) == (high, low)


@given(st.integers(0, 65535), st.integers(0, 65535))
def test_f16_arithmetic_is_exactly_rounded(a: int, b: int) -> None:
    x, y = (np.array([v], np.uint16).view(np.float16) for v in (a, b))
    if not (np.isfinite(x[0]) and np.isfinite(y[0])):
        return
    for opcode, exact in (
        ("addf", Fraction(float(x[0])) + Fraction(float(y[0]))),
        ("subf", Fraction(float(x[0])) - Fraction(float(y[0]))),
        ("mulf", Fraction(float(x[0])) * Fraction(float(y[0]))),
    ):
        if abs(exact) < 65504:
            assert float(one(opcode, x, y)[0]) == rounded(exact, np.float16)


@given(F32, F32)
def test_directed_rounding_brackets_the_exact_sum(a: float, b: float) -> None:
    x, y = np.array([a], np.float32), np.array([b], np.float32)
    exact = Fraction(a) + Fraction(b)
    if abs(exact) > Fraction(float(np.finfo(np.float32).max)) / 2:
        return
    down = float(one("addf", x, y, rounding="negative_inf")[0])
    up = float(one("addf", x, y, rounding="positive_inf")[0])
    zero = float(one("addf", x, y, rounding="zero")[0])
    assert Fraction(down) <= exact <= Fraction(up)
    assert up == down or np.nextafter(np.float32(down), np.float32(np.inf)) == np.float32(up)
    assert zero == (down if exact > 0 else up)


def test_flush_to_zero() -> None:
    tiny = np.array([1e-40, -1e-40], np.float32)
    kept = one("addf", tiny, np.zeros(2, np.float32))
    gone = one("addf", tiny, np.zeros(2, np.float32), ftz=True)
    assert kept[0] != 0
    assert gone[0] == 0 and np.signbit(one("mulf", tiny, np.ones(2, np.float32), ftz=True)[1])


def test_extremes_drop_nan_unless_told_to_propagate_it() -> None:
    x, y = np.array([np.nan, 1, -0.0, 0.0], np.float32), np.array([2, np.nan, 0.0, -0.0], np.float32)
    low, high = one("minf", x, y), one("maxf", x, y)
    assert low[:2].tolist() == [2, 1] and high[:2].tolist() == [2, 1]
    assert np.signbit(low[2:]).all() and not np.signbit(high[2:]).any()
    assert np.isnan(one("maxf", x, y, propagate_nan=True)[:2]).all()


@pytest.mark.parametrize(
    ("predicate", "ordered", "expected"),
    [
        ("equal", True, [False, True, False]),
        ("not_equal", False, [True, False, True]),
        ("less_than", True, [False, False, True]),
        ("less_than", False, [True, False, True]),
        ("greater_than_or_equal", True, [False, True, False]),
    ],
)
def test_ordered_and_unordered_comparisons(predicate: str, ordered: bool, expected: list[bool]) -> None:
    x, y = np.array([np.nan, 1, 1], np.float32), np.array([1, 1, 2], np.float32)
    assert one("cmpf", x, y, predicate=predicate, ordered=ordered).tolist() == expected


def test_conversions() -> None:
    assert one("itof", np.array([-3], np.int32), element="f32")[0] == -3
    assert one("itof", np.array([-1], np.int32), element="f32", signed=False)[0] == np.float32(2**32)
    assert one("ftoi", np.array([-2.7, 2.7], np.float32), element="i32").tolist() == [-2, 2]
    assert one("ftoi", np.array([200.9], np.float32), element="i8", signed=False).view(np.uint8)[0] == 200
    assert one("ftoi", np.array([0.0, 1.5], np.float32), element="i1").tolist() == [False, True]
    assert one("bitcast", np.array([1.0], np.float32), element="i32")[0] == 0x3F800000
    assert one("ftof", np.array([1 + 2.0**-11], np.float32), element="f16")[0] == 1


@given(st.integers(-(2**63), 2**63 - 1))
def test_i64_to_f32_rounds_once(value: int) -> None:
    made = float(one("itof", np.array([value], np.int64), element="f32")[0])
    assert made == rounded(Fraction(value), np.float32)


def test_f64_to_f16_rounds_once() -> None:
    """Just above a midpoint of f16, by less than f32 can hold: by way of f32 it would be rounded down."""
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    assert convert(value, "f16")[0] == np.float16(1 + 2.0**-10)
    assert value.astype(np.float32).astype(np.float16)[0] == 1


@pytest.mark.parametrize(
    ("opcode", "function"),
    [
        ("exp", math.exp), ("exp2", math.exp2), ("log", math.log), ("log2", math.log2),
        ("sin", math.sin), ("cos", math.cos), ("tan", math.tan), ("sinh", math.sinh),
        ("cosh", math.cosh), ("tanh", math.tanh), ("sqrt", math.sqrt), ("floor", math.floor),
        ("ceil", math.ceil), ("absf", abs), ("rsqrt", lambda v: 1 / math.sqrt(v)),
    ],
)  # fmt: skip
def test_functions(opcode: str, function: object) -> None:
    x = np.array([0.3, 1.0, 2.7], np.float32)
    assert callable(function)
    expected = np.array([function(float(v)) for v in x]).astype(np.float32)
    assert np.array_equal(one(opcode, x), expected)


def test_binary_functions_and_select() -> None:
    x, y = np.array([2.0], np.float32), np.array([3.0], np.float32)
    assert one("pow", x, y)[0] == 8
    assert one("divf", x, y)[0] == np.float32(2 / 3)
    assert one("remf", np.array([-7.0], np.float32), y)[0] == -1
    assert one("atan2", x, y)[0] == np.float32(math.atan2(2, 3))
    assert one("select", np.array([True, False]), np.array([1, 1]), np.array([2, 2])).tolist() == [1, 2]


def test_unknown_operations_and_modes_are_refused() -> None:
    with pytest.raises(UnsupportedOperation):
        one("frobnicate", np.zeros(1))
    with pytest.raises(UnsupportedOperation):
        one("remf", np.zeros(1), np.zeros(1), rounding="zero")
    assert len(ELEMENTWISE) > 45
