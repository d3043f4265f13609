"""One export after another into the same folder: each case of what was generated, what is there, and what is new."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ferrotile_runner.export.files import UnsafePath
from ferrotile_runner.export.outcome import Action, FileOutcome
from ferrotile_runner.export.record import HOME, RecordError
from ferrotile_runner.export.regenerate import ExportError, regenerate
from ferrotile_runner.export.sources import forgotten

ONE = "// one\nfn a() {}\n\n// two\nfn b() {}\n\n// three\nfn c() {}\n"
TWO = ONE.replace("fn c() {}", "fn c() { new() }")
A = "src/a.rs"


def only(folder: Path, files: dict[str, str | bytes], *, check: bool = False) -> FileOutcome:
    (outcome,) = regenerate(folder, files, check=check).files
    return outcome


def test_created_unchanged_updated_deleted(tmp_path: Path) -> None:
    assert only(tmp_path, {A: ONE}).action is Action.CREATED
    assert only(tmp_path, {A: ONE}).action is Action.UNCHANGED
    assert only(tmp_path, {A: TWO}).action is Action.UPDATED
    assert (tmp_path / A).read_text() == TWO
    assert only(tmp_path, {}).action is Action.DELETED
    assert not (tmp_path / "src").exists()
    assert regenerate(tmp_path, {}).files == ()


def test_an_edit_stays_when_something_else_changes(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    (tmp_path / A).write_text(ONE.replace("fn a() {}", "fn a() { mine() }"))
    assert only(tmp_path, {A: ONE}).action is Action.KEPT
    assert only(tmp_path, {A: TWO}).action is Action.MERGED
    text = "// one\nfn a() { mine() }\n\n// two\nfn b() {}\n\n// three\nfn c() { new() }\n"
    assert (tmp_path / A).read_text() == text
    assert only(tmp_path, {A: TWO}).action is Action.KEPT


def test_a_conflict_has_both_sides_and_its_lines_and_is_settled_once(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    mine = ONE.replace("fn c() {}", "fn c() { mine() }")
    (tmp_path / A).write_text(mine)
    outcome = only(tmp_path, {A: TWO})
    lines = (tmp_path / A).read_text().splitlines()
    (conflict,) = outcome.conflicts
    assert outcome.action is Action.CONFLICT and outcome.line == conflict.first == 8
    assert lines[7:12] == ["<<<<<<< edited", "fn c() { mine() }", "=======", "fn c() { new() }", ">>>>>>> generated"]
    assert conflict.last == 12

    again = only(tmp_path, {A: TWO.replace("// one", "// first")})
    assert again.action is Action.UNRESOLVED and again.line == 8
    assert (tmp_path / A).read_text().splitlines() == lines

    (tmp_path / A).write_text(mine)
    assert only(tmp_path, {A: TWO}).action is Action.KEPT
    assert only(tmp_path, {A: TWO.replace("// one", "// first")}).action is Action.MERGED
    assert (tmp_path / A).read_text() == mine.replace("// one", "// first")


def test_a_file_of_someone_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / A).write_text("fn mine() {}\n")
    assert only(tmp_path, {A: ONE}).action is Action.IN_THE_WAY
    assert (tmp_path / A).read_text() == "fn mine() {}\n"
    (tmp_path / A).write_text(ONE)
    assert only(tmp_path, {A: ONE}).action is Action.UNCHANGED
    assert only(tmp_path, {A: TWO}).action is Action.UPDATED


@pytest.mark.parametrize("kind", ["folder", "link", "parent"])
def test_folders_and_links_are_in_the_way_too(tmp_path: Path, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.rs").write_text("fn mine() {}\n")
    crate = tmp_path / "crate"
    crate.mkdir()
    match kind:
        case "folder":
            (crate / A).mkdir(parents=True)
        case "link":
            (crate / "src").mkdir()
            (crate / A).symlink_to(elsewhere / "a.rs")
        case _:
            (crate / "src").symlink_to(elsewhere)
    assert only(crate, {A: ONE}).action is Action.IN_THE_WAY
    assert (elsewhere / "a.rs").read_text() == "fn mine() {}\n"


def test_what_was_deleted_by_hand_stays_away(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    (tmp_path / A).unlink()
    assert only(tmp_path, {A: ONE}).action is Action.LEFT_OUT
    outcome = only(tmp_path, {A: TWO})
    assert outcome.action is Action.LEFT_OUT and not (tmp_path / A).exists()
    (tmp_path / HOME / "generated/src/a.rs.last").unlink()  # as `detail` says
    assert only(tmp_path, {A: TWO}).action is Action.CREATED


def test_an_edited_file_of_a_deleted_kernel_is_left_and_told_once(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    (tmp_path / A).write_text(ONE + "// mine\n")
    outcome = regenerate(tmp_path, {})
    assert outcome.failed and outcome.files[0].action is Action.ORPHANED
    assert (tmp_path / A).read_text() == ONE + "// mine\n"
    again = regenerate(tmp_path, {})
    assert again.up_to_date and again.files[0].action is Action.KEPT


def test_a_kernel_that_comes_back_finds_its_edits(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    mine = ONE.replace("// one", "// one, mine")
    (tmp_path / A).write_text(mine)
    regenerate(tmp_path, {})
    regenerate(tmp_path, {})
    assert only(tmp_path, {A: TWO}).action is Action.MERGED
    assert (tmp_path / A).read_text() == TWO.replace("// one", "// one, mine")
    regenerate(tmp_path, {})
    (tmp_path / A).unlink()
    assert regenerate(tmp_path, {}).files[0].action is Action.DELETED
    assert regenerate(tmp_path, {}).files == ()


def test_edits_follow_a_renamed_file(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    (tmp_path / A).write_text(ONE.replace("// two", "// two, mine"))
    renamed = TWO.replace("fn a()", "fn anew()")
    new, old = sorted(regenerate(tmp_path, {"src/z.rs": renamed}).files, key=lambda f: f.action.value, reverse=True)
    assert (new.action, old.action) == (Action.MOVED, Action.DELETED)
    assert (tmp_path / "src/z.rs").read_text() == renamed.replace("// two", "// two, mine")
    assert not (tmp_path / A).exists()


def test_a_conflict_is_settled_before_its_file_is_renamed(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    mine = ONE.replace("fn c() {}", "fn c() { mine() }")
    (tmp_path / A).write_text(mine)
    only(tmp_path, {A: TWO})
    outcome = regenerate(tmp_path, {"src/z.rs": TWO})
    assert [file.action for file in outcome.files] == [Action.UNRESOLVED, Action.UNRESOLVED]
    assert not (tmp_path / "src/z.rs").exists()
    (tmp_path / A).write_text(mine)
    assert [file.action for file in regenerate(tmp_path, {"src/z.rs": TWO}).files] == [Action.DELETED, Action.MOVED]
    assert (tmp_path / "src/z.rs").read_text() == mine


def test_a_file_that_is_no_likeness_is_no_rename(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    (tmp_path / A).write_text(ONE + "// mine\n")
    outcome = regenerate(tmp_path, {"src/z.rs": "fn other() {}\nfn entirely() {}\n"})
    assert {f.path: f.action for f in outcome.files} == {A: Action.ORPHANED, "src/z.rs": Action.CREATED}


def test_binary_files_are_replaced_unless_a_person_did(tmp_path: Path) -> None:
    path = "tests/data/a.npz"
    assert only(tmp_path, {path: b"\0one"}).action is Action.CREATED
    assert only(tmp_path, {path: b"\0two"}).action is Action.UPDATED
    (tmp_path / path).write_bytes(b"\0mine")
    assert only(tmp_path, {path: b"\0two"}).action is Action.KEPT
    assert only(tmp_path, {path: b"\0three"}).action is Action.CONFLICT
    assert (tmp_path / path).read_bytes() == b"\0mine"
    assert only(tmp_path, {path: b"\0three"}).action is Action.KEPT
    (tmp_path / path).unlink()
    left = only(tmp_path, {path: b"\0three"})
    assert left.action is Action.LEFT_OUT and "record.json" in left.detail
    (tmp_path / path).write_bytes(b"\0mine")
    assert only(tmp_path, {}).action is Action.ORPHANED
    assert only(tmp_path, {}).action is Action.KEPT


def test_line_ends_of_a_windows_checkout_are_no_edit_and_stay(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    for path in (A, f"{HOME}/generated/{A}.last"):
        (tmp_path / path).write_bytes(ONE.replace("\n", "\r\n").encode())
    assert only(tmp_path, {A: ONE}).action is Action.UNCHANGED
    assert only(tmp_path, {A: TWO}).action is Action.UPDATED
    assert (tmp_path / A).read_bytes() == TWO.replace("\n", "\r\n").encode()
    (tmp_path / A).write_bytes(TWO.replace("// one", "// mine").replace("\n", "\r\n").encode())
    assert only(tmp_path, {A: TWO.replace("// three", "// 3")}).action is Action.MERGED
    text = TWO.replace("// one", "// mine").replace("// three", "// 3")
    assert (tmp_path / A).read_bytes() == text.replace("\n", "\r\n").encode()


def test_a_check_writes_nothing_and_says_what_an_export_would_do(tmp_path: Path) -> None:
    crate = tmp_path / "crate"
    assert only(crate, {A: ONE}, check=True).action is Action.CREATED
    assert not crate.exists()
    only(crate, {A: ONE})
    assert regenerate(crate, {A: ONE}, check=True).up_to_date
    (crate / A).write_text(ONE + "// mine\n")
    assert regenerate(crate, {A: ONE}, check=True).up_to_date
    asked = regenerate(crate, {A: TWO.replace("// one", "// first")}, check=True)
    assert not asked.up_to_date and not asked.written
    assert (crate / A).read_text() == ONE + "// mine\n"
    assert regenerate(crate, {A: TWO.replace("// one", "// first")}).files == asked.files


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    only(tmp_path, {"build.sh": "echo one\n"})
    os.chmod(tmp_path / "build.sh", 0o750)
    only(tmp_path, {"build.sh": "echo two\n"})
    assert (tmp_path / "build.sh").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("path", ["/etc/a", "../a", "src/../../a", "", "a\\b", "src//a", f"{HOME}/record.json"])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(UnsafePath):
        regenerate(tmp_path / "crate", {path: "x"})


def test_a_record_that_git_could_not_merge_is_not_believed(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    copy = tmp_path / HOME / "generated/src/a.rs.last"
    copy.write_text("<<<<<<< HEAD\nfn a() {}\n=======\nfn b() {}\n>>>>>>> other\n")
    with pytest.raises(RecordError, match="take either side"):
        regenerate(tmp_path, {A: TWO})
    assert (tmp_path / A).read_text() == ONE
    (tmp_path / HOME / "record.json").write_text("<<<<<<< HEAD\n")
    with pytest.raises(RecordError, match="restore it"):
        regenerate(tmp_path, {A: TWO})


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "crate").write_text("")
    with pytest.raises(ExportError, match="no folder"):
        regenerate(tmp_path / "crate", {A: ONE})


def test_without_git_only_what_needs_a_merge_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {A: ONE, "src/b.rs": ONE}
    regenerate(tmp_path, files)
    (tmp_path / A).write_text(ONE + "// mine\n")
    monkeypatch.setenv("PATH", "")
    outcome = regenerate(tmp_path, {A: TWO, "src/b.rs": TWO})
    assert [file.action for file in outcome.files] == [Action.CONFLICT, Action.UPDATED]
    assert "install it" in outcome.files[0].detail and (tmp_path / A).read_text() == ONE + "// mine\n"
    monkeypatch.undo()
    changed = TWO.replace("// one", "// first")
    assert regenerate(tmp_path, {A: changed, "src/b.rs": changed}).files[0].action is Action.CONFLICT


def test_settings_of_git_and_a_repository_around_change_no_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("[merge]\nconflictStyle = diff3\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    only(tmp_path / "crate", {A: ONE})
    (tmp_path / "crate" / A).write_text(ONE.replace("fn c() {}", "fn c() { mine() }"))
    only(tmp_path / "crate", {A: TWO})
    assert "|||||||" not in (tmp_path / "crate" / A).read_text()


@pytest.mark.parametrize(
    ("recorded", "named", "missing"),
    [
        ("../k", ["../k"], False),
        ("../k/a.py", ["../k"], False),
        ("../k/a.py", ["../.."], False),
        ("../k/a.py::f", ["../k/a.py"], False),
        ("../k/a.py::f", ["../k/a.py::f", "../x"], False),
        ("../k/a.py::f", ["../k/a.py::g"], True),
        ("../k/a.py", ["../k/a.py::f"], True),
        ("../k", ["../k/a.py"], True),
        ("../k", ["../kk"], True),
        ("../gone.py", [], False),
    ],
)
def test_what_an_export_leaves_out(tmp_path: Path, recorded: str, named: list[str], missing: bool) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k/a.py").write_text("")
    assert forgotten(tmp_path / "crate", [recorded], named) == ([recorded] if missing else [])


def test_what_comes_in_between_is_not_overwritten(tmp_path: Path) -> None:
    regenerate(tmp_path, {A: ONE, "src/b.rs": ONE})

    def slow(source: str, target: str) -> None:
        os.replace(source, target)
        if target.endswith("journal.json"):
            (tmp_path / "src/b.rs").write_text(ONE + "// saved a moment ago\n")

    outcome = regenerate(tmp_path, {A: TWO, "src/b.rs": TWO}, replace_file=slow)
    assert [file.action for file in outcome.files] == [Action.UPDATED, Action.CONFLICT]
    assert (tmp_path / "src/b.rs").read_text() == ONE + "// saved a moment ago\n"


KILLED = """
import os, sys
from pathlib import Path
from ferrotile_runner.export.regenerate import regenerate

def replace(source, target):
    if target.endswith("b.rs"):
        os.kill(os.getpid(), 9)
    os.replace(source, target)

regenerate(Path(sys.argv[1]), {"src/a.rs": "two\\n", "src/b.rs": "two\\n"}, replace_file=replace)
"""


def test_an_export_that_is_killed_leaves_whole_files_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    paths = ("src/a.rs", "src/b.rs")
    regenerate(tmp_path, dict.fromkeys(paths, "one\n"))
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [(tmp_path / path).read_text() for path in paths] == ["two\n", "one\n"]
    assert list(tmp_path.rglob(".*.partial"))
    (tmp_path / "src/a.rs").write_text("two\n// mine\n")  # based on what was written, not on what was there before
    files: dict[str, str | bytes] = dict.fromkeys(paths, "two\n")
    assert {f.path: f.action for f in regenerate(tmp_path, files).files}["src/b.rs"] is Action.UPDATED
    assert not list(tmp_path.rglob(".*.partial")) and not (tmp_path / HOME / "journal.json").exists()
    assert (tmp_path / "src/a.rs").read_text() == "two\n// mine\n"
    assert regenerate(tmp_path, files, check=True).up_to_date


def test_what_an_interrupted_export_deleted_was_not_deleted_by_hand(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {A: ONE, "src/b.rs": ONE, "src/c.bin": b"\0"}
    regenerate(tmp_path, files)

    def failing(source: str, target: str) -> None:
        if target.endswith("d.rs"):
            raise KeyboardInterrupt
        os.replace(source, target)

    with pytest.raises(KeyboardInterrupt):
        regenerate(tmp_path, {"src/d.rs": "fn other() {}\n"}, replace_file=failing)
    assert not list((tmp_path / "src").glob("[abc]*"))
    assert {file.action for file in regenerate(tmp_path, files).files} == {Action.CREATED}


def test_the_report_for_machines(tmp_path: Path) -> None:
    only(tmp_path, {A: ONE})
    (tmp_path / A).write_text(ONE.replace("fn c() {}", "fn c() { mine() }"))
    report = json.loads(json.dumps(regenerate(tmp_path, {A: TWO}).to_json()))
    assert report["failed"] and not report["up_to_date"] and report["written"]
    (file,) = report["files"]
    assert (file["path"], file["action"], file["conflicts"]) == (A, "conflict", [{"first": 8, "last": 12}])
