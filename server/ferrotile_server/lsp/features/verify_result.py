"""Verdicts as `ferrotile/verify` answers them: rungs, and messages at the lines of the Python that are to blame."""

from __future__ import annotations

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.syntax.span import Span
from msgspec.structs import replace

from ferrotile_server.lsp.context import Snapshot
from ferrotile_server.lsp.convert import plain_range
from ferrotile_server.lsp.features.kernels import state_of
from ferrotile_server.verdicts import Verdict


def plain(snapshot: Snapshot, verdict: Verdict) -> dict[str, object]:
    """A verdict about a kernel of `snapshot` as JSON."""
    return {
        "name": verdict.kernel,
        "verdict": verdict.line,
        "failed": bool(verdict.failures),
        "state": state_of(snapshot, verdict.kernel),
        "messages": _messages(snapshot, verdict),
        "rungs": [{"rung": o.rung, "status": o.status, "detail": o.detail, "ms": o.ms} for o in verdict.outcomes],
    }


def placed(snapshot: Snapshot, verdict: Verdict) -> list[Diagnostic]:
    """The findings of a verdict where they are in the text of `snapshot`."""
    start = snapshot.analysis.named(verdict.kernel)[0].span.start
    return [replace(found, span=Span(found.span.start + start, found.span.end + start)) for found in verdict.findings]


def unexplained(verdict: Verdict) -> list[str]:
    """Failures that no finding says more about, and no diagnostic of the translator."""
    told = {found.message for found in verdict.findings}
    silent = [o for o in verdict.failures if o.rung != "translated" and o.detail not in told]
    lines = [f"{o.rung} {o.status}: {o.detail}" for o in silent]
    return list(dict.fromkeys(lines))


def _messages(snapshot: Snapshot, verdict: Verdict) -> list[dict[str, object]]:
    if not verdict.failures:
        return []
    entries = snapshot.analysis.named(verdict.kernel)
    refused = [d for k in entries if k.rust is None for d in k.diagnostics if d.severity is Severity.ERROR]
    found = dict.fromkeys([*refused, *placed(snapshot, verdict)])
    values = {o.detail: (o.expected, o.actual) for o in verdict.failures if o.expected or o.actual}
    told = [_message(snapshot, d.message, d.span, d.code) | _values(values.get(d.message)) for d in found]
    if not refused:
        told += [_message(snapshot, text, entries[0].name_span, None) for text in unexplained(verdict)]
    return told


def _values(of: tuple[str, str] | None) -> dict[str, object]:
    """The element of an array that differs most, where arrays differ."""
    return {} if of is None else {"expected": of[0], "actual": of[1]}


def _message(snapshot: Snapshot, text: str, span: Span, code: str | None) -> dict[str, object]:
    return {"message": text, "range": plain_range(snapshot.range_of(span)), "code": code}
