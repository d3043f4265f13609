"""Measures how far kernels get: translation, then one `cargo check` for all, then the other rungs kernel by kernel."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ferrotile.translation import Options
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ferrotile_runner import json_values as read
from ferrotile_runner.coverage.kernel_worker import KernelWorker, Text, status_of
from ferrotile_runner.coverage.parallel import spread
from ferrotile_runner.coverage.rows import EntryRow, KernelRow, as_json, untranslated
from ferrotile_runner.coverage.store import Store, tool_digest
from ferrotile_runner.coverage.types import Verdict, check_types
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.report import Rung, RungStatus
from ferrotile_runner.rungs.subject import ToolMissing
from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import Toolchain

Progress = Callable[[int, int, str], None]
"""Gets how many steps are done, of how many, and what is at hand."""


class Settings(Struct, frozen=True):
    """`rungs` beside `translated`; `seconds` for one kernel on one rung; `jobs` processes at once; `fresh`: nothing
    is taken from earlier runs."""

    options: Options
    rungs: tuple[str, ...] = ()
    jobs: int = 1
    seconds: float = 120.0
    fresh: bool = False


class Measured(Struct, frozen=True):
    """Rows in the order of the files; `problems` are files that gave no kernels for a reason, `notes` what else a
    person should know."""

    rows: tuple[KernelRow, ...]
    problems: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()


def measure(
    texts: Sequence[Text],
    settings: Settings,
    toolchain: Toolchain,
    progress: Progress = lambda done, total, message: None,
    cancel: threading.Event | None = None,
    store: Store | None = None,
) -> Measured:
    """Every kernel of the texts. What a kernel does to a process is its row's result; nothing of that is raised."""
    stopped = cancel or threading.Event()
    jobs = max(1, min(settings.jobs, len(texts)))
    workers = [KernelWorker(settings.options, settings.seconds, stopped) for _ in range(jobs)]
    run = _Run(settings, toolchain, workers, store or Store(tool_digest(toolchain)), progress, stopped)
    try:
        run.translate(texts)
        if any(rung != Rung.TRANSLATED for rung in settings.rungs):
            run.climb(texts)
    finally:
        for worker in workers:
            worker.close()
    rows = tuple(row for _, kernels in sorted(run.rows.items()) for row in kernels)
    problems = tuple((texts[at].name, message) for at, found in sorted(run.problems.items()) for message in found)
    return Measured(rows, problems, (run.store.unusable,) if run.store.unusable else ())


class _Run:
    """One measurement. `rows` and `problems` are by the number of the text."""

    def __init__(
        self,
        settings: Settings,
        toolchain: Toolchain,
        workers: Sequence[KernelWorker],
        store: Store,
        progress: Progress,
        cancel: threading.Event,
    ) -> None:
        self.settings = settings
        self.toolchain = toolchain
        self.workers = workers
        self.store = store
        self.cancel = cancel
        self.rows: dict[int, list[KernelRow]] = {}
        self.problems: dict[int, tuple[str, ...]] = {}
        self._progress = progress
        self._lock = threading.Lock()
        self._done = 0
        self._total = 0
        self._options = json.dumps(to_builtins(settings.options), sort_keys=True)

    def translate(self, texts: Sequence[Text]) -> None:
        self._begin(len(texts))
        spread(self.workers, list(enumerate(texts)), self._translate, self.cancel)

    def _translate(self, worker: KernelWorker, item: tuple[int, Text]) -> None:
        at, text = item
        self._say(text.name)
        found = self._known("file", text)
        if found is not None:
            kernels = [read.mapping(k) for k in read.items(found["kernels"])]
            listed = [(read.text(k["name"]), read.integer(k["line"])) for k in kernels]
            self.problems[at] = tuple(map(read.text, read.items(found["problems"])))
        else:
            try:
                answer = worker.kernels(text)
            except ProcessError as error:
                self.rows[at], self.problems[at] = [], (str(error),)
                return self._step()
            listed, self.problems[at] = list(answer.kernels), answer.problems
            kept = {"kernels": [{"name": n, "line": line} for n, line in listed], "problems": list(answer.problems)}
            self.store.put(self._key("file", text), as_json(kept))
        self.rows[at] = [self._row(worker, text, i, name, line) for i, (name, line) in enumerate(listed)]
        return self._step()

    def _row(self, worker: KernelWorker, text: Text, index: int, name: str, line: int) -> KernelRow:
        row = KernelRow(text.name, name, line, index, ())
        known = self._known(str(index), text)
        if known is not None:
            return replace(row, entries=tuple(_entry(e, text.name) for e in read.items(known["entries"])))
        try:
            row = replace(row, entries=worker.translate(text, index))
            if not row.entries:
                raise ProcessError(Ending.CRASHED, "the kernel was listed, but not translated")
        except ProcessError as error:
            return replace(row, entries=(untranslated(text.name, name, line, status_of(error), str(error)),))
        self._keep(text, row)
        return row

    def climb(self, texts: Sequence[Text]) -> None:
        rungs = [rung.value for rung in Rung if rung.value in self.settings.rungs and rung is not Rung.TRANSLATED]
        kernels = [(at, i) for at, rows in self.rows.items() for i, row in enumerate(rows) if row.translated]
        self._begin(len(kernels))
        types: Mapping[str, Verdict] = {}
        if Rung.TYPE_CHECKED.value in rungs:
            types = self._types([self.rows[at][i] for at, i in kernels])
        climb = partial(self._climb, texts, rungs, types)
        spread(self.workers, sorted(kernels), climb, self.cancel)

    def _types(self, rows: Sequence[KernelRow]) -> Mapping[str, Verdict]:
        rung = Rung.TYPE_CHECKED.value
        entries = [e for row in rows for e in row.translated if rung not in e.tried]
        texts = list(dict.fromkeys(e.rust for e in entries if e.rust is not None))
        if not texts:
            return {}
        self._say("type-checking")
        # Without cargo each kernel's own check says so.
        with contextlib.suppress(ToolMissing), Session(self.toolchain) as session:
            return check_types(session, texts, self.cancel)
        return {}

    def _climb(
        self,
        texts: Sequence[Text],
        rungs: Sequence[str],
        types: Mapping[str, Verdict],
        worker: KernelWorker,
        item: tuple[int, int],
    ) -> None:
        at, index = item
        row = self.rows[at][index]
        for number, entry in enumerate(row.entries):
            if entry.status(Rung.TRANSLATED) is not RungStatus.PASSED:
                continue
            for rung in rungs:
                if rung in entry.tried or self.cancel.is_set():
                    continue
                self._say(f"{row.name}: {rung}")
                verdict = types.get(entry.rust or "") if rung == Rung.TYPE_CHECKED else None
                entry = _climbed(worker, texts[at], row.index, number, entry, rung, verdict)
                row = replace(row, entries=(*row.entries[:number], entry, *row.entries[number + 1 :]))
        self.rows[at][index] = row
        self._keep(texts[at], row)
        self._step()

    def _known(self, what: str, text: Text) -> Mapping[str, object] | None:
        return None if self.settings.fresh else self.store.get(self._key(what, text))

    def _key(self, what: str, text: Text) -> tuple[str, ...]:
        return self._options, what, text.text, *((text.path, text.around) if text.path else ())

    def _keep(self, text: Text, row: KernelRow) -> None:
        entries = [{"report": e.report, "rust": e.rust, "tried": sorted(e.tried)} for e in row.entries]
        self.store.put(self._key(str(row.index), text), as_json({"entries": entries}))

    def _begin(self, total: int) -> None:
        self._done, self._total = 0, total

    def _say(self, message: str) -> None:
        with self._lock:
            self._progress(self._done, self._total, message)

    def _step(self) -> None:
        with self._lock:
            self._done += 1
            self._progress(self._done, self._total, "")


def _entry(value: object, file: str) -> EntryRow:
    kept = read.mapping(value)
    rust = kept["rust"]
    report = {**as_json(kept["report"]), "file": file}
    return EntryRow(
        report, rust if isinstance(rust, str) else None, frozenset(map(read.text, read.items(kept["tried"])))
    )


def _climbed(
    worker: KernelWorker, text: Text, index: int, number: int, entry: EntryRow, rung: str, verdict: Verdict | None
) -> EntryRow:
    match verdict:
        case (RungStatus() as status, str(detail)):
            return entry.with_result(rung, status, detail)
        case _:
            types = None if verdict is None else [d for d in verdict if not isinstance(d, RungStatus | str)]
    try:
        report, broken = worker.climb(text, index, number, rung, types)
    except ProcessError as error:
        return entry.with_result(rung, status_of(error), str(error))
    return entry.with_report(rung, report, broken)
