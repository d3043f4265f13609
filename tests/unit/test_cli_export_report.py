"""What `ferrotile export` says of each file, and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from ferrotile_runner.export.outcome import Action, Conflict, FileOutcome, Outcome
from ferrotile_server.cli.export_report import as_json, as_text, exit_code, shown
from ferrotile_server.cli.output import Style

PLAIN = Style(False)
CRATE = Path("crate")
SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs/schema/export.json").read_text(encoding="utf-8"))


def of(*actions: Action, written: bool = True) -> Outcome:
    return Outcome(tuple(FileOutcome(f"src/{n}.rs", a) for n, a in enumerate(actions)), written=written)


@pytest.mark.parametrize("action", list(Action))
def test_exit_codes(action: Action) -> None:
    needs_a_person = action in (Action.CONFLICT, Action.UNRESOLVED, Action.IN_THE_WAY, Action.ORPHANED)
    same = action in (Action.UNCHANGED, Action.KEPT, Action.LEFT_OUT)
    assert exit_code(of(action)) == int(needs_a_person)
    assert exit_code(of(action, written=False)) == int(not same)


def test_a_conflict_is_a_place_that_editors_follow() -> None:
    conflict = FileOutcome("src/a.rs", Action.CONFLICT, "choose", (Conflict(8, 12),))
    outcome = Outcome((conflict, FileOutcome("b", Action.IN_THE_WAY, "move")))
    first, second, last = as_text(CRATE, outcome, PLAIN).splitlines()
    assert first == f"{CRATE / 'src/a.rs'}:8: conflict: choose"
    assert second == f"{CRATE / 'b'}: in the way: move"
    assert last == "2 files in crate: 1 conflict, 1 in the way"


def test_a_line_a_file_that_is_not_as_it_was() -> None:
    text = as_text(CRATE, of(Action.CREATED, Action.UNCHANGED, Action.KEPT, Action.DELETED), PLAIN)
    assert [line.split()[0] for line in text.splitlines()] == ["created", "deleted", "4"]
    check = as_text(CRATE, of(Action.UPDATED, Action.UNCHANGED, written=False), PLAIN).splitlines()
    assert check[0] == f"{CRATE / 'src/0.rs'}: would be updated" and "not up to date" in check[1]
    assert as_text(CRATE, of(Action.UNCHANGED, written=False), PLAIN) == "crate: up to date"


@pytest.mark.parametrize("action", list(Action))
def test_every_action_has_words(action: Action) -> None:
    for written in (True, False):
        assert as_text(CRATE, of(action, written=written), PLAIN)


@pytest.mark.parametrize("action", list(Action))
def test_the_schema_knows_all_that_is_printed(action: Action) -> None:
    outcome = Outcome((FileOutcome("src/a.rs", action, "why", (Conflict(8, 12),)),), ("a note",))
    jsonschema.validate(json.loads(as_json(CRATE, outcome)), SCHEMA)


def test_annotations_for_github(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    conflict = FileOutcome("src/a,b.rs", Action.CONFLICT, "100% yours", (Conflict(8, 12),))
    files = (conflict, FileOutcome("c", Action.UPDATED), FileOutcome("d", Action.KEPT))
    after, check = Outcome(files, ("look",)), Outcome(files, written=False)
    head = "::error file=crate/src/a%2Cb.rs,line=8,title=Exported Rust%3A conflict::100%25 yours"
    assert shown(CRATE, after, "github", PLAIN).splitlines() == [head, "::notice title=Exported Rust::look"]
    second = "::error file=crate/c,title=Exported Rust%3A updated::would be updated: run `ferrotile export`"
    assert shown(CRATE, check, "github", PLAIN).splitlines() == [head, second]


def test_json_names_the_folder() -> None:
    report = json.loads(as_json(CRATE, of(Action.MERGED)))
    assert report["folder"] == "crate" and report["files"][0]["action"] == "merged" and not report["failed"]
