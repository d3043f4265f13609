"""The JSON report against its schema."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.program.dtypes import F32
from ferrotile.signatures.model import (
    ArrayArgument,
    ConstantArgument,
    GridFactor,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile.syntax.document import Document
from ferrotile.syntax.span import Span
from ferrotile.translation import Entry, KernelTranslation, Output, SourceMap, UnsafeCount
from ferrotile_runner.report import (
    Difference,
    KernelReport,
    Place,
    Rung,
    RungResult,
    RungStatus,
    kernel_report,
    signature_text,
    to_json,
)

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schema" / "report.json").read_text())
TEXT = "import cuda.tile as ct\n\n@ct.kernel\ndef é(x): ü = 1\n"
SIGNATURE = Signature(
    "é",
    (
        ArrayArgument("x", F32, ("M", 4), Source.DIRECTIVE),
        ScalarArgument("s", F32, Source.USAGE),
        ConstantArgument("T", 8, Source.ASSUMED),
    ),
    ((GridFactor("M", 8),), (GridFactor(3),)),
)


def report(**rungs: RungResult) -> KernelReport:
    document = Document(TEXT)
    start = TEXT.encode().index("é".encode())
    kernel = KernelTranslation(
        "é", "cutile", Span(24, 50), Span(start, start + 2), SIGNATURE, None, "mod k {}",
        Entry("k", "m", (), ()), (Output("x", "owned", "its own tile"),), UnsafeCount(1, 2), SourceMap(),
        (diagnostic("FT403", "contracted", Span(start + 7, start + 9)),),
    )  # fmt: skip
    named = {Rung(name.replace("_", "-")): result for name, result in rungs.items()}
    failed = diagnostic("FT504", "not proved equal", Span(start, start + 2))
    return kernel_report(document, kernel, named, (failed,), "k.py")


def test_a_report_fits_the_schema() -> None:
    made = to_json(
        [
            report(
                translated=RungResult(RungStatus.PASSED),
                type_checked=RungResult(RungStatus.TIMEOUT, "60 s", 6e4),
                matched=RungResult(RungStatus.PASSED, "H200", 3.0, 0.25),
            )
        ]
    )
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(made)))
    (kernel,) = json.loads(json.dumps(made))["kernels"]
    assert kernel["line"] == 4
    assert kernel["rungs"]["matched"] == {"status": "passed", "detail": "H200", "ms": 3.0, "time_ratio": 0.25}
    assert kernel["rungs"]["proved"] == {"status": "skipped", "detail": "not asked for", "ms": 0.0}
    assert [(d["code"], d["line"], d["column"]) for d in kernel["diagnostics"]] == [
        ("FT403", 4, 11),
        ("FT504", 4, 5),
    ]


def test_what_a_proof_failed_at_is_in_the_report() -> None:
    difference = Difference(Place(12, 9, "x - m"), None, "y: the Rust does not subtract")
    failed = RungResult(RungStatus.FAILED, "y: ...", 1.0, difference=difference)
    made = json.loads(json.dumps(to_json([report(translated=RungResult(RungStatus.PASSED), proved=failed)])))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.validate(made)
    found = made["kernels"][0]["rungs"]["proved"]["difference"]
    assert found == {
        "python": {"line": 12, "column": 9, "text": "x - m"},
        "rust": None,
        "words": "y: the Rust does not subtract",
    }
    del found["words"]
    assert not validator.is_valid(made)


@pytest.mark.parametrize(
    "path",
    [(), ("tool",), ("kernels", 0), ("kernels", 0, "unsafe"), ("kernels", 0, "outputs", 0),
     ("kernels", 0, "rungs"), ("kernels", 0, "rungs", "proved"), ("kernels", 0, "diagnostics", 0)],
)  # fmt: skip
def test_the_schema_is_strict(path: tuple[str | int, ...]) -> None:
    made = json.loads(json.dumps(to_json([report(translated=RungResult(RungStatus.PASSED))])))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    validator.validate(made)
    place = broken = copy.deepcopy(made)
    for step in path:
        place = place[step]
    place["surprise"] = 1
    assert not validator.is_valid(broken)
    del place["surprise"]
    place.pop(next(iter(place)))
    assert not validator.is_valid(broken)


def test_statuses_are_their_names() -> None:
    assert RungStatus.PASSED == "passed" and {"timeout": 1}[RungStatus.TIMEOUT] == 1
    assert [r.value for r in Rung] == list(SCHEMA["$defs"]["kernel"]["properties"]["rungs"]["required"])
    assert not report(translated=RungResult(RungStatus.PASSED), proved=RungResult(RungStatus.SKIPPED)).failed
    assert report(proved=RungResult(RungStatus.CRASHED)).failed


def test_signature_in_a_directives_words() -> None:
    assert signature_text(SIGNATURE) == "x: f32[M, 4], s: f32, T=8, grid=(M/8, 3)"
    assert signature_text(None) == ""
