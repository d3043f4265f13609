"""What a step of the interpreter works on.

An entry is decoded once into steps, closures that read and write a frame. A frame is a batch of tile blocks that have
taken the same way so far: every value has a leading axis of one element for each block, or of one element where all
blocks have the same. Where blocks part, the frame is split. Tokens hold no data and have no place in a frame, because
memory operations happen in program order; but for runs that put stores off (`late_stores.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field

from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation
from ferrotile_runner.tileir.interpreter.findings import Need
from ferrotile_runner.tileir.interpreter.memory import Memory, Pointers
from ferrotile_runner.tileir.interpreter.views import TensorView, TileView
from ferrotile_runner.tileir.model import Operation, PointerType, TileType, TokenType, Value

Datum = Array | Pointers | TensorView | TileView | frozenset[int]
"""The last is a token's, where tokens have values."""


class InterpreterError(Exception):
    """The run could not go on; the message says why and where in the disassembly."""


class Unsupported(InterpreterError):
    """The entry uses an operation, mode or type that has no meaning here."""


class UndefinedBehaviour(InterpreterError):
    """An access left its array. `text_line`: of the operation in the disassembly, from 1; `need`: what would make it
    one inside, where a larger array would."""

    def __init__(self, message: str, text_line: int = 0, need: Need | None = None) -> None:
        super().__init__(message)
        self.text_line, self.need = text_line, need


class Endless(UndefinedBehaviour):
    """A loop has no end: a round left everything as it was."""


class OutOfTime(Exception):
    """The time limit was reached, or the run was cancelled."""


class Signal(Struct, frozen=True):
    """How a region ended: `yield`, `continue`, `break` or `return`, with the values it carries."""

    kind: str
    values: tuple[Datum | None, ...] = ()


class Frame(Struct):
    """The values of some tile blocks. `blocks` numbers them, `ids` are their coordinates (3, blocks)."""

    memory: Memory
    blocks: Array
    ids: Array
    grid: tuple[int, int, int]
    values: dict[int, Datum] = field(default_factory=dict)
    deadline: float | None = None
    cancel: threading.Event | None = None

    @property
    def count(self) -> int:
        return int(self.blocks.size)

    def tile(self, value: Value) -> Array:
        found = self.values[value.number]
        if type(found) is np.ndarray:
            return found
        if not isinstance(found, np.generic):
            raise UnsupportedOperation(f"{value.name} is no tile of numbers")
        return np.asarray(found)

    def whole(self, value: Value) -> Array:
        """The tile with one element a block."""
        tile = self.tile(value)
        return np.broadcast_to(tile, (self.count, *tile.shape[1:])) if tile.shape[0] != self.count else tile

    def integers(self, value: Value) -> Array:
        """A scalar, as i64: one element, or one a block."""
        return self.tile(value).astype(np.int64)

    def pointers(self, value: Value) -> Pointers:
        found = self.values[value.number]
        if not isinstance(found, Pointers):
            raise UnsupportedOperation(f"{value.name} is no tile of pointers")
        return found

    def view(self, value: Value) -> TileView:
        found = self.values[value.number]
        if not isinstance(found, TileView):
            raise UnsupportedOperation(f"{value.name} is no view of tiles")
        return found

    def forget(self, numbers: Sequence[int]) -> None:
        """Drops values that nothing needs any more."""
        for number in numbers:
            self.values.pop(number, None)

    def part(self, chosen: Array) -> Frame:
        """The frame of some of the blocks, by place."""
        values = {number: _part(datum, chosen, self.count) for number, datum in self.values.items()}
        return Frame(
            self.memory, self.blocks[chosen], self.ids[:, chosen], self.grid, values, self.deadline, self.cancel
        )

    def groups(self, keys: Sequence[Array]) -> Iterator[tuple[tuple[int, ...], Frame]]:
        """Frames of the blocks that agree in all keys, and the keys' values. One frame, itself, where all agree."""
        if all(key.size == 1 or bool((key == key.flat[0]).all()) for key in keys):
            yield tuple(int(key.flat[0]) for key in keys), self
            return
        rows = np.stack([np.broadcast_to(key.reshape(-1), (self.count,)) for key in keys], axis=1)
        found, inverse = np.unique(rows, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        order = sorted(range(len(found)), key=lambda number: int(np.flatnonzero(inverse == number)[0]))
        for number in order:
            yield tuple(int(x) for x in found[number]), self.part(np.flatnonzero(inverse == number))

    def check_time(self) -> None:
        """Raises OutOfTime past the deadline or when cancelled."""
        late = self.deadline is not None and time.monotonic() > self.deadline
        if late or (self.cancel is not None and self.cancel.is_set()):
            raise OutOfTime("cancelled" if not late else "the time limit was reached")


def _part(datum: Datum, chosen: Array, count: int) -> Datum:
    def of(array: Array) -> Array:
        return array[chosen] if array.ndim and array.shape[0] == count and count > 1 else array

    match datum:
        case Pointers(buffer, offsets):
            return Pointers(buffer, of(offsets))
        case TensorView(buffer, offset, shape, strides):
            return TensorView(buffer, of(offset), tuple(map(of, shape)), tuple(map(of, strides)))
        case TileView(view, tile, steps, dim_map, padding, sparse):
            inner = _part(view, chosen, count)
            assert isinstance(inner, TensorView)
            return TileView(inner, tile, steps, dim_map, padding, sparse)
        case frozenset():
            return datum
        case _:
            return of(datum)


Ends = list[tuple[Frame, Signal]]
"""How the blocks of a frame left a region, in groups that went the same way."""
Step = Callable[[Frame], Ends | None]
"""None: all blocks go on."""
Decoder = Callable[[Operation], Step]


def tile_type(value: Value) -> TileType:
    """The type of a tile value. Raises UnsupportedOperation for another."""
    if not isinstance(value.type, TileType):
        raise UnsupportedOperation(f"{value.name} is not a tile")
    return value.type


def element_of(value: Value) -> str:
    """Its element type's name; that of what it points to for a pointer."""
    element = tile_type(value).element
    return element.pointee if isinstance(element, PointerType) else element


def is_pointer(value: Value) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)


def is_token(value: Value) -> bool:
    return isinstance(value.type, TokenType)


def bind(frame: Frame, values: Sequence[Value], data: Sequence[Datum | None]) -> None:
    """Gives values their data, in order; a token's None is skipped."""
    for value, datum in zip(values, data, strict=True):
        if datum is not None:
            frame.values[value.number] = datum
