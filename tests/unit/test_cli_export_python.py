"""`ferrotile export --python`: asked for once, kept up to date, taken out when asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from ferrotile_server.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = ["Cargo.toml", "README.md", "k.pyi", "pyproject.toml", "src/call.rs", "src/lib.rs", "src/tensor.rs"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "add.py").write_text((EXAMPLES / "vector_add.py").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def export(*more: str) -> int:
    return main(["export", "add.py", "-o", "k", *more])


def package(project: Path) -> list[str]:
    folder = project / "k/python"
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_it_is_there_when_it_was_asked_for_once(project: Path) -> None:
    assert export() == 0 and package(project) == []
    assert export("--python", "--check") == 1 and package(project) == []
    assert export("--python") == 0 and package(project) == FILES
    source = project / "add.py"
    source.write_text(source.read_text().replace("TILE", "SIZE"))
    assert export("--check") == 1
    assert export() == 0 and export("--check") == 0
    assert "size = 1024" in (project / "k/python/src/lib.rs").read_text()


def test_it_goes_when_it_is_not_wanted_but_edits_stay(project: Path) -> None:
    assert export("--python") == 0
    mine = project / "k/python/README.md"
    mine.write_text(mine.read_text() + "Mine.\n")
    assert export("--no-python") == 1  # a file that someone edited is left, and said
    assert package(project) == ["README.md"] and mine.read_text().endswith("Mine.\n")


def test_edits_of_the_package_are_merged(project: Path) -> None:
    assert export("--python") == 0
    library = project / "k/python/src/lib.rs"
    library.write_text(library.read_text().replace("GPU kernels in cuTile Rust.", "Our kernels."))
    source = project / "add.py"
    source.write_text(source.read_text().replace("TILE", "SIZE"))
    assert export() == 0
    text = library.read_text()
    assert "Our kernels." in text and "size = 1024" in text


def test_into_a_crate_that_is_there(project: Path) -> None:
    (project / "k/src").mkdir(parents=True)
    manifest = '[package]\nname = "their-crate"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\n'
    (project / "k/Cargo.toml").write_text(manifest)
    (project / "k/src/lib.rs").write_text("//! Theirs.\n")
    assert export("--python") == 0 and package(project) == FILES
    assert 'their-crate = { path = ".." }' in (project / "k/python/Cargo.toml").read_text()
    assert "their_crate::kernels::add::vector_add_op(" in (project / "k/python/src/lib.rs").read_text()
    assert export("--check") == 0
