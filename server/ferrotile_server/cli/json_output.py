"""Reports as JSON, in the form of `docs/schema/report.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.translation import KernelTranslation
from ferrotile_runner.report import Json, KernelReport, Rung, RungResult, RungStatus, kernel_report, to_json
from msgspec.structs import replace

from ferrotile_server.cli.arguments import VERSION
from ferrotile_server.cli.paths import Source
from ferrotile_server.cli.places import line_and_column
from ferrotile_server.cli.translating import Translated


def _text(report: Json) -> str:
    return json.dumps(report, indent=2, ensure_ascii=False)


def _loose(source: Source, diagnostic: Diagnostic) -> dict[str, Json]:
    line, column = line_and_column(source.text, diagnostic.span)
    return {
        "file": source.name,
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "line": line,
        "column": column,
        "message": diagnostic.message,
    }


def _static_report(translated: Translated, kernel: KernelTranslation) -> KernelReport:
    errors = [d.message for d in kernel.diagnostics if d.severity is Severity.ERROR]
    refused = kernel.rust is None or bool(errors)
    status = RungStatus.FAILED if refused else RungStatus.PASSED
    rungs = {Rung.TRANSLATED: RungResult(status, errors[0] if errors else "")}
    return kernel_report(translated.analysis.document, kernel, rungs, file=translated.source.name)


def check_report(checked: Sequence[Translated]) -> str:
    """The report of `ferrotile check`: kernels as far as static analysis goes; `diagnostics` beside them has
    those that belong to no kernel."""
    reports = [_static_report(translated, kernel) for translated in checked for kernel in translated.kernels]
    loose: list[Json] = []
    for translated in checked:
        owned = {d for kernel in translated.kernels for d in kernel.diagnostics}
        loose.extend(_loose(translated.source, d) for d in translated.diagnostics if d not in owned)
    return _text({**to_json(reports, VERSION), "diagnostics": loose})


def verify_report(reports: Sequence[tuple[str, KernelReport]], refused: Sequence[tuple[str, int, str]] = ()) -> str:
    """The report of `ferrotile verify`: file names and what the ladder said; `refused`: a Rust file, its line and why
    it cannot be verified."""
    made = to_json([replace(report, file=file) for file, report in reports], VERSION)
    loose: list[Json] = [
        {"file": file, "code": "FT508", "severity": "error", "line": line, "column": 1, "message": message}
        for file, line, message in refused
    ]
    return _text({**made, "diagnostics": loose})
