"""Diagnostics as text: line, column, source line and carets."""

from __future__ import annotations

import pytest
from ferrotile.diagnostics.model import Diagnostic, Fix, Severity
from ferrotile.syntax.span import Span
from ferrotile_server.cli.output import Style
from ferrotile_server.cli.places import place_of, render

PLAIN = Style(on=False)


def diagnostic(start: int, end: int) -> Diagnostic:
    return Diagnostic("FT203", Severity.ERROR, "no common type", Span(start, end))


def test_source_line_and_carets() -> None:
    text = "a = 1\nb = a + x\n"
    assert render("k.py", text, diagnostic(10, 15), PLAIN) == (
        "k.py:2:5: FT203 error: no common type\n2 | b = a + x\n  |     ^^^^^"
    )


def test_columns_count_characters() -> None:
    text = "é = '😀' + x\n"
    start = text.encode().index(b"x")
    place = place_of(text, Span(start, start + 1))
    assert (place.line, place.column, place.length) == (1, 11, 1)


def test_tabs_keep_carets_in_place() -> None:
    lines = render("k.py", "\tx\n", diagnostic(1, 2), PLAIN).split("\n")
    assert lines[1].index("x") == lines[2].index("^")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    text = f"first{end}second{end}third"
    start = text.encode().index(b"second")
    place = place_of(text, Span(start, start + 100))
    assert (place.line, place.column, place.text, place.length) == (2, 1, "second", 6)


def test_span_of_several_lines_is_cut_at_the_first() -> None:
    assert place_of("f(a,\n  b)\n", Span(0, 9)).length == 4


@pytest.mark.parametrize("span", [Span(0, 0), Span(3, 3), Span(99, 120)])
def test_total(span: Span) -> None:
    assert place_of("ab\n", span).length == 1
    assert place_of("", span).line == 1


def test_notes_and_fix_are_shown() -> None:
    found = Diagnostic(
        "FT101",
        Severity.WARNING,
        "dtype unknown",
        Span(0, 1),
        ((Span(2, 3), "used here"),),
        Fix("insert a directive", Span(0, 0), "# ferrotile:"),
    )
    text = render("k.py", "x\ny\n", found, PLAIN)
    assert "note: k.py:2:1: used here" in text
    assert "fix: insert a directive" in text


def test_colour_only_when_asked() -> None:
    assert "\x1b" not in render("k.py", "x", diagnostic(0, 1), PLAIN)
    assert "\x1b[1;31m" in render("k.py", "x", diagnostic(0, 1), Style(on=True))
