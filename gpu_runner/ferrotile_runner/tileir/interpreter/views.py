"""Tensor views, and loads and stores of their tiles for many blocks at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ferrotile_runner.tileir.interpreter.elements import Array, is_float
from ferrotile_runner.tileir.interpreter.findings import FindingKind, Need
from ferrotile_runner.tileir.interpreter.memory import Buffer, Memory, tags_of
from ferrotile_runner.tileir.interpreter.windows import Run, number, place

PADDING: dict[str, float] = {
    "zero": 0.0,
    "neg_zero": -0.0,
    "nan": float("nan"),
    "pos_inf": float("inf"),
    "neg_inf": float("-inf"),
}


class TensorView(Struct, frozen=True):
    """A strided view; offset, extents and strides in elements, i64, one for all blocks or one a block."""

    buffer: Buffer
    offset: Array
    shape: tuple[Array, ...]
    strides: tuple[Array, ...]


class TileView(Struct, frozen=True):
    """`tile` extents; tile axis d lies along array axis `dim_map[d]` and starts at `index[d] * steps[d]`; on axis
    `sparse` the index says the element of each lane. `padding` None = undetermined."""

    view: TensorView
    tile: tuple[int, ...]
    steps: tuple[int, ...]
    dim_map: tuple[int, ...]
    padding: str | None
    sparse: int | None = None

    @property
    def index_space(self) -> tuple[Array, ...]:
        """Tiles along each tile axis, the last one counted when it is cut."""
        return tuple(-(-self.view.shape[a] // s) for a, s in zip(self.dim_map, self.steps, strict=True))

    @property
    def is_partition(self) -> bool:
        return self.sparse is None and self.steps == self.tile


class _Lanes(Struct, frozen=True):
    """Element of each lane, and which lanes are inside (None: all)."""

    offsets: Array
    inside: Array | None


def load(memory: Memory, view: TileView, index: Sequence[Array], blocks: Array) -> Array:
    """The tiles at `index`; lanes outside the array get the padding. Not to be written to."""
    runs = _runs(view, index)
    buffer = view.view.buffer
    if runs is not None:
        return _copied(memory, view, runs, blocks)
    lanes = _lanes(memory, view, index)
    tags = np.broadcast_to(tags_of(blocks, lanes.offsets), lanes.offsets.shape)
    if lanes.inside is None:
        memory.note_reads(buffer, lanes.offsets, tags)
        return np.asarray(buffer.data[lanes.offsets])
    tile = _padding(memory, view, lanes.offsets.shape)
    inside = lanes.offsets[lanes.inside]
    memory.note_reads(buffer, inside, tags[lanes.inside])
    tile[lanes.inside] = buffer.data[inside]
    return tile


def store(memory: Memory, view: TileView, index: Sequence[Array], tile: Array, blocks: Array) -> None:
    """Writes the lanes that lie inside the array."""
    buffer = view.view.buffer
    runs = _runs(view, index)
    shape = (blocks.size, *view.tile)
    value = np.broadcast_to(tile.reshape((-1, *view.tile)), shape)
    if runs is not None and sum(run.count for run in runs) == blocks.size and all(run.apart for run in runs):
        for run in runs:
            memory.check(buffer, run)
            memory.write(buffer, run, value[run.part], tags_of(blocks[run.blocks], value[run.blocks]))
        return
    lanes = _lanes(memory, view, index)
    offsets = np.broadcast_to(lanes.offsets, shape)
    tags = np.broadcast_to(tags_of(blocks, value), shape)
    if lanes.inside is None:
        memory.write(buffer, offsets, value, tags)
    else:
        inside = np.broadcast_to(lanes.inside, shape)
        memory.write(buffer, offsets[inside], value[inside], tags[inside])


def places(memory: Memory, view: TileView, index: Sequence[Array]) -> tuple[Array, Array | None]:
    """Element of each lane and which lanes are inside, for atomics."""
    lanes = _lanes(memory, view, index)
    return lanes.offsets, lanes.inside


def _padding(memory: Memory, view: TileView, shape: tuple[int, ...]) -> Array:
    dtype = view.view.buffer.data.dtype
    if view.padding is None:
        return memory.garbage(shape, dtype)
    value = PADDING[view.padding]
    return np.full(shape, value if is_float(dtype) else int(value), dtype)


def _runs(view: TileView, index: Sequence[Array]) -> tuple[Run, ...] | None:
    """None for tiles that are gathered, or wholly outside."""
    if view.sparse is not None:
        return None
    tensor = view.view
    shape, strides = [number(word) for word in tensor.shape], [number(word) for word in tensor.strides]
    at = [number(word) for word in index]
    return place(view.tile, view.steps, view.dim_map, number(tensor.offset), shape, strides, at)


def _copied(memory: Memory, view: TileView, runs: Sequence[Run], blocks: Array) -> Array:
    buffer = view.view.buffer
    shape = (runs[-1].start + runs[-1].count, *view.tile)
    for run in runs:
        memory.check(buffer, run)
    if buffer.fixed and len(runs) == 1 and runs[0].size == view.tile:
        if buffer.blank:
            memory.note_reads(buffer, runs[0], tags_of(blocks, np.empty(shape[:1])))
        return runs[0].of(buffer.data)
    tile = np.empty(shape, buffer.data.dtype)
    tags = tags_of(blocks, tile)
    for run in runs:
        if run.size != view.tile:
            tile[run.blocks] = _padding(memory, view, (run.count, *view.tile))
        memory.note_reads(buffer, run, tags[run.blocks] if shape[0] == blocks.size else tags)
        tile[run.part] = run.of(buffer.data)
    return tile


def _lanes(memory: Memory, view: TileView, index: Sequence[Array]) -> _Lanes:
    """Raises OutOfBounds where the view itself leaves its array."""
    rank, tensor = len(view.tile), view.view

    def column(word: Array) -> Array:
        return word.reshape((-1, *(1,) * rank))

    offsets: Array = column(tensor.offset)
    inside: Array | None = None
    for d, (tile, at) in enumerate(zip(view.tile, index, strict=True)):
        axis = view.dim_map[d]
        extent, stride = column(tensor.shape[axis]), column(tensor.strides[axis])
        along = (1, *(tile if k == d else 1 for k in range(rank)))
        if d == view.sparse:
            lane: Array = at.reshape((at.shape[0], *along[1:]))
        else:
            first = column(at) * view.steps[d]
            if bool(((first >= extent) | (first < 0)).any()):
                where = np.broadcast_to((first >= extent) | (first < 0), np.broadcast_shapes(first.shape, extent.shape))
                number = int(np.flatnonzero(where.reshape(-1))[0])
                chosen = tuple(int(i.reshape(-1)[number if i.size > 1 and i.ndim == 1 else 0]) for i in index)
                text = f"tile {chosen} of {view.tile} lies wholly outside axis {axis}"
                need = None if int(first.min()) < 0 else Need(tensor.buffer.name, axis, int(first.max()) + 1)
                memory.note(FindingKind.OUTSIDE, f"{tensor.buffer.name}: {text}", need)
            lane = first + np.arange(tile, dtype=np.int64).reshape(along)
        offsets = offsets + lane * stride
        ok = (lane >= 0) & (lane < extent)
        if not bool(ok.all()):
            inside = ok if inside is None else inside & ok
    if inside is not None:
        offsets, inside = np.broadcast_arrays(offsets, inside)
    memory.check(tensor.buffer, offsets if inside is None else offsets[inside])
    return _Lanes(offsets, inside)
