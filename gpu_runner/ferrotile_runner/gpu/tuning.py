"""Searches hints for translated kernels on a GPU: what changes how fast a kernel is, and nothing that it makes.

A trial is the kernel with other choices, timed against the original in turns (`workers/gpu_launches.py`), so that
ratios of different bundles compare. First every choice alone, then the best of them together; what wins is proved.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from ferrotile.choices import Choices
from ferrotile.passes.accesses import find_accesses
from ferrotile.passes.uses import operations
from ferrotile.program.ir import Program
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module
from ferrotile.translation import KernelTranslation
from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.coverage.store import Store
from ferrotile_runner.gpu.bundle import Asked, BundleWriter, NotBundled
from ferrotile_runner.rungs.subject import subject_of
from ferrotile_runner.session import Session
from ferrotile_runner.slice import slice_source
from ferrotile_runner.toolchain import cache_directory
from ferrotile_runner.workers.bundle_format import Launches

MARGIN = 0.02
"""What is not faster by this share is not told from noise."""
TOGETHER = 4
"""So many of the best choices are tried together."""
OCCUPANCIES = (2, 8, 4, 1, 16)
"""In the order in which they gained most over 125 kernels on sm_90."""
CTAS = (2,)
_PRODUCTS = frozenset(("mmaf", "mmaf_scaled", "mmai"))
PLAIN = Choices()

Translate = Callable[[Choices], KernelTranslation | None]
"""The kernel with these choices; None where it is refused."""
Measure = Callable[[Path], Iterable[Mapping[str, object]]]
"""Runs a bundle and gives what its worker prints. May raise `ProcessError`."""


class Trial(Struct, frozen=True):
    """`ratio`: the time of the Rust over that of the original; None where there is none, and `why`."""

    choices: Choices
    ratio: float | None
    why: str = ""

    @property
    def time(self) -> float:
        """For comparing: what has no time loses."""
        return float("inf") if self.ratio is None else self.ratio


class Tuned(Struct, frozen=True):
    """All trials of a kernel, in the order made; `untried`: how many there was no time for."""

    trials: tuple[Trial, ...]
    untried: int = 0

    @property
    def plain(self) -> Trial:
        """The kernel as it is."""
        return self.trials[0]

    @property
    def best(self) -> Trial:
        """The fastest; the plain one where none is faster by more than noise."""
        best = min(self.trials, key=lambda trial: trial.time)
        return best if best.time < self.plain.time * (1 - MARGIN) else self.plain


def single_choices(program: Program) -> Iterator[Choices]:
    """Every choice that may matter to a kernel, each alone, first those that gain most: occupancy, CTAs of a block that
    multiplies matrices, rows as views or by pointers, TMA for the loads and for the stores of each array."""
    codes = {o.opcode for o in operations(program.body)}
    yield from (Choices(entry=(("occupancy", number),)) for number in OCCUPANCIES)
    if codes & _PRODUCTS:
        yield from (Choices(entry=(("num_ctas", number),)) for number in CTAS)
    if "gather" in codes:
        yield from (Choices(rows=True), Choices(rows=False))
    names = {p.value.id: p.name for p in program.parameters}
    places = {(names[a.array], a.store): None for a in find_accesses(program) if a.array in names}
    for name, store in places:
        for way in (True, False):
            yield Choices(tma=((f"{name}.{'store' if store else 'load'}", way),))


class Results:
    """Ratios that earlier runs found, by GPU, original, translation and signature: a search that was ended goes on."""

    def __init__(self, device: str, folder: Path | None = None, fresh: bool = False) -> None:
        self._fresh = fresh
        self._store = Store(sha256(device.encode()).hexdigest(), folder or cache_directory() / "tuned")

    def get(self, key: tuple[str, ...], choices: Choices) -> Trial | None:
        """What was found for a key."""
        found = None if self._fresh else self._store.get(key)
        if found is None:
            return None
        try:
            ratio = found["ratio"]
            return Trial(choices, None if ratio is None else read.number(ratio), read.text(found["why"]))
        except (ValueError, KeyError, TypeError):
            return None

    def put(self, key: tuple[str, ...], trial: Trial) -> None:
        """Keep a trial; a cache that cannot be written keeps nothing."""
        self._store.put(key, {"ratio": trial.ratio, "why": trial.why})


class Tuner(Struct, frozen=True):
    """What a search needs: compilers, a way to time a bundle, what is known already. `until`: begin nothing after this
    moment of the monotonic clock."""

    session: Session
    measure: Measure
    results: Results
    target: str
    until: float
    cancel: threading.Event | None = None
    progress: Callable[[str], None] = lambda words: None

    def tune(self, document: Document, module: Module | None, kernel: KernelTranslation, translate: Translate) -> Tuned:
        """Searches the hints of one kernel. Raises ToolMissing without compilers, ProcessError where nothing can be
        measured."""
        assert kernel.program is not None
        subject = _Subject(document, module, translate)
        first = [PLAIN, *single_choices(kernel.program)]
        trials, untried = self._stage(subject, first, {})
        if not trials or trials[0].ratio is None:
            return Tuned(tuple(trials) or (Trial(PLAIN, None, "out of time"),), untried)
        known = {trial.choices: trial for trial in trials}
        faster = sorted((t for t in trials[1:] if t.time < trials[0].time * (1 - MARGIN)), key=lambda trial: trial.time)
        together = list(_together(faster))
        more, late = self._stage(subject, together, known)
        return Tuned((*trials, *more), untried + late)

    def _stage(
        self, subject: _Subject, wanted: Sequence[Choices], known: Mapping[Choices, Trial]
    ) -> tuple[list[Trial], int]:
        """One bundle of the choices that make another Rust; what was found before is taken from the results."""
        trials: dict[Choices, Trial] = {}
        keys: dict[str, tuple[Choices, tuple[str, ...]]] = {}
        texts: set[str] = set()
        untried = 0
        with tempfile.TemporaryDirectory(prefix="ferrotile-") as folder:
            path = Path(folder) / "bundle.zip"
            with BundleWriter(path, Asked(self.target, Launches.LARGE), self.session) as writer:
                for choices in wanted:
                    kernel = None if choices in known else subject.translate(choices)
                    if kernel is None or kernel.rust is None or kernel.rust in texts:
                        continue
                    texts.add(kernel.rust)
                    key = self._key(subject, kernel)
                    found = self.results.get(key, choices)
                    if found is not None:
                        trials[choices] = found
                        continue
                    if time.monotonic() > self.until:
                        untried += 1
                        continue
                    self.progress(f"{kernel.name}: {choices or 'as it is'}")
                    label = str(len(keys))
                    trials[choices] = Trial(choices, None, "not measured")
                    try:
                        writer.add(subject.document, subject.module, kernel, label, self.cancel)
                    except NotBundled as error:
                        trials[choices] = Trial(choices, None, str(error))
                        continue
                    keys[label] = choices, key
            if keys:
                self.progress(f"{len(keys)} trials on the GPU")
                for one in self.measure(path):
                    if "launch" not in one:
                        continue
                    choices, key = keys[read.text(one["file"])]
                    trials[choices] = _trial(choices, one)
                    self.results.put(key, trials[choices])
        return list(trials.values()), untried

    def _key(self, subject: _Subject, kernel: KernelTranslation) -> tuple[str, ...]:
        """What a ratio depends on, but for the GPU: the original with what it calls, the Rust, types, the target."""
        one = subject_of(subject.document, kernel, self.target, subject.module)
        own = "" if one.function is None else slice_source(one.module, one.function).text
        return own, kernel.rust or "", repr(kernel.signature), self.target


class _Subject(Struct, frozen=True):
    document: Document
    module: Module | None
    translate: Translate


def _together(faster: Sequence[Trial]) -> Iterator[Choices]:
    """The best two of the choices that do not contradict each other, the best three, and so on."""
    joined = PLAIN
    for number, trial in enumerate(_apart(faster)[:TOGETHER]):
        joined = joined.joined(trial.choices)
        if number:
            yield joined


def _apart(trials: Iterable[Trial]) -> list[Trial]:
    """Of those that choose the same thing differently, the first."""
    seen: dict[str, Trial] = {}
    for trial in trials:
        seen.setdefault(str(trial.choices).partition("=")[0], trial)
    return list(seen.values())


def _trial(choices: Choices, one: Mapping[str, object]) -> Trial:
    if one["verdict"] not in ("match", "open"):
        fault = one["fault"]
        why = "the results differ" if fault is None else read.text(read.mapping(fault)["words"])
        return Trial(choices, None, why)
    if one["time"] is None:
        return Trial(choices, None, "too short for the clock")
    return Trial(choices, read.number(read.mapping(one["time"])["ratio"]))
