"""The launch for the clock has blocks enough to keep a GPU busy."""

from __future__ import annotations

import math

import numpy as np
from ferrotile.signatures.model import Signature
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.gpu.large_launch import BUSY, ELEMENTS, MOST_ACROSS, PROCESSORS, large_case, turns
from ferrotile_runner.inputs import Case
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.tileir.reader import read

TURNS = """entry @k(%n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %a, %b, %c = get_num_tile_blocks : tile<i32>
  %x1 = assume bounded<0, ?>, %x : tile<i32>
  for %i in (%x1 to %n, step %a) : tile<i32> {
    continue
  }
  for %i in (%y to %n, step %a) : tile<i32> {
    continue
  }
  return
}"""


def signature(directive: str, parameters: str, body: str) -> Signature:
    text = f"import cuda.tile as ct\n\n\n# ferrotile: {directive}\n@ct.kernel\ndef kernel({parameters}):\n{body}"
    (only,) = translate_document(Document(text)).kernels
    assert only.signature is not None
    return only.signature


COPY = "    i = ct.bid(0)\n    ct.store(y, (i, 0), ct.load(x, (i, 0), (1, 64)))\n"


def grown(directive: str, sizes: dict[str, int], grid: str | None = None) -> Case:
    made = signature(directive, "x, y", COPY)
    arrays = {name: np.zeros((1, 1), np.float32) for name in ("x", "y")}
    found = large_case(Case("small", sizes, arrays, {}, (1, 1, 1)), made, facts_of(()), lambda shapes: (2, 1, 1))
    assert found is not None and max(math.prod(a.shape) for a in found.arrays.values()) <= ELEMENTS
    return found


def test_rows_that_are_blocks_grow_more_than_columns() -> None:
    """All by one power of two would be 256 rows of 65,536."""
    found = grown("x: f32[M, K], y: f32[M, 64], grid=(M,)", {"M": 4, "K": 1024})
    assert found.grid[0] == found.sizes["M"] >= BUSY
    assert found.sizes["K"] >= 1024


def test_what_is_large_enough_grows_evenly() -> None:
    found = grown("x: f32[M, 64], y: f32[M, 64], grid=(M,)", {"M": 4})
    assert found.sizes["M"] == ELEMENTS // 64 == found.grid[0]


def test_no_gpu_has_more_blocks_across() -> None:
    found = grown("x: f32[M, 64], y: f32[M, 64], grid=(1, M)", {"M": 4})
    assert found.grid[1] <= MOST_ACROSS and found.grid[1] * 2 > MOST_ACROSS // 2


def test_blocks_that_take_turns_are_as_many_as_processors() -> None:
    entry = read(TURNS).entry("k")
    assert turns(entry) == "x"  # along y the step is the number of blocks of another axis
    made = signature("x: f32[M, 64], y: f32[M, 64]", "x, y", COPY)
    arrays = {name: np.zeros((1, 1), np.float32) for name in ("x", "y")}
    small = Case("small", {"M": 4}, arrays, {}, (2, 1, 1))
    found = large_case(small, made, facts_of(()), lambda shapes: (2, 1, 1), entry)
    assert found is not None and found.grid == (PROCESSORS, 1, 1)
