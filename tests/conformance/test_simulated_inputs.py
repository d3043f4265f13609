"""The rung `simulated` on a user's own inputs, and on kernels that are at fault: with the real compilers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import Options
from ferrotile_runner.report import RungResult, RungStatus
from ferrotile_runner.session import InputOptions, Session
from ferrotile_runner.verify import verify_kernels

TEXT = """import cuda.tile as ct
import numpy as np

LENGTHS = (100, 7)


def make_inputs(seed):
    rng = np.random.default_rng(seed)
    for n in LENGTHS:
        yield {"x": rng.standard_normal(n).astype(np.float32), "y": np.zeros(n, np.float32), "s": 2.5}


# ferrotile: x: f32[N], y: f32[N], s: f32, TILE=16, grid=(N/TILE)
# ferrotile: inputs=make_inputs
@ct.kernel
def scale(x, y, s, TILE: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (TILE,))
    ct.store(y, (i,), t * s)


# ferrotile: x: f32[N], y: f32[M], TILE=16, grid=(N/TILE)
@ct.kernel
def race(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (TILE,))
    ct.store(y, (0,), t)


# ferrotile: x: f32[N], y: f32[N], TILE=16, grid=(N/TILE)
@ct.kernel
def add(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (TILE,))
    s = ct.load(y, (i,), (TILE,))
    ct.store(y, (i,), t + s)
"""
LINE = {word: number for number, line in enumerate(TEXT.split("\n"), 1) for word in (line.strip(),)}


def simulated(session: Session, name: str, inputs: InputOptions) -> RungResult:
    document = Document(TEXT)
    kernels = [kernel for kernel in translate_document(document, Options()).kernels if kernel.name == name]
    session.inputs = inputs
    (report,) = verify_kernels(document, kernels, ("simulated",), session.toolchain, session=session)
    return report.rungs["simulated"]


def test_a_function_that_makes_inputs_runs_only_when_trusted(session: Session) -> None:
    trusted = simulated(session, "scale", InputOptions(trust=True))
    assert trusted.status is RungStatus.PASSED
    assert "N=100, grid (7, 1, 1)" in trusted.detail and "N=7, grid (1, 1, 1)" in trusted.detail
    assert "on what make_inputs gives" in trusted.detail
    careful = simulated(session, "scale", InputOptions())
    assert careful.status is RungStatus.PASSED
    assert "N=100" not in careful.detail and "inputs=make_inputs is not run: pass --trust" in careful.detail


def test_inputs_that_do_not_fit_are_no_verdict(session: Session, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones(5), y=np.ones(5, np.float32), s=1.0)
    found = simulated(session, "scale", InputOptions(file=tmp_path / "in.npz"))
    assert found.status is RungStatus.SKIPPED and found.broken
    assert found.detail == "inputs: x has elements of float64; the signature says f32"


def test_a_race_is_told_with_its_line(session: Session) -> None:
    found = simulated(session, "race", InputOptions())
    line = LINE["ct.store(y, (0,), t)"]
    assert f"in the original, line {line} (`ct.store(y, (0,), t)`): y: two blocks write one element" in found.detail


def test_a_read_of_what_nothing_wrote_is_told_with_its_line(session: Session, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones(33, np.float32))
    found = simulated(session, "add", InputOptions(file=tmp_path / "in.npz"))
    line = LINE["s = ct.load(y, (i,), (TILE,))"]
    assert f"line {line} (`ct.load(y, (i,), (TILE,))`): y: an element is read that nothing has written" in found.detail
