"""Arrays, pointers and views as the interpreter sees them, and what it notices about accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    UnsupportedOperation,
    as_unsigned,
    is_float,
    limits,
)

Combine = Callable[[Array, Array], Array]


class OutOfBounds(Exception):
    """An access left its array: undefined behaviour. The message says where."""


@dataclass(slots=True)
class Buffer:
    """One array argument: its elements, flat, and for each the block that last wrote it (-1: none)."""

    name: str
    data: Array
    writer: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        self.writer = np.full(self.data.shape, -1, np.int64)


@dataclass(frozen=True, slots=True)
class Pointers:
    """A tile of pointers into one buffer; `offsets` in elements."""

    buffer: Buffer
    offsets: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.offsets.shape


@dataclass(frozen=True, slots=True)
class TensorView:
    """A strided view: `offset` and strides in elements."""

    buffer: Buffer
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionView:
    """`tile` extents; tile axis d lies along array axis `dim_map[d]`; `padding` None = undetermined."""

    view: TensorView
    tile: tuple[int, ...]
    dim_map: tuple[int, ...]
    padding: str | None

    @property
    def index_space(self) -> tuple[int, ...]:
        """Tiles along each tile axis, the last one counted when it is cut."""
        return tuple(-(-self.view.shape[a] // t) for a, t in zip(self.dim_map, self.tile, strict=True))


PADDING: dict[str, float] = {
    "zero": 0.0,
    "neg_zero": -0.0,
    "nan": float("nan"),
    "pos_inf": float("inf"),
    "neg_inf": float("-inf"),
}


@dataclass(slots=True)
class Memory:
    """The state of a run: who executes, what was noticed, where garbage comes from."""

    random: np.random.Generator
    block: int = 0
    findings: dict[str, None] = field(default_factory=dict)

    def note(self, finding: str) -> None:
        """Keeps a finding, once."""
        if len(self.findings) < 50:
            self.findings[finding] = None

    def garbage(self, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
        """Random elements for lanes whose value is not determined; finite for floats, so that differences
        show."""
        if dtype == np.bool_:
            return self.random.integers(0, 2, shape).astype(np.bool_)
        if is_float(dtype):
            return np.asarray(self.random.uniform(-1, 1, shape) * min(limits(dtype).largest, 1e4)).astype(dtype)
        raw: Array = self.random.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        return raw.view(dtype).reshape(shape)

    def load_view(self, view: PartitionView, index: Sequence[int]) -> Array:
        """The tile at `index`; lanes outside the array get the padding."""
        offsets, inside = self._lanes(view, index)
        if inside is None:
            self._note_reads(view.view.buffer, offsets)
            return view.view.buffer.data[offsets]
        dtype = view.view.buffer.data.dtype
        if view.padding is None:
            tile = self.garbage(view.tile, dtype)
        else:
            value = PADDING[view.padding]
            tile = np.full(view.tile, value if is_float(dtype) else int(value), dtype)
        self._note_reads(view.view.buffer, offsets[inside])
        tile[inside] = view.view.buffer.data[offsets[inside]]
        return tile

    def store_view(self, view: PartitionView, index: Sequence[int], tile: Array) -> None:
        """Writes the lanes that lie inside the array."""
        offsets, inside = self._lanes(view, index)
        buffer = view.view.buffer
        if inside is None:
            self._write(buffer, offsets, tile)
        else:
            self._write(buffer, offsets[inside], tile.reshape(view.tile)[inside])

    def _lanes(self, view: PartitionView, index: Sequence[int]) -> tuple[Array, Array | None]:
        """Element offsets of a tile, and which lanes are inside (None: all). Raises OutOfBounds where the
        view does."""
        rank = len(view.tile)
        offsets: Array = np.zeros((1,) * rank, np.int64) + view.view.offset
        inside: Array | None = None
        for d, (tile, at) in enumerate(zip(view.tile, index, strict=True)):
            axis = view.dim_map[d]
            extent, shape = view.view.shape[axis], tuple(tile if k == d else 1 for k in range(rank))
            first = at * tile
            if first >= extent or first < 0:
                self.note(
                    f"{view.view.buffer.name}: tile {tuple(index)} of {view.tile} lies wholly outside axis {axis}"
                )
            lane = (first + np.arange(tile, dtype=np.int64)).reshape(shape)
            offsets = offsets + lane * view.view.strides[axis]
            if first < 0 or first + tile > extent:
                ok = (lane >= 0) & (lane < extent)
                inside = ok if inside is None else inside & ok
        if inside is not None:
            inside = np.broadcast_to(inside, offsets.shape)
        self._check(view.view.buffer, offsets if inside is None else offsets[inside])
        return offsets, inside

    def load_pointers(self, pointers: Pointers, mask: Array | None, padding: Array | None) -> Array:
        """Masked lanes get `padding`, or garbage without one."""
        buffer, offsets = pointers.buffer, pointers.offsets
        if mask is None:
            self._check(buffer, offsets)
            self._note_reads(buffer, offsets)
            return np.asarray(buffer.data[offsets])
        mask = np.broadcast_to(mask, offsets.shape)
        tile = self.garbage(offsets.shape, buffer.data.dtype)
        if padding is not None:
            tile = np.broadcast_to(padding, offsets.shape).copy()
        self._check(buffer, offsets[mask])
        self._note_reads(buffer, offsets[mask])
        tile[mask] = buffer.data[offsets[mask]]
        return tile

    def store_pointers(self, pointers: Pointers, value: Array, mask: Array | None) -> None:
        offsets = pointers.offsets
        value = np.broadcast_to(value, offsets.shape)
        if mask is not None:
            mask = np.broadcast_to(mask, offsets.shape)
            offsets, value = offsets[mask], value[mask]
        self._check(pointers.buffer, offsets)
        if np.unique(offsets).size != np.size(offsets):
            self.note(f"{pointers.buffer.name}: one store writes an element twice")
        self._write(pointers.buffer, offsets, value)

    def atomic(self, pointers: Pointers, value: Array, mask: Array | None, mode: str) -> Array:
        """Read, modify and write lane by lane, in lane order; gives the old values."""
        offsets = np.atleast_1d(pointers.offsets)
        lanes = np.ones(offsets.shape, np.bool_) if mask is None else np.broadcast_to(mask, offsets.shape)
        values = np.broadcast_to(value, offsets.shape)
        self._check(pointers.buffer, offsets[lanes])
        data = pointers.buffer.data
        old = np.zeros(offsets.shape, data.dtype)
        combine = _ATOMIC.get(mode)
        if combine is None:
            raise UnsupportedOperation(f"atomic {mode}")
        with np.errstate(all="ignore"):
            for lane in np.argwhere(lanes):
                at, place = tuple(lane), int(offsets[tuple(lane)])
                old[at] = data[place]
                data[place] = combine(data[place : place + 1], np.asarray([values[at]], data.dtype))[0]
        return old.reshape(pointers.offsets.shape)

    def compare_and_swap(self, pointers: Pointers, expected: Array, value: Array, mask: Array | None) -> Array:
        """Swaps where the old bits equal `expected`, in lane order; gives the old values."""
        offsets = np.atleast_1d(pointers.offsets)
        lanes = np.ones(offsets.shape, np.bool_) if mask is None else np.broadcast_to(mask, offsets.shape)
        wanted, values = np.broadcast_to(expected, offsets.shape), np.broadcast_to(value, offsets.shape)
        self._check(pointers.buffer, offsets[lanes])
        data = pointers.buffer.data
        old = wanted.copy()
        for lane in np.argwhere(lanes):
            at, place = tuple(lane), int(offsets[tuple(lane)])
            old[at] = data[place]
            if data[place].tobytes() == wanted[at].tobytes():
                data[place] = values[at]
        return old.reshape(pointers.offsets.shape)

    def _check(self, buffer: Buffer, offsets: Array) -> None:
        if np.size(offsets) and (int(np.min(offsets)) < 0 or int(np.max(offsets)) >= buffer.data.size):
            raise OutOfBounds(
                f"{buffer.name}: element {int(np.min(offsets))}..{int(np.max(offsets))} of {buffer.data.size}"
            )

    def _note_reads(self, buffer: Buffer, offsets: Array) -> None:
        writer = buffer.writer[offsets]
        if np.any((writer >= 0) & (writer != self.block)):
            self.note(f"{buffer.name}: a block reads what another block writes")

    def _write(self, buffer: Buffer, offsets: Array, value: Array) -> None:
        writer = buffer.writer[offsets]
        if np.any((writer >= 0) & (writer != self.block)):
            self.note(f"{buffer.name}: two blocks write one element")
        buffer.writer[offsets] = self.block
        buffer.data[offsets] = value


def _unsigned_extreme(pick: Combine) -> Combine:
    return lambda old, new: pick(as_unsigned(old), as_unsigned(new)).view(old.dtype)


_ATOMIC: Mapping[str, Combine] = MappingProxyType(
    {
        "add": np.add,
        "addf": lambda old, new: (old + new).astype(old.dtype),
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "max": np.maximum,
        "min": np.minimum,
        "umax": _unsigned_extreme(np.maximum),
        "umin": _unsigned_extreme(np.minimum),
        "xchg": lambda old, new: new,
    }
)
