"""Into a crate that is someone else's: one module more, and every line of theirs as it was."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest
from ferrotile_runner.export.existing import ExportError, module_folder
from ferrotile_runner.export.outcome import Action, Outcome
from ferrotile_runner.export.record import HOME
from ferrotile_runner.export.regenerate import regenerate

MANIFEST = """\
[package]
name = "their-crate"
version = "2.0.0"
edition = "2021"

[dependencies]
anyhow = "1" # errors
"""
LIB = "//! Theirs.\n\nmod error;\n\npub use error::Error;\n"
WHOLE = """\
[package]
name = "gen-kernels"
version = "0.1.0"
edition = "2024"

[dependencies]
cutile = "0.5"

[dev-dependencies]
npyz = "0.8"
"""
GENERATED: dict[str, str | bytes] = {
    "Cargo.toml": WHOLE,
    "README.md": "# Kernels\n",
    ".gitignore": "/target\n",
    "src/lib.rs": "//! See [`crate::rows`].\n\npub mod launch;\npub mod rows;\n",
    "src/launch.rs": "pub struct Launch;\n",
    "src/rows.rs": 'use crate::launch::Launch;\n\npub const SAID: &str = "crate::launch, gen_kernels::rows";\n',
    "tests/kernels/main.rs": "mod common;\nmod rows;\n",
    "tests/kernels/rows.rs": "use crate::common;\nuse gen_kernels::rows;\n",
    "tests/kernels/common.rs": "//! Shared.\n",
    "tests/kernels/data/rows.bin": b"\0\1",
    "python/Cargo.toml": '[package]\nname = "gen-kernels-python"\n\n[dependencies]\ngen-kernels = { path = ".." }\n',
    "python/src/lib.rs": "mod call;\n\nfn f() {\n    gen_kernels::rows::run();\n}\n",
    "examples/run.rs": "fn main() {\n    let _ = gen_kernels::rows::SAID;\n}\n",
}


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs"
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(MANIFEST)
    (folder / "src/lib.rs").write_text(LIB)
    (folder / "src/error.rs").write_text("pub struct Error;\n")
    return folder


def actions(outcome: Outcome) -> dict[str, Action]:
    return {file.path: file.action for file in outcome.files}


def theirs(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in ("Cargo.toml", "src/lib.rs", "src/error.rs")}


def test_one_module_one_line_and_what_is_missing(crate: Path) -> None:
    assert module_folder(crate, "kernels") == "src/kernels"
    outcome = regenerate(crate, GENERATED)
    assert not outcome.failed
    assert actions(outcome) == {
        "Cargo.toml": Action.UPDATED,
        "src/lib.rs": Action.UPDATED,
        "src/kernels/README.md": Action.CREATED,
        "src/kernels/mod.rs": Action.CREATED,
        "src/kernels/launch.rs": Action.CREATED,
        "src/kernels/rows.rs": Action.CREATED,
        "tests/kernels/main.rs": Action.CREATED,
        "tests/kernels/rows.rs": Action.CREATED,
        "tests/kernels/common.rs": Action.CREATED,
        "tests/kernels/data/rows.bin": Action.CREATED,
        "examples/kernels_run.rs": Action.CREATED,
        "python/Cargo.toml": Action.CREATED,
        "python/src/lib.rs": Action.CREATED,
    }
    assert (crate / "src/lib.rs").read_text() == LIB.replace("mod error;\n", "mod error;\npub mod kernels;\n")
    assert tomllib.loads((crate / "Cargo.toml").read_text()) == {
        **tomllib.loads(MANIFEST),
        "dependencies": {"anyhow": "1", "cutile": "0.5"},
        "dev-dependencies": {"npyz": "0.8"},
    }
    assert not (crate / ".gitignore").exists() and (crate / HOME).exists()


def test_paths_in_code_and_documentation_lead_into_the_module(crate: Path) -> None:
    regenerate(crate, GENERATED)
    assert (
        (crate / "src/kernels/mod.rs")
        .read_text()
        .startswith("//! See [`crate::kernels::rows`].\n#![allow(missing_docs)]\n\npub mod launch;\n")
    )
    rows = (crate / "src/kernels/rows.rs").read_text()
    assert rows.startswith("use crate::kernels::launch::Launch;")
    assert '"crate::launch, gen_kernels::rows"' in rows  # a string is what the program says
    test = "use crate::common;\nuse their_crate::kernels::rows;\n"  # the tests are a crate of their own
    assert (crate / "tests/kernels/rows.rs").read_text() == test
    assert "their_crate::kernels::rows::SAID" in (crate / "examples/kernels_run.rs").read_text()
    # The package for Python is a crate of its own, which uses theirs by its package's name.
    manifest = tomllib.loads((crate / "python/Cargo.toml").read_text())
    assert manifest["package"]["name"] == "gen-kernels-python"
    assert manifest["dependencies"] == {"their-crate": {"path": ".."}}
    library = "mod call;\n\nfn f() {\n    their_crate::kernels::rows::run();\n}\n"
    assert (crate / "python/src/lib.rs").read_text() == library


def test_again_changes_nothing_and_edits_stay(crate: Path) -> None:
    regenerate(crate, GENERATED)
    before = theirs(crate)
    assert regenerate(crate, GENERATED).up_to_date and theirs(crate) == before
    rows = crate / "src/kernels/rows.rs"
    rows.write_text(rows.read_text() + "\n// mine\n")
    lib = crate / "src/lib.rs"
    lib.write_text(lib.read_text() + "\n// theirs, later\n")
    newer = {**GENERATED, "src/rows.rs": str(GENERATED["src/rows.rs"]).replace("Launch;", "Launch as L;", 1)}
    outcome = regenerate(crate, newer)
    assert actions(outcome)["src/kernels/rows.rs"] is Action.MERGED
    assert rows.read_text().startswith("use crate::kernels::launch::Launch as L;") and "// mine" in rows.read_text()
    assert lib.read_text() == before["src/lib.rs"] + "\n// theirs, later\n"


def test_a_dependency_of_another_version_is_a_conflict_with_its_line(crate: Path) -> None:
    (crate / "Cargo.toml").write_text(MANIFEST + 'cutile = "0.4"\n')
    outcome = regenerate(crate, GENERATED)
    (manifest,) = (file for file in outcome.files if file.path == "Cargo.toml")
    assert outcome.failed and manifest.action is Action.CONFLICT
    line = (crate / "Cargo.toml").read_text().splitlines().index('cutile = "0.4"') + 1
    assert manifest.line == line and '"0.5" is needed' in manifest.detail
    assert not regenerate(crate, GENERATED, check=True).up_to_date


def test_a_line_that_was_taken_out_stays_out(crate: Path) -> None:
    regenerate(crate, GENERATED)
    (crate / "src/lib.rs").write_text(LIB)
    outcome = regenerate(crate, GENERATED)
    assert (crate / "src/lib.rs").read_text() == LIB
    assert any("taken out by hand" in note for note in outcome.notes)


def test_another_name_for_the_module(crate: Path) -> None:
    regenerate(crate, GENERATED)
    outcome = regenerate(crate, GENERATED, module="gpu")
    assert "pub mod gpu;" in (crate / "src/lib.rs").read_text()
    assert "pub mod kernels;" not in (crate / "src/lib.rs").read_text()
    assert actions(outcome)["src/gpu/rows.rs"] is Action.CREATED
    assert not (crate / "src/kernels").exists()


@pytest.mark.parametrize("there", ["mod kernels;\n", "pub mod kernels {}\n", None])
def test_a_module_of_theirs_is_not_taken(crate: Path, there: str | None) -> None:
    if there is None:
        (crate / "src/kernels.rs").write_text("// theirs\n")
    else:
        (crate / "src/lib.rs").write_text(LIB + there)
    before = theirs(crate)
    with pytest.raises(ExportError, match="--module"):
        regenerate(crate, GENERATED)
    assert theirs(crate) == before and not (crate / HOME).exists()
    assert not regenerate(crate, GENERATED, module="gpu").failed


def test_a_program_has_no_tests_from_outside(crate: Path) -> None:
    (crate / "src/lib.rs").rename(crate / "src/main.rs")
    outcome = regenerate(crate, GENERATED)
    assert "\nmod kernels;\n" in (crate / "src/main.rs").read_text()
    assert not (crate / "tests").exists() and "tests/kernels/rows.rs" in outcome.notes[0]


def test_a_member_takes_what_its_workspace_has(crate: Path) -> None:
    root = crate.parent / "Cargo.toml"
    root.write_text('[workspace]\nmembers = ["theirs"]\n\n[workspace.dependencies]\ncutile = "0.5.0"\n')
    (crate / "Cargo.toml").write_text(MANIFEST.replace('edition = "2021"', "edition.workspace = true"))
    outcome = regenerate(crate, GENERATED)
    assert tomllib.loads((crate / "Cargo.toml").read_text())["dependencies"]["cutile"] == {"workspace": True}
    (manifest,) = (file for file in outcome.files if file.path == "Cargo.toml")
    assert "edition 2015" in manifest.detail  # the workspace names none
    assert root.read_text().count("cutile") == 1


@pytest.mark.parametrize(
    ("workspace", "joined"),
    [
        ('members = ["crates/*"]', True),
        ('members = ["./crates/new"]', True),
        ('members = []\nexclude = ["crates"]', True),
        ('members = ["crates"]', False),
        ('members = ["*"]', False),
        ("", False),
    ],
)
def test_a_new_crate_in_a_workspace_says_when_it_is_no_member(tmp_path: Path, workspace: str, joined: bool) -> None:
    (tmp_path / "Cargo.toml").write_text(f"[workspace]\n{workspace}\n")
    outcome = regenerate(tmp_path / "crates/new", GENERATED)
    assert not outcome.failed
    assert bool(outcome.notes) != joined
    assert joined or 'add "crates/new" to the `members`' in outcome.notes[0]


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("[workspace]\nmembers = []\n", "name a member"),
        ("[package\n", "Cargo.toml"),
        ('[package]\nname = "x"\n', "neither"),
    ],
)
def test_folders_that_cannot_take_a_module(tmp_path: Path, manifest: str, said: str) -> None:
    (tmp_path / "Cargo.toml").write_text(manifest)
    with pytest.raises(ExportError, match=said):
        regenerate(tmp_path, GENERATED)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Cargo.toml"]


def test_what_an_export_says_nothing_of_stays(crate: Path, tmp_path: Path) -> None:
    recorded = ("tests/kernels/rows.rs", "tests/kernels/data")
    lean = {path: content for path, content in GENERATED.items() if not path.startswith(recorded)}
    for folder in (crate, tmp_path / "new"):
        regenerate(folder, GENERATED)
        (folder / "tests/kernels/rows.rs").write_text("// mine\n")
        assert regenerate(folder, lean, undecided=recorded).up_to_date
        assert regenerate(folder, GENERATED).up_to_date
        assert (folder / "tests/kernels/rows.rs").read_text() == "// mine\n"
        assert actions(regenerate(folder, lean))["tests/kernels/data/rows.bin"] is Action.DELETED


def test_line_ends_of_theirs_stay(crate: Path) -> None:
    for name in ("Cargo.toml", "src/lib.rs"):
        (crate / name).write_bytes((crate / name).read_bytes().replace(b"\n", b"\r\n"))
    assert not regenerate(crate, GENERATED).failed
    for name in ("Cargo.toml", "src/lib.rs"):
        data = (crate / name).read_bytes()
        assert data.count(b"\n") == data.count(b"\r\n")


def test_a_crate_of_ferrotile_without_its_record_is_not_taken_for_another(tmp_path: Path) -> None:
    regenerate(tmp_path, GENERATED)
    shutil.rmtree(tmp_path / HOME)
    assert regenerate(tmp_path, GENERATED).up_to_date  # all is as generated: the record is made anew
    shutil.rmtree(tmp_path / HOME)
    manifest = tmp_path / "Cargo.toml"
    manifest.write_text(manifest.read_text() + "\n[features]\nx = []\n")
    with pytest.raises(ExportError, match="restore it from version control"):
        regenerate(tmp_path, GENERATED)
    assert not (tmp_path / "src/kernels").exists()


def test_a_crate_of_ferrotile_is_merged_as_a_whole(tmp_path: Path) -> None:
    assert module_folder(tmp_path, "kernels") == "src"
    regenerate(tmp_path, GENERATED)
    text = (tmp_path / "Cargo.toml").read_text()
    (tmp_path / "Cargo.toml").write_text(text.replace("[dependencies]", '[dependencies]\nanyhow = "1"\n', 1))
    outcome = regenerate(tmp_path, {**GENERATED, "README.md": "# New\n"})
    assert actions(outcome)["Cargo.toml"] is Action.KEPT and actions(outcome)["README.md"] is Action.UPDATED
    assert module_folder(tmp_path, "kernels") == "src" and not (tmp_path / "src/kernels").exists()
