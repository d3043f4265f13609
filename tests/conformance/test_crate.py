"""Exported crates against the real toolchain: what people run on a crate that they are about to merge."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ferrotile_runner.toolchain import locate

pytestmark = [pytest.mark.compilers, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
KERNELS = '''"""Kernels whose host functions need more than the examples' do."""
import cuda.tile as ct
import torch


# An element type that nothing gives, and rows that two block ids number.
@ct.kernel
def heads(x, y, H: ct.Constant[int], TS: ct.Constant[int], D: ct.Constant[int]):
    i, bh = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(bh // H, bh % H, i, 0), shape=(1, 1, TS, D))
    ct.store(y, index=(bh // H, bh % H, i, 0), tile=t)


def run(x: torch.Tensor):
    B, H, S, D = x.shape
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(S, 64), B * H), heads, (x, y, H, 64, D))
    return y


# ferrotile: x: bf16[N], ids: i32[M], out: bf16[M], n: i64, T=64, grid=(M/T,)
@ct.kernel
def take(x, ids, out, n, T: ct.Constant[int]):
    i = ct.bid(0)
    at = ct.load(ids, index=(i,), shape=(T,))
    ct.store(out, index=(i,), tile=ct.gather(x, at, check_bounds=False))


# No launch, no directive: the grid is an argument.
@ct.kernel
def count(bins, ids, T: ct.Constant[int]):
    at = ct.load(ids, index=(ct.bid(0),), shape=(T,))
    ct.atomic_add(bins, at, 1)
'''


def _run(folder: Path, *command: str) -> str:
    tools = locate()
    assert tools.cargo is not None
    environment = {**os.environ, **tools.environment, "CARGO_INCREMENTAL": "0"}
    done = subprocess.run(
        [str(tools.cargo), *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_examples_and_harder_kernels_pass_all_that_cargo_checks(tmp_path: Path) -> None:
    source = tmp_path / "harder.py"
    source.write_text(KERNELS)
    folder = tmp_path / "kernels"
    export = [sys.executable, "-m", "ferrotile_server.cli.main", "export", str(ROOT / "examples"), str(source)]
    done = subprocess.run([*export, "-o", str(folder), "--record"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, done.stderr  # three examples are refused
    assert "12 kernels in 10 modules, 3 refused" in done.stderr
    _run(folder, "fmt", "--check")
    _run(folder, "clippy", "--offline", "--all-targets", "--", "-D", "warnings")
    assert "warning" not in _run(folder, "doc", "--offline", "--no-deps")
    said = _run(folder, "test", "--offline", "--quiet")
    assert "0 failed" in said and "FAILED" not in said
