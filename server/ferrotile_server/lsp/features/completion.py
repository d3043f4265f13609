"""`textDocument/completion` inside a `# ferrotile:` directive: parameters, element types, extents, values, the grid;
and the directive itself, in a comment above a kernel. Elsewhere the answer is nothing, and waits for no analysis."""

from __future__ import annotations

import re

from ferrotile.signatures.dtype_names import NAMES
from ferrotile.signatures.model import ConstantArgument
from ferrotile.syntax.document import Comment
from ferrotile.syntax.module import FunctionSource, parameters_of
from ferrotile.translation import KernelTranslation
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.documents import OpenDocument
from ferrotile_server.lsp.features import signature_text
from ferrotile_server.lsp.features.directives import comment_at, directive_at, function_below, kernel_of, lines_above

TRIGGERS = [":", ",", "[", "#", "=", "("]
HEAD = "# ferrotile: "
TILES = (16, 32, 64, 128, 256, 512, 1024)
"""Tile extents that kernels use most: powers of two."""
_ENTRY = re.compile(r"([^\W\d]\w*)\s*[:=]")
_EXTENTS = re.compile(r"\[([^\]]*)\]")
_SYMBOL = re.compile(r"[^\W\d]\w*")


def register(context: Context) -> None:
    """Offer completion."""

    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        file = context.documents.get(params.text_document.uri)
        if file is None:
            return []
        offset = file.offset(params.position.line, params.position.character, context.client.encoding)
        comment = directive_at(file, offset)
        begun = None if comment is not None else _begun(file, offset)
        if comment is None and begun is None:
            return []
        snapshot = await context.snapshot(file.uri)
        if snapshot is None or snapshot.file is not file:
            return []
        if begun is not None:
            return _directive(snapshot, begun)
        return [] if comment is None else _items(snapshot, comment, offset)

    options = types.CompletionOptions(trigger_characters=TRIGGERS)
    context.server.feature(types.TEXT_DOCUMENT_COMPLETION, options)(complete)


def _begun(file: OpenDocument, offset: int) -> Comment | None:
    """A comment that may become a directive, with the cursor at its end."""
    comment = comment_at(file.document, offset)
    if comment is None or comment.span.end != offset:
        return None
    return comment if HEAD.startswith(comment.text) or HEAD.replace(" ", "").startswith(comment.text) else None


def _directive(snapshot: Snapshot, comment: Comment) -> list[types.CompletionItem]:
    """The whole directive, with what is known of the kernel below."""
    function = function_below(snapshot, comment)
    kernel = None if function is None else kernel_of(snapshot, function)
    if kernel is None or kernel.signature is None:
        return []
    stated = signature_text.stated(kernel.signature)
    known = zip(signature_text.rows(kernel.signature), signature_text.entries(kernel.signature), strict=True)
    parts = [text for name, text in known if name not in stated]
    lines = [f"{HEAD}{line}" for line in signature_text.lines(parts)] or [HEAD]
    item = types.CompletionItem("# ferrotile:", kind=types.CompletionItemKind.Snippet, filter_text=comment.text)
    item.detail = f"signature of {kernel.name}"
    item.text_edit = types.TextEdit(snapshot.range_of(comment.span), "\n".join(lines))
    return [item]


def _items(snapshot: Snapshot, comment: Comment, offset: int) -> list[types.CompletionItem]:
    function = function_below(snapshot, comment)
    if function is None:
        return []
    kernel = kernel_of(snapshot, function)
    data = snapshot.file.document.data
    before = data[comment.span.start : offset].decode("utf-8", "replace").partition(":")[2]
    lines = [comment] if kernel is None else lines_above(snapshot, kernel)
    whole = ",".join(line.text.partition(":")[2] for line in lines)
    if before.count("[") > before.count("]"):
        return [_item(s, types.CompletionItemKind.Variable, "extent") for s in _extents(whole)]
    if before.count("(") > before.count(")"):
        return _grid(kernel, whole) if re.search(r"\bgrid\s*=\s*\([^)]*$", before) else []
    entry = before.rpartition(",")[2]
    if ":" in entry:
        short = sorted({dtype.name for dtype in NAMES.values()})
        return [_item(n, types.CompletionItemKind.TypeParameter, "dtype") for n in short]
    if "=" in entry:
        return _values(kernel, entry.partition("=")[0].strip())
    return _entries(function, kernel, frozenset(_ENTRY.findall(whole)))


def _item(label: str, kind: types.CompletionItemKind, detail: str) -> types.CompletionItem:
    return types.CompletionItem(label, kind=kind, detail=detail)


def _extents(whole: str) -> list[str]:
    return list(dict.fromkeys(s for inside in _EXTENTS.findall(whole + "]") for s in _SYMBOL.findall(inside)))


def _grid(kernel: KernelTranslation | None, whole: str) -> list[types.CompletionItem]:
    """Extents that the directive names, and constants to divide them by."""
    extents = _extents(whole)
    signature = None if kernel is None else kernel.signature
    arguments = () if signature is None else signature.arguments
    constants = [a.name for a in arguments if isinstance(a, ConstantArgument) and isinstance(a.value, int)]
    found = [_item(e, types.CompletionItemKind.Variable, "extent") for e in extents]
    return found + [_item(c, types.CompletionItemKind.Constant, "constant") for c in constants if c not in extents]


def _values(kernel: KernelTranslation | None, name: str) -> list[types.CompletionItem]:
    """Of a constant: the value that is known, then other tile extents; of anything else nothing."""
    signature = None if kernel is None else kernel.signature
    if signature is None:
        return []
    constant = next((a for a in signature.arguments if a.name == name), None)
    if not isinstance(constant, ConstantArgument):
        return []
    known = signature_text.rows(signature)[name].what
    whole = isinstance(constant.value, int) and not isinstance(constant.value, bool)
    values = dict.fromkeys((known, *(map(str, TILES) if whole else ("True", "False"))))
    items = [_item(v, types.CompletionItemKind.Value, "known" if v == known else "") for v in values]
    for order, item in enumerate(items):
        item.sort_text, item.detail = f"{order:02}", item.detail or None
    return items


def _entries(
    function: FunctionSource, kernel: KernelTranslation | None, given: frozenset[str]
) -> list[types.CompletionItem]:
    """What the directive does not name yet, written out as far as it is known."""
    signature = None if kernel is None else kernel.signature
    known: dict[str, str] = {}
    if signature is not None:
        known = dict(zip(signature_text.rows(signature), signature_text.entries(signature), strict=True))
    found = []
    for order, argument in enumerate(a for a in parameters_of(function.node) if a.arg not in given):
        item = _item(argument.arg, types.CompletionItemKind.Field, f"parameter of {function.name}")
        text = known.get(argument.arg)
        if text is not None:
            item.insert_text, item.detail = text, text
        item.sort_text = f"{order:02}"
        found.append(item)
    if "grid" not in given:
        grid = _item("grid", types.CompletionItemKind.Property, known.get("grid", "blocks along each axis"))
        grid.insert_text = known.get("grid", "grid=(")
        grid.sort_text = "~"
        found.append(grid)
    return found
