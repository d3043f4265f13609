"""`textDocument/completion` inside a `# ferrotile:` directive: parameters, element types, extents, the grid."""

from __future__ import annotations

import re

from ferrotile.signatures.directive import is_directive
from ferrotile.signatures.dtype_names import NAMES
from ferrotile.syntax.document import Comment
from ferrotile.syntax.module import FunctionSource, parameters_of
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot

TRIGGERS = [":", ",", "[", "#"]
_ENTRY = re.compile(r"([^\W\d]\w*)\s*[:=]")
_EXTENTS = re.compile(r"\[([^\]]*)\]")
_SYMBOL = re.compile(r"[^\W\d]\w*")


def register(context: Context) -> None:
    """Offer completion; outside directives there is nothing of ours to complete."""

    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        offset = snapshot.offset_of(params.position)
        comments = snapshot.file.document.comments
        comment = next((c for c in comments if c.span.start <= offset <= c.span.end and is_directive(c)), None)
        return [] if comment is None else _items(snapshot, comment, offset)

    options = types.CompletionOptions(trigger_characters=TRIGGERS)
    context.server.feature(types.TEXT_DOCUMENT_COMPLETION, options)(complete)


def _items(snapshot: Snapshot, comment: Comment, offset: int) -> list[types.CompletionItem]:
    kernel = _kernel_below(snapshot, comment)
    if kernel is None:
        return []
    data = snapshot.file.document.data
    before = data[comment.span.start : offset].decode("utf-8", "replace").partition(":")[2]
    whole = comment.text.partition(":")[2]
    if before.count("[") > before.count("]"):
        known = dict.fromkeys(s for inside in _EXTENTS.findall(whole) for s in _SYMBOL.findall(inside))
        return [types.CompletionItem(s, kind=types.CompletionItemKind.Variable, detail="extent") for s in known]
    entry = before.rpartition(",")[2] if before.count("(") == before.count(")") else before.rpartition("(")[2]
    if ":" in entry:
        short = sorted({dtype.name for dtype in NAMES.values()})
        return [types.CompletionItem(n, kind=types.CompletionItemKind.TypeParameter, detail="dtype") for n in short]
    if "=" in entry:
        return []
    return _entries(kernel, frozenset(_ENTRY.findall(whole)))


def _entries(kernel: FunctionSource, given: frozenset[str]) -> list[types.CompletionItem]:
    names = [a.arg for a in parameters_of(kernel.node)]
    found = [
        types.CompletionItem(name, kind=types.CompletionItemKind.Field, detail=f"parameter of {kernel.name}")
        for name in names
        if name not in given
    ]
    if "grid" not in given:
        grid = types.CompletionItem("grid", kind=types.CompletionItemKind.Property, insert_text="grid=(")
        grid.detail = "blocks along each axis"
        found.append(grid)
    return found


def _kernel_below(snapshot: Snapshot, comment: Comment) -> FunctionSource | None:
    """The kernel that a comment stands above, with nothing but comments and decorators between."""
    module = snapshot.analysis.translation.module
    if module is None:
        return None
    below = [f for f in module.functions if f.span.start >= comment.span.end]
    nearest = min(below, key=lambda f: f.span.start, default=None)
    if nearest is None:
        return None
    lines = snapshot.file.document.lines
    return nearest if lines.block_start(nearest.span.start) <= comment.span.start else None
