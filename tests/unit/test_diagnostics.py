"""The catalogue and its pages say the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ferrotile.diagnostics.catalogue import CATALOGUE, diagnostic
from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.span import Span

ROOT = Path(__file__).resolve().parents[2]


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    pages = {p.stem for p in (ROOT / "docs/diagnostics").glob("FT*.md")}
    assert pages == set(CATALOGUE)


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_page_matches_catalogue(code: str) -> None:
    entry = CATALOGUE[code]
    page = (ROOT / entry.page).read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: {entry.title}\n")
    assert f"Severity: {entry.severity.value}\n" in page
    assert entry.action in page
    assert "## Example" in page and "## Fix" in page


def test_codes_are_well_formed_and_actions_are_sentences() -> None:
    for code, entry in CATALOGUE.items():
        assert code == entry.code and re.fullmatch(r"FT\d{3}", code)
        assert entry.action.endswith(".") and not entry.title.endswith(".")


def test_diagnostic_takes_severity_from_the_catalogue() -> None:
    assert diagnostic("FT106", "m", Span(1, 2)).severity is Severity.HINT
    assert diagnostic("FT001", "m", Span(1, 2)).severity is Severity.ERROR
    with pytest.raises(KeyError):
        diagnostic("FT999", "m", Span(0, 0))
