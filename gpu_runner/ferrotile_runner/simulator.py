"""Client of the simulator worker: what both sides of a kernel do to the same arrays."""

from __future__ import annotations

import base64
import pickle
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from ferrotile.signatures.model import Signature
from ferrotile.translation import Entry
from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.host import LaunchCheck
from ferrotile_runner.import_roots import import_roots
from ferrotile_runner.input_error import InputError
from ferrotile_runner.process import Command, Ending, JsonProcess, ProcessError, RpcError
from ferrotile_runner.workers import simulator as worker
from ferrotile_runner.workers.bundle_format import BundleLaunch, Launches

MEMORY_BYTES = 8 << 30
SECONDS = 120.0
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Tiles are small: threads of NumPy's matrix product gain nothing, and on a busy machine wait for each other."""

GRACE_SECONDS = 10.0
"""How long after its time limit a worker that does not look at the clock is killed."""


class SimulatorFault(Exception):
    """The simulator itself is at fault; the message is its exception."""


class TileIr(Struct, frozen=True):
    """One side: disassembled Tile IR and the name of its entry."""

    text: str
    entry: str


class Noticed(Struct, frozen=True):
    """As `simulation.Noticed`."""

    side: str
    text: str
    text_line: int


class Simulated(Struct, frozen=True):
    """The worker's verdict, one of `simulation.Verdict`, its reasons, what it noticed, and the element that differs."""

    verdict: str
    text: str
    noticed: tuple[Noticed, ...] = ()
    values: tuple[str, str] = ("", "")


def _noticed(parts: Sequence[object]) -> Noticed:
    side, text, line = parts
    return Noticed(read.text(side), read.text(text), read.integer(line))


def _pickled(value: object) -> str:
    return base64.b64encode(pickle.dumps(value)).decode()


def _sides(
    original: TileIr, translation: TileIr, signature: Signature, entry: Entry, seconds: float, seed: int
) -> dict[str, object]:
    return {
        "original": {"text": original.text, "entry": original.entry},
        "translation": {"text": translation.text, "entry": translation.entry},
        "subject": _pickled((signature, entry)),
        "seconds": seconds,
        "seed": seed,
    }


class Simulator:
    """A warm worker process within `memory` bytes of address space. Safe to share between threads; calls wait for
    each other."""

    def __init__(self, *, memory: int = MEMORY_BYTES, python: str = sys.executable) -> None:
        self._memory = memory
        arguments = (python, "-I", worker.__file__, *import_roots())
        self._process = JsonProcess(Command(arguments, ONE_THREAD, memory=memory))

    def start(self) -> None:
        """Starts the worker, so that it is warm when the first kernel comes. Raises `ProcessError`."""
        self._process.start()

    def simulate(
        self,
        original: TileIr,
        translation: TileIr,
        signature: Signature,
        entry: Entry,
        *,
        seconds: float = SECONDS,
        seed: int = 0,
        inputs: Sequence[Path] = (),
        cancel: threading.Event | None = None,
    ) -> Simulated:
        """On the launches of the files `inputs`, or without any on launches made from `seed`. Raises `InputError` for
        files that do not fit the signature and the launch facts, `ProcessError` for a time-out, a crash, too little
        memory or a cancel, after each of which the next call starts a new process; `SimulatorFault` where the
        simulator is wrong."""
        params = _sides(original, translation, signature, entry, seconds, seed)
        result = self._call("simulate", params | {"inputs": [str(path) for path in inputs]}, seconds, cancel)
        noticed = tuple(_noticed(read.items(one)) for one in read.items(result["noticed"]))
        original_value, translated_value = map(read.text, read.items(result["values"]))
        values = (original_value, translated_value)
        return Simulated(read.text(result["verdict"]), read.text(result["text"]), noticed, values)

    def prepare(
        self,
        original: TileIr,
        translation: TileIr,
        signature: Signature,
        entry: Entry,
        checks: Sequence[LaunchCheck],
        folder: Path,
        prefix: str,
        *,
        wanted: Launches = Launches.ALL,
        seconds: float = SECONDS,
        seed: int = 0,
        cancel: threading.Event | None = None,
    ) -> tuple[tuple[BundleLaunch, ...], tuple[str, ...]]:
        """Launches for a GPU, without cubins, and what was left out and why. The data of their arrays are files in
        `folder` whose names begin with `prefix`. Raises as `simulate` does."""
        params = _sides(original, translation, signature, entry, seconds, seed)
        params |= {"checks": _pickled(tuple(checks)), "folder": str(folder), "prefix": prefix, "wanted": wanted.value}
        result = self._call("prepare", params, seconds, cancel)
        launches: tuple[BundleLaunch, ...] = pickle.loads(read.binary(result["launches"]))
        return launches, tuple(map(read.text, read.items(result["left_out"])))

    def _call(
        self, method: str, params: Mapping[str, object], seconds: float, cancel: threading.Event | None
    ) -> Mapping[str, object]:
        try:
            return self._process.call(method, params, seconds + GRACE_SECONDS, cancel)
        except RpcError as error:
            if error.code == worker.BAD_INPUTS:
                raise InputError(error.message) from None
            if error.code == worker.OUT_OF_MEMORY:
                self.close()
                limit = f"simulation: more than the {self._memory / 2**30:.3g} GiB that it may use"
                raise ProcessError(Ending.CRASHED, limit) from None
            raise SimulatorFault(error.message) from None

    @property
    def pid(self) -> int | None:
        """The id of the worker's process group, while one runs."""
        return self._process.pid

    def close(self) -> None:
        self._process.close()
