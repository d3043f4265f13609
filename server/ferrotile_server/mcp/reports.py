"""Findings and verdicts, as data in the form of `docs/schema/report.json` and in words."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.syntax.positions import Encoding, LineTable
from ferrotile.translation import KernelTranslation
from ferrotile_runner.report import (
    Difference,
    Json,
    KernelReport,
    Rung,
    RungResult,
    RungStatus,
    kernel_report,
    to_json,
)
from msgspec.structs import replace

from ferrotile_server.mcp.sources import Checked
from ferrotile_server.packaged import report_schema

MOST_LINES = 200
"""Diagnostics in words; the data has all."""
LONGEST_LINE = 300


def version() -> str:
    """ferrotile's."""
    return metadata.version("ferrotile")


def diagnostic_json(document: LineTable, diagnostic: Diagnostic) -> dict[str, Json]:
    """Lines and columns count from 1, columns in characters."""
    line, column = document.position(diagnostic.span.start, Encoding.UTF32)
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "line": line + 1,
        "column": column + 1,
        "message": diagnostic.message,
    }


def refused(kernel: KernelTranslation) -> bool:
    return kernel.rust is None or any(d.severity is Severity.ERROR for d in kernel.diagnostics)


def _static(checked: Checked, kernel: KernelTranslation) -> KernelReport:
    errors = [d.message for d in kernel.diagnostics if d.severity is Severity.ERROR]
    status = RungStatus.FAILED if refused(kernel) else RungStatus.PASSED
    rungs = {Rung.TRANSLATED: RungResult(status, errors[0] if errors else "")}
    return kernel_report(checked.analysis.document, kernel, rungs, file=checked.source.name)


def output_schema() -> dict[str, Json]:
    """That of a report, with a `summary`: some clients give a model the data alone."""
    schema = report_schema()
    properties, required = schema["properties"], schema["required"]
    assert isinstance(properties, dict) and isinstance(required, list)
    summary: Json = {"type": "string", "description": "What came out, in a sentence."}
    return {**schema, "required": ["summary", *required], "properties": {"summary": summary, **properties}}


def checked_json(files: Sequence[Checked], summary: str) -> dict[str, Json]:
    """The report of files that were translated and not verified."""
    kernels = [_static(one, kernel) for one in files for kernel in one.kernels]
    loose: list[Json] = []
    for one in files:
        lines = LineTable(one.analysis.document.data)
        owned = {d for kernel in one.kernels for d in kernel.diagnostics}
        loose.extend({"file": one.source.name, **diagnostic_json(lines, d)} for d in one.diagnostics if d not in owned)
    return {"summary": summary, **to_json(kernels, version()), "diagnostics": loose}


def verified_json(file: str, reports: Sequence[KernelReport], summary: str) -> dict[str, Json]:
    """The report of kernels of one file that climbed the ladder."""
    return {"summary": summary, **to_json([replace(report, file=file) for report in reports], version())}


def finding(name: str, lines: LineTable, diagnostic: Diagnostic) -> str:
    """`norm.py:12:9: FT203 error: ...`"""
    line, column = lines.position(diagnostic.span.start, Encoding.UTF32)
    fix = "" if diagnostic.fix is None else f" Fix: {diagnostic.fix.title}."
    head = f"{name}:{line + 1}:{column + 1}: {diagnostic.code} {diagnostic.severity.value}"
    return f"{head}: {diagnostic.message}{fix}"


def findings(checked: Checked) -> list[str]:
    """A line for each diagnostic of a file."""
    lines = LineTable(checked.analysis.document.data)
    return [finding(checked.source.name, lines, d) for d in checked.diagnostics]


def cut(lines: Sequence[str]) -> str:
    """At most `MOST_LINES` lines."""
    rest = len(lines) - MOST_LINES
    more = [f"({rest} more lines in the structured result)"] if rest > 0 else []
    return "\n".join([*lines[:MOST_LINES], *more])


def _difference(found: Difference, said: str) -> list[str]:
    """What the rung's own words leave out."""
    made = [] if found.words in said else [f"    difference: {found.words}"]
    for language, place in (("Python", found.python), ("Rust", found.rust)):
        if place is not None and f"{language} line {place.line}:" not in said:
            made.append(f"    {language} line {place.line}: {place.text.strip()}")
    return made


def _shortened(line: str, result: RungResult) -> str:
    """All that a failure says; of a long list of launches that agree, the beginning."""
    if result.status is not RungStatus.PASSED or len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} (cut here; the structured result has all)"


def verdict(file: str, report: KernelReport) -> str:
    """A kernel's rungs, each with its detail, and where it differs."""
    made = [f"{file}::{report.name}  {report.signature}"]
    details = []
    for rung in Rung:
        result = report.rungs.get(rung.value)
        if result is None:
            continue
        details.append(result.detail)
        lines = [_shortened(line, result) for line in result.detail.splitlines()]
        made.append(f"  {rung.value}: {result.status.value}" + (f" - {lines[0]}" if lines else ""))
        made.extend(f"    {line}" for line in lines[1:])
        if result.difference is not None:
            made.extend(_difference(result.difference, result.detail))
    table = LineTable(report.document.data)
    for diagnostic in report.diagnostics:
        told = any(diagnostic.message.splitlines()[0] in detail for detail in details)
        if not told:
            made.append(f"  {finding(file, table, diagnostic)}")
    return "\n".join(made)
