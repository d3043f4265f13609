"""What the ladder says about a kernel, and its JSON form (`docs/schema/report.json`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding, LineTable
from ferrotile.translation import KernelTranslation, Origin, Output, UnsafeCount
from msgspec import Struct

VERSION = 1
TOOL = "ferrotile"

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


class Rung(StrEnum):
    """The rungs of the ladder, lowest first."""

    TRANSLATED = "translated"
    TYPE_CHECKED = "type-checked"
    ASSEMBLED = "assembled"
    PROVED = "proved"
    SIMULATED = "simulated"
    MATCHED = "matched"


class RungStatus(StrEnum):
    """What became of a rung. Values are those of the JSON report."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"
    CRASHED = "crashed"


class Place(Struct, frozen=True):
    """Where something is in a source text. `line` and `column` count from 1, columns in characters."""

    line: int
    column: int
    text: str


class Difference(Struct, frozen=True):
    """Where original and translation differ: the place in the Python file, the one in the Rust text (None: nothing
    there to point at), and what differs in one sentence. `expected` and `actual`: an element of an array as the
    original has it, and as the translation does; empty where the difference is none of arrays."""

    python: Place | None
    rust: Place | None
    words: str
    expected: str = ""
    actual: str = ""


class RungResult(Struct, frozen=True):
    """`detail` says under which facts the rung holds, or why it does not; `ms` is the time it took.
    `time_ratio` (Rust's time / Python's) is known for `matched` alone. `broken`: skipped because this machine
    lacks a tool, or the user's inputs do not fit, as `detail` says. `difference`: what a proof failed at."""

    status: RungStatus
    detail: str = ""
    ms: float = 0.0
    time_ratio: float | None = None
    broken: bool = False
    difference: Difference | None = None


class KernelReport(Struct, frozen=True):
    """One kernel under one signature. `line` counts from 1; `signature` is in a directive's words.
    `diagnostics` holds the translator's and those of failed rungs, whose spans are in `document`."""

    file: str
    name: str
    line: int
    dialect: str
    signature: str
    entry: str | None
    unsafe: UnsafeCount
    outputs: tuple[Output, ...]
    rungs: Mapping[str, RungResult]
    diagnostics: tuple[Diagnostic, ...]
    document: Document
    origin: Origin = Origin.RULES

    @property
    def failed(self) -> bool:
        """Whether any rung was tried and not reached."""
        return any(r.status not in (RungStatus.PASSED, RungStatus.SKIPPED) for r in self.rungs.values())


def signature_text(signature: Signature | None) -> str:
    """`x: f32[M, N], TN=1024, grid=(M,)`; empty where the signature is not known."""
    if signature is None:
        return ""
    parts: list[str] = []
    for argument in signature.arguments:
        match argument:
            case ArrayArgument(name, dtype, extents):
                parts.append(f"{name}: {dtype}[{', '.join(map(str, extents))}]")
            case ScalarArgument(name, dtype):
                parts.append(f"{name}: {dtype.name}")
            case ConstantArgument(name, value):
                parts.append(f"{name}={value!r}")
    if signature.grid is not None:
        axes = [
            " * ".join(str(f.extent) if f.tile == 1 else f"{f.extent}/{f.tile}" for f in axis) or "1"
            for axis in signature.grid
        ]
        parts.append(f"grid=({', '.join(axes)}{',' if len(axes) == 1 else ''})")
    return ", ".join(parts)


def kernel_report(
    document: Document,
    kernel: KernelTranslation,
    rungs: Mapping[Rung, RungResult],
    diagnostics: tuple[Diagnostic, ...] = (),
    file: str = "",
) -> KernelReport:
    """The report of `kernel`; `diagnostics` are those that the rungs add to the translator's."""
    line, _ = LineTable(document.data).position(kernel.name_span.start)
    return KernelReport(
        file=file,
        name=kernel.name,
        line=line + 1,
        dialect=kernel.dialect,
        signature=signature_text(kernel.signature),
        entry=None if kernel.entry is None else kernel.entry.name,
        unsafe=kernel.unsafe,
        outputs=kernel.outputs,
        rungs=MappingProxyType({rung.value: result for rung, result in rungs.items()}),
        diagnostics=kernel.diagnostics + diagnostics,
        document=document,
        origin=kernel.origin,
    )


def _result_json(rung: str, result: RungResult) -> dict[str, Json]:
    made: dict[str, Json] = {
        "status": result.status.value,
        "detail": result.detail,
        "ms": round(result.ms, 3),
    }
    if rung == Rung.MATCHED:
        made["time_ratio"] = result.time_ratio
    if result.difference is not None:
        made["difference"] = difference_json(result.difference)
    return made


def difference_json(difference: Difference) -> dict[str, Json]:
    """Both places and the words; a place that is not known is null."""

    def place(found: Place | None) -> Json:
        return None if found is None else {"line": found.line, "column": found.column, "text": found.text}

    return {"python": place(difference.python), "rust": place(difference.rust), "words": difference.words}


def _diagnostic_json(lines: LineTable, diagnostic: Diagnostic) -> dict[str, Json]:
    line, column = lines.position(diagnostic.span.start, Encoding.UTF32)
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "line": line + 1,
        "column": column + 1,
        "message": diagnostic.message,
    }


def kernel_json(report: KernelReport) -> dict[str, Json]:
    """One element of `kernels`: every rung is present, those not asked for as skipped. Lines and columns
    count from 1, columns in characters."""
    lines = LineTable(report.document.data)
    absent = RungResult(RungStatus.SKIPPED, "not asked for")
    return {
        "file": report.file,
        "name": report.name,
        "line": report.line,
        "dialect": report.dialect,
        "signature": report.signature,
        "entry": report.entry,
        "origin": report.origin.value,
        "unsafe": {"proved": report.unsafe.proved, "assumed": report.unsafe.assumed},
        "outputs": [{"name": o.name, "form": o.form, "reason": o.reason} for o in report.outputs],
        "rungs": {r.value: _result_json(r, report.rungs.get(r, absent)) for r in Rung},
        "diagnostics": [_diagnostic_json(lines, d) for d in report.diagnostics],
    }


def to_json(reports: Sequence[KernelReport], tool_version: str = "0.1.0") -> dict[str, Json]:
    """The whole report, ready for `json.dumps`."""
    return {
        "version": VERSION,
        "tool": {"name": TOOL, "version": tool_version},
        "kernels": [kernel_json(r) for r in reports],
        "diagnostics": [],
    }
