"""What a step of the interpreter works on.

An entry is decoded once into steps, closures that read and write a frame; each tile block then runs them.
Tokens hold no data and have no place in a frame: memory operations happen in program order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation
from ferrotile_runner.tileir.interpreter.memory import Memory, PartitionView, Pointers, TensorView
from ferrotile_runner.tileir.model import Operation, PointerType, TileType, TokenType, Value

Datum = Array | Pointers | TensorView | PartitionView


class InterpreterError(Exception):
    """The run could not go on; the message says why and where in the disassembly."""


class Unsupported(InterpreterError):
    """The entry uses an operation, mode or type that has no meaning here."""


class UndefinedBehaviour(InterpreterError):
    """An access left its array."""


class OutOfTime(Exception):
    """The time limit was reached, or the run was cancelled."""


@dataclass(frozen=True, slots=True)
class Signal:
    """How a region ended: `yield`, `continue`, `break` or `return`, with the values it carries."""

    kind: str
    values: tuple[Datum | None, ...] = ()


@dataclass(slots=True)
class Frame:
    """The values of one tile block. `block` and `grid` are (x, y, z)."""

    memory: Memory
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    values: dict[int, Datum] = field(default_factory=dict)
    deadline: float | None = None
    cancel: threading.Event | None = None

    def tile(self, value: Value) -> Array:
        found = self.values[value.number]
        if not isinstance(found, np.ndarray | np.generic):
            raise UnsupportedOperation(f"{value.name} is no tile of numbers")
        return np.asarray(found)

    def integer(self, value: Value) -> int:
        return int(self.tile(value))

    def pointers(self, value: Value) -> Pointers:
        found = self.values[value.number]
        if not isinstance(found, Pointers):
            raise UnsupportedOperation(f"{value.name} is no tile of pointers")
        return found

    def partition(self, value: Value) -> PartitionView:
        found = self.values[value.number]
        if not isinstance(found, PartitionView):
            raise UnsupportedOperation(f"{value.name} is no partition view")
        return found

    def check_time(self) -> None:
        """Raises OutOfTime past the deadline or when cancelled."""
        late = self.deadline is not None and time.monotonic() > self.deadline
        if late or (self.cancel is not None and self.cancel.is_set()):
            raise OutOfTime("cancelled" if not late else "the time limit was reached")


Step = Callable[[Frame], Signal | None]
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
