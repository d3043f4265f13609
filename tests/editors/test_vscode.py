"""The built extension and this server in a real VS Code, asked through VS Code's own API and by what it draws.

`FERROTILE_EDITOR_TESTS=1` installs what is missing; without it they run where it is there. `FERROTILE_SHOTS=FOLDER`
keeps the pictures that the scripts take: `docs/images/` is made that way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .code_server import (
    ROOT,
    CodeServer,
    Workspace,
    build,
    chromium,
    fake_interpreter,
    install,
    names,
    real_interpreter,
)
from .installing import can_verify

HEAD = "import cuda.tile as ct\n"
KERNEL = "\n\n@ct.kernel\ndef {}(a):\n    {}\n"
KERNELS = HEAD + "".join(KERNEL.format(n, b) for n, b in (("add", "pass"), ("bad", "REFUSE"), ("wrong", "pass")))
OTHER = HEAD + "".join(KERNEL.format(n, "pass") for n in ("differs", "slow"))
CELLS = (
    "import cuda.tile as ct\n",
    "@ct.kernel\ndef celled(a, b):\n    pass\n\n@ct.kernel\ndef faulty(a):\n    REFUSE\n",
)
PLAIN = "def nothing():\n    pass\n"
PORT = "// ferrotile: kernels.py::add\n#[cutile::module]\nmod port {\n    fn port() { SWAPPED }\n}\n"

FEATURES = (
    "nothing started",
    "lenses",
    "hover",
    "diagnostics",
    "preview",
    "discovered",
    "passed",
    "stale, and back",
    "failed",
    "fixed",
    "cancelled",
    "expected and actual",
    "verified by its lens",
    "run by its lens",
    "cancelled by its lens",
    "notebook",
    "translated",
    "rust",
    "restarted",
    "end",
)
VERIFY = "refused restricted trusted preview lines verdict hover stale target failed end"

pytestmark = [pytest.mark.editor, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeServer]:
    browser = chromium()
    install()
    build()
    server = CodeServer(tmp_path_factory.mktemp("code"), browser)
    try:
        yield server
    finally:
        server.close()


def notebook(*cells: str) -> str:
    """A notebook with these code cells."""
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    python = {"language_info": {"name": "python"}}
    made = [{**code, "id": f"c{n}", "source": text.splitlines(keepends=True)} for n, text in enumerate(cells)]
    return json.dumps({"cells": made, "metadata": python, "nbformat": 4, "nbformat_minor": 5})


def example(name: str) -> str:
    return (ROOT / "examples" / name).read_text(encoding="utf-8")


def test_features(tmp_path: Path, code: CodeServer) -> None:
    """Around a fake translator: nothing here needs a compiler."""
    files = {"plain.py": PLAIN, "kernels.py": KERNELS, "other.py": OTHER, "cells.ipynb": notebook(*CELLS)}
    files |= {"port.rs": PORT, "main.rs": "fn main() {}\n"}
    steps = code.run("features", Workspace(files, fake_interpreter(tmp_path)), 240)
    assert names(steps) == list(FEATURES)


def test_verify_in_a_workspace_that_becomes_trusted(tmp_path: Path, code: CodeServer) -> None:
    """Examples, restricted first, then trusted: refused kernels, and one that is proved, and stale after an edit."""
    if not can_verify():
        pytest.skip("NOT RUN: ferrotile-host is not built (run `ferrotile setup`)")
    files = {name: example(name) for name in ("softmax.py", "refused.py")}
    workspace = Workspace(files, real_interpreter(tmp_path), restricted=True)
    steps = code.run("verify", workspace, 400)
    assert [step.split()[0] for step in steps] == VERIFY.split()
    assert len(names(steps)[0].split()) >= 3, steps[0]  # "refused" and two codes or more
