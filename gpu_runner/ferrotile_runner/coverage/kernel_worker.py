"""Client of the kernels worker: translates and climbs in a process that a kernel may take down with it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence

from ferrotile.translation import Options
from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from ferrotile_runner import json_values as read
from ferrotile_runner.coverage.rows import EntryRow, as_json
from ferrotile_runner.import_roots import import_roots
from ferrotile_runner.process import Command, Ending, JsonProcess, ProcessError, RpcError
from ferrotile_runner.report import Rung, RungStatus
from ferrotile_runner.typecheck import RustDiagnostic
from ferrotile_runner.workers import kernels as worker

START_SECONDS = 30.0
"""A new process has this much more time for its first answer, since it also loads ferrotile."""


class Text(Struct, frozen=True):
    """A file that was read; `name` is for people. `path`: where it lies among the files of its project, and `around`
    a digest of these; both are empty for a text that stands alone."""

    name: str
    text: str
    path: str = ""
    around: str = ""


class Listed(Struct, frozen=True):
    """The kernels of a text, as (name, line from 1), and its syntax errors."""

    kernels: tuple[tuple[str, int], ...]
    problems: tuple[str, ...]


class KernelWorker:
    """A warm process; `seconds` limits each answer. Every method raises `ProcessError` where none came, also for a
    fault of ferrotile's own; the next call then starts a new process."""

    def __init__(self, options: Options, seconds: float, cancel: threading.Event) -> None:
        self._options = to_builtins(options)
        self._seconds = seconds
        self._cancel = cancel
        self._process = JsonProcess(Command((sys.executable, "-I", worker.__file__, *import_roots())))

    def kernels(self, text: Text) -> Listed:
        found = self._call("kernels", {"text": text.text})
        kernels = [read.mapping(k) for k in read.items(found["kernels"])]
        return Listed(
            tuple((read.text(k["name"]), read.integer(k["line"])) for k in kernels),
            tuple(map(read.text, read.items(found["problems"]))),
        )

    def translate(self, text: Text, index: int) -> tuple[EntryRow, ...]:
        """One entry a signature. Runs nothing of the text."""
        found = self._call("translate", self._subject(text, index))
        made: list[EntryRow] = []
        for entry in map(read.mapping, read.items(found["entries"])):
            rust, tried = entry["rust"], frozenset({Rung.TRANSLATED.value})
            made.append(EntryRow(as_json(entry["report"]), rust if isinstance(rust, str) else None, tried))
        return tuple(made)

    def climb(
        self, text: Text, index: int, entry: int, rung: str, types: Sequence[RustDiagnostic] | None
    ) -> tuple[Mapping[str, object], bool]:
        """A report whose `rung` was tried, and whether a tool was missing. Runs the kernel's part of the text."""
        known = None if types is None else [asdict(d) for d in types]
        of = {"entry": entry, "rung": rung, "types": known, "seconds": self._seconds}
        params = {**self._subject(text, index), **of}
        found = self._call("climb", params)
        return read.mapping(found["report"]), found["broken"] is True

    def _subject(self, text: Text, index: int) -> dict[str, object]:
        return {"text": text.text, "file": text.name, "path": text.path, "index": index, "options": self._options}

    def _call(self, method: str, params: Mapping[str, object]) -> Mapping[str, object]:
        try:
            starting = START_SECONDS if self._process.pid is None else 0.0
            return self._process.call(method, params, self._seconds + starting, self._cancel)
        except RpcError as error:
            raise ProcessError(Ending.CRASHED, error.message) from None

    def close(self) -> None:
        self._process.close()


def status_of(error: ProcessError) -> RungStatus:
    """What an answer that did not come means for a rung."""
    return RungStatus.TIMEOUT if error.ending is Ending.TIMEOUT else RungStatus.CRASHED
