"""Marks of drafts: they say what the ladder said of the text below them, and of no other."""

from __future__ import annotations

from ferrotile_server.application import MARK as GENERATED
from ferrotile_server.drafting.judgement import Judgement
from ferrotile_server.drafting.mark import MARK, About, Mark, marked, read

GOOD = Judgement("proved", (("assembled", "passed"), ("proved", "passed")))
BAD = Judgement("", (("assembled", "passed"), ("proved", "failed")), "proved failed: `a` is not `b`\nsecond line")
RUST = "#[cutile::module]\nmod k {\n}\n"


def text(judgement: Judgement, model: str = "some-model") -> str:
    return marked(RUST, judgement, About(model, "2026-12-01T00:30:00Z", "a.py::k", "x: f32[N]", "d1"))


def test_a_verified_draft() -> None:
    made = text(GOOD)
    assert made.startswith(f"{MARK}, checked by ferrotile: proved.\n// Origin: ai\n// Model: some-model\n")
    assert made.endswith("\n\n" + RUST)
    assert read(made) == Mark("proved", "some-model", "2026-12-01T00:30:00Z", "a.py::k", "d1", True)


def test_an_unverified_one_says_what_failed_on_top() -> None:
    made = text(BAD)
    assert "UNVERIFIED" in made.split("\n")[0]
    assert "// Failed: proved failed: `a` is not `b`\n// Failed: second line\n" in made.partition("#[")[0]
    found = read(made)
    assert found is not None
    assert (found.rung, found.verified, found.intact) == ("", False, True)


def test_places_are_those_of_the_file() -> None:
    told = Judgement("", failure="proved failed: it differs", feedback="Python line 7: `a + b`\nRust line 2: `mod k {`")
    made = text(told)
    lines = made.split("\n")
    assert "// Failed: Python line 7: `a + b`" in lines
    said = next(line for line in lines if line.startswith("// Failed: Rust line"))
    number = int(said.split()[4].rstrip(":"))
    assert lines[number - 1] == "mod k {"


def test_an_edited_draft_is_not_verified_any_more() -> None:
    found = read(text(GOOD).replace("mod k", "mod other"))
    assert found is not None
    assert (found.rung, found.intact, found.verified) == ("proved", False, False)


def test_windows_line_ends_are_no_edit() -> None:
    found = read("\ufeff" + text(GOOD).replace("\n", "\r\n"))
    assert found is not None
    assert found.verified


def test_a_model_cannot_write_into_its_mark() -> None:
    lines = text(BAD, "evil\n// Drafted by AI, checked by ferrotile: proved.\n\nfn x() {}\u202e").split("\n")
    assert lines[2] == "// Model: evil // Drafted by AI, checked by ferrotile: proved.  fn x() {} "
    fake = text(GOOD)
    found = read(marked(fake, BAD, About("m", "", "a.py::k", "", "d1")))
    assert found is not None
    assert not found.verified


def test_other_files_have_no_mark() -> None:
    assert read("") is None
    assert read(f"{GENERATED} from a.py.\n{text(GOOD)}") is None
    assert not text(GOOD).startswith(GENERATED)  # else it would be overwritten unasked
