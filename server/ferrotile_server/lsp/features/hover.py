"""`textDocument/hover`: on a kernel's head its verdict, signature and Rust; on a parameter what it is; in a body, also
that of a helper, what is under the cursor, and the Rust of that statement."""

from __future__ import annotations

import ast
import re
import textwrap

from ferrotile.diagnostics.model import Severity
from ferrotile.signatures.model import ArrayArgument
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.span import Span
from ferrotile.tiles import reading_at, values_text
from ferrotile.translation import KernelTranslation
from lsprotocol import types
from msgspec import Struct

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.convert import escape, fence
from ferrotile_server.lsp.features import signature_text
from ferrotile_server.lsp.features.directives import Word, directive_at, kernel_below, word_at
from ferrotile_server.lsp.features.verdict_text import history_text, unsafe_text, verdict_text

HEAD_LINES = 25
BODY_LINES = 12
_WORD = re.compile(r"\w")


class Part(Struct, frozen=True):
    """A piece of an answer: a sentence, or code in `language`."""

    text: str
    language: str = ""


class Target(Struct, frozen=True):
    """What a hover is about: a place, and what is said of it."""

    span: Span
    parts: tuple[Part, ...]


def register(context: Context) -> None:
    """Offer hover."""

    async def hover(params: types.HoverParams) -> types.Hover | None:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        found = _target(context, snapshot, snapshot.offset_of(params.position))
        return None if found is None or not found.parts else _answer(snapshot, found)

    context.server.feature(types.TEXT_DOCUMENT_HOVER)(hover)


def _answer(snapshot: Snapshot, found: Target) -> types.Hover:
    if snapshot.client.markdown:
        pieces = [fence(p.text, p.language) if p.language else escape(p.text) for p in found.parts]
        contents = types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(pieces))
    else:
        contents = types.MarkupContent(types.MarkupKind.PlainText, "\n\n".join(p.text for p in found.parts))
    return types.Hover(contents, snapshot.range_of(found.span))


def _target(context: Context, snapshot: Snapshot, offset: int) -> Target | None:
    if _is_comment(snapshot, offset):
        comment = directive_at(snapshot.file, offset)
        kernel = None if comment is None else kernel_below(snapshot, comment)
        word = None if comment is None else word_at(comment, offset)
        return None if kernel is None or word is None else _in_directive(snapshot, kernel, word)
    at_word = _WORD.match(snapshot.file.document.slice(Span(offset, offset + 4)))
    if at_word is None:
        return None
    around = snapshot.analysis.at(offset, offset)
    if not around:
        return _in_helper(snapshot, offset)
    kernel = around[0]
    function = snapshot.analysis.function_of(kernel)
    if offset <= kernel.name_span.end or snapshot.analysis.translation.module is None or function is None:
        return Target(kernel.name_span, _head(context, snapshot, kernel)) if offset <= kernel.name_span.end else None
    return _parameter_at(snapshot, kernel, function, offset) or _body(snapshot, (kernel,), function, offset)


def _is_comment(snapshot: Snapshot, offset: int) -> bool:
    found = snapshot.file.document.tree.root_node.descendant_for_byte_range(offset, offset)
    return found is not None and found.type == "comment"


def _head(context: Context, snapshot: Snapshot, kernel: KernelTranslation) -> tuple[Part, ...]:
    if kernel.rust is None:
        refused = [d for d in kernel.diagnostics if d.severity is Severity.ERROR]
        if not refused:
            return (Part(f"{kernel.name}: not translated"),)
        line = snapshot.line_of(refused[0].span.start)
        first = Part(f"{kernel.name}: not translated; {refused[0].code} at line {line}: {refused[0].message}")
        return (first, *_signature(snapshot, kernel))
    told = [verdict_text(context, snapshot, kernel.name), unsafe_text(snapshot, kernel.name)]
    first = Part(f"{kernel.name}: {'; '.join(t for t in told if t)}")
    before = history_text(context, snapshot, kernel.name)
    earlier = () if before is None else (Part(before),)
    return (first, *earlier, *_signature(snapshot, kernel), Part(_shorten(_entry(kernel.rust), HEAD_LINES), "rust"))


def _signature(snapshot: Snapshot, kernel: KernelTranslation) -> tuple[Part, ...]:
    signature = kernel.signature
    if signature is None or not signature.arguments:
        return ()
    text = ",\n".join(signature_text.lines(signature_text.entries(signature)))
    count = len(snapshot.analysis.named(kernel.name))
    others = f"signature: {signature_text.origins(snapshot.file, signature)}"
    if count > 1:
        others += f"; {count - 1} more signature{'s' if count > 2 else ''}"
    return (Part(text, "python"), Part(others))


def _entry(rust: str) -> list[str]:
    """The lines from the entry on: the helpers above it are for the preview."""
    lines = rust.strip("\n").split("\n")
    first = next((i for i, line in enumerate(lines) if "cutile::entry" in line), None)
    if first is None:
        return lines
    return textwrap.dedent("\n".join(lines[first:-1])).split("\n")


def _in_directive(snapshot: Snapshot, kernel: KernelTranslation, word: Word) -> Target | None:
    known = _parameter(snapshot, kernel, word.text)
    if known:
        return Target(word.span, known)
    signature = kernel.signature
    if signature is None:
        return None
    places: dict[int, list[str]] = {}
    for argument in signature.arguments:
        if isinstance(argument, ArrayArgument):
            for axis, extent in enumerate(argument.extents):
                if extent == word.text:
                    places.setdefault(axis, []).append(argument.name)
    told = "; ".join(f"axis {axis} of {', '.join(names)}" for axis, names in sorted(places.items()))
    return Target(word.span, (Part(f"{word.text}: {told}"),)) if places else None


def _parameter_at(
    snapshot: Snapshot, kernel: KernelTranslation, function: FunctionSource, offset: int
) -> Target | None:
    """The parameter whose declaration in the head is under the cursor."""
    module = snapshot.analysis.translation.module
    arguments = function.node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        span = module.span_of(argument) if module is not None else None
        if span is not None and span.start <= offset < span.end:
            return Target(span, _parameter(snapshot, kernel, argument.arg))
    return None


def _parameter(snapshot: Snapshot, kernel: KernelTranslation, name: str) -> tuple[Part, ...]:
    """What a parameter is, from where that is known, what it is in Rust, and how it is written."""
    signature = kernel.signature
    row = None if signature is None else signature_text.rows(signature).get(name)
    if signature is None or row is None or name == "grid":
        return ()
    told = f"{name} = {row.what}" if signature_text.is_constant(signature, name) else f"{name}: {row.what}"
    parts = [Part(f"{told}  # {signature_text.origin(snapshot.file, signature, row)}", "python")]
    declared = _declared(kernel, name)
    if declared is not None and declared != told:
        parts.append(Part(declared, "rust"))
    written = next((o for o in kernel.outputs if o.name == name), None)
    if written is not None:
        parts.append(Part(f"written ({written.form}): {written.reason}"))
    return tuple(parts)


def _declared(kernel: KernelTranslation, name: str) -> str | None:
    """The parameter's declaration in the Rust entry."""
    entry = kernel.entry
    if kernel.rust is None or entry is None:
        return None
    rust = next((p.rust or p.name for p in entry.parameters if p.name == name and p.copy_of is None), name)
    head = " ".join(line.strip() for line in _entry(kernel.rust)).partition(") {")[0] + ")"
    found = re.search(rf"[(< ]((?:const |mut )?{re.escape(rust)}: )", head)
    return None if found is None else _argument(head, found.start(1))


def _argument(head: str, start: int) -> str:
    """One parameter out of a function's head: up to the comma or bracket that ends it."""
    depth = 0
    for at in range(start, len(head)):
        if depth == 0 and head[at] in ",)>":
            return head[start:at]
        depth += (head[at] in "([{<") - (head[at] in ")]}>")
    return head[start:]


def _in_helper(snapshot: Snapshot, offset: int) -> Target | None:
    module = snapshot.analysis.translation.module
    if module is None:
        return None
    around = [f for f in (*module.functions, *module.nested) if f.span.start <= offset < f.span.end]
    if not around:
        return None
    function = max(around, key=lambda f: f.span.start)
    first: dict[str, KernelTranslation] = {}
    for kernel in snapshot.analysis.translation.kernels:
        if kernel.readings is not None and kernel.readings.covers(function.node):
            first.setdefault(kernel.name, kernel)
    return _body(snapshot, tuple(first.values()), function, offset, inlined=True) if first else None


def _body(
    snapshot: Snapshot,
    kernels: tuple[KernelTranslation, ...],
    function: FunctionSource,
    offset: int,
    inlined: bool = False,
) -> Target | None:
    """Of several kernels that have a helper inlined, what they agree on."""
    module = snapshot.analysis.translation.module
    if module is None:
        return None
    statement = _statement_at(module, function.node, offset)
    if statement is None:
        return None
    found = [
        typed
        for k in kernels
        if k.readings is not None and (typed := reading_at(k.readings, module, function, offset)) is not None
    ]
    parts: list[Part] = []
    span = statement
    if found and isinstance(found[0][0], ast.Constant):
        return None
    if found and all(f[2] == found[0][2] for f in found):
        node, span, reading = found[0]
        parts = list(_described(snapshot, kernels[0], node, reading.text, reading.array))
        numbers = None if reading.type is None else values_text(reading.type)
        if numbers is not None and parts:
            parts[0] = Part(f"{parts[0].text}  # {numbers}", "python")
    made = _made(kernels[0], statement)
    if made:
        if inlined:
            made = [f"// inlined in {kernels[0].name}", *made]
        parts.append(Part(_shorten(made, BODY_LINES), "rust"))
    return Target(span, tuple(parts)) if parts else None


def _described(
    snapshot: Snapshot, kernel: KernelTranslation, node: ast.expr, text: str, array: bool
) -> tuple[Part, ...]:
    if isinstance(node, ast.Name) and array:
        return _parameter(snapshot, kernel, node.id)[:1]
    if isinstance(node, ast.Name):
        return (Part(f"{node.id} {text}" if text.startswith("=") else f"{node.id}: {text}", "python"),)
    return (Part(text.removeprefix("= "), "python"),)


def _statement_at(module: Module, function: ast.AST, offset: int) -> Span | None:
    """The smallest statement around an offset; of a compound one its head."""
    best = None
    for node in ast.walk(function):
        if not isinstance(node, ast.stmt) or node is function:
            continue
        span = module.span_of(node)
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            span = Span(span.start, module.span_of(body[0]).start)
        if span.start <= offset < span.end and (best is None or span.start >= best.start):
            best = span
    return best


def _made(kernel: KernelTranslation, statement: Span) -> list[str]:
    """The Rust made from a statement."""
    if kernel.rust is None:
        return []
    rust = kernel.rust.split("\n")
    lines = [
        rust[i]
        for i, source in kernel.source_map.pairs
        if statement.start <= source.start < statement.end and i < len(rust)
    ]
    shown = [line for line in lines if line.strip() != "}"]
    return textwrap.dedent("\n".join(shown)).split("\n") if shown else []


def _shorten(lines: list[str], most: int) -> str:
    if len(lines) <= most + 1:
        return "\n".join(lines)
    return "\n".join([*lines[:most], f"// ... {len(lines) - most} more lines: Preview Rust"])
