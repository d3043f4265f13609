"""`textDocument/rename` of an extent (`M` in `x: f16[M, K]`, `grid=(M/128)`) in all directive lines of its kernel.

Only for editors that ask first where a rename is possible: everything else in a Python file is for its other servers to
rename, and they get to do so when this one says no. A parameter in a directive is theirs, too: its name is Python's."""

from __future__ import annotations

import keyword

from ferrotile.program.dtypes import DType
from ferrotile.signatures.directive import named_dtype
from ferrotile.signatures.model import ArrayArgument
from ferrotile.translation import KernelTranslation
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features.directives import Word, directive_at, kernel_below, lines_above, word_at, words
from ferrotile_server.lsp.features.edits import edit_of
from ferrotile_server.lsp.protocol import InvalidParams


def register(context: Context) -> None:
    """Offer rename."""

    async def prepare(params: types.PrepareRenameParams) -> types.Range | None:
        found = await _extent(context, params.text_document.uri, params.position)
        return None if found is None else found[0].range_of(found[1][0].span)

    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        found = await _extent(context, params.text_document.uri, params.position)
        if found is None:
            return None
        snapshot, places, kernel = found
        _check(kernel, params.new_name)
        return edit_of(snapshot, [types.TextEdit(snapshot.range_of(w.span), params.new_name) for w in places])

    context.server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)(prepare)
    context.server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))(rename)


async def _extent(
    context: Context, uri: str, position: types.Position
) -> tuple[Snapshot, list[Word], KernelTranslation] | None:
    """The extent under the cursor with all its places, that one first."""
    file = context.documents.get(uri)
    if file is None:
        return None
    offset = file.offset(position.line, position.character, context.client.encoding)
    comment = directive_at(file, offset)
    word = None if comment is None else word_at(comment, offset)
    if comment is None or word is None:
        return None
    snapshot = await context.snapshot(uri)
    if snapshot is None or snapshot.file is not file:
        return None
    kernel = kernel_below(snapshot, comment)
    if kernel is None or word.text not in _extents(kernel):
        return None
    same = [w for line in lines_above(snapshot, kernel) for w in words(line) if w.text == word.text]
    return snapshot, [word, *(w for w in same if w.span != word.span)], kernel


def _extents(kernel: KernelTranslation) -> frozenset[str]:
    """The extents of a kernel that have a name of their own."""
    if kernel.signature is None:
        return frozenset()
    arguments = kernel.signature.arguments
    named = {e for a in arguments if isinstance(a, ArrayArgument) for e in a.extents if isinstance(e, str)}
    return frozenset(named - {a.name for a in arguments})


def _check(kernel: KernelTranslation, name: str) -> None:
    """Raises `InvalidParams` where `name` cannot be an extent's."""
    taken = set() if kernel.signature is None else {a.name for a in kernel.signature.arguments}
    dtype: DType | None = named_dtype(name)
    if not name.isidentifier() or keyword.iskeyword(name) or dtype is not None or name in ("grid", "cdiv", "inputs"):
        raise InvalidParams(f"`{name}` cannot be the name of an extent.")
    if name in _extents(kernel) | taken:
        raise InvalidParams(f"`{name}` is taken: extents of one name are equal.")
