"""Arrays and pointers as the interpreter sees them, and what it notices about accesses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field

from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, is_float, limits
from ferrotile_runner.tileir.interpreter.findings import Finding, FindingKind, Need
from ferrotile_runner.tileir.interpreter.windows import Run
from ferrotile_runner.tileir.model import Operation

Marks = np.ndarray[tuple[int, ...], np.dtype[np.int32]]
"""For each element the tag of a block: its number plus one; 0 for none, MANY for several."""
MANY = -1
MAX_FINDINGS = 50


class OutOfBounds(Exception):
    """An access left its array: undefined behaviour. The message says which elements; `text_line` is that of the
    operation in the disassembly."""

    def __init__(self, message: str, text_line: int, need: Need | None) -> None:
        super().__init__(message)
        self.text_line, self.need = text_line, need


class Buffer(Struct):
    """One array argument: its elements, flat, of which `size` are its own. `blank`: elements that nothing has written
    hold no value. `shared`: it is read and written, so that reads are kept as well. `fixed`: nothing writes it."""

    name: str
    data: Array
    size: int
    blank: bool = False
    shared: bool = False
    fixed: bool = False
    writer: Marks | None = None
    """The block that last wrote each element; None before the first write."""
    reader: Marks | None = None
    """The block that has read it, where `shared`."""
    base: int = 0
    """Its number as an address, in bytes: pointers may be made integers and back."""

    def writers(self) -> Marks:
        if self.writer is None:
            self.writer = np.zeros(self.data.shape, np.int32)
        return self.writer

    def readers(self) -> Marks:
        if self.reader is None:
            self.reader = np.zeros(self.data.shape, np.int32)
        return self.reader


class Pointers(Struct, frozen=True):
    """A tile of pointers into one buffer for every block; `offsets` in elements."""

    buffer: Buffer
    offsets: Array


Lanes = Run | Array
"""Elements of a buffer: a window, or their numbers."""


def take(flat: Array, lanes: Lanes) -> Array:
    """The elements; those of a window are the buffer's own."""
    return lanes.of(flat) if isinstance(lanes, Run) else np.asarray(flat[lanes])


def put(flat: Array, lanes: Lanes, value: Array) -> None:
    """Where two lanes are one element the later one stays, but for windows that overlap themselves."""
    if isinstance(lanes, Run):
        lanes.of(flat)[...] = value
    else:
        flat[lanes] = value


def _mark_many(marks: Marks, lanes: Lanes, chosen: Array) -> None:
    if not bool(chosen.any()):
        return
    if isinstance(lanes, Run):
        lanes.of(marks)[chosen] = MANY
    else:
        marks[lanes[chosen]] = MANY


ADDRESS_BITS = 44
"""No array is longer, in bytes. Address 0 is in none."""


SMALL = 64
"""Integers below this are indices of most arrays."""


class Memory(Struct):
    """The state of a run: the arrays, what was noticed and printed, where garbage comes from."""

    random: np.random.Generator
    zeros: bool = False
    """Garbage is zero: what undetermined lanes are most often where they have no effect."""
    identities: bool = False
    """Whether reductions and scans combine their identities."""
    shuffles: bool = False
    """Whether reductions take their operands in another order."""
    findings: dict[Finding, None] = field(default_factory=dict)
    printed: list[tuple[int, str]] = field(default_factory=list)
    """Block and text."""
    conflicts: bool = False
    drawn: bool = False
    """Whether garbage was asked for, or an identity changed what it was combined with."""
    queue: object = None
    """Stores that are put off; None where they are not (`late_stores.Queue`)."""
    running: Operation | None = None
    buffers: list[Buffer] = field(default_factory=list)

    def add(self, buffer: Buffer) -> None:
        """Gives it an address."""
        self.buffers.append(buffer)
        buffer.base = len(self.buffers) << ADDRESS_BITS

    def pointers_to(self, addresses: Array, dtype: np.dtype[np.generic]) -> Pointers:
        """The pointers at these addresses, in bytes. Those to no array may be held, and not followed. Raises
        UnsupportedOperation for addresses in several arrays, or of elements of another type."""
        numbers = np.unique(addresses.astype(np.int64) >> ADDRESS_BITS)
        if numbers.size != 1 or not 0 <= int(numbers[0]) <= len(self.buffers):
            raise UnsupportedOperation("a tile of pointers to several arrays")
        number = int(numbers[0])
        buffer = self.buffers[number - 1] if number else Buffer("null", np.zeros(0, dtype), 0, fixed=True)
        if buffer.data.dtype != dtype:
            raise UnsupportedOperation(f"pointers to the elements of {buffer.name} as {dtype.name}")
        return Pointers(buffer, (addresses.astype(np.int64) - buffer.base) // dtype.itemsize)

    def note(self, kind: FindingKind, text: str, need: Need | None = None) -> None:
        """Keeps a finding, once. One that makes the order of the blocks matter is a conflict."""
        self.conflicts |= kind is FindingKind.CONFLICT
        if len(self.findings) < MAX_FINDINGS:
            at = self.running
            self.findings[Finding(kind, text, at.location if at else None, at.text_line if at else 0, need)] = None

    def garbage(self, shape: Sequence[int], dtype: np.dtype[np.generic]) -> Array:
        """Random elements for lanes whose value is not determined; finite for floats, so that differences show. Every
        second integer is small: it may be an index."""
        self.drawn = True
        if self.zeros:
            return np.zeros(tuple(shape), dtype)
        if dtype == np.bool_:
            return self.random.integers(0, 2, tuple(shape)).astype(np.bool_)
        if is_float(dtype):
            return np.asarray(self.random.uniform(-1, 1, tuple(shape)) * min(limits(dtype).largest, 1e4)).astype(dtype)
        raw: Array = self.random.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        large = raw.view(dtype).reshape(tuple(shape))
        small = self.random.integers(0, SMALL, tuple(shape)).astype(dtype)
        return np.where(self.random.integers(0, 2, tuple(shape)) == 0, small, large)

    def check(self, buffer: Buffer, lanes: Lanes) -> None:
        """Raises OutOfBounds."""
        if isinstance(lanes, Run):
            low, high = lanes.ends
        elif lanes.size:
            low, high = int(lanes.min()), int(lanes.max())
        else:
            return
        if low < 0 or high >= buffer.size:
            at, which = self.running, str(low) if low == high else f"{low} to {high}"
            where = "" if at is None or at.location is None else f" (line {at.location.line})"
            text = f"{buffer.name}: an access to elements {which} of {buffer.size}{where}"
            need = None if low < 0 else Need(buffer.name, None, high + 1)
            raise OutOfBounds(text, at.text_line if at else 0, need)

    def note_reads(self, buffer: Buffer, lanes: Lanes, tags: Array) -> None:
        """`tags`: who reads each of the elements; MANY for several blocks."""
        if buffer.shared:
            readers = buffer.readers()
            before = take(readers, lanes)
            put(readers, lanes, np.where((before == 0) | (before == tags), tags, MANY))
            if not (isinstance(lanes, Run) and lanes.apart):
                _mark_many(readers, lanes, take(readers, lanes) != tags)  # another block has the same element
        if buffer.writer is not None:
            writer = take(buffer.writer, lanes)
            if bool(((writer != 0) & (writer != tags)).any()):
                self.note(FindingKind.CONFLICT, f"{buffer.name}: a block reads what another block writes")
        self.note_unwritten(buffer, lanes)

    def note_unwritten(self, buffer: Buffer, lanes: Lanes) -> None:
        """Of elements that are read."""
        if buffer.blank and (buffer.writer is None or not bool(take(buffer.writer, lanes).all())):
            self.note(FindingKind.UNWRITTEN, f"{buffer.name}: an element is read that nothing has written")

    def write(self, buffer: Buffer, lanes: Lanes, value: Array, tags: Array) -> None:
        """Elements in order: where two go to one place the later one stays."""
        writers = buffer.writers()
        before = take(writers, lanes)
        clash = bool(before.any()) and bool(((before != 0) & (before != tags)).any())
        put(writers, lanes, tags)
        apart = isinstance(lanes, Run) and lanes.apart
        if clash or not (apart or bool((take(writers, lanes) == tags).all())):
            self.note(FindingKind.CONFLICT, f"{buffer.name}: two blocks write one element")
        if buffer.shared:
            reader = take(buffer.readers(), lanes)
            if bool(((reader != 0) & (reader != tags)).any()):
                self.note(FindingKind.CONFLICT, f"{buffer.name}: a block reads what another block writes")
        put(buffer.data, lanes, value)

    # pointers

    def load_pointers(self, pointers: Pointers, mask: Array | None, padding: Array | None, blocks: Array) -> Array:
        """Masked lanes get `padding`, or garbage without one."""
        buffer, offsets = pointers.buffer, pointers.offsets
        tags = tags_of(blocks, offsets)
        if mask is None:
            self.check(buffer, offsets)
            self.note_reads(buffer, offsets, tags)
            return np.asarray(buffer.data[offsets])
        shape = np.broadcast_shapes(offsets.shape, mask.shape)
        if padding is None:
            tile = self.garbage(shape, buffer.data.dtype)
        else:
            shape = np.broadcast_shapes(shape, padding.shape)
            tile = np.array(np.broadcast_to(padding, shape))
        offsets, mask, tags = (np.broadcast_to(x, shape) for x in (offsets, mask, tags))
        inside = offsets[mask]
        self.check(buffer, inside)
        self.note_reads(buffer, inside, tags[mask])
        tile[mask] = buffer.data[inside]
        return tile

    def store_pointers(self, pointers: Pointers, value: Array, mask: Array | None, blocks: Array) -> None:
        count = int(blocks.size)
        shape = np.broadcast_shapes(pointers.offsets.shape, value.shape, (count, *(1,) * (value.ndim - 1)))
        offsets, value = np.broadcast_to(pointers.offsets, shape), np.broadcast_to(value, shape)
        tags = np.broadcast_to(tags_of(blocks, offsets), shape)
        if mask is not None:
            mask = np.broadcast_to(mask, shape)
            offsets, value, tags = offsets[mask], value[mask], tags[mask]
        else:
            offsets, value, tags = (np.asarray(x).reshape(-1) for x in (offsets, value, tags))
        self.check(pointers.buffer, offsets)
        if _repeats(offsets, tags):
            self.note(FindingKind.TWICE, f"{pointers.buffer.name}: one store writes an element twice")
        self.write(pointers.buffer, offsets, value, tags)


def tags_of(blocks: Array, lanes: Array) -> Array:
    """The tag of each lane's block; MANY where several blocks share the lanes."""
    column = (1,) * (lanes.ndim - 1)
    if lanes.shape[0] != blocks.size:
        return np.full((1, *column), blocks[0] + 1 if blocks.size == 1 else MANY, np.int32)
    return (blocks + 1).astype(np.int32).reshape((blocks.size, *column))


def _repeats(offsets: Array, tags: Array) -> bool:
    """Whether one block has an element twice."""
    if offsets.size < 2:
        return False
    order = np.sort(offsets + (int(offsets.max()) + 1) * tags.astype(np.int64))
    return bool((order[1:] == order[:-1]).any())
