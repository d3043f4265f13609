"""Places of both programs as places of both sources: slices that are indented otherwise, helpers, expressions that
start at one place."""

from __future__ import annotations

import threading

import pytest
from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from ferrotile_runner.report import Difference, Place, difference_json
from ferrotile_runner.rungs.explanation import detail, explain
from ferrotile_runner.rungs.subject import Subject
from ferrotile_runner.tileir.model import Location
from ferrotile_runner.tileir.refinement import Difference as TermDifference
from ferrotile_runner.tileir.refinement import Side
from msgspec.structs import replace

SOURCE = '''"""Docs."""
import cuda.tile as ct


def factory():
    # ferrotile: x: f32[N], y: f32[N], grid=(N/16,)
    @ct.kernel
    def k(x, y):
        i = ct.bid(0)
        t = ct.load(x, (i,), (16,))
        u = "é", t * t - t + 1.0
        ct.store(y, (i,), t)

    return k
'''
RUST = """mod k {
    fn load_row(x: &Tensor) -> Tile {
        load_view_tko(x, 0)
    }

    fn k(x: &Tensor, y: &mut Tensor) {
        for j in 0..4 {
            let u = load_row(x) * two(x, 1) + x;
        }
    }
}
"""


@pytest.fixture(scope="module")
def subject() -> Subject:
    document = Document(SOURCE)
    module = parse_module(document)
    (kernel,) = translate_document(document).kernels
    (function,) = find_kernels(module)
    return Subject(document, module, function, replace(kernel, rust=RUST), "sm_90", threading.Event())


def python(subject: Subject, text: str, operation: str, column: int = 0) -> Place | None:
    """Shows the operation at a text of the kernel's slice, as cuTile Python gives its place: in bytes."""
    from ferrotile_runner.slice import slice_source

    assert subject.function is not None
    lines = slice_source(subject.module, subject.function).text.split("\n")
    row = next(n for n, line in enumerate(lines) if text in line)
    at = len(lines[row][: lines[row].index(text)].encode())
    side = Side("", Location("kernel_0.py", row + 1, at + column), operation)
    return explain(subject, TermDifference("y", "words", side))[0].python


def test_a_place_of_the_slice_is_one_of_the_file(subject: Subject) -> None:
    line = SOURCE.splitlines().index("        t = ct.load(x, (i,), (16,))") + 1
    assert python(subject, "ct.load(", "load") == Place(line, 13, "ct.load(x, (i,), (16,))")


def test_of_expressions_that_start_at_one_place_the_operator_tells(subject: Subject) -> None:
    line = SOURCE.splitlines().index('        u = "é", t * t - t + 1.0') + 1
    column = '        u = "é", t * t - t + 1.0'.index("t * t") + 1  # in characters
    shown = {op: python(subject, "t * t", op) for op in ("mulf", "subf", "addf")}
    assert shown["mulf"] == Place(line, column, "t * t")
    assert shown["subf"] == Place(line, column, "t * t - t")
    assert shown["addf"] == Place(line, column, "t * t - t + 1.0")


def test_what_a_helper_of_cutile_does_is_where_it_is_called(subject: Subject) -> None:
    place = python(subject, "ct.load(", "load")
    assert place is not None
    inside = Location("_stub.py", 678, 15, caller=Location("kernel_0.py", 0, 0))
    from ferrotile_runner.slice import slice_source

    assert subject.function is not None
    lines = slice_source(subject.module, subject.function).text.split("\n")
    row = next(n for n, line in enumerate(lines) if "ct.load(" in line)
    caller = Location("kernel_0.py", row + 1, lines[row].index("ct.load("))
    side = Side("", replace(inside, caller=caller), "load")
    assert explain(subject, TermDifference("y", "words", side))[0].python == place


def rust(subject: Subject, location: Location, operation: str) -> Place | None:
    return explain(subject, TermDifference("y", "words", None, Side("", location, operation)))[0].rust


ENTRY = Location("kernel.rs", 6, 4)


def test_a_helper_of_the_rust_is_shown_where_the_entry_calls_it(subject: Subject) -> None:
    at = RUST.splitlines()[7].index("load_row")
    inside = Location("kernel.rs", 3, 8, Location("kernel.rs", 8, at, ENTRY))
    assert rust(subject, inside, "load") == Place(8, at + 1, "load_row(x) * two(x, 1) + x")
    assert rust(subject, inside, "mulf") == Place(8, at + 1, "load_row(x) * two(x, 1)")
    head = Location("kernel.rs", 7, 8, ENTRY)
    assert rust(subject, head, "for") == Place(7, 9, "for j in 0..4")


def test_places_outside_of_both_texts_are_not_shown(subject: Subject) -> None:
    assert rust(subject, Location("core.rs", 3, 8), "load") is None
    assert rust(subject, Location("kernel.rs", 400, 8), "load") is None
    found, span = explain(subject, TermDifference("", "no rule: an unsigned loop"))
    assert (found.python, found.rust, found.words) == (None, None, "no rule: an unsigned loop")
    assert span == subject.kernel.name_span


def test_the_detail_and_the_report_say_the_same() -> None:
    place = Place(3, 5, "a + b")
    found = TermDifference("y", "w", Side("(x + 1)", Location("", 1, 1)), Side("takes 2", Location("", 1, 1)))
    difference = Difference(place, Place(7, 1, "a - b"), "y: w")
    assert detail(difference, found).splitlines() == [
        "y: w",
        "Python line 3: `a + b` is (x + 1)",
        "Rust line 7: `a - b` takes 2",
    ]
    made = difference_json(replace(difference, rust=None))
    assert made == {"python": {"line": 3, "column": 5, "text": "a + b"}, "rust": None, "words": "y: w"}
