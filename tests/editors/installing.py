"""What the tests of editors share: which are run, what they install, the words of docs/editors.md, a home to run in.

`FERROTILE_EDITOR_TESTS=1` installs whatever is missing, as `.ci/run` does; `0` runs no editor; without it, those run
that are there, or cost little to fetch."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from ferrotile_runner.toolchain import cache_directory, locate

ROOT = Path(__file__).resolve().parents[2]
CACHE = cache_directory().parent / "ferrotile-editors"
DOCUMENT = ROOT / "docs" / "editors.md"
WANTED = os.environ.get("FERROTILE_EDITOR_TESTS", "")

DOUBLE = """\
import cuda.tile as ct
import numpy as np


def rows():
    raise SystemExit("no data here")
    return {"x": np.arange(4096, dtype=np.float32), "y": np.zeros(4096, dtype=np.float32)}


# ferrotile: x: f32[N], y: f32[N], TILE=1024, grid=(N/TILE,), inputs=rows
@ct.kernel
def double(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) * 2.0)
"""
"""A sound kernel whose author asks for inputs that are not there: verifying it fails."""


def not_run(reason: str) -> NoReturn:
    """Skip, and say so."""
    pytest.skip(f"NOT RUN: {reason}")


def unless_refused() -> None:
    """Skip where editors are not to be run."""
    if WANTED == "0":
        not_run("FERROTILE_EDITOR_TESTS=0")


def from_pypi(package: str, folder: Path) -> None:
    """A wheel alone, unpacked into a folder; skips where the index has none for this machine."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--root-user-action=ignore"]
    made = subprocess.run(
        [*command, "--no-deps", "--only-binary=:all:", "--target", str(folder), package], capture_output=True, text=True
    )
    if made.returncode != 0:
        not_run(f"{package} cannot be installed: {made.stderr.strip().splitlines()[-1:]}")


def from_debian(*packages: str) -> None:
    """Packages of the distribution; skips where they may not, or cannot, be installed."""
    names = " ".join(packages)
    if WANTED != "1":
        not_run(f"{names} not installed; FERROTILE_EDITOR_TESTS=1 installs what is missing")
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        not_run(f"{names} not installed (apt-get, as root, would)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        made = subprocess.run(["apt-get", "-qq", *command], env=environment, capture_output=True, text=True)
        if made.returncode != 0:
            not_run(f"{names} cannot be installed: {made.stderr.strip().splitlines()[-1:]}")


def snippet(name: str) -> str:
    """The code block of docs/editors.md below `<!-- tested: NAME -->`."""
    text = DOCUMENT.read_text(encoding="utf-8")
    found = re.findall(rf"^<!-- tested: {re.escape(name)} -->\n+```\w*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"{name} stands {len(found)} times in {DOCUMENT.name}"
    return str(found[0])


class Home:
    """A user's home: this tree as `~/src/ferrotile`, `ferrotile` on the PATH, kernels in a trusted folder `~/kernels`,
    and some in `~/elsewhere`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "home"
        self.kernels = self.folder / "kernels"
        self.elsewhere = self.folder / "elsewhere"
        for made in (self.kernels, self.elsewhere, self.folder / "bin", self.folder / "src"):
            made.mkdir(parents=True)
        (self.folder / "src" / "ferrotile").symlink_to(ROOT)
        for name in ("softmax.py", "refused.py"):
            shutil.copy(ROOT / "examples" / name, self.kernels)
        for place in (self.kernels, self.elsewhere):
            (place / "double.py").write_text(DOUBLE, encoding="utf-8")
        command = self.folder / "bin" / "ferrotile"
        main = "from ferrotile_server.cli.main import main; main()"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -c "{main}" "$@"\n')
        command.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        """With the compilers and caches of the real home."""
        real = Path.home()
        path = os.pathsep.join(str(ROOT / p) for p in ("translation", "gpu_runner", "server"))
        return {
            **os.environ,
            "XDG_CACHE_HOME": str(cache_directory().parent),
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(real / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(real / ".rustup")),
            "XDG_CONFIG_HOME": str(self.folder / ".config"),
            "XDG_STATE_HOME": str(self.folder / ".state"),
            "XDG_DATA_HOME": str(self.folder / ".data"),
            "HOME": str(self.folder),
            "PYTHONPATH": path,
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "WORKSPACE": str(self.kernels),
            "ELSEWHERE": str(self.elsewhere),
            "VERIFY": "1" if locate().host is not None else "0",
            **more,
        }


def can_verify() -> bool:
    """Whether the compilers are there."""
    return locate().host is not None
