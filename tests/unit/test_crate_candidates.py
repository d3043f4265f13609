"""The configurations of a tuner in the Python as candidates in the Rust."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from crate_support import HEAD, planned, python_file
from ferrotile.crate.project import contents_of, crate_files

KERNEL = (
    HEAD
    + """from types import SimpleNamespace as Config
from cuda.tile.tune import exhaustive_search


@ct.kernel
def scale(x, y, TM: ct.Constant[int], TN: ct.Constant[int], TWICE: ct.Constant[bool]):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(TM, TN))
    if TWICE:
        t = t + t
    ct.store(y, index=(i, j), tile=t)


def run(x: torch.Tensor):
    M, N = x.shape
    x = x.to(torch.float32)
    y = torch.empty_like(x)
    space = SPACE
    best = exhaustive_search(
        space,
        torch.cuda.current_stream(),
        lambda c: (ct.cdiv(M, c.tm), ct.cdiv(N, c.tn)),
        scale,
        lambda c: (x, y, c.tm, c.tn, c.twice),
    )
    return y
"""
)


def _text(*configs: tuple[int, int, bool]) -> str:
    each = ", ".join(f"Config(tm={m}, tn={n}, twice={t})" for m, n, t in configs)
    return KERNEL.replace("SPACE", f"[{each}]")


def test_each_once_and_the_default_first() -> None:
    plan = planned(_text((64, 32, True), (16, 128, True), (64, 32, True), (32, 32, True)))
    assert plan.config == ("TM", "TN")
    assert plan.candidates == ((64, 32), (16, 128), (32, 32))


def test_what_the_rust_does_not_leave_open_stays() -> None:
    # `TWICE` decides what is emitted: a candidate with another value would be another kernel.
    plan = planned(_text((64, 32, True), (16, 128, False), (32, 32, True)))
    assert plan.candidates == ((64, 32), (32, 32))
    assert planned(_text((64, 32, True), (16, 128, False))).candidates == ()
    assert planned(_text((64, 32, True))).candidates == ()


@pytest.mark.skipif(shutil.which("rustfmt") is None, reason="rustfmt is not installed")
def test_they_are_a_constant_of_the_config_as_rustfmt_has_it(tmp_path: Path) -> None:
    text = _text((64, 32, True), (16, 128, True), (1024, 32, True))
    made = str(crate_files(contents_of("kernels", [python_file(text)])).files["src/k.rs"])
    start = made.index("impl ScaleConfig {")
    block = made[start : made.index("/// The kernel", start)]
    assert "pub const CANDIDATES: [Self; 3] = [" in block and "Self { tm: 16, tn: 128 }" in block
    (tmp_path / "a.rs").write_text(made)
    done = subprocess.run(
        ["rustfmt", "--check", "--edition", "2021", str(tmp_path / "a.rs")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
