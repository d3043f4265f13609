"""`ferrotile export` again and again: edits stay, Python changes come, `--check` tells which of them are due."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ferrotile_server.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LOAD = "    ty = ct.load(y, index=(i,), shape=(TILE,))\n"
ADD = "z.store(tx + ty);"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernels").mkdir()
    for name in ("vector_add.py", "silu_mul.py"):
        (tmp_path / "kernels" / name).write_text((EXAMPLES / name).read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(*more: str) -> int:
    return main(["export", "kernels", "-o", "crates/k", *more])


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_an_edit_and_a_change_of_the_python_come_together(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rust = project / "crates/k/src/vector_add.rs"
    assert export("--check") == 1
    assert not (project / "crates").exists()
    assert export() == 0 and export("--check") == 0
    rewrite(rust, f"        {ADD}", f"        // Ours: the sum.\n        {ADD}")
    assert export("--check") == 0
    rewrite(project / "kernels/vector_add.py", "def vector_add(x, y, z,", "def vector_add(first, y, z,")
    rewrite(project / "kernels/vector_add.py", "ct.load(x,", "ct.load(first,")
    capsys.readouterr()
    assert export("--check") == 1
    assert "vector_add.rs: would be merged" in capsys.readouterr().out
    assert export() == 0
    text = rust.read_text()
    assert "// Ours: the sum." in text and "first: &Tensor<f32, { [-1] }>" in text
    assert export("--check") == 0


def test_a_conflict_is_told_with_its_line_until_it_is_settled(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rust = project / "crates/k/src/vector_add.rs"
    export()
    rewrite(rust, ADD, "z.store(ty + tx);")
    rewrite(project / "kernels/vector_add.py", "tx + ty)", "tx - ty)")
    capsys.readouterr()
    assert export("--format", "json") == 1
    report = json.loads(capsys.readouterr().out)
    (file,) = (f for f in report["files"] if f["action"] == "conflict")
    lines = rust.read_text().splitlines()
    first, last = file["conflicts"][0]["first"], file["conflicts"][0]["last"]
    assert file["path"] == "src/vector_add.rs" and report["folder"] == "crates/k"
    assert [line.strip() for line in lines[first - 1 : last]] == [
        "<<<<<<< edited",
        "z.store(ty + tx);",
        "=======",
        "z.store(tx - ty);",
        ">>>>>>> generated",
    ]
    assert export("--check") == 1
    assert f"vector_add.rs:{first}: unresolved" in capsys.readouterr().out
    rust.write_text("\n".join([*lines[: first - 1], lines[last - 2], *lines[last:]]) + "\n")
    assert export() == 0 and export("--check") == 0


def test_a_renamed_and_a_deleted_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export()
    rewrite(project / "crates/k/src/vector_add.rs", f"        {ADD}", f"        // Ours.\n        {ADD}")
    (project / "kernels/vector_add.py").rename(project / "kernels/plus.py")
    (project / "kernels/silu_mul.py").unlink()
    capsys.readouterr()
    assert export() == 0
    out = capsys.readouterr().out
    assert "moved" in out and "from src/vector_add.rs" in out
    assert "// Ours." in (project / "crates/k/src/plus.rs").read_text()
    assert sorted(path.name for path in (project / "crates/k/src").glob("*_*.rs")) == []
    assert "silu_mul" not in (project / "crates/k/src/lib.rs").read_text()


def test_the_same_from_every_folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export()
    monkeypatch.chdir(project / "kernels")
    assert main(["export", ".", "-o", "../crates/k", "--check"]) == 0
    assert main(["export", str(project / "kernels"), "-o", str(project / "crates/k"), "--check"]) == 0


def test_the_owners_of_the_python_are_named_in_the_rust(project: Path) -> None:
    path = project / "kernels/vector_add.py"
    path.write_text("# Copyright (c) 2025 A. Person\n# SPDX-License-Identifier: MIT\n\n" + path.read_text())
    export()
    rust = (project / "crates/k/src/vector_add.rs").read_text()
    assert rust.startswith("// Copyright (c) 2025 A. Person\n// SPDX-License-Identifier: MIT\n\n//! ")
    notice = (project / "crates/k/NOTICE").read_text()
    assert "src/vector_add.rs, from kernels/vector_add.py\n    Copyright (c) 2025 A. Person\n" in notice
    assert "src/silu_mul.rs, from kernels/silu_mul.py\n    (the file names neither)\n" in notice


def test_what_is_left_out_by_mistake_is_not_taken_away(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rust = project / "crates/k/src/silu_mul.rs"
    export()
    one = ("export", "kernels/vector_add.py", "-o", "crates/k")
    assert main([*one]) == 2 and rust.exists()
    assert "also made of kernels: name that too" in capsys.readouterr().err
    assert main([*one, "--drop"]) == 0 and not rust.exists()
    assert main([*one, "--check"]) == 0
    assert export() == 0 and rust.exists()  # more may be named at any time


def test_a_file_that_cannot_be_read_takes_nothing_away(project: Path) -> None:
    export()
    (project / "kernels/silu_mul.py").write_bytes(b"# cuda kernel \xff\n")
    assert export() == 2 and (project / "crates/k/src/silu_mul.rs").exists()


def test_wrong_use(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project / "crates/k"
    folder.mkdir(parents=True)
    (folder / "Cargo.toml").write_text("[workspace]\nmembers = []\n")
    assert export() == 2
    assert "name a member" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        export("--module", "mod")


def test_into_a_crate_of_someone_else(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = project / "crates/k"
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text('[package]\nname = "their-crate"\nedition = "2021"\n')
    (folder / "src/lib.rs").write_text("//! Theirs.\n\nmod error;\n")
    (folder / "src/error.rs").write_text("")
    assert export("--module", "gpu") == 0
    assert (folder / "src/lib.rs").read_text() == "//! Theirs.\n\nmod error;\npub mod gpu;\n"
    assert "use crate::gpu::launch::" in (folder / "src/gpu/vector_add.rs").read_text()
    assert "cutile" in (folder / "Cargo.toml").read_text()
    assert "\nsrc/gpu/vector_add.rs, from kernels/vector_add.py\n" in (folder / "src/gpu/NOTICE").read_text()
    assert export("--module", "gpu", "--check") == 0
