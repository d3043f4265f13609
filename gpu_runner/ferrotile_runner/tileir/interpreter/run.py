"""Runs a Tile IR entry over a grid, many tile blocks at once."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from enum import Enum

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.tileir.interpreter.control import Body, decode_region
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, element_dtype
from ferrotile_runner.tileir.interpreter.findings import Finding
from ferrotile_runner.tileir.interpreter.frame import (
    Datum,
    Endless,
    Frame,
    InterpreterError,
    UndefinedBehaviour,
    Unsupported,
    element_of,
    is_pointer,
)
from ferrotile_runner.tileir.interpreter.late_stores import Queue
from ferrotile_runner.tileir.interpreter.memory import Buffer, Memory, OutOfBounds, Pointers
from ferrotile_runner.tileir.interpreter.origins import Origins, origins
from ferrotile_runner.tileir.model import Entry, TileType, walk

BATCH_ELEMENTS = 1 << 20
"""Elements of the largest tile, over all blocks that run at once."""


class Storage(Struct, frozen=True):
    """A pointer argument: the array that it points to the start of, C-contiguous. Equal names are one
    array. `blank`: its elements hold no value before the kernel writes them; reading them is a finding. `size`: of its
    elements so many are the argument's memory, the rest is not to be touched; -1: all."""

    name: str
    array: Array
    blank: bool = False
    size: int = -1


Word = Storage | int | float | bool
"""One parameter of an entry: a pointer, or a scalar of the parameter's element type."""


SHUFFLED = 1000
"""Seeds from here on make reductions take their operands in another order, which Tile IR leaves open."""


class Order(Enum):
    """In which order the blocks run. The result of a kernel must not depend on it."""

    FORWARD = "forward"
    REVERSED = "reversed"
    LATE = "late"
    """Forward, one by one, stores as late as their tokens allow."""


class RunResult(Struct, frozen=True):
    """`arrays` have the shapes that they were given in; `written` marks the elements that some block stored;
    `findings` are accesses and asserts that a correct kernel does not have."""

    arrays: Mapping[str, Array]
    written: Mapping[str, Array]
    findings: tuple[Finding, ...]
    printed: tuple[str, ...] = ()
    """What the blocks print, block by block."""
    repeatable: bool = False
    """No undetermined lane was read, no identity changed what it was combined with and no block met another one: any
    seed and order of blocks give the same."""
    spent: float = 0.0
    """Seconds of the processor."""


class Program(Struct, frozen=True):
    """An entry made ready to run, as often as wanted. `batch`: how many blocks run at once."""

    entry: Entry
    body: Body
    origins: Origins
    batch: int


def prepare(entry: Entry) -> Program:
    """Raises Unsupported for an operation without a meaning here."""
    try:
        return Program(entry, decode_region(entry.body), origins(entry), batch_size(entry))
    except UnsupportedOperation as error:
        raise Unsupported(str(error)) from error


def run(
    entry: Entry | Program,
    arguments: Sequence[Word],
    grid: Sequence[int],
    *,
    seed: int = 0,
    order: Order = Order.FORWARD,
    seconds: float | None = None,
    cancel: threading.Event | None = None,
    at_once: int | None = None,
) -> RunResult:
    """Runs `entry`, which is prepared here where it is not yet, on copies of the arrays; what it does not write is not
    copied. `grid` has up to three extents. `seed` fills undetermined lanes, a negative one with zeros; reductions
    combine their identities where it is even and not 0. `at_once`: how many blocks run together, by default as many as
    fit; blocks that get in each other's way are run again one by one.

    Raises Unsupported for an operation without a meaning here, UndefinedBehaviour for an access outside its
    array or a loop without an end, InterpreterError for arguments that do not fit, OutOfTime at the time limit or when
    cancelled."""
    program = entry if isinstance(entry, Program) else prepare(entry)
    name, parameters = program.entry.name, program.entry.parameters
    if len(arguments) != len(parameters):
        raise InterpreterError(f"{len(arguments)} arguments for {len(parameters)} parameters of {name}")
    deadline, started = None if seconds is None else time.monotonic() + seconds, time.process_time()
    launch = _Launch(program, tuple(arguments), tuple(grid), seed, order, deadline, cancel)
    size = 1 if program.origins.in_turn or order is Order.LATE else at_once or program.batch
    try:
        result = _at_once(launch, size) if size > 1 else None
        if result is None:
            result, _ = _execute(launch, 1)
        return replace(result, spent=time.process_time() - started)
    except UnsupportedOperation as error:
        raise Unsupported(str(error)) from error
    except OutOfBounds as error:
        raise UndefinedBehaviour(str(error), error.text_line, error.need) from error


def _at_once(launch: _Launch, size: int) -> RunResult | None:
    """None where what blocks do to each other depends on their order: they must run one after the other."""
    try:
        result, conflicts = _execute(launch, size)
    except Endless:
        return None  # a block may have waited for one beside it
    return None if conflicts else result


class _Launch(Struct, frozen=True):
    program: Program
    arguments: tuple[Word, ...]
    grid: tuple[int, ...]
    seed: int
    order: Order
    deadline: float | None
    cancel: threading.Event | None


def _execute(launch: _Launch, size: int) -> tuple[RunResult, bool]:
    """Runs `size` blocks at once; also whether blocks got in each other's way."""
    entry, found = launch.program.entry, launch.program.origins
    combined = launch.seed != 0 and launch.seed % 2 == 0
    random, shuffles = np.random.default_rng(abs(launch.seed)), launch.seed >= SHUFFLED
    memory = Memory(random, zeros=launch.seed < 0, identities=combined, shuffles=shuffles)
    queue = memory.queue = Queue(entry) if launch.order is Order.LATE else None
    shared = found.loaded & found.written
    names = {
        word.name
        for parameter, word in zip(entry.parameters, launch.arguments, strict=True)
        if isinstance(word, Storage) and parameter.number in shared
    }
    changed = {
        word.name
        for parameter, word in zip(entry.parameters, launch.arguments, strict=True)
        if isinstance(word, Storage) and parameter.number in found.written | found.updated
    }
    several = [word.name for word in launch.arguments if isinstance(word, Storage)]
    names |= {name for name in several if several.count(name) > 1}
    buffers: dict[str, Buffer] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    values: dict[int, Datum] = {}
    for parameter, word in zip(entry.parameters, launch.arguments, strict=True):
        if isinstance(word, Storage) != is_pointer(parameter):
            raise InterpreterError(f"{parameter.name} of {entry.name}: a pointer and a scalar do not match")
        dtype = element_dtype(element_of(parameter))
        if isinstance(word, Storage):
            if word.name not in buffers:
                # What nothing writes need not be copied.
                fixed = word.name not in changed
                whole = word.array if fixed else np.array(word.array)
                flat = np.ascontiguousarray(whole).reshape(-1).view(dtype)
                own = flat.size if word.size < 0 else word.size
                buffers[word.name] = Buffer(word.name, flat, own, word.blank, word.name in names, fixed)
                memory.add(buffers[word.name])
                shapes[word.name] = word.array.shape
            values[parameter.number] = Pointers(buffers[word.name], np.zeros(1, np.int64))
        else:
            values[parameter.number] = np.asarray([word]).astype(dtype)
    nx, ny, nz = (*launch.grid, 1, 1, 1)[:3]
    blocks = np.arange(nx * ny * nz, dtype=np.int64)
    if launch.order is Order.REVERSED:
        blocks = blocks[::-1]
    for start in range(0, blocks.size, size):
        some = blocks[start : start + size]
        ids = np.stack([some % nx, some // nx % ny, some // (nx * ny)])
        frame = Frame(memory, some, ids, (nx, ny, nz), dict(values), launch.deadline, launch.cancel)
        frame.check_time()
        with np.errstate(all="ignore"):
            launch.program.body(frame)
            if queue is not None:
                queue.finish()
    result = RunResult(
        {name: b.data.reshape(shapes[name]) for name, b in buffers.items()},
        {name: _written(b).reshape(shapes[name]) for name, b in buffers.items()},
        tuple(memory.findings),
        tuple(text for _, text in sorted(memory.printed, key=lambda item: item[0])),
        not (memory.drawn or memory.conflicts or found.in_turn or found.updated),
    )
    return result, memory.conflicts


def _written(buffer: Buffer) -> Array:
    never = np.broadcast_to(np.False_, buffer.data.shape)
    return never if buffer.writer is None else buffer.writer != 0


def batch_size(entry: Entry) -> int:
    """How many blocks run at once: as many as keep the largest tile of all of them small."""
    largest = 1
    for operation in walk(entry.body):
        for result in operation.results:
            if isinstance(result.type, TileType):
                largest = max(largest, math.prod(result.type.shape))
    return max(1, BATCH_ELEMENTS // largest)
