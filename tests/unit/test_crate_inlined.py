"""Whose work a crate is, where kernels call functions of other files."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile.crate.attribution import heading
from ferrotile_server.cli.main import main

KERNELS = """\
# Copyright 2025 Kernel Writers
import cuda.tile as ct
from .maths import twice
from . import more
from .unused import never


# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T,)
@ct.kernel
def k(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, index=(i,), shape=(T,))
    ct.store(y, index=(i,), tile=more.added(twice(t)))
"""
FILES = {
    "p/__init__.py": "",
    "p/ops.py": KERNELS,
    "p/maths.py": "# Copyright 2019 M. Aths\n# SPDX-License-Identifier: MIT\n"
    "from .deep import by\n\n\ndef twice(t):\n    return by(t)\n",
    "p/deep.py": "# Copyright 2018 D. Eep\n\n\ndef by(t):\n    return t * 2.0\n",
    "p/more.py": "# Copyright 2025 Kernel Writers\n\n\ndef added(t):\n    return t + 1.0\n",
    "p/unused.py": "# Copyright 2020 N. Obody\n\n\ndef never(t):\n    return t\n",
}


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert main(["export", str(tmp_path / "p/ops.py"), "-o", str(tmp_path / "crate")]) == 0
    return tmp_path / "crate"


def test_owners_of_functions_that_are_inlined_are_named(crate: Path) -> None:
    rust = (crate / "src/ops.rs").read_text()
    head = rust[: rust.index("//!")]
    assert head == (
        "// Copyright 2025 Kernel Writers\n"
        "//\n// Functions of p/maths.py are inlined:\n//\n"
        "// Copyright 2019 M. Aths\n// SPDX-License-Identifier: MIT\n"
        "//\n// Functions of p/deep.py are inlined:\n//\n"
        "// Copyright 2018 D. Eep\n\n"
    )
    assert "N. Obody" not in rust


def test_the_notice_names_every_file(crate: Path) -> None:
    _, *entries = (crate / "NOTICE").read_text().split("\n\n")
    assert [entry.splitlines()[0] for entry in entries] == [
        f"src/ops.rs, from p/{name}.py" for name in ("ops", "more", "maths", "deep")
    ]
    assert "    SPDX-License-Identifier: MIT" in entries[2] and "    Copyright 2018 D. Eep" in entries[3]


def test_a_heading_of_files_that_say_nothing() -> None:
    assert heading("x = 1\n", [("a.py", "y = 2\n")]) == ""
    assert heading("", [("a.py", "# (c) 2020 A\n")]) == "// Functions of a.py are inlined:\n//\n// (c) 2020 A\n"
