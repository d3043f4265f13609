"""`textDocument/publishDiagnostics`: for editors that cannot pull, and for verdicts in every editor."""

from __future__ import annotations

from ferrotile.syntax.span import Span
from lsprotocol import types
from msgspec.structs import replace

from ferrotile_server.application import Application
from ferrotile_server.lsp import convert
from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.verdicts import Verdict

VERIFY_SOURCE = "ferrotile verify"


class Publisher:
    """Remembers for which files something was shown, so that pulling editors get no empty publications."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._shown: set[str] = set()

    async def publish(self, uri: str) -> None:
        """Show what is known of the newest version; a result that an edit has overtaken is dropped."""
        context = self._context
        snapshot = await context.snapshot(uri)
        if snapshot is None or context.documents.get(uri) is not snapshot.file:
            return
        found = verdict_diagnostics(snapshot, context.application)
        if not context.client.pulls_diagnostics:
            found = [*analysis_diagnostics(snapshot), *found]
        elif not found and uri not in self._shown:
            return
        self._shown.add(uri)
        self._send(uri, found, snapshot.file.version)

    def clear(self, uri: str) -> None:
        """The file was closed."""
        if uri in self._shown:
            self._shown.discard(uri)
            self._send(uri, [], None)

    def _send(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        self._context.server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        )


def analysis_diagnostics(snapshot: Snapshot) -> list[types.Diagnostic]:
    """What the translator has to say."""
    return [
        convert.diagnostic(snapshot.file.uri, snapshot.file.document, found, snapshot.client)
        for found in snapshot.analysis.diagnostics
    ]


def verdict_diagnostics(snapshot: Snapshot, application: Application) -> list[types.Diagnostic]:
    """Verdicts that still hold: failures everywhere, passes only where the editor shows no lenses."""
    found: list[types.Diagnostic] = []
    for name in snapshot.analysis.kernel_names:
        known = application.verdict(snapshot.file.uri, snapshot.analysis, name)
        if known is None or not known[1]:
            continue
        verdict = known[0]
        if not verdict.failures and snapshot.client.shows_lenses:
            continue
        severity = types.DiagnosticSeverity.Error if verdict.failures else types.DiagnosticSeverity.Information
        kernel = snapshot.analysis.named(name)[0]
        place = snapshot.range_of(kernel.name_span)
        found.append(types.Diagnostic(place, _message(verdict), severity=severity, source=VERIFY_SOURCE))
        for finding in verdict.findings:
            start = kernel.span.start
            moved = replace(finding, span=Span(finding.span.start + start, finding.span.end + start))
            shown = convert.diagnostic(snapshot.file.uri, snapshot.file.document, moved, snapshot.client)
            shown.source = VERIFY_SOURCE
            found.append(shown)
    return found


def _message(verdict: Verdict) -> str:
    details = [f"{o.rung} {o.status}: {o.detail}" for o in verdict.failures]
    return "\n".join(details) if details else f"`{verdict.kernel}` verified: {verdict.line}"
