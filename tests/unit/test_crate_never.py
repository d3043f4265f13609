"""Host functions of the forms that `--unsafe never` makes: mapped partitions, and copies from before the launch."""

from __future__ import annotations

import pytest
from crate_support import HEAD, Refused, hosted, launch, python_file
from ferrotile.crate.host_model import Let
from ferrotile.crate.project import contents_of, crate_files
from ferrotile.translation import Options

NEVER = Options(unsafe="never")

GROUPED = (
    HEAD
    + """
# ferrotile: a: f16[M, K], b: f16[K, N], c: f16[M, N], TM=64, TN=32, TK=16, grid=(M/TM*N/TN,)
@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    bid = ct.bid(0)
    rows, columns = ct.cdiv(c.shape[0], TM), ct.cdiv(c.shape[1], TN)
    group = bid // (8 * columns)
    first = group * 8
    size = min(rows - first, 8)
    m = first + bid % size
    n = (bid % (8 * columns)) // size
    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        x = ct.load(a, index=(m, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, index=(k, n), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(m, n), tile=ct.astype(acc, c.dtype))
"""
)
PERSISTENT = (
    HEAD
    + """
# ferrotile: x: f32[M, N], y: f32[M, N], TM=16, TN=64
@ct.kernel
def double(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):
    rows, columns = ct.cdiv(y.shape[0], TM), ct.cdiv(y.shape[1], TN)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        m, n = tile // columns, tile % columns
        t = ct.load(x, index=(m, n), shape=(TM, TN), padding_mode=ct.PaddingMode.ZERO)
        ct.store(y, index=(m, n), tile=t + t)
"""
)
INPLACE = (
    HEAD
    + """
# ferrotile: g: f32[M, 64], x: f32[M, 64], y: f32[M, 64], grid=(M,)
@ct.kernel
def back(g, x, y):
    i = ct.bid(0)
    for j in range(1):
        u = ct.load(x, index=(i, j), shape=(1, 64))
        v = ct.load(y, index=(i, j), shape=(1, 64))
        t = ct.load(g, index=(i, j), shape=(1, 64))
        ct.store(x, index=(i, j), tile=t * v)
        ct.store(y, index=(i, j), tile=t * u)
"""
)


def _module(text: str) -> str:
    return str(crate_files(contents_of("kernels", [python_file(text, options=NEVER)])).files["src/k.rs"])


def test_a_mapped_partition_has_a_block_for_each_tile_of_the_grid() -> None:
    host = hosted(GROUPED, NEVER)
    assert "MappedPartitionMut" in "\n".join(host.planned.parts.body)
    shapes = {"a": (100, 70), "b": (70, 50), "c": (100, 50)}
    assert launch(host, shapes, {"tm": 64, "tn": 32, "tk": 16}) is None  # the grid is the partition's
    prepared = [let.value for let in host.prepared]
    assert prepared == ["c.partition([tm as usize, tn as usize])", "c.map([8, 1], blocks as u32)"]
    values = [step.value for step in host.steps if isinstance(step, Let) and step.name == "blocks"]
    assert values == ["tiles(m, tm) * tiles(n, tn)"]
    with pytest.raises(Refused):
        launch(host, {**shapes, "c": (100, 51)}, {"tm": 64, "tn": 32, "tk": 16})


def test_checked_loads_of_a_mapped_kernel_need_no_promise() -> None:
    text = _module(GROUPED)
    assert "unsafe" not in text and "pub fn matmul(" in text


def test_a_persistent_kernel_is_launched_with_the_blocks_that_it_is_given() -> None:
    host = hosted(PERSISTENT, NEVER)
    assert "MappedPartitionMut" in "\n".join(host.planned.parts.body) and host.grid_argument
    # More blocks than tiles have nothing to do, and cutile does not launch them.
    named = {step.name: step.value for step in host.steps if isinstance(step, Let)}
    assert named["blocks"] == "i64::from(grid.0).min(tiles_of_all)"
    assert named["tiles_of_all"] == "tiles(m, tm) * tiles(n, tn)"
    config = {"tm": 16, "tn": 64}
    launch(host, {"x": (10, 50), "y": (10, 50)}, config, grid=(4, 1, 1))
    with pytest.raises(Refused):
        launch(host, {"x": (10, 50), "y": (10, 50)}, config, grid=(4, 2, 1))


def test_copies_are_made_on_the_stream_of_the_launch() -> None:
    host = hosted(INPLACE, NEVER)
    assert host.copies and set(host.copies.values()) <= {"x", "y"}
    text = _module(INPLACE)
    assert "zip!(" in text or ".dup()" in text
    op = text[text.index("pub fn back_op") if "pub fn back_op" in text else text.index("fn back_op") :]
    before, closure = op.split(".then(move |", 1)
    for copied in host.copies.values():
        # cutile copies elements that follow each other; a partition wants the array for itself, so it comes later.
        assert f'launch.contiguous("{copied}", {copied})?;' in before
        assert f"{copied}.partition(" in closure and f"{copied}.partition(" not in before
