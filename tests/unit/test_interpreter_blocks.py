"""Many blocks at once, and the operations that most kernels lack, against NumPy and exact arithmetic."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter import Order, RunResult, Storage, Word, run
from ferrotile_runner.tileir.interpreter.arithmetic import elementwise
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.interpreter.modes import Modes
from ferrotile_runner.tileir.reader import read
from hypothesis import given
from hypothesis import strategies as st

VIEW = "tensor_view<?xf32, strides=[1]>"
PART = f"partition_view<tile=(4), {VIEW}>"
WORDS = "%p: tile<ptr<f32>>, %n: tile<i32>, %q: tile<ptr<f32>>, %m: tile<i32>"


def entry(body: str, parameters: str = WORDS) -> str:
    return f"""entry @k({parameters}) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %xv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %yv = make_tensor_view %q, shape = [%m], strides = [1] : tile<i32> -> {VIEW}
  %xp = make_partition_view %xv : {PART}
  %yp = make_partition_view %yv : {PART}
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c3 = constant <i32: 3> : tile<i32>
  %a, %at = load_view_tko weak %xp[%bx] token = %t : {PART}, tile<i32> -> tile<4xf32>, token
{body}
  return
}}"""


def save(value: str = "%r", index: str = "%bx") -> str:
    return f"  %s = store_view_tko weak {value}, %yp[{index}] token = %t : tile<4xf32>, {PART}, tile<i32> -> token"


def launch(body: str, count: int = 5, **options: object) -> RunResult:
    x = np.arange(4 * count, dtype=np.float32)
    words: Sequence[Word] = (Storage("x", x), x.size, Storage("y", np.zeros_like(x)), x.size)
    return run(read(entry(body)).entry(), words, (count,), **options)  # type: ignore[arg-type]


TRIPS = f"""  %f = for %k in (%c0 to %bx, step %c1) : tile<i32> iter_values(%v = %a) -> (tile<4xf32>) {{
    %w = addf %v, %a : tile<4xf32>
    continue %w : tile<4xf32>
  }}
{save("%f")}"""
BRANCH = f"""  %odd = andi %bx, %c1 : tile<i32>
  %is = cmpi equal %odd, %c1, signed : tile<i32> -> tile<i1>
  %r = if %is -> (tile<4xf32>) {{
    %d = negf %a : tile<4xf32>
    yield %d : tile<4xf32>
  }} else {{
    yield %a : tile<4xf32>
  }}
{save()}"""
LEAVE = f"""  %is = cmpi greater_than %bx, %c1, signed : tile<i32> -> tile<i1>
  if %is {{
    return
  }} else {{
  }}
{save("%a")}"""
UNTIL = f"""  %r:2 = loop iter_values(%k = %c0, %v = %a) : tile<i32>, tile<4xf32> -> tile<i32>, tile<4xf32> {{
    %go = cmpi less_than %k, %bx, signed : tile<i32> -> tile<i1>
    if %go {{
    }} else {{
      break %k, %v : tile<i32>, tile<4xf32>
    }}
    %w = addf %v, %a : tile<4xf32>
    %k2 = addi %k, %c1 : tile<i32>
    %three = cmpi equal %k2, %c3, signed : tile<i32> -> tile<i1>
    if %three {{
      break %k2, %w : tile<i32>, tile<4xf32>
    }} else {{
    }}
    continue %k2, %w : tile<i32>, tile<4xf32>
  }}
{save("%r#1")}"""


@pytest.mark.parametrize(
    ("body", "factor"),
    [
        (TRIPS, lambda b: b + 1),
        (BRANCH, lambda b: -1 if b % 2 else 1),
        (LEAVE, lambda b: 0 if b > 1 else 1),
        (UNTIL, lambda b: min(b, 3) + 1),
    ],
)
def test_blocks_that_part_go_their_own_ways(body: str, factor: object) -> None:
    assert callable(factor)
    expected = np.concatenate([np.arange(4 * b, 4 * b + 4) * factor(b) for b in range(5)]).astype(np.float32)
    for order in Order:
        assert launch(body, order=order).arrays["y"].tolist() == expected.tolist()


@pytest.mark.parametrize("body", [TRIPS, BRANCH, LEAVE, UNTIL])
def test_one_block_after_the_other_gives_the_same(body: str) -> None:
    assert np.array_equal(launch(body).arrays["y"], launch(body, at_once=1).arrays["y"])


def test_blocks_in_each_others_way_run_in_order() -> None:
    """Every block adds its tile to tile 0 of y by a load and a store: a race, whatever the result."""
    body = f"""  %o, %ot = load_view_tko weak %yp[%c0] token = %t : {PART}, tile<i32> -> tile<4xf32>, token
  %r = addf %o, %a : tile<4xf32>
{save("%r", "%c0")}"""
    result = launch(body)
    assert result.arrays["y"][:4].tolist() == np.arange(20).reshape(5, 4).sum(axis=0).tolist()
    assert any("two blocks write one element" in str(finding) for finding in result.findings)


def test_elements_that_nothing_has_written_are_found() -> None:
    x = np.zeros(4, np.float32)
    words = (Storage("x", x, blank=True), 4, Storage("y", x), 4)
    found = run(read(entry(save("%a"))).entry(), words, (1,)).findings
    assert list(map(str, found)) == ["x: an element is read that nothing has written"]


def test_prints_come_block_by_block() -> None:
    printed = launch('  %pr = print_tko "%d", %bx token=%t : tile<i32> -> token', 3, order=Order.REVERSED).printed
    assert printed == ("%d 0", "%d 1", "%d 2")


def test_strided_and_gathering_views() -> None:
    kind = f"strided_view<tile=(4), traversal_strides=[2], padding_value = zero, {VIEW}>"
    body = f"""  %v = make_strided_view %xv : {kind}
  %r, %rt = load_view_tko weak %v[%bx] token = %t : {kind}, tile<i32> -> tile<4xf32>, token
{save()}"""
    expected = [[float(2 * b + lane) for lane in range(4)] for b in range(5)]
    assert launch(body).arrays["y"].reshape(5, 4).tolist() == expected
    kind = f"gather_scatter_view<tile=(4), padding_value = nan, {VIEW}, sparse_dim=0>"
    body = f"""  %i = constant <i32: [3, -1, 0, 20]> : tile<4xi32>
  %v = make_gather_scatter_view %xv : {kind}
  %r, %rt = load_view_tko weak %v[%i] token = %t : {kind}, tile<4xi32> -> tile<4xf32>, token
{save()}"""
    found = launch(body).arrays["y"].reshape(5, 4)
    assert found[:, [0, 2]].tolist() == [[3.0, 0.0]] * 5
    assert np.isnan(found[:, [1, 3]]).all()


def test_atomics_add_up_over_blocks() -> None:
    pointers = """  %b1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b4 = broadcast %b1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %at4 = constant <i32: [0, 0, 1, 7]> : tile<4xi32>
  %p4 = offset %b4, %at4 : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %o, %ot = atomic_rmw_tko relaxed device %p4, addf, %a : tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token"""
    y = launch(pointers).arrays["y"]
    tiles = np.arange(20).reshape(5, 4)
    assert y[[0, 1, 7]].tolist() == [float(tiles[:, :2].sum()), float(tiles[:, 2].sum()), float(tiles[:, 3].sum())]
    by_view = f"  %r = atomic_red_view_tko relaxed device %yp[%c0], addf, %a token = %t : tile<4xf32>, {PART}, tile<i32> -> token"
    assert launch(by_view).arrays["y"][:4].tolist() == tiles.sum(axis=0).tolist()


def test_insert_pack_and_unpack() -> None:
    body = f"""  %e = extract %a[%c1] : tile<4xf32> -> tile<2xf32>
  %i = insert %e, %a[%c0] : tile<2xf32>, tile<4xf32>
  %b = pack %i : tile<4xf32> -> tile<16xi8>
  %r = unpack %b : tile<16xi8> -> tile<4xf32>
{save()}"""
    assert launch(body, 2).arrays["y"].tolist() == [2, 3, 2, 3, 6, 7, 6, 7]


# Rounding in every direction, against fractions

TYPES = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
ODD = st.floats(-1e4, 1e4).filter(lambda x: abs(x) > 1e-4)


def neighbours(value: Fraction, dtype: np.dtype[np.generic]) -> tuple[float, float]:
    """The nearest elements at or below and at or above, found by walking from NumPy's guess."""
    bits = np.dtype(f"i{dtype.itemsize}")

    def key(x: Array) -> int:
        raw = int(np.asarray(x).view(bits))
        return raw if raw >= 0 else -(raw & int(np.iinfo(bits).max))

    def element(k: int) -> Array:
        raw = k if k >= 0 else (-k) | int(np.iinfo(bits).min)
        return np.asarray(raw).astype(bits).view(dtype)

    with np.errstate(all="ignore"):
        at = key(np.asarray(float(value)).astype(np.float32 if dtype.itemsize < 4 else dtype).astype(dtype))
    while Fraction(float(element(at))) > value:
        at -= 1
    while Fraction(float(element(at + 1))) <= value:
        at += 1
    low = float(element(at))
    return low, low if Fraction(low) == value else float(element(at + 1))


@pytest.mark.parametrize("name", sorted(TYPES))
@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf", "fma", "sqrt"])
@given(ODD, ODD, ODD)
def test_directed_rounding(name: str, op: str, a: float, b: float, c: float) -> None:
    dtype = TYPES[name]
    with np.errstate(all="ignore"):
        x, y, z = (np.asarray([v]).astype(np.float32 if dtype.itemsize < 4 else dtype).astype(dtype) for v in (a, b, c))
    p, q, r = (Fraction(float(v[0])) for v in (x, y, z))
    if op == "sqrt" and p <= 0:
        return
    exact = {"addf": p + q, "subf": p - q, "mulf": p * q, "divf": p / q, "fma": p * q + r}.get(op)
    if exact is None:
        scale = 1 << 240
        root = Fraction(math.isqrt(p.numerator * p.denominator * scale * scale), p.denominator * scale)
        exact = root if root * root == p else root + Fraction(1, p.denominator * scale * 2)
    if exact == 0 or abs(exact) > 60000:
        return
    args = {"fma": (x, y, z), "sqrt": (x,)}.get(op, (x, y))
    low, high = neighbours(exact, dtype)
    wanted = {"negative_inf": low, "positive_inf": high, "zero": low if exact > 0 else high}
    found = {mode: float(elementwise(op, args, Modes(element=name, rounding=mode))[0]) for mode in wanted}
    assert found == wanted


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E4M3FN", "f8E5M2"])
@given(st.floats(-400, 400, width=32))
def test_directed_conversions_surround_the_value(name: str, a: float) -> None:
    x = np.asarray([a], np.float32)
    found = {
        m: float(elementwise("ftof", (x,), Modes(element=name, rounding=m))[0])
        for m in ("negative_inf", "zero", "positive_inf")
    }
    near = float(elementwise("ftof", (x,), Modes(element=name))[0])
    assert found["negative_inf"] <= a <= found["positive_inf"]
    assert near in (found["negative_inf"], found["positive_inf"])
    assert found["zero"] == (found["negative_inf"] if a > 0 else found["positive_inf"])


def test_scaled_matrices_and_powers_of_two() -> None:
    from ferrotile_runner.tileir.interpreter.shapes import mmaf, scaled

    rng = np.random.default_rng(0)
    a, b = (
        rng.integers(-4, 5, shape).astype(np.float32).astype(ml_dtypes.float8_e4m3fn) for shape in ((4, 64), (64, 4))
    )
    left, right = np.exp2(rng.integers(-3, 4, (4, 2))), np.exp2(rng.integers(-3, 4, (2, 4)))
    wide = np.repeat(left, 32, axis=1) * a.astype(np.float64), np.repeat(right, 32, axis=0) * b.astype(np.float64)
    made = mmaf(
        scaled(a, left.astype(ml_dtypes.float8_e8m0fnu), 1),
        scaled(b, right.astype(ml_dtypes.float8_e8m0fnu), 0),
        np.zeros((4, 4), np.float32),
    )
    assert made.tolist() == (wide[0] @ wide[1]).astype(np.float32).tolist()
    up = elementwise(
        "ftof", (np.asarray([0.3, 0.5, 3.0, 0.0], np.float32),), Modes(element="f8E8M0FNU", rounding="positive_inf")
    )
    assert up.astype(np.float64).tolist()[:3] == [0.5, 0.5, 4.0]


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fn", "bfloat16"])
def test_views_of_types_that_numpy_does_not_know(name: str) -> None:
    element = {"float8_e5m2": "f8E5M2", "float8_e4m3fn": "f8E4M3FN", "bfloat16": "bf16"}[name]
    dtype = np.dtype(getattr(ml_dtypes, name))
    size = 1024
    x = (np.arange(2 * size - 100) % 13).astype(np.float32).astype(dtype)
    text = entry("").replace("tile=(4)", f"tile=({size})").replace("tile<4xf32>", f"tile<{size}xf32>")
    stored = save("%a").replace("tile=(4)", f"tile=({size})").replace("tile<4xf32>", f"tile<{size}xf32>")
    text = text.replace("\n  return", f"\n{stored}\n  return").replace("f32", element)
    words: Sequence[Word] = (Storage("x", x), x.size, Storage("y", np.zeros_like(x)), x.size)
    result = run(read(text).entry(), words, (2,))
    assert result.arrays["y"].tobytes() == x.tobytes()


def test_a_run_is_repeatable_where_nothing_is_left_open() -> None:
    assert launch(save("%a")).repeatable
    # the tile behind the array's end has lanes that nothing determines
    x = np.arange(18, dtype=np.float32)
    words: Sequence[Word] = (Storage("x", x), x.size, Storage("y", np.zeros_like(x)), x.size)
    assert not run(read(entry(save("%a"))).entry(), words, (5,)).repeatable
    # all blocks store one tile
    assert not launch(save("%a", "%c0")).repeatable
