"""Client of the simulator worker: what both sides of a kernel do to the same arrays."""

from __future__ import annotations

import base64
import pickle
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from ferrotile.signatures.model import Signature
from ferrotile.translation import Entry
from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.import_roots import import_roots
from ferrotile_runner.input_error import InputError
from ferrotile_runner.process import Command, Ending, JsonProcess, ProcessError, RpcError
from ferrotile_runner.workers import simulator as worker

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
    """The worker's verdict, one of `simulation.Verdict`, its reasons, and what it noticed."""

    verdict: str
    text: str
    noticed: tuple[Noticed, ...] = ()


def _noticed(parts: Sequence[object]) -> Noticed:
    side, text, line = parts
    return Noticed(read.text(side), read.text(text), read.integer(line))


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
        params = {
            "original": {"text": original.text, "entry": original.entry},
            "translation": {"text": translation.text, "entry": translation.entry},
            "subject": base64.b64encode(pickle.dumps((signature, entry))).decode(),
            "seconds": seconds,
            "seed": seed,
            "inputs": [str(path) for path in inputs],
        }
        try:
            result = self._process.call("simulate", params, seconds + GRACE_SECONDS, cancel)
        except RpcError as error:
            if error.code == worker.BAD_INPUTS:
                raise InputError(error.message) from None
            if error.code == worker.OUT_OF_MEMORY:
                self.close()
                limit = f"simulation: more than the {self._memory / 2**30:.3g} GiB that it may use"
                raise ProcessError(Ending.CRASHED, limit) from None
            raise SimulatorFault(error.message) from None
        noticed = tuple(_noticed(read.items(one)) for one in read.items(result["noticed"]))
        return Simulated(read.text(result["verdict"]), read.text(result["text"]), noticed)

    @property
    def pid(self) -> int | None:
        """The id of the worker's process group, while one runs."""
        return self._process.pid

    def close(self) -> None:
        self._process.close()
