"""The files around a file: which belong to its project, what their names mean, and what the commands make of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile_runner import project
from ferrotile_runner.project import Files, Projects, names_for, python_files, root_of
from ferrotile_server.cli.main import main

OPS = """import cuda.tile as ct
from .maths import twice


@ct.kernel
def k(x, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, (i,), twice(ct.load(x, (i,), (T,))))
"""
MATHS = "raise SystemExit('the file was run')\ndef twice(t):\n    return t + t\n"
RUN = """import torch
import cuda.tile as ct
from p.ops import k
ct.launch(0, (8,), k, (torch.zeros(256, dtype=torch.float16), 32))
"""
FILES = {"pyproject.toml": "", "p/__init__.py": "", "p/ops.py": OPS, "p/maths.py": MATHS, "tools/run.py": RUN}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_the_root_is_the_nearest_that_says_so_else_above_the_package(tmp_path: Path) -> None:
    write(tmp_path, {"a/.git/config": "", "a/b/pyproject.toml": "", "a/b/c/x.py": "", "a/y.py": ""})
    write(tmp_path, {"q/r/__init__.py": "", "q/r/s/__init__.py": "", "q/r/s/z.py": "", "q/alone.py": ""})
    assert root_of(tmp_path / "a/b/c/x.py") == tmp_path / "a/b"
    assert root_of(tmp_path / "a/y.py") == tmp_path / "a"
    assert root_of(tmp_path / "q/r/s/z.py") == tmp_path / "q"
    assert root_of(tmp_path / "q/alone.py") is None
    assert root_of(tmp_path / "q/alone.py", [tmp_path / "q"]) == tmp_path / "q"


def test_a_project_is_bounded_and_the_nearest_files_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {f"far/{i}.py": "" for i in range(5)} | {"near/a.py": "", "near/b.py": "", "venv/c.py": ""})
    found = python_files(tmp_path, tmp_path / "near/a.py")
    assert [p.name for p in found[:2]] == ["a.py", "b.py"]
    assert len(found) == 7
    monkeypatch.setattr(project, "MOST_FILES", 3)
    assert len(python_files(tmp_path, tmp_path / "near/a.py")) == 3
    assert [p.name for p in python_files(None, tmp_path / "near/b.py")] == ["b.py", "a.py"]


def test_a_name_in_several_folders_means_the_one_beside_the_file() -> None:
    paths = [Path(p) for p in ("/r/a/common.py", "/r/a/run.py", "/r/b/common.py", "/r/c/go.py", "/r/only.py")]
    from_b, _ = names_for(Path("/r/b/common.py"), paths)
    assert from_b["common"] == "/r/b/common.py"
    assert from_b["only"] == "/r/only.py"
    from_c, _ = names_for(Path("/r/c/go.py"), paths)
    assert "common" not in from_c


def test_folders_without_init_are_packages_below_the_file_and_the_root() -> None:
    paths = [Path(p) for p in ("/r/run.py", "/r/a/b/ops.py", "/r/a/c.py", "/r/not-a-name/d.py", "/r/p/__init__.py")]
    paths += [Path("/r/p/q.py"), Path("/r/p/s/t.py")]
    names, packages = names_for(Path("/r/run.py"), paths)
    assert names["a.b.ops"] == "/r/a/b/ops.py" and names["a.c"] == "/r/a/c.py"
    assert names["p.q"] == "/r/p/q.py" and packages == {"p"}
    assert not any("not-a-name" in n for n in names)
    from_inside, _ = names_for(Path("/r/a/c.py"), paths, Path("/r"))
    assert from_inside["a.b.ops"] == from_inside["b.ops"] == "/r/a/b/ops.py"


def test_a_file_has_the_name_that_imports_mean(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": "", "a/b/ops.py": OPS, "a/b/maths.py": MATHS, "a/alone.py": "x = 1\n"})
    write(tmp_path, {"run.py": RUN.replace("p.ops", "a.b.ops")})
    projects = Projects()
    inside, alone = projects.around(tmp_path / "a/b/ops.py"), projects.around(tmp_path / "a/alone.py")
    assert inside is not None and inside.name == "a.b.ops"
    assert alone is not None and alone.name == "alone"


def test_files_are_read_anew_when_they_change_and_buffers_win(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("from b import c\n")
    files, name = Files(), path.as_posix()
    first = files.document(name)
    assert first is not None and files.document(name) is first
    assert files.words(name) == {"from", "b", "import", "c"}
    path.write_text("import other\n")
    assert files.document(name) is first
    files.renew([name])
    assert files.words(name) == {"import", "other"}
    buffer = Document("import third\n")
    files.override({name: buffer})
    assert files.document(name) is buffer and "third" in files.words(name)
    files.override({})
    assert "other" in files.words(name)
    path.unlink()
    files.renew()
    assert files.document(name) is None and files.words(name) == frozenset()


def test_a_large_file_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "LARGEST_FILE", 10)
    (tmp_path / "a.py").write_text("import something\n")
    assert Files().document((tmp_path / "a.py").as_posix()) is None


@pytest.mark.timeout(20)
def test_a_pipe_is_not_there(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")  # opened, it would be waited for without end
    assert Files().document((tmp_path / "a.py").as_posix()) is None


def test_the_digest_follows_every_file_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    before = Projects().digest(tmp_path / "p/ops.py")
    assert Projects().digest(tmp_path / "p/ops.py") == before
    (tmp_path / "p/maths.py").write_text(MATHS + "#\n")
    assert Projects().digest(tmp_path / "p/ops.py") != before


def test_check_uses_helpers_and_launches_of_the_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, FILES)
    assert main(["check", "-v", str(tmp_path / "p/ops.py")]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["x", "f16[D0]", "launch"] in rows
    assert ["T", "32", "launch"] in rows
    assert ["grid", "(8)", "launch", "at", "run:4"] in rows


def test_a_missing_helper_is_told_with_the_file_that_was_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, FILES | {"p/maths.py": "def other(t):\n    return t\n"})
    assert main(["check", str(tmp_path / "p/ops.py")]) == 1
    assert "FT205 error: `twice` is not known: `p/maths.py` does not define `twice`" in capsys.readouterr().out


def test_coverage_sees_what_check_sees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, FILES)
    assert main(["coverage", str(tmp_path / "p"), "--fresh", "-j", "1"]) == 0
    assert "100.0 %" in capsys.readouterr().out
