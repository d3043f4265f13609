"""`ferrotile export` into a crate that has drafts: those that the ladder did not let pass are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from draft_support import EASY, REFUSED, RIGHT
from ferrotile.syntax.document import Document
from ferrotile_server.application import Application
from ferrotile_server.cli.main import main
from ferrotile_server.drafting.judgement import Judgement
from ferrotile_server.drafting.mark import About, marked
from ferrotile_server.drafting.task import digest_of, kernel_of

FILE = REFUSED + EASY
GOOD = Judgement("proved", (("proved", "passed"),))
BAD = Judgement("", (("proved", "failed"),), "proved failed: it differs")


@pytest.fixture
def crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A crate of a file with a kernel that is translated, and one that is not."""
    monkeypatch.chdir(tmp_path)
    Path("tiles.py").write_text(FILE, encoding="utf-8")
    assert main(["export", "tiles.py", "-o", "crate"]) == 1  # for the refused one
    assert Path("crate/src/tiles.rs").exists()
    return tmp_path / "crate"


def draft(judgement: Judgement, digest: str = "") -> str:
    core = Application()
    analysis = core.check_document(Document(FILE))
    now = digest or digest_of(analysis, kernel_of(analysis, "clear_tile"))
    return marked(RIGHT, judgement, About("m", "now", "tiles.py::clear_tile", "", now))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (draft(BAD), "a draft by AI, not verified"),
        (draft(GOOD).replace("let t =", "let u ="), "edited since it was proved"),
        (draft(GOOD, digest="of-another-kernel"), "has changed since it was proved"),
    ],
)
def test_what_is_not_verified_is_refused(crate: Path, text: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    (crate / "src" / "clear_tile.rs").write_text(text)
    before = {path: path.read_bytes() for path in crate.rglob("*") if path.is_file()}
    capsys.readouterr()
    assert main(["export", "tiles.py", "-o", "crate"]) == 2
    said = capsys.readouterr().err
    assert re.search(rf"src/clear_tile\.rs: .*{why}", said)
    assert {path: path.read_bytes() for path in crate.rglob("*") if path.is_file()} == before
    assert main(["export", "tiles.py", "-o", "crate", "--include-drafts"]) == 1
    assert "nothing is exported" not in capsys.readouterr().err


def test_a_verified_draft_stays_where_it_is(crate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (crate / "src" / "clear_tile.rs").write_text(draft(GOOD))
    assert main(["export", "tiles.py", "-o", "crate"]) == 1
    assert "nothing is exported" not in capsys.readouterr().err
    assert (crate / "src" / "clear_tile.rs").read_text() == draft(GOOD)
