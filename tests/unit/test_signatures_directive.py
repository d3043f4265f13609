"""The directive's grammar and its errors."""

from __future__ import annotations

import pytest
from ferrotile.program.dtypes import BF16, F16, F32
from ferrotile.signatures.directive import Directive, read_directive
from ferrotile.signatures.values import Term
from ferrotile.syntax.document import Document
from hypothesis import given
from hypothesis import strategies as st


def read(text: str) -> tuple[Directive, Document]:
    document = Document(text + "\n")
    return read_directive(document.comments), document


def test_all_forms() -> None:
    directive, _ = read(
        "# ferrotile: x: f16[M, 64], w: bfloat16[], s: f32, TM=128, E=-1.5e-3, B=True, MODE='a,b', N_=None\n"
        "# another comment\n# ferrotile: grid=(M/TM * cdiv(N, 32), B*H, 2)"
    )
    assert not directive.diagnostics
    assert [(n, d.dtype, d.extents) for n, d in directive.declared.items()] == [
        ("x", F16, ("M", 64)), ("w", BF16, ()), ("s", F32, None),
    ]  # fmt: skip
    assert {n: v for n, (v, _) in directive.constants.items()} == {
        "TM": 128, "E": -1.5e-3, "B": True, "MODE": "a,b", "N_": None,
    }  # fmt: skip
    assert directive.grid == ((Term("M", "TM"), Term("N", 32)), (Term("B"), Term("H")), (Term(2),))


def test_grid_over_two_lines() -> None:
    directive, _ = read("# ferrotile: grid=(M/32,\n# ferrotile:   N/64), T=1")
    assert directive.grid == ((Term("M", 32),), (Term("N", 64),)) and "T" in directive.constants


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("# é ferrotile: x", None),
        ("#ferrotile: x: f23[M]", "f23"),
        ("# ferrotile: é: f32[M, ?]", "?"),
        ("# ferrotile: x f32", "f32"),
        ("# ferrotile: T=foo", "foo"),
        ("# ferrotile: 3: f32", "3"),
        ("# ferrotile: x: f32[1.5]", "1.5"),
        ("# ferrotile: grid=(A, B, C, D)", "grid"),
        ("# ferrotile: grid=(M/0)", "0"),
        ("# ferrotile: x: f32, x: f16", "x"),
        ("# ferrotile: T=1 2", "2"),
    ],
)
def test_errors_are_told_at_their_place(text: str, place: str | None) -> None:
    directive, document = read(text)
    assert [document.slice(d.span) for d in directive.diagnostics] == ([] if place is None else [place])
    assert all(d.code == "FT104" for d in directive.diagnostics)


def test_an_error_leaves_the_other_entries() -> None:
    directive, _ = read("# ferrotile: x: f23[M, N], T=64, y: f32[M], grid=(M/T")
    assert set(directive.declared) == {"y"} and directive.constants["T"][0] == 64
    assert len(directive.diagnostics) == 2


@given(st.text(alphabet="xM=:,[]()/*123.-'\"é f32grid#\t ", max_size=40))
def test_any_directive_is_read_without_raising(text: str) -> None:
    directive, document = read("# ferrotile:" + text)
    for found in directive.diagnostics:
        assert 0 <= found.span.start <= found.span.end <= len(document.data)
