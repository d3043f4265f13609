"""What each operation of Tile IR means, against arithmetic that shares nothing with the interpreter: Python's integers,
exact fractions, tables of all elements of a type. An operation without a test here or a reason fails."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter import Storage, Unsupported, run
from ferrotile_runner.tileir.interpreter.arithmetic import ELEMENTWISE, elementwise
from ferrotile_runner.tileir.interpreter.control import REGIONS, WITHOUT_MEANING
from ferrotile_runner.tileir.interpreter.effects import EFFECTS
from ferrotile_runner.tileir.interpreter.elements import Array, convert
from ferrotile_runner.tileir.interpreter.modes import Modes
from ferrotile_runner.tileir.interpreter.pure import PURE
from ferrotile_runner.tileir.operations import TABLE
from ferrotile_runner.tileir.reader import read

RNG = np.random.default_rng(7)
I8 = np.arange(-128, 128).astype(np.int8)
A8, B8 = (x.reshape(-1) for x in np.meshgrid(I8, I8, indexing="ij"))
"""All pairs of 8-bit integers."""


def apply(name: str, *args: Array, **modes: object) -> Array:
    return elementwise(name, args, Modes(**modes))  # type: ignore[arg-type]


def signed8(value: int) -> int:
    return (value + 128) % 256 - 128


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


def quotient(a: int, b: int, rounding: str) -> int:
    exact = Fraction(a, b)
    directions: Mapping[str, Callable[[Fraction], int]] = {
        "zero": math.trunc,
        "negative_inf": math.floor,
        "positive_inf": math.ceil,
    }
    return directions[rounding](exact)


def shifted(a: int, count: int) -> int:
    return a >> count if count < 8 else -(a < 0)


Scalar = Callable[[int, int], int]
INTEGERS: Mapping[str, tuple[tuple[dict[str, object], Scalar], ...]] = {
    # What the bits of two signed numbers become; `u` of one is its bits as a number.
    "addi": (({}, lambda a, b: a + b),),
    "subi": (({}, lambda a, b: a - b),),
    "muli": (({}, lambda a, b: a * b),),
    "andi": (({}, lambda a, b: a & b),),
    "ori": (({}, lambda a, b: a | b),),
    "xori": (({}, lambda a, b: a ^ b),),
    "mulhii": (({}, lambda a, b: (a % 256) * (b % 256) >> 8),),
    "mini": (({}, min), ({"signed": False}, lambda a, b: min(a % 256, b % 256))),
    "maxi": (({}, max), ({"signed": False}, lambda a, b: max(a % 256, b % 256))),
    "shli": (({}, lambda a, b: (a << (b % 256)) if b % 256 < 8 else 0),),
    "shri": (
        ({}, lambda a, b: shifted(a, b % 256)),
        ({"signed": False}, lambda a, b: (a % 256) >> (b % 256)),
    ),
    "divi": tuple(
        ({"rounding": r, "signed": s}, lambda a, b, r=r, s=s: quotient(a if s else a % 256, b if s else b % 256, r))  # type: ignore[misc]
        for r in ("zero", "negative_inf", "positive_inf")
        for s in (True, False)
    ),
    "remi": (
        ({}, lambda a, b: a - b * quotient(a, b, "zero")),
        ({"signed": False}, lambda a, b: (a % 256) % (b % 256)),
    ),
    "absi": (({}, lambda a, b: abs(a)),),
    "negi": (({}, lambda a, b: -a),),
}
RELATIONS: Mapping[str, Callable[[object, object], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less_than": lambda a, b: a < b,  # type: ignore[operator]
    "less_than_or_equal": lambda a, b: a <= b,  # type: ignore[operator]
    "greater_than": lambda a, b: a > b,  # type: ignore[operator]
    "greater_than_or_equal": lambda a, b: a >= b,  # type: ignore[operator]
}


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_all_pairs_of_8_bit_integers(name: str) -> None:
    unary = name in ("absi", "negi")
    keep = B8 != 0 if name in ("divi", "remi") else np.ones(A8.shape, np.bool_)
    a, b = A8[keep], B8[keep]
    for modes, scalar in INTEGERS[name]:
        expected = [signed8(scalar(x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert apply(name, *((a,) if unary else (a, b)), **modes).tolist() == expected, modes


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("predicate", sorted(RELATIONS))
def test_cmpi(predicate: str, signed: bool) -> None:
    pairs = zip(A8.tolist(), B8.tolist(), strict=True)
    expected = [RELATIONS[predicate](*((a, b) if signed else (a % 256, b % 256))) for a, b in pairs]
    assert apply("cmpi", A8, B8, predicate=predicate, signed=signed).tolist() == expected


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_wider_integers(dtype: type[np.signedinteger]) -> None:
    """The same functions of ends and of random numbers, in the width of the type."""
    bits = np.dtype(dtype).itemsize * 8
    ends = [0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 3]
    values = ends + [int(x) for x in RNG.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 20)]
    a, b = (np.array(x, dtype) for x in zip(*((x, y) for x in values for y in values), strict=True))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))

    def low(value: int) -> int:
        half: int = 2 ** (bits - 1)
        return (value + half) % (2 * half) - half

    assert apply("mulhii", a, b).tolist() == [low((x % 2**bits) * (y % 2**bits) >> bits) for x, y in pairs]
    assert apply("muli", a, b).tolist() == [low(x * y) for x, y in pairs]
    assert apply("addi", a, b).tolist() == [low(x + y) for x, y in pairs]
    some = b != 0
    wanted = [low(quotient(x, y, "negative_inf")) for x, y in pairs if y]
    assert apply("divi", a[some], b[some], rounding="negative_inf").tolist() == wanted
    wanted = [low(quotient(x % 2**bits, y % 2**bits, "positive_inf")) for x, y in pairs if y]
    assert apply("divi", a[some], b[some], rounding="positive_inf", signed=False).tolist() == wanted


# Floats: rounding by search in the table of all f16 (or 8-bit) elements

NARROW = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f4E2M1FN": np.dtype(ml_dtypes.float4_e2m1fn),
}


@cache
def finite(name: str) -> tuple[list[Fraction], dict[Fraction, int]]:
    """The finite elements in order, each once, and the bits of each (of zero: those of +0)."""
    dtype = NARROW[name]
    bits = np.arange(1 << (4 if name.startswith("f4") else 8 * dtype.itemsize), dtype=np.uint32).astype(
        f"u{dtype.itemsize}"
    )
    with np.errstate(all="ignore"):
        values = bits.view(dtype).astype(np.float64)
    table: dict[Fraction, int] = {}
    for code, value in zip(bits.tolist(), values.tolist(), strict=True):
        if math.isfinite(value):
            table.setdefault(Fraction(value), code)
    return sorted(table), table


def rounded(name: str, value: Fraction, rounding: str = "nearest_even") -> float:
    """A fraction between the ends of the type as an element of it."""
    values, codes = finite(name)
    at = bisect.bisect_left(values, value)
    if values[at] == value:
        return float(value)
    low, high = values[at - 1], values[at]
    match rounding:
        case "negative_inf":
            found = low
        case "positive_inf":
            found = high
        case "zero":
            found = low if value > 0 else high
        case _:
            if value - low == high - value:
                found = low if codes[low] % 2 == 0 else high
            else:
                found = low if value - low < high - value else high
    return float(found)


DIRECTIONS = ("nearest_even", "zero", "negative_inf", "positive_inf")
FLOATS: Mapping[str, Callable[..., Fraction | None]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b if b else None,
    "fma": lambda a, b, c: a * b + c,
}


def samples(name: str, count: int) -> Array:
    """Random finite elements of all magnitudes."""
    dtype = NARROW[name]
    bits = RNG.integers(0, 1 << (8 * dtype.itemsize), 4 * count).astype(f"u{dtype.itemsize}").view(dtype)
    with np.errstate(all="ignore"):
        wide = bits.astype(np.float64)
    return np.asarray(bits[np.isfinite(wide)][:count])


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("op", sorted(FLOATS))
def test_arithmetic_is_rounded_once(op: str, name: str, rounding: str) -> None:
    args = [samples(name, 300) for _ in range(3 if op == "fma" else 2)]
    found = apply(op, *args, element=name, rounding=rounding).astype(np.float64).tolist()
    ends = finite(name)[0]
    tried = 0
    for lane, exact in enumerate(FLOATS[op](*(Fraction(float(x[lane])) for x in args)) for lane in range(300)):
        if exact is None or not ends[0] < exact < ends[-1]:
            continue
        tried += 1
        assert found[lane] == rounded(name, exact, rounding), [x[lane] for x in args]
    assert tried > 60


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_sqrt(name: str, rounding: str) -> None:
    x = np.abs(samples(name, 300))
    found = apply("sqrt", x, element=name, rounding=rounding).astype(np.float64).tolist()
    for lane, value in enumerate(Fraction(float(v)) for v in x):
        scale = 1 << 300
        root = Fraction(math.isqrt(value.numerator * value.denominator * scale * scale), value.denominator * scale)
        exact = root if root * root == value else root + Fraction(1, scale**2)
        assert found[lane] == rounded(name, exact, rounding)


@pytest.mark.parametrize("rounding", DIRECTIONS)
@pytest.mark.parametrize("name", sorted(NARROW))
def test_ftof_rounds_once_from_f64_and_f32(name: str, rounding: str) -> None:
    ends = finite(name)[0]
    top = float(ends[-1])
    wide = np.concatenate(
        [RNG.uniform(-top, top, 300), RNG.standard_normal(300), samples("f16", 200).astype(np.float64)]
    )
    if name != "f4E2M1FN":  # ties, and values that are a tie but for bits that f32 does not have
        step = max(1, len(ends) // 300)
        middle = [float((a + b) / 2) for a, b in zip(ends[1::step], ends[2::step], strict=False)]
        wide = np.concatenate([wide, middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
    wide = wide[np.abs(wide) < top]
    for source in (wide, wide.astype(np.float32)):
        source = source[np.abs(source) < top]
        found = apply("ftof", source, element=name, rounding=rounding).astype(np.float64).tolist()
        expected = [rounded(name, Fraction(float(v)), rounding) for v in source]
        assert found == expected


def test_ftof_widens_and_keeps_what_is_no_number() -> None:
    for name in ("f16", "bf16"):
        every = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(NARROW[name])
        wide = apply("ftof", every, element="f32")
        with np.errstate(all="ignore"):
            assert np.array_equal(wide.astype(np.float64), every.astype(np.float64), equal_nan=True)
        back = apply("ftof", wide, element=name)
        number = ~np.isnan(wide)
        assert np.array_equal(back.view(np.uint16)[number], every.view(np.uint16)[number])
        assert np.isnan(back.astype(np.float32)[~number]).all()


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_f32_of_every_exponent_narrowed(name: str) -> None:
    """With ties and their neighbours, underflow, overflow and NaN, against NumPy's and ml_dtypes' own conversions."""
    upper = np.arange(1 << 16, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x0FFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    wide = (upper[:, None] | lower).view(np.float32)
    with np.errstate(all="ignore"):
        expected = wide.astype(NARROW[name])
    found = convert(wide, name)
    nan = np.isnan(wide)
    assert np.array_equal(found.view(np.uint16)[~nan], expected.view(np.uint16)[~nan])
    assert np.isnan(found[nan].astype(np.float32)).all()
    assert convert(np.asarray(np.float32(1e-7)), name).shape == ()


def test_ftof_to_tf32_keeps_10_bits_of_fraction() -> None:
    x = RNG.standard_normal(1000).astype(np.float32)
    found = apply("ftof", x, element="tf32")
    for value, made in zip(x.tolist(), found.tolist(), strict=True):
        fraction, exponent = math.frexp(value)
        scaled = Fraction(fraction) * 2**11  # between 1024 and 2048: an element where it is whole
        assert Fraction(made) == Fraction(round(scaled)) / 2**11 * Fraction(2) ** exponent


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("name", ["f16", "bf16", "f8E5M2"])
def test_itof(name: str, signed: bool) -> None:
    ends = finite(name)[0]
    values = np.concatenate([RNG.integers(-(2**31), 2**31, 200), RNG.integers(-60000, 60000, 200)]).astype(np.int32)
    for rounding in DIRECTIONS:
        found = apply("itof", values, element=name, signed=signed, rounding=rounding).astype(np.float64).tolist()
        for lane, value in enumerate(values.tolist()):
            exact = Fraction(value if signed else value % 2**32)
            if ends[0] < exact < ends[-1]:
                assert found[lane] == rounded(name, exact, rounding)


@pytest.mark.parametrize("signed", [True, False])
def test_ftoi_goes_towards_zero(signed: bool) -> None:
    x = np.concatenate([RNG.uniform(-128, 128, 500), np.arange(-128, 128, 0.25)]).astype(np.float32)
    x = x[(x > -128) & (x < 128)] if signed else x[x >= 0]
    found = apply("ftoi", x, element="i8", signed=signed)
    assert [v % 256 for v in found.tolist()] == [math.trunc(v) % 256 for v in x.tolist()]


def order(value: float) -> tuple[float, float]:
    """-0 before +0."""
    return value, math.copysign(1.0, value)


@pytest.mark.parametrize("propagate", [True, False])
@pytest.mark.parametrize("op", ["minf", "maxf"])
def test_extremes(op: str, propagate: bool) -> None:
    specials = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, 1e-40, -1e-40], np.float32)
    a, b = (x.reshape(-1) for x in np.meshgrid(specials, specials))
    found = apply(op, a, b, propagate_nan=propagate)
    for x, y, made in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        numbers = [v for v in (x, y) if not math.isnan(v)]
        if len(numbers) < 2 and (propagate or not numbers):
            assert math.isnan(made)
            continue
        expected = (min if op == "minf" else max)(numbers, key=order)
        assert order(made) == order(expected), (x, y)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("predicate", sorted(RELATIONS))
def test_cmpf(predicate: str, ordered: bool) -> None:
    specials = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5], np.float32)
    a, b = (x.reshape(-1) for x in np.meshgrid(specials, specials))
    found = apply("cmpf", a, b, predicate=predicate, ordered=ordered).tolist()
    for x, y, made in zip(a.tolist(), b.tolist(), found, strict=True):
        nan = math.isnan(x) or math.isnan(y)
        assert made == ((not ordered) if nan else RELATIONS[predicate](x, y))


FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "exp": math.exp, "exp2": math.exp2, "log": math.log, "log2": math.log2, "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "rsqrt": lambda v: 1 / math.sqrt(v),
    "pow": math.pow, "fpowf": math.pow, "atan2": math.atan2, "remf": math.fmod,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_are_within_an_ulp_of_libm(name: str, dtype: type[np.floating]) -> None:
    binary = name in ("pow", "fpowf", "atan2", "remf")
    args = [RNG.uniform(0.05, 4, 400).astype(dtype) for _ in range(1 + binary)]
    found = apply(name, *args)
    assert found.dtype == dtype
    expected = np.array([FUNCTIONS[name](*(float(x[lane]) for x in args)) for lane in range(400)])
    gap = np.abs(found.astype(np.float64) - expected)
    ulp = np.spacing(np.abs(expected).astype(dtype)).astype(np.float64)
    assert (gap <= (0 if name == "remf" else 1) * ulp + (0.5 * ulp if name != "remf" else 0)).all()


def test_ends_of_functions() -> None:
    one = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0], np.float32)
    assert apply("exp", one)[[0, 2, 3]].tolist() == [1, np.inf, 0]
    assert apply("log", one)[[0, 2]].tolist() == [-np.inf, np.inf] and np.isnan(apply("log", one)[[3, 4, 5]]).all()
    assert apply("rsqrt", one)[[0, 1, 2]].tolist() == [np.inf, -np.inf, 0]
    assert np.isnan(apply("sqrt", one)[[3, 4, 5]]).all() and np.signbit(apply("sqrt", one)[1])
    assert apply("tanh", one)[[2, 3]].tolist() == [1, -1]
    assert np.isnan(apply("remf", one[2:4], np.ones(2, np.float32))).all()


def test_signs_and_whole_numbers() -> None:
    x = np.array([1.5, -1.5, 0.0, -0.0, 2.0, -2.0, 0.4, -0.4, np.inf], np.float32)
    assert apply("absf", x).tolist() == [abs(v) for v in x.tolist()] and not np.signbit(apply("absf", x)).any()
    assert np.array_equal(np.signbit(apply("negf", x)), ~np.signbit(x))
    assert apply("floor", x)[:8].tolist() == [math.floor(v) for v in x[:8].tolist()]
    assert apply("ceil", x)[:8].tolist() == [math.ceil(v) for v in x[:8].tolist()]
    assert apply("fpowi", np.array([-2.0, 0.5], np.float32), np.array([3, -2], np.int32)).tolist() == [-8.0, 4.0]


@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf", "fma", "exp2", "exp", "rsqrt", "sqrt", "maxf", "minf"])
def test_flush_to_zero_takes_and_gives_no_denormals(op: str) -> None:
    tiny, one = np.full(2, 1e-39, np.float32) * np.array([1, -1], np.float32), np.ones(2, np.float32)
    args = {"fma": (tiny, one, tiny)}.get(
        op, (tiny, one) if op in ("addf", "subf", "mulf", "divf", "maxf", "minf") else (tiny,)
    )
    zeros = tuple(np.copysign(np.float32(0), x) if x is tiny else x for x in args)
    with np.errstate(all="ignore"):
        assert np.array_equal(apply(op, *args, ftz=True), apply(op, *zeros), equal_nan=True)
    small = np.full(2, 2e-38, np.float32)
    assert apply("mulf", small, np.full(2, 0.25, np.float32), ftz=True).tolist() == [0, 0], "a denormal result"


def test_bits() -> None:
    x = RNG.integers(0, 2**32, 100).astype(np.uint32).view(np.int32)
    assert apply("bitcast", x, element="f32").tobytes() == x.tobytes()
    assert apply("exti", I8, element="i64").tolist() == I8.tolist()
    assert apply("exti", I8, element="i64", signed=False).tolist() == [v % 256 for v in I8.tolist()]
    wide = RNG.integers(-(2**62), 2**62, 200)
    assert apply("trunci", wide, element="i8").tolist() == [signed8(v) for v in wide.tolist()]
    choice = np.array([True, False, True])
    assert apply("select", choice, np.array([1, 2, 3]), np.array([4, 5, 6])).tolist() == [1, 5, 3]


# Operations of whole entries

SUM = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {{
  %t = make_token : token
  %i = iota : tile<8xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p8 = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %pi = offset %p8, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q8 = broadcast %q1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %qi = offset %q8, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
{body}
  %s = store_ptr_tko weak %qi, %r token=%t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}}"""


def through_pointers(body: str) -> list[float]:
    """What `%r`, made from the pointers `%pi` to 0, 10, 20, ..., is."""
    x = np.arange(0, 80, 10).astype(np.float32)
    words = (Storage("x", x), Storage("y", np.zeros(8, np.float32)), 8)
    found: list[float] = run(read(SUM.format(body=body)).entry(), words, (1,)).arrays["y"].tolist()
    return found


def test_pointers_are_numbers_of_bytes() -> None:
    body = """  %a = ptr_to_int %pi : tile<8xptr<f32>> -> tile<8xi64>
  %c = constant <i64: [28, 20, 12, 4, -4, -12, -20, -28]> : tile<8xi64>
  %b = addi %a, %c : tile<8xi64>
  %m = int_to_ptr %b : tile<8xi64> -> tile<8xptr<f32>>
  %same = ptr_to_ptr %m : tile<8xptr<f32>> -> tile<8xptr<f32>>
  %r, %rt = load_ptr_tko weak %same token=%t : tile<8xptr<f32>> -> tile<8xf32>, token"""
    assert through_pointers(body) == [70, 60, 50, 40, 30, 20, 10, 0], "the other way round"


def test_the_null_pointer_may_be_held_but_not_followed() -> None:
    held = """  %z = constant <i64: 0> : tile<8xi64>
  %null = int_to_ptr %z : tile<8xi64> -> tile<8xptr<f32>>
  %r, %rt = load_ptr_tko weak {} token=%t : tile<8xptr<f32>> -> tile<8xf32>, token"""
    assert through_pointers(held.format("%pi")) == list(range(0, 80, 10))
    with pytest.raises(Exception, match="null"):
        through_pointers(held.format("%null"))


def test_fences_and_launch_waits_do_nothing_to_arrays() -> None:
    body = """  %f = memory_fence_alias_tko token=%t -> token
  %w = gdc_wait_tko token=%f -> token
  %g = gdc_launch_dependents_tko token=%w -> token
  %j = join_tokens %f, %g : token
  %r, %rt = load_ptr_tko weak %pi token=%j : tile<8xptr<f32>> -> tile<8xf32>, token"""
    assert through_pointers(body) == list(range(0, 80, 10))


def test_grid_sizes_and_identities_of_shapes() -> None:
    body = """  %x, %y, %z = get_num_tile_blocks : tile<i32>
  %one = reshape %x : tile<i32> -> tile<1xi32>
  %all = broadcast %one : tile<1xi32> -> tile<8xi32>
  %sure = assume div_by<1>, %all : tile<8xi32>
  %lanes = iota : tile<8xi32>
  %sum = addi %lanes, %sure : tile<8xi32>
  %r = itof %sum signed rounding<nearest_even> : tile<8xi32> -> tile<8xf32>"""
    assert through_pointers(body) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("mode", ["add", "and", "or", "xor", "max", "min", "umax", "umin", "xchg"])
def test_atomics_of_integers(mode: str) -> None:
    """Lane by lane into one element, with Python's integers."""
    values = RNG.integers(-(2**31), 2**31, 8).astype(np.int32)
    text = f"""entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {{
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p8 = broadcast %p1 : tile<1xptr<i32>> -> tile<8xptr<i32>>
  %v = constant <i32: {values.tolist()}> : tile<8xi32>
  %o, %ot = atomic_rmw_tko relaxed device %p8, {mode}, %v : tile<8xptr<i32>>, tile<8xi32> -> tile<8xi32>, token
  return
}}"""
    start = 12345

    def unsigned(value: int) -> int:
        return value % 2**32

    combine: Mapping[str, Callable[[int, int], int]] = {
        "add": lambda a, b: a + b, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
        "max": max, "min": min, "xchg": lambda a, b: b,
        "umax": lambda a, b: max(a, b, key=unsigned), "umin": lambda a, b: min(a, b, key=unsigned),
    }  # fmt: skip
    expected = start
    for value in values.tolist():
        expected = (combine[mode](expected, value) + 2**31) % 2**32 - 2**31
    words = (Storage("x", np.array([start], np.int32)), Storage("y", np.zeros(8, np.int32)))
    assert run(read(text).entry(), words, (1,)).arrays["x"].tolist() == [expected]


def test_compare_and_swap() -> None:
    text = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %t = make_token : token
  %i = constant <i32: [0, 0, 1, 0]> : tile<4xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p4 = broadcast %p1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %pi = offset %p4, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %e = constant <i32: [5, 5, 7, 6]> : tile<4xi32>
  %d = constant <i32: [6, 9, 8, 1]> : tile<4xi32>
  %o, %ot = atomic_cas_tko relaxed device %pi, %e, %d token=%t : tile<4xptr<i32>>, tile<4xi32>, tile<4xi32> -> tile<4xi32>, token
  %l = iota : tile<4xi32>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>>
  %q4 = broadcast %q1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %qi = offset %q4, %l : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %s = store_ptr_tko weak %qi, %o token=%ot : tile<4xptr<i32>>, tile<4xi32> -> token
  return
}"""
    result = run(
        read(text).entry(), (Storage("x", np.array([5, 3], np.int32)), Storage("y", np.zeros(4, np.int32))), (1,)
    )
    assert result.arrays["x"].tolist() == [1, 3], "5 -> 6, kept, (7 is not 3), 6 -> 1"
    assert result.arrays["y"].tolist() == [5, 6, 3, 6], "the values before"


# Every operation has a test or a reason

ELSEWHERE: Mapping[str, str] = {
    "for": "test_interpreter_run.py::test_for",
    "loop": "test_interpreter_run.py::test_loop_with_break_inside_if",
    "if": "test_interpreter_run.py::test_if_yields",
    "reduce": "test_interpreter_run.py::test_reduce_with_any_region_and_scan",
    "scan": "test_interpreter_run.py::test_reduce_with_any_region_and_scan",
    **dict.fromkeys(("yield", "continue", "break", "return"), "test_interpreter_blocks.py::test_blocks_that_part_go_their_own_ways"),
    "permute": "test_interpreter_run.py::test_shapes",
    "cat": "test_interpreter_run.py::test_shapes",
    **dict.fromkeys(("extract", "insert", "pack", "unpack"), "test_interpreter_blocks.py::test_insert_pack_and_unpack"),
    **dict.fromkeys(("mmaf", "mmai"), "test_interpreter_run.py::test_matrix_products"),
    "mmaf_scaled": "test_interpreter_blocks.py::test_scaled_matrices_and_powers_of_two",
    **dict.fromkeys(("make_strided_view", "make_gather_scatter_view"), "test_interpreter_blocks.py::test_strided_and_gathering_views"),
    **dict.fromkeys(("make_tensor_view", "make_partition_view", "load_view_tko"), "test_interpreter_windows.py::test_loads_give_what_the_definition_says"),
    "store_view_tko": "test_interpreter_windows.py::test_stores_write_and_mark_what_the_definition_says",
    **dict.fromkeys(("get_index_space_shape", "get_tensor_shape"), "test_interpreter_shapes.py::test_sizes_of_views"),
    "get_tile_block_id": "test_interpreter_run.py::test_tails_are_padded_on_loads_and_skipped_on_stores",
    "atomic_red_view_tko": "test_interpreter_blocks.py::test_atomics_add_up_over_blocks",
    "print_tko": "test_interpreter_blocks.py::test_prints_come_block_by_block",
    "assert": "test_interpreter_run.py::test_a_failing_assert_is_a_finding",
}  # fmt: skip
"""Operations that are not element-wise -> the test of their meaning."""
HERE = frozenset(
    {*INTEGERS, *FLOATS, *FUNCTIONS, "sqrt", "ftof", "itof", "ftoi", "minf", "maxf", "cmpf", "cmpi", "absf", "negf"}
    | {"floor", "ceil", "fpowi", "bitcast", "exti", "trunci", "select"}
    | {"ptr_to_int", "int_to_ptr", "ptr_to_ptr", "offset", "constant", "iota", "reshape", "broadcast", "assume"}
    | {"load_ptr_tko", "store_ptr_tko", "make_token", "join_tokens", "memory_fence_alias_tko"}
    | {"gdc_wait_tko", "gdc_launch_dependents_tko", "get_num_tile_blocks", "atomic_rmw_tko", "atomic_cas_tko"}
)


def test_every_operation_has_a_test_of_its_meaning_or_a_reason() -> None:
    assert set(TABLE) == {*HERE, *ELSEWHERE, *WITHOUT_MEANING}
    assert not HERE & set(ELSEWHERE) and not {*HERE, *ELSEWHERE} & set(WITHOUT_MEANING)
    assert set(ELEMENTWISE) <= HERE
    assert {*REGIONS, *PURE, *EFFECTS} == {*HERE, *ELSEWHERE}
    for place in set(ELSEWHERE.values()):
        file, _, test = place.partition("::")
        assert f"def {test}(" in (Path(__file__).parent / file).read_text(), place


def test_what_has_no_meaning_is_refused_with_its_reason() -> None:
    text = "entry @k() {\n  %p = get_global : tile<ptr<i32>>\n  return\n}"
    with pytest.raises(Unsupported, match=r"get_global \(line 2\): what a module's globals hold"):
        run(read(text).entry(), (), (1,))


def test_ftof_flushes_the_f32_denormals_that_it_takes_and_gives() -> None:
    """2 ** -126 is the least normal number of f32 and bf16; 2 ** -130 is denormal in both."""
    small = np.array([2.0**-130, -(2.0**-130), 2.0**-126, 1.0], np.float32)
    kept = apply("ftof", small, element="bf16").astype(np.float64).tolist()
    flushed = apply("ftof", small, element="bf16", ftz=True).astype(np.float64)
    assert kept == small.astype(np.float64).tolist()
    assert flushed.tolist() == [0, 0, 2.0**-126, 1] and np.signbit(flushed).tolist() == [False, True, False, False]
    wide = small.astype(np.float64)
    assert apply("ftof", wide, element="f32").tolist() == wide.tolist()
    assert apply("ftof", wide, element="f32", ftz=True).tolist() == [0, 0, 2.0**-126, 1]


@pytest.mark.parametrize("rounding", ["zero", "negative_inf", "positive_inf", "nearest_away"])
def test_ftof_to_tf32_in_every_direction(rounding: str) -> None:
    tie = np.array([1 + 2.0**-11, -1 - 2.0**-11], np.float32)
    x = np.concatenate([RNG.standard_normal(500).astype(np.float32), tie])
    found = apply("ftof", x, element="tf32", rounding=rounding)
    choose = {"zero": math.trunc, "negative_inf": math.floor, "positive_inf": math.ceil}
    for value, made in zip(x.tolist(), found.tolist(), strict=True):
        fraction, exponent = math.frexp(value)
        scaled = Fraction(fraction) * 2**11  # between 1024 and 2048: an element where it is whole
        away = math.floor(abs(scaled) + Fraction(1, 2)) * (1 if scaled > 0 else -1)
        whole = choose[rounding](scaled) if rounding in choose else away
        assert Fraction(made) == Fraction(whole) / 2**11 * Fraction(2) ** exponent
