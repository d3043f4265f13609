"""`textDocument/hover`: on a kernel's head its verdict and Rust; in its body the type under the cursor, and the Rust
of that line."""

from __future__ import annotations

import textwrap

from ferrotile.diagnostics.model import Severity
from ferrotile.program.types import TileType
from ferrotile.syntax.span import Span
from ferrotile.tiles import type_at, type_text
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
    typed = _typed(snapshot, kernel, offset)
    if not made and typed is None:
        return None
    line = f"{kernel.name} in Rust" if made else kernel.name
    if typed is not None:
        span, known = typed
        line = f"{type_text(known)}; {line}"
    return _answer(snapshot, (line, _shorten(made, BODY_LINES) if made else None), span)


def _typed(snapshot: Snapshot, kernel: KernelTranslation, offset: int) -> tuple[Span, TileType] | None:
    function = snapshot.analysis.function_of(kernel)
    module = snapshot.analysis.translation.module
    if kernel.program is None or module is None or function is None:
        return None
    return type_at(kernel.program, module, function, offset)


def _inside(source: Span, line: Span) -> bool:
    return line.start <= source.start < line.end


def _shorten(lines: list[str], most: int) -> str:
    if len(lines) <= most + 1:
        return "\n".join(lines)
    return "\n".join([*lines[:most], f"// ... {len(lines) - most} more lines: Preview Rust"])
