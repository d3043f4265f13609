"""One batch of seeds: judged, and what must not be made short and kept. Each process has compilers of its own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path

from ferrotile_runner.session import Session
from ferrotile_runner.toolchain import locate
from generate import HEAD, file, kernel
from judge import Fate, Judgement, judge
from minimise import TRIES, minimise

BATCH = 25
KEPT_A_BATCH = 3
"""Faults of one batch that are made short: where there are more, they have one cause."""


@dataclass(frozen=True, slots=True)
class Task:
    """Seeds to judge, unless it is later than `until` (seconds since the epoch) when their turn comes.
    Faults are made shorter in at most `tries` tries."""

    seeds: range
    rungs: Sequence[str]
    keep: Path
    until: float | None = None
    tries: int = TRIES


@dataclass(frozen=True, slots=True)
class Done:
    """How many kernels ended how, and where the faults are."""

    seeds: range
    fates: dict[Fate, int]
    kept: tuple[str, ...]


@cache
def _session() -> Session:
    session = Session(locate())
    Finalize(None, session.close, exitpriority=1)  # `atexit` is not heard in a pool's processes
    return session


def work(task: Task) -> Done | None:
    """The batch's fates; None where its time had passed."""
    if task.until is not None and time.time() > task.until:
        return None
    session = _session()
    found = list(judge(session, file(task.seeds), task.rungs))
    fates = {fate: sum(1 for j in found if j.fate is fate) for fate in {j.fate for j in found}}
    bad = [j for j in found if not j.fate.good]
    kept = tuple(_keep(session, task, j, short=n < KEPT_A_BATCH) for n, j in enumerate(bad))
    session.forget()
    return Done(task.seeds, fates, kept)


def _keep(session: Session, task: Task, judgement: Judgement, *, short: bool) -> str:
    """Write the kernel, where wanted as short as it shows its fate."""
    seed = int(judgement.name.removeprefix("k"))

    def shows(text: str) -> bool:
        return [j.fate for j in judge(session, HEAD + text, task.rungs)] == [judgement.fate]

    text = minimise(kernel(seed), shows, task.tries) if short else kernel(seed)
    task.keep.mkdir(parents=True, exist_ok=True)
    path = task.keep / f"{judgement.fate.name.lower()}_{seed}.py"
    detail = judgement.detail.replace("\n", "\n# ")
    path.write_text(f"# Seed {seed}: {judgement.fate.value}. {detail}\n{HEAD}{text}", encoding="utf-8")
    return f"seed {seed}: {judgement.fate.value}: {path}"
