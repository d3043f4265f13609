"""`textDocument/diagnostic`: the editor asks. The result id is a digest, so an unchanged file costs
nothing to show."""

from __future__ import annotations

from hashlib import blake2b

from lsprotocol import types

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.features.diagnostics_push import analysis_diagnostics


def result_id(found: list[types.Diagnostic]) -> str:
    """A digest of all that an editor shows of diagnostics."""
    state = blake2b(digest_size=12)
    for one in found:
        places = [one.range, *(r.location.range for r in one.related_information or ())]
        numbers = [(p.start.line, p.start.character, p.end.line, p.end.character) for p in places]
        related = [(r.location.uri, r.message) for r in one.related_information or ()]
        state.update(repr((one.code, one.severity, one.message, numbers, related, one.data)).encode("utf-8", "replace"))
    return state.hexdigest()


def register(context: Context) -> None:
    """Offer pull diagnostics."""

    async def pull(
        params: types.DocumentDiagnosticParams,
    ) -> types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport:
        snapshot = await context.snapshot(params.text_document.uri)
        found = [] if snapshot is None else analysis_diagnostics(snapshot)
        identity = result_id(found)
        if params.previous_result_id == identity:
            return types.RelatedUnchangedDocumentDiagnosticReport(result_id=identity)
        return types.RelatedFullDocumentDiagnosticReport(items=found, result_id=identity)

    options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="ferrotile")
    context.server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(pull)
