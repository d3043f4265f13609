"""`notebookDocument/*`: the code cells of notebooks are documents like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from lsprotocol import types

from ferrotile_server.lsp.changes import Change
from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.notebooks import Notebooks

SYNC = types.NotebookDocumentSyncOptions(
    notebook_selector=[types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage("python")])]
)


def register(
    context: Context,
    touch: Callable[[str], None],
    forget: Callable[[str], None],
    as_change: Callable[[types.TextDocumentContentChangeEvent], Change],
) -> None:
    """Offer synchronisation; `touch` is called for each cell whose analysis may be another, `forget` for each that is
    gone."""
    notebooks = Notebooks(context.documents)
    cells: dict[str, tuple[str, ...]] = {}

    def keep(uri: str, now: tuple[str, ...]) -> None:
        for gone in set(cells.get(uri, ())) - set(now):
            forget(gone)
        cells[uri] = now
        for cell in now:
            touch(cell)

    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        notebook = params.notebook_document
        order = [c.document for c in notebook.cells]
        keep(notebook.uri, notebooks.open(notebook.uri, order, _texts(params.cell_text_documents)))

    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        uri, change = params.notebook_document.uri, params.change.cells
        if change is None:
            return
        now = cells.get(uri, ())
        if change.structure is not None:
            array = change.structure.array
            added = [c.document for c in array.cells or ()]
            texts = _texts(change.structure.did_open or ())
            now = notebooks.restructure(uri, array.start, array.delete_count, added, texts)
        if change.text_content:
            edits = {one.document.uri: (one.document.version, _edits(one.changes)) for one in change.text_content}
            now = notebooks.change(uri, edits, context.client.encoding)
        keep(uri, now)

    def _edits(changes: Sequence[types.TextDocumentContentChangeEvent]) -> list[Change]:
        return [as_change(c) for c in changes]

    def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        for gone in notebooks.close(uri):
            forget(gone)
        cells.pop(uri, None)
        context.drop(uri)

    context.server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)(did_open)
    context.server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)(did_change)
    context.server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)(did_close)


def _texts(items: Iterable[types.TextDocumentItem]) -> dict[str, tuple[int, str]]:
    return {item.uri: (item.version, item.text) for item in items}
