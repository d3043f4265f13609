"""The built extension and this server in a real VS Code, asked through VS Code's own API.

`FERROTILE_EDITOR_TESTS=1` runs them, and installs what is missing; without it they skip. `FERROTILE_SHOTS=FOLDER` keeps
the pictures that the scripts take: `docs/images/` is made that way."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile_runner.toolchain import locate

from .code_server import ROOT, Workspace, build, chromium, fake_interpreter, install, real_interpreter, run_script

KERNELS = """\
import cuda.tile as ct


@ct.kernel
def add(a, b):
    pass


@ct.kernel
def bad(a):
    REFUSE
"""

pytestmark = [pytest.mark.editor, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def browser() -> str:
    found = chromium()
    install()
    build()
    return found


def example(name: str) -> dict[str, str]:
    return {name: (ROOT / "examples" / name).read_text(encoding="utf-8")}


def test_features(tmp_path: Path, browser: str) -> None:
    """Around a fake translator: nothing here needs a compiler."""
    workspace = Workspace({"kernels.py": KERNELS}, fake_interpreter(tmp_path))
    steps = run_script("features", workspace, tmp_path, browser, 240)
    expected = "lenses hover diagnostics actions preview edit verify translate restart end"
    assert steps == expected.split()


def test_verify_in_a_workspace_that_becomes_trusted(tmp_path: Path, browser: str) -> None:
    """An example: restricted first, then trusted, previewed, verified for real, and stale after an edit."""
    if locate().host is None:
        pytest.skip("NOT RUN: ferrotile-host is not built (run `ferrotile setup`)")
    workspace = Workspace(example("softmax.py"), real_interpreter(tmp_path), restricted=True)
    steps = run_script("verify", workspace, tmp_path, browser, 400)
    expected = "restricted trusted hover preview verdict hover stale end"
    assert [s.split()[0] for s in steps] == expected.split()


def test_refused_kernels(tmp_path: Path, browser: str) -> None:
    """Diagnostics of the real translator, each with its code, its page and a place."""
    workspace = Workspace(example("refused.py"), real_interpreter(tmp_path))
    found, end = run_script("refused", workspace, tmp_path, browser, 240)
    assert end == "end"
    assert len(found.split()) >= 3, found  # "diagnostics" and two codes or more
