"""`textDocument/publishDiagnostics`: for editors that cannot pull, and for verdicts in every editor."""

from __future__ import annotations

from ferrotile.syntax.span import Span
from lsprotocol import types

from ferrotile_server.application import Application
from ferrotile_server.lsp import convert
from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.convert import Plain
from ferrotile_server.lsp.features.grouping import grouped
from ferrotile_server.lsp.features.verify_result import placed, unexplained
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

    def _send(self, uri: str, found: list[Plain], version: int | None) -> None:
        params: Plain = {"uri": uri, "diagnostics": found}
        if version is not None:
            params["version"] = version
        self._context.tell(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)


def analysis_diagnostics(snapshot: Snapshot) -> list[Plain]:
    """What the translator has to say."""
    return [
        convert.diagnostic(snapshot.file.uri, snapshot.file, found, snapshot.client)
        for found in grouped(snapshot.diagnostics)
    ]


def verdict_diagnostics(snapshot: Snapshot, application: Application) -> list[Plain]:
    """Verdicts: failures everywhere; passes and stale ones where there is no lens that can be refreshed to say so."""
    found: list[Plain] = []
    for name in snapshot.kernel_names:
        known = application.verdict(snapshot.file.uri, snapshot.analysis, name)
        if known is None:
            continue
        verdict, holds = known
        if snapshot.client.refreshes_lenses and not (holds and verdict.failures):
            continue
        place = snapshot.analysis.named(name)[0].name_span
        if not holds:
            stale = f"`{name}` changed since it was verified"
            found.append(_at(snapshot, place, stale, types.DiagnosticSeverity.Hint))
            continue
        severity = types.DiagnosticSeverity.Error if verdict.failures else types.DiagnosticSeverity.Information
        message = _message(verdict)
        if message:
            found.append(_at(snapshot, place, message, severity))
        for finding in placed(snapshot, verdict):
            found.append(convert.diagnostic(snapshot.file.uri, snapshot.file, finding, snapshot.client, VERIFY_SOURCE))
    return found


def _at(snapshot: Snapshot, place: Span, message: str, severity: types.DiagnosticSeverity) -> Plain:
    where = convert.place_of(snapshot.file, place, snapshot.client.encoding)
    return {"range": where, "message": message, "severity": severity.value, "source": VERIFY_SOURCE}


def _message(verdict: Verdict) -> str:
    """What no finding says: empty where they say all."""
    return "\n".join(unexplained(verdict)) if verdict.failures else f"`{verdict.kernel}` verified: {verdict.line}"
