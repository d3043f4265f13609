"""Whole entries, written as Tile IR text, against NumPy."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter import (
    InterpreterError,
    Order,
    OutOfTime,
    RunResult,
    Storage,
    UndefinedBehaviour,
    Word,
    run,
)
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.interpreter.reductions import reduce, scan
from ferrotile_runner.tileir.interpreter.shapes import concatenate, extract, mmaf, mmai, permute
from ferrotile_runner.tileir.reader import read

VIEW = "tensor_view<?xf32, strides=[1]>"


def entry(body: str, parameters: str = "%p: tile<ptr<f32>>, %n: tile<i32>") -> str:
    return f"entry @k({parameters}) {{\n{body}\n  return\n}}"


def execute(text: str, *words: Word, grid: tuple[int, ...] = (1,), **options: object) -> RunResult:
    return run(read(text).entry("k"), words, grid, **options)  # type: ignore[arg-type]


def copy(padding: str = "") -> str:
    """y[tile] = x[tile] + 1 over tiles of 4."""
    pad = f", padding_value = {padding}" if padding else ""
    return entry(
        f"""
  %t = make_token : token
  %x = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %y = make_tensor_view %q, shape = [%m], strides = [1] : tile<i32> -> {VIEW}
  %xv = make_partition_view %x : partition_view<tile=(4){pad}, {VIEW}>
  %yv = make_partition_view %y : partition_view<tile=(4), {VIEW}>
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %v, %t1 = load_view_tko weak %xv[%bx] token = %t : partition_view<tile=(4){pad}, {VIEW}>, tile<i32> -> tile<4xf32>, token
  %c = constant <f32: 1.000000e+00> : tile<4xf32>
  %s = addf %v, %c  : tile<4xf32>
  %t2 = store_view_tko weak %s, %yv[%bx] token = %t1 : tile<4xf32>, partition_view<tile=(4), {VIEW}>, tile<i32> -> token""",
        "%p: tile<ptr<f32>>, %n: tile<i32>, %q: tile<ptr<f32>>, %m: tile<i32>",
    )


def floats(count: int) -> Array:
    return np.arange(count, dtype=np.float32)


def test_tails_are_padded_on_loads_and_skipped_on_stores() -> None:
    result = execute(copy("zero"), Storage("x", floats(6)), 6, Storage("y", np.zeros(8, np.float32)), 7, grid=(2,))
    assert result.arrays["y"].tolist() == [1, 2, 3, 4, 5, 6, 1, 0]
    assert result.written["y"].tolist() == [True] * 7 + [False]
    assert result.findings == ()


@pytest.mark.parametrize(
    ("padding", "value"), [("neg_inf", -np.inf), ("pos_inf", np.inf), ("neg_zero", 1.0), ("nan", np.nan)]
)
def test_padding_values(padding: str, value: float) -> None:
    result = execute(copy(padding), Storage("x", floats(3)), 3, Storage("y", np.zeros(4, np.float32)), 4)
    assert np.array_equal(result.arrays["y"][3], np.float32(value), equal_nan=True)


def test_undetermined_padding_differs_between_seeds() -> None:
    words = (Storage("x", floats(3)), 3, Storage("y", np.zeros(4, np.float32)), 4)
    one, two = (execute(copy(), *words, seed=s).arrays["y"] for s in (1, 2))
    assert one[:3].tolist() == two[:3].tolist() and one[3] != two[3]


def test_findings_of_bad_launches() -> None:
    words = (Storage("x", floats(4)), 4, Storage("y", np.zeros(4, np.float32)), 4)
    outside = execute(copy("zero"), *words, grid=(2,))
    assert any("wholly outside" in str(f) for f in outside.findings)
    with pytest.raises(UndefinedBehaviour):
        execute(copy("zero"), Storage("x", floats(2)), 4, Storage("y", np.zeros(4, np.float32)), 4)
    raced = execute(copy("zero"), *words, grid=(1, 2))
    assert "y: two blocks write one element" in map(str, raced.findings)
    with pytest.raises(InterpreterError):
        execute(copy(), 1)
    with pytest.raises(InterpreterError):
        execute(copy(), 1, 1, 1, 1)


def test_a_read_of_another_blocks_write_is_found_and_depends_on_the_order() -> None:
    words = (Storage("x", floats(8)), 8, Storage("x", floats(8)), 8)
    shifted = (
        copy("zero")
        .replace("%yv[%bx]", "%yv[%one]")
        .replace("%t = make_token", "%one = constant <i32: 1> : tile<i32>\n  %t = make_token")
    )
    one = execute(shifted, *words, grid=(2,))
    two = execute(shifted, *words, grid=(2,), order=Order.REVERSED)
    assert any("reads what another block writes" in str(f) for f in one.findings)
    assert one.arrays["x"].tolist() != two.arrays["x"].tolist()


def pointers(body: str) -> str:
    return entry(
        f"""
  %t = make_token : token
  %i = iota : tile<4xi32>
  %n4 = reshape %n : tile<i32> -> tile<1xi32>
  %nb = broadcast %n4 : tile<1xi32> -> tile<4xi32>
  %mask = cmpi less_than %i, %nb, signed : tile<4xi32> -> tile<i1>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %pb = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %a = offset %pb, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %pad = constant <f32: -5.000000e-01> : tile<4xf32>
  %v, %t1 = load_ptr_tko weak %a, %mask, %pad token=%t : tile<4xptr<f32>>, tile<4xi1>, tile<4xf32> -> tile<4xf32>, token
{body}""".replace("signed : tile<4xi32> -> tile<i1>", "signed : tile<4xi32> -> tile<4xi1>")
    )


def test_masked_pointer_load_and_store() -> None:
    text = pointers("""  %w = addf %v, %v  : tile<4xf32>
  %t2 = store_ptr_tko weak %a, %w, %mask token=%t1 : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> token""")
    result = execute(text, Storage("p", floats(4) + 1), 3)
    assert result.arrays["p"].tolist() == [2, 4, 6, 4]
    unmasked = pointers("""  %t2 = store_ptr_tko weak %a, %v token=%t1 : tile<4xptr<f32>>, tile<4xf32> -> token""")
    assert execute(unmasked, Storage("p", floats(4) + 1), 2).arrays["p"].tolist() == [1, 2, -0.5, -0.5]
    with pytest.raises(UndefinedBehaviour):
        execute(unmasked, Storage("p", floats(2)), 2)


def test_atomic_add_counts_every_lane() -> None:
    text = pointers("""  %z = constant <i32: 0> : tile<4xi32>
  %b = offset %pb, %z : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %old, %t2 = atomic_rmw_tko relaxed device %b, addf, %v, %mask token=%t1 : tile<4xptr<f32>>, tile<4xf32>, tile<4xi1> -> tile<4xf32>, token""")
    result = execute(text, Storage("p", np.array([1, 2, 4, 8], np.float32)), 3, grid=(1,))
    assert result.arrays["p"].tolist() == [8, 2, 4, 8]


LOOP = """
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %r = for %j in (%z to %n, step %one) : tile<i32> iter_values(%s = %z) -> (tile<i32>) {
    %s2 = addi %s, %j : tile<i32>
    continue %s2 : tile<i32>
  }
"""
STORE = """
  %t = make_token : token
  %x = make_tensor_view %p, shape = [1], strides = [1] : tensor_view<1xi32, strides=[1]>
  %v = make_partition_view %x : partition_view<tile=(1), tensor_view<1xi32, strides=[1]>>
  %r1 = reshape %r : tile<i32> -> tile<1xi32>
  %t2 = store_view_tko weak %r1, %v[%z] token = %t : tile<1xi32>, partition_view<tile=(1), tensor_view<1xi32, strides=[1]>>, tile<i32> -> token"""
WORDS = "%p: tile<ptr<i32>>, %n: tile<i32>"


def scalar(body: str, n: int, **options: object) -> int:
    result = execute(entry(body + STORE, WORDS), Storage("p", np.zeros(1, np.int32)), n, **options)  # type: ignore[arg-type]
    return int(result.arrays["p"][0])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_for(n: int) -> None:
    assert scalar(LOOP, n) == sum(range(n))


def test_if_yields() -> None:
    text = """
  %z = constant <i32: 0> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %c = cmpi less_than %n, %three, signed : tile<i32> -> tile<i1>
  %r = if %c -> (tile<i32>) {
    yield %three : tile<i32>
  } else {
    yield %n : tile<i32>
  }
"""
    assert [scalar(text, n) for n in (2, 7)] == [3, 7]


DOWN = """
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %l:2 = loop iter_values(%k = %z, %v0 = %n) : tile<i32>, tile<i32> -> tile<i32>, tile<i32> {
    %stop = cmpi equal %v0, %one, signed : tile<i32> -> tile<i1>
    if %stop {
      break %k, %v0 : tile<i32>, tile<i32>
    }
    %k2 = addi %k, %one : tile<i32>
    %v2 = subi %v0, %one : tile<i32>
    continue %k2, %v2 : tile<i32>, tile<i32>
  }
  %r = addi %l#0, %z : tile<i32>
"""


def test_loop_with_break_inside_if() -> None:
    assert [scalar(DOWN, n) for n in (1, 6)] == [0, 5]


def test_reduce_with_any_region_and_scan() -> None:
    def later(left: list[Array], right: list[Array]) -> list[Array]:
        return [right[0]]

    tile = np.arange(8, dtype=np.int32).reshape(2, 4)
    identity = [np.asarray(np.int32(0))]
    assert reduce([tile], identity, 1, later)[0].tolist() == [3, 7]  # type: ignore[arg-type]
    assert reduce([tile[:, :3]], identity, 1, lambda a, b: [a[0] + b[0]])[0].tolist() == [3, 15]
    assert scan([tile], 1, False, lambda a, b: [a[0] + b[0]])[0].tolist() == np.cumsum(tile, 1).tolist()
    backwards = np.cumsum(tile[::-1], 0)[::-1]
    assert scan([tile], 0, True, lambda a, b: [a[0] + b[0]])[0].tolist() == backwards.tolist()


def test_shapes() -> None:
    tile = np.arange(24).reshape(2, 3, 4)
    assert permute(tile, (2, 0, 1)).shape == (4, 2, 3)
    assert np.array_equal(permute(tile, (2, 0, 1)), np.einsum("abc->cab", tile))
    assert np.array_equal(extract(tile, (1, 0, 1), (1, 3, 2)), tile[1:2, :, 2:4])
    assert concatenate([tile, tile], 1).shape == (2, 6, 4)


def test_matrix_products() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((2, 4, 8), (2, 8, 3)))
    c = rng.standard_normal((2, 4, 3)).astype(np.float32)
    exact = np.einsum("zij,zjk->zik", a.astype(np.float64), b.astype(np.float64)) + c
    assert np.array_equal(mmaf(a, b, c), exact.astype(np.float32))
    x, y = (rng.integers(-128, 128, (4, 4)).astype(np.int8) for _ in range(2))
    zero = np.zeros((4, 4), np.int32)
    assert np.array_equal(mmai(x, y, zero, True, True), x.astype(np.int32) @ y.astype(np.int32))
    unsigned = x.view(np.uint8).astype(np.int32) @ y.astype(np.int32)
    assert np.array_equal(mmai(x, y, zero, False, True), unsigned)


def test_a_failing_assert_is_a_finding() -> None:
    text = """
  %z = constant <i32: 0> : tile<i32>
  %r = constant <i32: 1> : tile<i32>
  %c = cmpi less_than %n, %r, signed : tile<i32> -> tile<i1>
  assert %c, "n is small" : tile<i1>
"""
    result = execute(entry(text + STORE, WORDS), Storage("p", np.zeros(1, np.int32)), 2)
    assert list(map(str, result.findings)) == ["assert failed: n is small"]


def test_time_limit() -> None:
    with pytest.raises(OutOfTime):
        scalar(LOOP, 2_000_000_000, seconds=0.05)
