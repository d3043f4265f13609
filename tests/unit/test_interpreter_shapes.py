"""Sizes of views, and operations that move elements, through the text of whole entries."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter import Storage, run
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.reader import read

VIEW = "tensor_view<?x?xf32, strides=[?,1]>"
OUT = "tensor_view<?xi32, strides=[1]>"


def stored(body: str, values: list[str], *words: object) -> list[int]:
    """The scalars `values` that a body makes of an array of 10 x 7 elements in rows of 8 (view `%v`)."""
    lines = [
        f"  %c{k} = constant <i32: {k}> : tile<i32>\n  %w{k} = reshape {v} : tile<i32> -> tile<1xi32>\n"
        f"  %s{k} = store_view_tko weak %w{k}, %op[%c{k}] token = %t : tile<1xi32>, partition_view<tile=(1), {OUT}>, tile<i32> -> token"
        for k, v in enumerate(values)
    ]
    text = f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %m: tile<i32>, %d: tile<i32>, %q: tile<ptr<i32>>, %l: tile<i32>) {{
  %t = make_token : token
  %v = make_tensor_view %p, shape = [%n, %m], strides = [%d, 1] : tile<i32> -> {VIEW}
  %o = make_tensor_view %q, shape = [%l], strides = [1] : tile<i32> -> {OUT}
  %op = make_partition_view %o : partition_view<tile=(1), {OUT}>
{body}
{chr(10).join(lines)}
  return
}}"""
    out = np.zeros(len(values), np.int32)
    words = (Storage("x", np.arange(80, dtype=np.float32)), 10, 7, 8, Storage("o", out), out.size)
    found: list[int] = run(read(text).entry(), words, (1,)).arrays["o"].tolist()
    return found


@pytest.mark.parametrize(
    ("kind", "tiles"),
    [
        ("partition_view<tile=(4x2), {}>", [3, 4]),
        ("partition_view<tile=(16x1), {}>", [1, 7]),
        ("partition_view<tile=(2x4), {}, dim_map=[1, 0]>", [4, 3]),
        ("strided_view<tile=(4x2), traversal_strides=[2,1], {}>", [5, 7]),
    ],
)
def test_sizes_of_views(kind: str, tiles: list[int]) -> None:
    """Extents 10 and 7: as many tiles as begin inside."""
    view = kind.format(VIEW)
    make = "make_strided_view" if view.startswith("strided") else "make_partition_view"
    body = f"""  %pv = {make} %v : {view}
  %i:2 = get_index_space_shape %pv : {view} -> tile<i32>
  %e:2 = get_tensor_shape %v : {VIEW} -> tile<i32>"""
    assert stored(body, ["%i#0", "%i#1", "%e#0", "%e#1"]) == [*tiles, 10, 7]


def tile_of(kind: str, index: str, make: str, width: int, more: str = "") -> Array:
    """A tile of 10 rows of 7 elements, loaded at `index`."""
    rows = kind.split("tile=(")[1].split(")")[0]
    text = f"""entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {{
  %t = make_token : token
  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
{more}
  %v = make_tensor_view %p, shape = [10, 7], strides = [8, 1] : tensor_view<10x7xf32, strides=[8,1]>
  %pv = {make} %v : {kind}
  %a, %at = load_view_tko weak %pv[{index}] token = %t : {kind}, tile<i32> -> tile<{rows}xf32>, token
  %o = make_tensor_view %q, shape = [{width}], strides = [1] : tensor_view<{width}xf32, strides=[1]>
  %op = make_partition_view %o : partition_view<tile=({width}), tensor_view<{width}xf32, strides=[1]>>
  %f = reshape %a : tile<{rows}xf32> -> tile<{width}xf32>
  %s = store_view_tko weak %f, %op[%c0] token = %t : tile<{width}xf32>, partition_view<tile=({width}), tensor_view<{width}xf32, strides=[1]>>, tile<i32> -> token
  return
}}"""
    words = (Storage("x", np.arange(80, dtype=np.float32)), Storage("o", np.zeros(width, np.float32)))
    return run(read(text).entry(), words, (1,)).arrays["o"].reshape(tuple(map(int, rows.split("x"))))


STATIC = "tensor_view<10x7xf32, strides=[8,1]>"
ROWS = np.pad(np.arange(80, dtype=np.float32).reshape(10, 8)[:, :7], ((0, 8), (0, 8)), constant_values=-1)


def test_axes_of_a_partition_may_be_exchanged() -> None:
    kind = f"partition_view<tile=(4x2), padding_value = zero, {STATIC}, dim_map=[1, 0]>"
    found = tile_of(kind, "%c1, %c2", "make_partition_view", 8)
    expected = ROWS[4:6, 4:8].T
    assert found.tolist() == np.where(expected < 0, 0, expected).tolist()


def test_tiles_of_a_strided_view_overlap() -> None:
    kind = f"strided_view<tile=(4x2), traversal_strides=[3,1], padding_value = zero, {STATIC}>"
    found = tile_of(kind, "%c2, %c1", "make_strided_view", 8)
    assert found.tolist() == ROWS[6:10, 1:3].tolist()
