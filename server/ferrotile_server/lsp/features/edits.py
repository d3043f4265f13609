"""Edits of an open document as the editor takes them: for the version that they were made for, where it can check."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from ferrotile_server.lsp.context import Snapshot


def edit_of(snapshot: Snapshot, edits: Sequence[types.TextEdit]) -> types.WorkspaceEdit:
    """These edits of the snapshot's document."""
    uri = snapshot.file.uri
    if not snapshot.client.document_changes:
        return types.WorkspaceEdit(changes={uri: list(edits)})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=snapshot.file.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(edits))])
