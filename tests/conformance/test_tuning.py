"""The search for hints, with both compilers and a clock that the test holds."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ferrotile.choices import Choices
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.gpu.tuning import Results, Tuner
from ferrotile_runner.session import Session

SCALE = """\
import cuda.tile as ct


# ferrotile: x: f32[M, N], y: f32[M, N], grid=(M/64, N/64)
@ct.kernel
def scale(x, y):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(i, j), tile=ct.load(x, index=(i, j), shape=(64, 64)) * 2.0)
"""
ALONE = {
    "": 1.0,
    "occupancy=2": 0.7,
    "occupancy=8": 1.5,
    "occupancy=4": 0.8,
    "occupancy=1": 0.99,
    "occupancy=16": 1.5,
    "x.load=plain": 0.9,
    "y.store=plain": 0.95,
}
"""In the order of the trials: first what gains most."""
TOGETHER = {"x.load=plain occupancy=2": 0.72, "x.load=plain y.store=plain occupancy=2": 0.6}


class Clock:
    """Takes bundles for run: the order of their kernels is that of the trials."""

    def __init__(self, names: list[str]) -> None:
        self.names, self.bundles = names, 0

    def __call__(self, bundle: Path) -> Iterator[Mapping[str, object]]:
        self.bundles += 1
        with zipfile.ZipFile(bundle) as archive:
            kernels = json.loads(archive.read("manifest.json"))["kernels"]
            cubins = {archive.read(k["launches"][0]["original"]["cubin"]) for k in kernels}
        assert len(cubins) == 1
        yield {"device": {"name": "none"}}
        for kernel in kernels:
            name = self.names.pop(0)
            time = {"ratio": {**ALONE, **TOGETHER}.get(name, 1.5)}
            yield {"file": kernel["file"], "launch": "large", "verdict": "match", "fault": None, "time": time}


def translate(choices: Choices) -> KernelTranslation | None:
    (only,) = translate_document(Document(SCALE), Options(choices=choices)).kernels
    return only


def tuner(session: Session, clock: Clock, folder: Path, until: float = float("inf")) -> Tuner:
    return Tuner(session, clock, Results("a GPU", folder), "sm_90", until)


def test_the_best_of_all_trials_wins_and_is_found_again(session: Session, tmp_path: Path) -> None:
    kernel = translate(Choices())
    assert kernel is not None
    clock = Clock([*ALONE, *TOGETHER])
    found = tuner(session, clock, tmp_path).tune(Document(SCALE), None, kernel, translate)
    assert {str(t.choices): t.ratio for t in found.trials} == {**ALONE, **TOGETHER}
    assert str(found.best.choices) == "x.load=plain y.store=plain occupancy=2"
    assert not clock.names and clock.bundles == 2
    again = tuner(session, Clock([]), tmp_path).tune(Document(SCALE), None, kernel, translate)
    assert again == found


def test_what_is_not_faster_by_more_than_noise_is_not_chosen(session: Session, tmp_path: Path) -> None:
    kernel = translate(Choices())
    assert kernel is not None
    clock = Clock(["", "occupancy=1", *["slower"] * 6])
    found = tuner(session, clock, tmp_path).tune(Document(SCALE), None, kernel, translate)
    assert found.best == found.plain and found.best.ratio == 1.0


def test_the_search_ends_in_time(session: Session, tmp_path: Path) -> None:
    kernel = translate(Choices())
    assert kernel is not None
    found = tuner(session, Clock([]), tmp_path, time.monotonic() - 1.0).tune(Document(SCALE), None, kernel, translate)
    assert found.untried == 8 and found.best.ratio is None
