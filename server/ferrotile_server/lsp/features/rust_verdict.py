"""What the ladder says of other Rust, as diagnostics of the Rust file and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types
from msgspec import Struct

from ferrotile_server.lsp.convert import Plain, page_of
from ferrotile_server.lsp.documents import OpenDocument
from ferrotile_server.lsp.session import Client
from ferrotile_server.verdicts import BAD, RUNGS

if TYPE_CHECKING:
    from ferrotile_runner.candidate import CandidateError
    from ferrotile_runner.candidate_comment import PythonOf
    from ferrotile_runner.report import KernelReport, Place

CODES = {"type-checked": "FT501", "assembled": "FT502", "proved": "FT504", "simulated": "FT505", "matched": "FT507"}


class PortVerdict(Struct, frozen=True):
    """`mark` as a lens shows it; `kernels` and `messages` as `ferrotile/verifyRust` answers them."""

    mark: str
    kernels: tuple[Plain, ...]
    messages: tuple[Plain, ...]

    @classmethod
    def of(cls, parts: Sequence[PortVerdict]) -> PortVerdict:
        """Of several entries or signatures: the worst mark."""
        bad = [part for part in parts if not part.mark.startswith(_GOOD)]
        first = (bad or list(parts))[0]
        messages: list[Plain] = []
        for part in parts:
            messages += [one for one in part.messages if one not in messages]
        return cls(first.mark, tuple(k for part in parts for k in part.kernels), tuple(messages))


_GOOD = "\N{CHECK MARK}"


def judged(report: KernelReport, comment: int, python: str, file: OpenDocument, client: Client) -> PortVerdict:
    """The report of one entry; `comment` is the line (from 1) that named the Python, whose URI is `python`."""
    from ferrotile_runner.candidate import accepted

    tried = [(rung, report.rungs[rung]) for rung in RUNGS if rung in report.rungs and rung != "translated"]
    passed = [
        rung
        for rung in ("proved", "matched", "simulated")
        if rung in dict(tried) and dict(tried)[rung].status == "passed"
    ]
    failed = [rung for rung, result in tried if result.status in BAD]
    good = accepted(report)
    if good:
        mark = f"{_GOOD} {', '.join(passed)}" + (" (not proved)" if "proved" in failed else "")
    elif failed:
        mark = "\N{BALLOT X} " + ", ".join(f"{rung} {report.rungs[rung].status}" for rung in failed)
    else:
        mark = "\N{MIDDLE DOT} not compared: " + next((r.detail for _, r in tried if r.status == "skipped"), "no rung")
    messages: dict[str, Plain] = {}
    for rung, result in tried:
        if result.status not in BAD or result.detail in messages:
            continue
        severity = types.DiagnosticSeverity.Information if good else types.DiagnosticSeverity.Error
        seen = result.difference
        made = _message(file, client, None if seen is None else seen.rust, comment, result.detail, severity)
        made["code"] = CODES[rung]
        if client.code_description and (page := page_of(CODES[rung])):
            made["codeDescription"] = {"href": page}
        if seen is not None and seen.python is not None and client.related_information:
            line, column = seen.python.line - 1, seen.python.column - 1
            at = {"line": line, "character": column}
            related = {"location": {"uri": python, "range": {"start": at, "end": at}}, "message": seen.python.text}
            made["relatedInformation"] = [related]
        messages[result.detail] = made
    if not failed:
        said = f"`{report.entry}` and `{report.name}` of the Python: {mark[2:]}"
        messages[said] = _message(file, client, None, comment, said, types.DiagnosticSeverity.Information)
        if client.refreshes_lenses:  # the lens says so
            messages = {}
    kernel: Plain = {
        "name": report.name,
        "entry": report.entry,
        "origin": f"{report.origin}",
        "accepted": good,
        "verdict": mark,
        "rungs": [
            {"rung": rung, "status": f"{r.status}", "detail": r.detail, "ms": r.ms} for rung, r in report.rungs.items()
        ],
    }
    return PortVerdict(mark, (kernel,), tuple(messages.values()))


def refused(error: CandidateError, one: PythonOf, file: OpenDocument, client: Client) -> PortVerdict:
    """Rust that cannot be compared."""
    from ferrotile_runner.report import Place

    place = None if error.line is None else Place(error.line, 1, "")
    made = _message(file, client, place, one.line, error.message, types.DiagnosticSeverity.Error)
    made["code"] = "FT508"
    return PortVerdict("\N{BALLOT X} cannot be compared", (), (made,))


def _message(
    file: OpenDocument, client: Client, place: Place | None, comment: int, text: str, severity: types.DiagnosticSeverity
) -> Plain:
    """At a place of the Rust up to the end of its line; without one at the comment."""
    lines = file.document.lines
    line = (comment if place is None else place.line) - 1
    start, end = lines.line_start(line), lines.line_end(line)
    own = file.document.data[start:end]
    if place is not None and place.column > 1:
        start += len(own.decode(errors="replace")[: place.column - 1].encode())
    else:
        start += len(own) - len(own.lstrip())
    first, last = (file.position(at, client.encoding) for at in (start, end))
    return {
        "range": {
            "start": {"line": first[0], "character": first[1]},
            "end": {"line": last[0], "character": last[1]},
        },
        "message": text,
        "severity": severity.value,
    }
