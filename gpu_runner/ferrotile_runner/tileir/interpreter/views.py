"""Tensor views, and loads and stores of their tiles for many blocks at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ferrotile_runner.tileir.interpreter.elements import Array, is_float
from ferrotile_runner.tileir.interpreter.memory import Buffer, Memory, others, seen

PADDING: dict[str, float] = {
    "zero": 0.0,
    "neg_zero": -0.0,
    "nan": float("nan"),
    "pos_inf": float("inf"),
    "neg_inf": float("-inf"),
}
WINDOW = 512
"""Tiles of at least so many elements are copied block by block, smaller ones gathered."""


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
    """The tiles at `index`; lanes outside the array get the padding."""
    windows = _windows(memory, view, index, blocks)
    buffer = view.view.buffer
    dtype = buffer.data.dtype
    if windows is not None:
        return _copied(memory, view, windows, blocks, dtype)
    lanes = _lanes(memory, view, index)
    each = lanes.offsets.shape[0] == blocks.size
    column = (-1, *(1,) * len(view.tile))
    who = blocks.reshape(column) if each else np.asarray([_anyone(blocks)]).reshape(column)
    owners = np.broadcast_to(who, lanes.offsets.shape)
    if lanes.inside is None:
        memory.note_reads(buffer, lanes.offsets, owners)
        return np.asarray(buffer.data[lanes.offsets])
    tile = _padding(memory, view, lanes.offsets.shape, dtype)
    inside = lanes.offsets[lanes.inside]
    memory.note_reads(buffer, inside, owners[lanes.inside])
    tile[lanes.inside] = buffer.data[inside]
    return tile


def _anyone(blocks: Array) -> int:
    """The block, or -1 where several do the same."""
    return int(blocks[0]) if blocks.size == 1 else -1


def store(memory: Memory, view: TileView, index: Sequence[Array], tile: Array, blocks: Array) -> None:
    """Writes the lanes that lie inside the array."""
    buffer = view.view.buffer
    windows = _windows(memory, view, index, blocks)
    if windows is not None and len(windows) == blocks.size:
        buffer.written = True
        for number, (origin, size, strides) in enumerate(windows):
            block = int(blocks[number])
            value = tile[number if tile.shape[0] > 1 else 0][tuple(slice(0, n) for n in size)]
            writer = _window(buffer.writer, origin, size, strides)
            if bool(((writer >= 0) & (writer != block)).any()):
                memory.conflict(f"{buffer.name}: two blocks write one element")
            if buffer.shared and others(_window(buffer.reader, origin, size, strides), np.asarray(block)):
                memory.conflict(f"{buffer.name}: a block reads what another block writes")
            writer[...] = block
            _window(buffer.data, origin, size, strides)[...] = value
        return
    lanes = _lanes(memory, view, index)
    shape = (blocks.size, *view.tile)
    offsets, value = np.broadcast_to(lanes.offsets, shape), np.broadcast_to(tile.reshape((-1, *view.tile)), shape)
    who = np.broadcast_to(blocks.reshape((-1, *(1,) * len(view.tile))), shape)
    if lanes.inside is None:
        memory.write(buffer, offsets, value, who)
    else:
        inside = np.broadcast_to(lanes.inside, shape)
        memory.write(buffer, offsets[inside], value[inside], who[inside])


def places(memory: Memory, view: TileView, index: Sequence[Array]) -> tuple[Array, Array | None]:
    """Element of each lane and which lanes are inside, for atomics."""
    lanes = _lanes(memory, view, index)
    return lanes.offsets, lanes.inside


def _padding(memory: Memory, view: TileView, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    if view.padding is None:
        return memory.garbage(shape, dtype)
    value = PADDING[view.padding]
    return np.full(shape, value if is_float(dtype) else int(value), dtype)


_Window = tuple[int, tuple[int, ...], tuple[int, ...]]
"""First element, extents inside the array, strides in elements."""


def _window(flat: Array, origin: int, size: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    bytes_ = tuple(step * flat.itemsize for step in strides)
    if flat.dtype.isbuiltin == 1:
        return np.lib.stride_tricks.as_strided(flat[origin:], size, bytes_)
    # NumPy describes some types of ml_dtypes by a name that it cannot read itself (float8_e5m2: `<f1`).
    plain = flat.view(f"u{flat.itemsize}")[origin:]
    window: Array = np.lib.stride_tricks.as_strided(plain, size, bytes_).view(flat.dtype)
    return window


def _windows(memory: Memory, view: TileView, index: Sequence[Array], blocks: Array) -> list[_Window] | None:
    """One window a block (one in all where the index is the same); None for small or scattered tiles."""
    size = 1
    for extent in view.tile:
        size *= extent
    if size < WINDOW or view.sparse is not None:
        return None
    tensor = view.view
    words = [*index, tensor.offset, *tensor.shape, *tensor.strides]
    count = max(word.size for word in words)
    table = np.empty((count, len(words)), np.int64)
    for column, word in enumerate(words):
        table[:, column] = word.reshape(-1)
    rows = table.tolist()
    found: list[_Window] = []
    rank, axes = len(view.tile), len(tensor.shape)
    limit = tensor.buffer.data.size
    for row in rows:
        at, origin = row[:rank], row[rank]
        shape, strides = row[rank + 1 : rank + 1 + axes], row[rank + 1 + axes :]
        sizes: list[int] = []
        last = 0
        for d, (tile, place) in enumerate(zip(view.tile, at, strict=True)):
            axis = view.dim_map[d]
            first = place * view.steps[d]
            if first >= shape[axis] or first < 0:
                _outside(memory, view, tuple(at), axis)
                return None
            sizes.append(min(tile, shape[axis] - first))
            origin += first * strides[axis]
            last += (sizes[-1] - 1) * strides[axis]
        if origin < 0 or origin + last >= limit or last < 0:
            memory.check(tensor.buffer, np.asarray([origin, origin + last]))
        found.append((origin, tuple(sizes), tuple(strides[axis] for axis in view.dim_map)))
    return found


def _outside(memory: Memory, view: TileView, index: tuple[int, ...], axis: int) -> None:
    memory.note(f"{view.view.buffer.name}: tile {index} of {view.tile} lies wholly outside axis {axis}")


def _copied(
    memory: Memory, view: TileView, windows: list[_Window], blocks: Array, dtype: np.dtype[np.generic]
) -> Array:
    buffer, shape = view.view.buffer, (len(windows), *view.tile)
    cut = any(size != view.tile for _, size, _ in windows)
    tile = _padding(memory, view, shape, dtype) if cut else np.empty(shape, dtype)
    for number, (origin, size, strides) in enumerate(windows):
        here: Array = tile[number]
        here[tuple(slice(0, n) for n in size)] = _window(buffer.data, origin, size, strides)
        block = int(blocks[number]) if len(windows) == blocks.size else _anyone(blocks)
        if buffer.shared:
            reader = _window(buffer.reader, origin, size, strides)
            reader[...] = seen(reader, np.asarray(block))
        if buffer.written or buffer.blank:
            writer = _window(buffer.writer, origin, size, strides)
            if buffer.written and bool(((writer >= 0) & (writer != block)).any()):
                memory.conflict(f"{buffer.name}: a block reads what another block writes")
            if buffer.blank and bool((writer < 0).any()):
                memory.note(f"{buffer.name}: an element is read that nothing has written")
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
                _outside(memory, view, chosen, axis)
            lane = first + np.arange(tile, dtype=np.int64).reshape(along)
        offsets = offsets + lane * stride
        ok = (lane >= 0) & (lane < extent)
        if not bool(ok.all()):
            inside = ok if inside is None else inside & ok
    if inside is not None:
        offsets, inside = np.broadcast_arrays(offsets, inside)
    memory.check(tensor.buffer, offsets if inside is None else offsets[inside])
    return _Lanes(offsets, inside)
