"""`textDocument/diagnostic`: the editor asks. The result id is a digest, so an unchanged file costs
nothing to show."""

from __future__ import annotations

from hashlib import blake2b

import msgspec
from lsprotocol import types

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.convert import Plain
from ferrotile_server.lsp.features.diagnostics_push import analysis_diagnostics
from ferrotile_server.lsp.protocol import encoded


def result_id(found: list[Plain]) -> str:
    """A digest of all that an editor shows of diagnostics."""
    return _digest(encoded(found))


def _digest(found: msgspec.Raw) -> str:
    return blake2b(found, digest_size=12).hexdigest()


def register(context: Context) -> None:
    """Offer pull diagnostics."""

    async def pull(
        params: types.DocumentDiagnosticParams,
    ) -> msgspec.Raw:
        snapshot = await context.snapshot(params.text_document.uri)
        found = encoded([] if snapshot is None else analysis_diagnostics(snapshot))
        identity = _digest(found)
        if params.previous_result_id == identity:
            return encoded({"kind": "unchanged", "resultId": identity})
        return encoded({"kind": "full", "resultId": identity, "items": found})

    options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="ferrotile")
    context.server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(pull)
