"""`textDocument/hover`: on a kernel's head its verdict and Rust; in its body the Rust of that line."""

from __future__ import annotations

import textwrap

from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.convert import escape, fence

HEAD_LINES = 25
BODY_LINES = 12


def register(context: Context) -> None:
    """Offer hover."""

    async def hover(params: types.HoverParams) -> types.Hover | None:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.offset_of(params.position)
        for kernel in snapshot.analysis.at(offset, offset):
            if offset <= kernel.name_span.end:
                return _answer(snapshot, _head(context, snapshot, kernel), kernel.name_span)
            return _body(snapshot, kernel, offset)
        return None

    context.server.feature(types.TEXT_DOCUMENT_HOVER)(hover)


def _answer(snapshot: Snapshot, parts: tuple[str, str | None], span: Span) -> types.Hover:
    line, rust = parts
    if snapshot.client.markdown:
        text = escape(line) + ("\n\n" + fence(rust, "rust") if rust else "")
        contents = types.MarkupContent(types.MarkupKind.Markdown, text)
    else:
        contents = types.MarkupContent(types.MarkupKind.PlainText, line + (f"\n\n{rust}" if rust else ""))
    return types.Hover(contents, snapshot.range_of(span))


def _head(context: Context, snapshot: Snapshot, kernel: KernelTranslation) -> tuple[str, str | None]:
    if kernel.rust is None:
        refused = [d for d in kernel.diagnostics if d.severity is Severity.ERROR]
        if not refused:
            return f"{kernel.name}: not translated", None
        line = snapshot.file.document.lines.position(refused[0].span.start)[0] + 1
        return f"{kernel.name}: not translated; {refused[0].code} at line {line}: {refused[0].message}", None
    return verdict_line(context, snapshot, kernel.name), _shorten(_entry(kernel.rust), HEAD_LINES)


def _entry(rust: str) -> list[str]:
    """The lines from the entry on: the helpers above it are for the preview."""
    lines = rust.strip("\n").split("\n")
    first = next((i for i, line in enumerate(lines) if "cutile::entry" in line), None)
    if first is None:
        return lines
    return textwrap.dedent("\n".join(lines[first:-1])).split("\n")


def verdict_line(context: Context, snapshot: Snapshot, name: str) -> str:
    """How far a translated kernel is proven, and how much of it is unsafe, in one line."""
    entries = snapshot.analysis.named(name)
    proved = sum(k.unsafe.proved for k in entries)
    assumed = sum(k.unsafe.assumed for k in entries)
    unsafe = f"unsafe: {proved} proved, {assumed} assumed" if proved + assumed else "no unsafe"
    known = context.application.verdict(snapshot.file.uri, snapshot.analysis, name)
    if known is None:
        state = "translated, not verified yet"
    else:
        state = known[0].line if known[1] else "changed since it was verified"
    return f"{name}: {state}; {unsafe}"


def _body(snapshot: Snapshot, kernel: KernelTranslation, offset: int) -> types.Hover | None:
    if kernel.rust is None:
        return None
    lines = snapshot.file.document.lines
    number = lines.line_of(offset)
    span = Span(lines.line_start(number), lines.line_end(number))
    rust = kernel.rust.split("\n")
    made = [rust[i].strip() for i, source in kernel.source_map.pairs if _inside(source, span) and i < len(rust)]
    if not made:
        return None
    return _answer(snapshot, (f"{kernel.name} in Rust", _shorten(made, BODY_LINES)), span)


def _inside(source: Span, line: Span) -> bool:
    return line.start <= source.start < line.end


def _shorten(lines: list[str], most: int) -> str:
    if len(lines) <= most + 1:
        return "\n".join(lines)
    return "\n".join([*lines[:most], f"// ... {len(lines) - most} more lines: Preview Rust"])
