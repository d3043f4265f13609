"""Every operation of cuTile Python: each conformance row reaches its rung, or is refused where and as it should be.

Rows are in `rows_*.py`. All that are selected go through one `cargo check` and two warm sessions.
"""

from __future__ import annotations

import importlib
import inspect
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.inputs import cases
from ferrotile_runner.launch_grid import rust_grid
from ferrotile_runner.launch_words import words_of
from ferrotile_runner.parameter_words import rust_words
from ferrotile_runner.report import KernelReport, RungStatus
from ferrotile_runner.rungs.subject import Subject
from ferrotile_runner.session import Session
from ferrotile_runner.tileir.interpreter import run
from ferrotile_runner.toolchain import locate
from ferrotile_runner.verify import verify_kernel
from rows import ASSEMBLED, PROVED, SIMULATED, TYPE_CHECKED, Array, Row

pytestmark = pytest.mark.timeout(1800)

HERE = Path(__file__).parent
ROWS: dict[str, Row] = {
    row.name: row
    for path in sorted(HERE.glob("rows_*.py"))
    for row in getattr(importlib.import_module(path.stem), "ROWS", ())
}
TRANSLATED = [n for n, r in ROWS.items() if not r.refused]
REFUSED = [n for n, r in ROWS.items() if r.refused]
RUNGS = {
    TYPE_CHECKED: ("type-checked",),
    ASSEMBLED: ("type-checked", "assembled"),
    SIMULATED: ("type-checked", "assembled", "simulated"),
    PROVED: ("type-checked", "assembled", "proved"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row's report, and what the translation computes on one launch with hard values, if it can be run here."""

    report: KernelReport
    inputs: Mapping[str, Array] | None = None
    outputs: Mapping[str, Array] | None = None
    written: Mapping[str, Array] | None = None


def _translated(row: Row) -> tuple[Document, KernelTranslation]:
    document = Document(row.source)
    (kernel,) = translate_document(document, Options(unsafe=row.unsafe)).kernels
    return document, kernel


def _verify(session: Session, row: Row) -> Outcome:
    document, kernel = _translated(row)
    wanted = RUNGS[row.expect]
    rungs = (*wanted, "simulated") if row.expect == PROVED else wanted
    report = verify_kernel(document, kernel, rungs, session.toolchain, session=session, target=row.target)
    if not row.references or report.rungs["type-checked"].status is not RungStatus.PASSED:
        return Outcome(report)
    return _computed(session, document, kernel, row, report)


def _verify_all(session: Session, rows: Sequence[Row]) -> dict[str, Outcome]:
    return {row.name: _verify(session, row) for row in rows}


def _computed(
    session: Session, document: Document, kernel: KernelTranslation, row: Row, report: KernelReport
) -> Outcome:
    """Runs the translation alone in the simulator."""
    assert kernel.signature is not None and kernel.entry is not None
    module = parse_module(document)
    subject = Subject(document, module, module.function(kernel.name), kernel, row.target, threading.Event())
    entry = session.rust_entry(subject)
    case = next(c for c in cases(kernel.signature, kernel.entry.hypotheses, {"N": 16}) if c.name == "hard values")
    grid = rust_grid(kernel.entry.parameters, {k: a.shape for k, a in case.arrays.items()}, case.grid)
    result = run(entry, words_of(rust_words(kernel.entry), case), grid)
    return Outcome(report, case.arrays, result.arrays, result.written)


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Outcome]]:
    """Outcomes of the rows that the selected tests ask for."""
    items = [i for i in request.session.items if isinstance(i, pytest.Function) and i.module is request.module]
    names = {str(i.callspec.params.get("name")) for i in items if hasattr(i, "callspec")}
    rows = [row for name, row in ROWS.items() if name in names and not row.refused]
    toolchain = locate()
    texts = [k.rust for k in (_translated(row)[1] for row in rows) if k.rust is not None]
    with Session(toolchain) as first, Session(toolchain) as second:
        first.check_types(texts)
        for text in texts:
            second.know_types(text, first.rustc_errors(text))
        with ThreadPoolExecutor(2) as pool:
            halves = list(pool.map(_verify_all, (first, second), (rows[::2], rows[1::2])))
    yield {**halves[0], **halves[1]}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    row = ROWS[name]
    document, kernel = _translated(row)
    errors = [d for d in kernel.diagnostics if d.severity is Severity.ERROR]
    assert kernel.rust is None and errors, "not refused"
    first = errors[0]
    place = document.data[first.span.start : first.span.end].decode()
    assert (first.code, place) == (row.expect, row.at), first.message


@pytest.mark.compilers
@pytest.mark.parametrize("name", TRANSLATED)
def test_rung_is_reached(outcomes: Mapping[str, Outcome], name: str) -> None:
    row, report = ROWS[name], outcomes[name].report
    assert report.rungs["translated"].status is RungStatus.PASSED, report.diagnostics
    if row.unsafe == "never":
        assert (report.unsafe.proved, report.unsafe.assumed) == (0, 0)
    for rung in RUNGS[row.expect]:
        result = report.rungs[rung]
        assert result.status is RungStatus.PASSED, f"{rung}: {result.detail}"
    if row.expect == PROVED:
        simulated = report.rungs["simulated"]
        assert simulated.status in (RungStatus.PASSED, RungStatus.SKIPPED), f"simulated: {simulated.detail}"


@pytest.mark.compilers
@pytest.mark.parametrize("name", [n for n in TRANSLATED if ROWS[n].references])
def test_values_are_numpys(outcomes: Mapping[str, Outcome], name: str) -> None:
    row, outcome = ROWS[name], outcomes[name]
    if outcome.outputs is None or outcome.inputs is None or outcome.written is None:
        pytest.skip("the simulator cannot run it")
    inputs = {k.removesuffix("_"): _widened(v) for k, v in outcome.inputs.items() if k.endswith("_")}
    for output, reference in row.references.items():
        names = inspect.signature(reference).parameters
        known = [inputs[p] for p in names if p in inputs] or list(inputs.values())[: len(names)]
        with np.errstate(all="ignore"):
            exact = np.asarray(reference(*known))
        wrong = _disagree(exact, outcome.outputs[output], outcome.written[output])
        assert not wrong.any(), (
            f"{output}: {outcome.outputs[output][wrong][0]} for {exact[wrong][0]}, "
            f"inputs {[i[wrong][0] for i in inputs.values()]}"
        )


def _widened(values: Array) -> Array:
    """Floats as f64, integers and bools as Python's own integers."""
    if values.dtype.kind in "iub":
        return np.array([int(v) for v in values.ravel()], dtype=object).reshape(values.shape)
    return values.astype(np.float64)


def _disagree(exact: Array, actual: Array, written: Array) -> Array:
    """Elements that are not the exact value: integers modulo their width, floats within a few units in the last
    place, infinite and NaN alike."""
    if actual.dtype.kind == "b":
        return written & (exact.astype(bool) != actual)
    if actual.dtype.kind in "iu":
        bits = 8 * actual.dtype.itemsize
        wrapped = np.array([int(a) % 2**bits != int(e) % 2**bits for a, e in zip(actual, exact, strict=True)])
        return written & wrapped
    info = ml_dtypes.finfo(actual.dtype)
    with np.errstate(all="ignore"):
        wide, wanted = actual.astype(np.float64), exact.astype(np.float64)
        fitted = wanted.astype(actual.dtype).astype(np.float64)
        close = np.abs(wide - wanted) <= 4 * float(info.eps) * np.abs(wanted) + float(info.tiny)
        same = (wide == fitted) | (np.isnan(wide) & np.isnan(fitted)) | close
    return written & ~same


# Names

HOST = frozenset(
    [
        "ByTarget", "DType", "kernel", "function", "launch", "compiler_timeout", "compilation", "tune", "jax",
        "foreign_pointer_dtype", "TileError", "StaticException",
    ]
)  # fmt: skip
"""Names that only host code uses, or that name no operation."""
ANNOTATIONS = frozenset(["IndexedWithInt64", "ListAnnotation", "TiledView"])
"""Names that only annotations of parameters use; signatures have tests of their own."""


def _used(pattern: str) -> set[str]:
    return {name for row in ROWS.values() for name in re.findall(pattern, row.source)}


def _public() -> set[str]:
    tile = pytest.importorskip("cuda.tile")
    names = {n for n in dir(tile) if not n.startswith("_") and not inspect.ismodule(getattr(tile, n))}
    return {n for n in names if not (inspect.isclass(getattr(tile, n)) and issubclass(getattr(tile, n), Exception))}


@pytest.mark.compilers
def test_every_public_name_has_a_row() -> None:
    missing = _public() - _used(r"ct\.(\w+)") - HOST - ANNOTATIONS
    assert not missing, sorted(missing)


@pytest.mark.compilers
@pytest.mark.parametrize("receiver", ["Array", "Tile", "TiledView", "RawArrayMemory"])
def test_every_method_has_a_row(receiver: str) -> None:
    tile = pytest.importorskip("cuda.tile")
    stub = importlib.import_module("cuda.tile._stub")
    kind = getattr(tile, receiver, None) or getattr(stub, receiver)
    members = {n for n in vars(kind) if not n.startswith("_")}
    missing = members - _used(r"\.(\w+)")
    assert not missing, sorted(missing)


@pytest.mark.compilers
def test_every_member_of_an_enumeration_has_a_row() -> None:
    tile = pytest.importorskip("cuda.tile")
    enums = ("RoundingMode", "PaddingMode", "MemoryOrder", "MemoryScope")
    members = {f"{e}.{m}" for e in enums for m in getattr(tile, e).__members__}
    missing = members - _used(r"ct\.(\w+\.\w+)")
    assert not missing, sorted(missing)
