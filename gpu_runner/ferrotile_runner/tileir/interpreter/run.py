"""Runs a Tile IR entry over a grid, one tile block after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from ferrotile_runner.tileir.interpreter.control import decode_region
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, element_dtype
from ferrotile_runner.tileir.interpreter.frame import (
    Frame,
    InterpreterError,
    UndefinedBehaviour,
    Unsupported,
    element_of,
    is_pointer,
)
from ferrotile_runner.tileir.interpreter.memory import Buffer, Memory, OutOfBounds, Pointers
from ferrotile_runner.tileir.model import Entry


@dataclass(frozen=True, slots=True)
class Storage:
    """A pointer argument: the array that it points to the start of, C-contiguous. Equal names are one
    array."""

    name: str
    array: Array


Word = Storage | int | float | bool
"""One parameter of an entry: a pointer, or a scalar of the parameter's element type."""


class Order(Enum):
    """In which order the blocks run. The result of a kernel must not depend on it."""

    FORWARD = "forward"
    REVERSED = "reversed"


@dataclass(frozen=True, slots=True)
class RunResult:
    """`arrays` have the shapes that they were given in; `written` marks the elements that some block stored;
    `findings` are accesses and asserts that a correct kernel does not have."""

    arrays: Mapping[str, Array]
    written: Mapping[str, Array]
    findings: tuple[str, ...]


def run(
    entry: Entry,
    arguments: Sequence[Word],
    grid: Sequence[int],
    *,
    seed: int = 0,
    order: Order = Order.FORWARD,
    seconds: float | None = None,
    cancel: threading.Event | None = None,
) -> RunResult:
    """Runs `entry` on copies of the arrays. `grid` has up to three extents. `seed` fills undetermined lanes.

    Raises Unsupported for an operation without a meaning here, UndefinedBehaviour for an access outside its
    array, InterpreterError for arguments that do not fit, OutOfTime at the time limit or when cancelled."""
    if len(arguments) != len(entry.parameters):
        raise InterpreterError(f"{len(arguments)} arguments for {len(entry.parameters)} parameters of {entry.name}")
    memory = Memory(np.random.default_rng(seed))
    buffers: dict[str, Buffer] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    values: dict[int, Array | Pointers] = {}
    try:
        for parameter, word in zip(entry.parameters, arguments, strict=True):
            if isinstance(word, Storage) != is_pointer(parameter):
                raise InterpreterError(f"{parameter.name} of {entry.name}: a pointer and a scalar do not match")
            dtype = element_dtype(element_of(parameter))
            if isinstance(word, Storage):
                if word.name not in buffers:
                    buffers[word.name] = Buffer(word.name, np.array(word.array).reshape(-1).view(dtype))
                    shapes[word.name] = word.array.shape
                values[parameter.number] = Pointers(buffers[word.name], np.asarray(0, np.int64))
            else:
                values[parameter.number] = np.asarray(word).astype(dtype)
        body = decode_region(entry.body)
        nx, ny, nz = (*grid, 1, 1, 1)[:3]
        blocks = [(x, y, z) for z in range(nz) for y in range(ny) for x in range(nx)]
        frame = Frame(memory, (0, 0, 0), (nx, ny, nz), cancel=cancel)
        frame.deadline = None if seconds is None else time.monotonic() + seconds
        numbered = list(enumerate(blocks))
        for number, block in numbered if order is Order.FORWARD else reversed(numbered):
            frame.check_time()
            memory.block, frame.block, frame.values = number, block, dict(values)
            body(frame)
    except UnsupportedOperation as error:
        raise Unsupported(str(error)) from error
    except OutOfBounds as error:
        raise UndefinedBehaviour(str(error)) from error
    return RunResult(
        {name: b.data.reshape(shapes[name]) for name, b in buffers.items()},
        {name: (b.writer >= 0).reshape(shapes[name]) for name, b in buffers.items()},
        tuple(memory.findings),
    )
