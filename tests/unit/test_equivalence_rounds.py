"""Persistent loops that visit their tiles in another order (H8): what a round leaves to the next must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter import Storage, run
from ferrotile_runner.tileir.reader import read
from tileir_support import COMMON, kernel, proof_of, store
from tileir_support import load as read_tile

VIEW = "tensor_view<?x?xf32, strides=[?,1]>"
PART = f"partition_view<tile=(2x2), padding_value = zero, {VIEW}>"
WORDS = "x:M,N y:M,N"
ROW_MAJOR = "  %i = divi %k, %cols signed : tile<i32>\n  %j = remi %k, %cols signed : tile<i32>"
COLUMN_MAJOR = "  %j = divi %k, %rows signed : tile<i32>\n  %i = remi %k, %rows signed : tile<i32>"


def load(name: str, view: str, index: str, token: str = "%t") -> str:
    given = f"  %{name}, %{name}_t = load_view_tko weak %{view}[{index}] token = {token}"
    return f"{given} : {PART}, tile<i32> -> tile<2x2xf32>, token"


def persistent(index: str, passed: str = "%acc", second: str = "", added: str = "%acc") -> str:
    """y[i, j] = x[i, j] + `added` for every tile of the block's share; `passed` is what the next round carries."""
    arrays = ", ".join(
        f"%{name}: tile<ptr<f32>>, %{name}m: tile<i32>, %{name}n: tile<i32>, %{name}s: tile<i32>, %{name}1: tile<i32>"
        for name in "xy"
    )
    return f"""entry @k({arrays}) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %gx, %gy, %gz = get_num_tile_blocks : tile<i32>
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %zero = constant <f32: 0.000000e+00> : tile<2x2xf32>
  %xv = make_tensor_view %x, shape = [%xm, %xn], strides = [%xs, 1] : tile<i32> -> {VIEW}
  %yv = make_tensor_view %y, shape = [%ym, %yn], strides = [%ys, 1] : tile<i32> -> {VIEW}
  %xp = make_partition_view %xv : {PART}
  %yp = make_partition_view %yv : {PART}
  %rows, %cols = get_index_space_shape %yp : {PART} -> tile<i32>
  %tiles = muli %rows, %cols : tile<i32>
  %f:2 = for %k in (%bx to %tiles, step %gx) : tile<i32> iter_values(%w = %t, %acc = %zero) -> (token, tile<2x2xf32>) {{
{index}
{load("a", "xp", "%i, %j")}
{second}
  %r = addf %a, {added} : tile<2x2xf32>
  %s = store_view_tko weak %r, %yp[%i, %j] token = %w : tile<2x2xf32>, {PART}, tile<i32> -> token
  continue %s, {passed} : token, tile<2x2xf32>
  }}
  return
}}
"""


SUM = {"passed": "%r"}
READS_WRITTEN = {"second": load("b", "yp", "%c0, %c1", "%w"), "added": "%b"}
READS_OTHER = {"second": load("b", "xp", "%c0, %c1"), "added": "%b"}


def result(text: str) -> list[float]:
    """What one block makes of a 4 x 6 array."""
    x, y = Storage("x", np.arange(24, dtype=np.float32)), Storage("y", np.zeros(24, np.float32))
    found = run(read(text).entry(), (x, 4, 6, 6, 1, y, 4, 6, 6, 1), (1,))
    return [float(value) for value in found.arrays["y"].reshape(-1)]


@pytest.mark.parametrize(
    ("rest", "same"),
    [({}, True), (READS_OTHER, True), (SUM, False), (READS_WRITTEN, False)],
    ids=["alone", "reads another array", "running sum", "reads what other rounds wrote"],
)
def test_the_order_of_rounds_may_change_where_none_leaves_anything(rest: dict[str, str], same: bool) -> None:
    python, rust = persistent(ROW_MAJOR, **rest), persistent(COLUMN_MAJOR, **rest)
    assert (result(python) == result(rust)) is same
    assert proof_of(python, rust, WORDS, *COMMON).equal is same
    assert proof_of(python, python, WORDS, *COMMON).equal


def direct(index: str) -> str:
    """The same tile by tile, for the block's one tile."""
    lines = persistent(index).splitlines()
    first = next(k for k, line in enumerate(lines) if " = for " in line)
    last = next(k for k, line in enumerate(lines) if line.strip().startswith("continue"))
    body = [line.replace("%w", "%t").replace("%acc", "%zero") for line in lines[first + 1 : last]]
    return "\n".join((*lines[:first], "  %k = addi %bx, %c0 : tile<i32>", *body, *lines[last + 2 :]))


TILES = "cdiv(M, 2) * cdiv(N, 2)"
ONE_AXIS = ("bid.y = 0", "bid.z = 0", *COMMON)


def test_each_tile_is_visited_where_the_grid_has_as_many_blocks() -> None:
    """With fewer blocks than tiles (`bid.x < ...` alone) the two maps reach other tiles."""
    python, rust = direct(ROW_MAJOR), direct(COLUMN_MAJOR)
    assert proof_of(python, rust, WORDS, f"grid.x = {TILES}", *ONE_AXIS).equal
    assert not proof_of(python, rust, WORDS, "grid.x = M", f"bid.x < {TILES}", *ONE_AXIS).equal


def group(factor: int, is_python: bool) -> str:
    """y[0] = x[0] where factor * m - factor * (bid / factor) > 0; the Rust takes it for granted."""
    condition = "cmpi less_than %c0, %rest, signed : tile<i32> -> tile<i1>"
    return kernel(f"""  %c0 = constant <i32: 0> : tile<i32>
  %f = constant <i32: {factor}> : tile<i32>
{read_tile("v", "xv", "%c0")}
  %q = divi %bx, %f signed : tile<i32>
  %most = muli %m, %f : tile<i32>
  %first = muli %q, %f : tile<i32>
  %rest = subi %most, %first : tile<i32>
  %e = {condition if is_python else "constant <i1: true> : tile<i1>"}
  if %e {{
{store("%v", "yv", "%c0")}
  }}""")


@pytest.mark.parametrize(
    ("factor", "grid", "positive"), [(256, "256 * M", True), (256, "256 * N", False), (65536, "65536 * N", False)]
)
def test_what_is_left_of_a_group_is_counted_in_integers(factor: int, grid: str, positive: bool) -> None:
    """factor * m * factor = factor * (factor * n) also holds modulo 2^32 for a factor of 2^16, for any m and n."""
    found = proof_of(group(factor, True), group(factor, False), "x:N y:M", f"grid.x = {grid}", *COMMON)
    assert found.equal is positive
