"""A fault is shown by the shortest text that still has it."""

from __future__ import annotations

from minimise import minimise

TEXT = """a = 1
b = 2
if a:
    c = 3
    if b:
        d = 4
    e = 5
f = 6
"""


def test_only_what_the_fault_needs_stays() -> None:
    assert minimise(TEXT, lambda t: "b = 2" in t and "f = 6" in t) == "b = 2\nf = 6\n"


def test_a_line_inside_keeps_what_it_stands_in() -> None:
    def shows(text: str) -> bool:
        try:
            compile(text, "text", "exec")
        except SyntaxError:
            return False
        return "d = 4" in text

    assert minimise(TEXT, shows) == "if a:\n    if b:\n        d = 4\n"


def test_tries_are_limited_and_the_result_has_the_fault() -> None:
    asked = []

    def shows(text: str) -> bool:
        asked.append(text)
        return "f = 6" in text

    found = minimise(TEXT, shows, tries=2)
    assert len(asked) == 2
    assert "f = 6" in found
