"""Tiles as windows of their array, against elements that are addressed one by one."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter import FindingKind, Order, Storage, run
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.interpreter.memory import Buffer, Memory
from ferrotile_runner.tileir.interpreter.run import BATCH_ELEMENTS
from ferrotile_runner.tileir.interpreter.views import TensorView, TileView, load, store
from ferrotile_runner.tileir.interpreter.windows import Run
from ferrotile_runner.tileir.reader import read
from hypothesis import given, settings
from hypothesis import strategies as st

AXES = st.integers(1, 3)


@st.composite
def accesses(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[list[int]], list[int]]:
    """Extents, gaps between rows, tile, one index a block (in range), map of axes."""
    rank = draw(AXES)
    tile = [draw(st.sampled_from([1, 2, 4])) for _ in range(rank)]
    shape = [draw(st.integers(1, 9)) for _ in range(rank)]
    axes = draw(st.permutations(range(rank)))
    gaps = [draw(st.integers(0, 2)) for _ in range(rank)]
    counts = [-(-shape[axes[d]] // tile[d]) for d in range(rank)]
    blocks = draw(st.integers(1, 6))
    if draw(st.booleans()):  # neighbours, as launches have them
        everything = list(itertools.product(*(range(n) for n in counts)))
        index = [list(everything[b % len(everything)]) for b in range(blocks)]
    else:
        index = [[draw(st.integers(0, n - 1)) for n in counts] for _ in range(blocks)]
    return shape, gaps, tile, index, list(axes)


def view_of(
    data: Array, shape: list[int], gaps: list[int], tile: list[int], axes: list[int]
) -> tuple[TileView, Buffer]:
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1] + gaps[axis]
    buffer = Buffer("x", data, data.size, shared=True)
    one = [np.asarray([n]) for n in shape], [np.asarray([n]) for n in strides]
    tensor = TensorView(buffer, np.zeros(1, np.int64), tuple(one[0]), tuple(one[1]))
    return TileView(tensor, tuple(tile), tuple(tile), tuple(axes), "neg_inf"), buffer


def elements(view: TileView, at: list[int]) -> dict[tuple[int, ...], int]:
    """Element of each lane that lies inside, by the definition of a partition view."""
    shape = [int(n[0]) for n in view.view.shape]
    strides = [int(n[0]) for n in view.view.strides]
    found: dict[tuple[int, ...], int] = {}
    for lane in itertools.product(*(range(n) for n in view.tile)):
        where = [at[d] * view.tile[d] + lane[d] for d in range(len(lane))]
        if all(where[d] < shape[view.dim_map[d]] for d in range(len(lane))):
            found[lane] = sum(where[d] * strides[view.dim_map[d]] for d in range(len(lane)))
    return found


@settings(max_examples=150, deadline=None)
@given(accesses())
def test_loads_give_what_the_definition_says(
    access: tuple[list[int], list[int], list[int], list[list[int]], list[int]],
) -> None:
    shape, gaps, tile, index, axes = access
    data = np.arange(4000, dtype=np.float32)
    view, _ = view_of(data, shape, gaps, tile, axes)
    blocks = np.arange(len(index))
    words = [np.asarray([at[d] for at in index]) for d in range(len(tile))]
    found = load(Memory(np.random.default_rng(0)), view, words, blocks)
    found = np.broadcast_to(found, (len(index), *tile))
    for block, at in enumerate(index):
        inside = elements(view, at)
        for lane in itertools.product(*(range(n) for n in tile)):
            assert found[block][lane] == (data[inside[lane]] if lane in inside else -np.inf)


@settings(max_examples=150, deadline=None)
@given(accesses())
def test_stores_write_and_mark_what_the_definition_says(
    access: tuple[list[int], list[int], list[int], list[list[int]], list[int]],
) -> None:
    shape, gaps, tile, index, axes = access
    view, buffer = view_of(np.zeros(4000, np.float32), shape, gaps, tile, axes)
    blocks = np.arange(len(index))
    words = [np.asarray([at[d] for at in index]) for d in range(len(tile))]
    values = (np.arange(len(index) * int(np.prod(tile))) + 1).astype(np.float32).reshape(len(index), *tile)
    memory = Memory(np.random.default_rng(0))
    store(memory, view, words, values, blocks)
    expected, owner = np.zeros(4000, np.float32), np.zeros(4000, int)
    twice = False
    for block, at in enumerate(index):
        for lane, element in elements(view, at).items():
            twice |= owner[element] != 0
            expected[element], owner[element] = values[block][lane], block + 1
    assert np.array_equal(buffer.data, expected)
    assert np.array_equal(buffer.writers(), owner)
    assert memory.conflicts == twice


@settings(max_examples=100, deadline=None)
@given(accesses())
def test_reads_are_marked_with_who_read(
    access: tuple[list[int], list[int], list[int], list[list[int]], list[int]],
) -> None:
    shape, gaps, tile, index, axes = access
    view, buffer = view_of(np.zeros(4000, np.float32), shape, gaps, tile, axes)
    words = [np.asarray([at[d] for at in index]) for d in range(len(tile))]
    load(Memory(np.random.default_rng(0)), view, words, np.arange(len(index)))
    who: dict[int, set[int]] = {}
    for block, at in enumerate(index):
        for element in elements(view, at).values():
            who.setdefault(element, set()).add(block)
    marks = buffer.readers()
    assert {int(e) for e in np.flatnonzero(marks)} == set(who)
    for element, readers in who.items():
        assert marks[element] == (-1 if len(readers) > 1 else min(readers) + 1)


def test_windows_that_overlap_are_known() -> None:
    assert Run(0, 4, 0, 8, (2, 4), (4, 1)).apart
    assert Run(0, 4, 0, 4, (4, 4), (16, 1)).apart, "blocks side by side in rows of 16"
    assert not Run(0, 2, 0, 4, (8,), (1,)).apart
    assert not Run(0, 2, 0, 0, (8,), (1,)).apart
    assert Run(0, 1, 0, 0, (8,), (1,)).apart
    assert not Run(0, 1, 0, 0, (3, 4), (0, 1)).apart
    assert Run(0, 2, 100, -8, (2, 4), (-4, 1)).ends == (100 - 8 - 4, 103)


VIEW = "tensor_view<?xf32, strides=[1]>"
PART = f"partition_view<tile=(1024), {VIEW}>"


def chain(length: int) -> str:
    """y[tile] = x[tile] + 1 + 1 ..., `length` operations."""
    lines = [f"  %v{k + 1} = addf %v{k}, %one : tile<1024xf32>" for k in range(length)]
    return f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %q: tile<ptr<f32>>) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %one = constant <f32: 1.0> : tile<1024xf32>
  %x = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %y = make_tensor_view %q, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %xv = make_partition_view %x : {PART}
  %yv = make_partition_view %y : {PART}
  %v0, %t1 = load_view_tko weak %xv[%bx] token = %t : {PART}, tile<i32> -> tile<1024xf32>, token
{chr(10).join(lines)}
  %t2 = store_view_tko weak %v{length}, %yv[%bx] token = %t : tile<1024xf32>, {PART}, tile<i32> -> token
  return
}}"""


@pytest.mark.parametrize("length", [2, 40])
def test_values_that_nothing_needs_any_more_take_no_memory(length: int) -> None:
    x = np.zeros(1024 * 256, np.float32)
    words = (Storage("x", x), x.size, Storage("y", np.zeros_like(x)))
    entry = read(chain(length)).entry()
    tracemalloc.start()
    result = run(entry, words, (256,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bool((result.arrays["y"] == length).all())
    assert x.size <= BATCH_ELEMENTS, "all blocks at once"
    assert peak < 6 * x.nbytes, "the output, its marks and three tiles, however long the kernel"


def test_findings_say_where() -> None:
    """Elements 1000 and more were never written; the load has a place in its source."""
    text = chain(1).replace("-> tile<1024xf32>, token", '-> tile<1024xf32>, token loc("k.py":12:5)')
    x = np.zeros(1024, np.float32)
    words = (Storage("x", x, blank=True), x.size, Storage("y", np.zeros_like(x)))
    (finding,) = run(read(text).entry(), words, (1,)).findings
    assert finding.kind is FindingKind.UNWRITTEN
    assert str(finding) == "x: an element is read that nothing has written (line 12)"


@pytest.mark.parametrize("order", list(Order))
def test_arrays_that_nothing_writes_are_not_copied(order: Order) -> None:
    x = np.arange(2048, dtype=np.float32)
    words = (Storage("x", x), x.size, Storage("y", np.zeros_like(x)))
    result = run(read(chain(1)).entry(), words, (2,), order=order)
    assert np.shares_memory(result.arrays["x"], x)
    assert result.arrays["y"].tolist() == (x + 1).tolist()
    assert not result.written["x"].any() and result.written["y"].all()
