"""Arrays and pointers as the interpreter sees them, and what it notices about accesses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from ferrotile_runner.tileir.interpreter.elements import Array, is_float, limits

Numbers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
MAX_FINDINGS = 50


class OutOfBounds(Exception):
    """An access left its array: undefined behaviour. The message says where."""


class Buffer(Struct):
    """One array argument: its elements, flat; for each the block that last wrote it (-1: none). `blank`: elements
    that nothing has written hold no value. `shared`: it is read and written, so that reads are kept as well."""

    name: str
    data: Array
    blank: bool = False
    shared: bool = False
    written: bool = False
    writer: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    reader: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    """The block that read it last (-1: none, -2: several)."""

    def __post_init__(self) -> None:
        self.writer = np.full(self.data.shape, -1, np.int64)
        self.reader = np.full(self.data.shape if self.shared else (0,), -1, np.int64)


class Pointers(Struct, frozen=True):
    """A tile of pointers into one buffer for every block; `offsets` in elements."""

    buffer: Buffer
    offsets: Array


class Memory(Struct):
    """The state of a run: what was noticed and printed, where garbage comes from."""

    random: np.random.Generator
    zeros: bool = False
    """Garbage is zero: what undetermined lanes are most often where they have no effect."""
    findings: dict[str, None] = field(default_factory=dict)
    printed: list[tuple[int, str]] = field(default_factory=list)
    """Block and text."""
    conflicts: bool = False
    drawn: bool = False
    """Whether garbage was asked for."""

    def note(self, finding: str) -> None:
        """Keeps a finding, once."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings[finding] = None

    def conflict(self, finding: str) -> None:
        """A finding that makes the order of the blocks matter."""
        self.conflicts = True
        self.note(finding)

    def garbage(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
        """Random elements for lanes whose value is not determined; finite for floats, so that differences
        show."""
        self.drawn = True
        if self.zeros:
            return np.zeros(tuple(shape), dtype)
        if dtype == np.bool_:
            return self.random.integers(0, 2, tuple(shape)).astype(np.bool_)
        if is_float(dtype):
            return np.asarray(self.random.uniform(-1, 1, tuple(shape)) * min(limits(dtype).largest, 1e4)).astype(dtype)
        raw: Array = self.random.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        return raw.view(dtype).reshape(tuple(shape))

    def check(self, buffer: Buffer, offsets: Array) -> None:
        """Raises OutOfBounds."""
        if offsets.size == 0:
            return
        low, high = int(offsets.min()), int(offsets.max())
        if low < 0 or high >= buffer.data.size:
            raise OutOfBounds(f"{buffer.name}: element {low}..{high} of {buffer.data.size}")

    def note_reads(self, buffer: Buffer, offsets: Array, blocks: Array) -> None:
        """`blocks`: who reads each of the elements."""
        if buffer.shared:
            buffer.reader[offsets] = seen(buffer.reader[offsets], blocks)
        if not buffer.written and not buffer.blank:
            return
        writer = buffer.writer[offsets]
        if buffer.written and bool(((writer >= 0) & (writer != blocks)).any()):
            self.conflict(f"{buffer.name}: a block reads what another block writes")
        if buffer.blank and bool((writer < 0).any()):
            self.note(f"{buffer.name}: an element is read that nothing has written")

    def write(self, buffer: Buffer, offsets: Array, value: Array, blocks: Array) -> None:
        """Elements in order: where two go to one place the later one stays."""
        buffer.written = True
        writer = buffer.writer[offsets]
        clash = bool(((writer >= 0) & (writer != blocks)).any())
        buffer.writer[offsets] = blocks
        if clash or bool((buffer.writer[offsets] != blocks).any()):
            self.conflict(f"{buffer.name}: two blocks write one element")
        if buffer.shared and others(buffer.reader[offsets], blocks):
            self.conflict(f"{buffer.name}: a block reads what another block writes")
        buffer.data[offsets] = value

    # pointers

    def load_pointers(self, pointers: Pointers, mask: Array | None, padding: Array | None, blocks: Array) -> Array:
        """Masked lanes get `padding`, or garbage without one."""
        buffer, offsets = pointers.buffer, pointers.offsets
        who = _owners(blocks, offsets)
        if mask is None:
            self.check(buffer, offsets)
            self.note_reads(buffer, offsets, who)
            return np.asarray(buffer.data[offsets])
        shape = np.broadcast_shapes(offsets.shape, mask.shape)
        offsets, mask = np.broadcast_to(offsets, shape), np.broadcast_to(mask, shape)
        who = np.broadcast_to(_owners(blocks, offsets), shape)
        if padding is None:
            tile = self.garbage(shape, buffer.data.dtype)
        else:
            shape = np.broadcast_shapes(shape, padding.shape)
            tile = np.array(np.broadcast_to(padding, shape))
            offsets, mask, who = (np.broadcast_to(x, shape) for x in (offsets, mask, who))
        inside = offsets[mask]
        self.check(buffer, inside)
        self.note_reads(buffer, inside, who[mask])
        tile[mask] = buffer.data[inside]
        return tile

    def store_pointers(self, pointers: Pointers, value: Array, mask: Array | None, blocks: Array) -> None:
        count = int(blocks.size)
        shape = np.broadcast_shapes(pointers.offsets.shape, value.shape, (count, *(1,) * (value.ndim - 1)))
        offsets, value = np.broadcast_to(pointers.offsets, shape), np.broadcast_to(value, shape)
        who = np.broadcast_to(_owners(blocks, offsets), shape)
        if mask is not None:
            mask = np.broadcast_to(mask, shape)
            offsets, value, who = offsets[mask], value[mask], who[mask]
        else:
            offsets, value, who = (np.asarray(x).reshape(-1) for x in (offsets, value, who))
        self.check(pointers.buffer, offsets)
        keys = np.stack([offsets, who], axis=1)
        if np.unique(keys, axis=0).shape[0] != offsets.size:
            self.note(f"{pointers.buffer.name}: one store writes an element twice")
        self.write(pointers.buffer, offsets, value, who)


def seen(reader: Array, blocks: Array) -> Array:
    """Who has read, with these blocks."""
    return np.where((reader == -1) | (reader == blocks), np.where(blocks < 0, -2, blocks), -2)


def others(reader: Array, blocks: Array) -> bool:
    """Whether another block has read."""
    return bool(((reader != -1) & (reader != blocks)).any())


def _owners(blocks: Array, offsets: Array) -> Array:
    """The block of each lane; -1 stands for all blocks where they share the lanes."""
    if offsets.shape[0] != blocks.size:
        return np.full((1,) * offsets.ndim, blocks[0] if blocks.size == 1 else -1)
    return blocks.reshape((blocks.size, *(1,) * (offsets.ndim - 1)))
