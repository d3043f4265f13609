"""`textDocument/implementation`: from a line of a Python kernel to the Rust that it became; in a helper, to that of
each kernel which has it inlined.

The target is the file on disk that Translate to Rust wrote, if it has the kernel as it would be written now; else the
preview, where the editor has virtual documents; else there is none."""

from __future__ import annotations

import asyncio

from ferrotile.syntax.positions import Encoding
from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features.content import preview_uri
from ferrotile_server.lsp.features.rust_file import CannotWrite, read, target_of
from ferrotile_server.rust_lines import RustFile, locate, translated

Answer = list[types.Location] | list[types.LocationLink] | None


def register(context: Context) -> None:
    """Offer the way to the Rust."""

    async def implementation(params: types.ImplementationParams) -> Answer:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return None
        offset = snapshot.offset_of(params.position)
        lines = snapshot.file.document.lines
        number = lines.line_of(offset)
        line = Span(lines.line_start(number), lines.line_end(number))
        chosen = _chosen(snapshot, offset, line)
        if not chosen:
            return None
        written = await _written(snapshot, chosen)
        found = [place for kernel in chosen if (place := _place(context, snapshot, kernel, line, offset, written))]
        if not snapshot.client.implementation_links:
            return found or None
        return [types.LocationLink(p.uri, p.range, p.range) for p in found] or None

    context.server.feature(types.TEXT_DOCUMENT_IMPLEMENTATION)(implementation)


def _chosen(snapshot: Snapshot, offset: int, line: Span) -> list[KernelTranslation]:
    """The kernels around the cursor; where it is in none, those with Rust made from this line."""
    around = {k.name for k in snapshot.analysis.at(offset, offset)}
    every = translated(snapshot.analysis).values()
    if around:
        return [k for k in every if k.name in around]
    return [k for k in every if any(line.start <= s.start < line.end for _, s in k.source_map.pairs)]


async def _written(snapshot: Snapshot, kernels: list[KernelTranslation]) -> tuple[str, RustFile] | None:
    """URI of the file on disk, and where the kernels are in it."""
    try:
        uri, path = target_of(snapshot.file.uri)
    except CannotWrite:
        return None
    text = await asyncio.to_thread(read, path)
    return None if text is None else (uri, locate(text, kernels))


def _place(
    context: Context,
    snapshot: Snapshot,
    kernel: KernelTranslation,
    line: Span,
    offset: int,
    written: tuple[str, RustFile] | None,
) -> types.Location | None:
    if written is not None and written[1].of(kernel.name) is not None:
        uri, made = written
    elif snapshot.client.text_document_content:
        uri = preview_uri(snapshot.file.uri, kernel.name)
        text = context.application.rust_file(snapshot.analysis, snapshot.file.stem, (kernel.name,))
        made = locate(text or "", (kernel,))
    else:
        return None
    found = made.of(kernel.name)
    if found is None:
        return None
    at_head = kernel.span.start <= offset <= kernel.name_span.end
    number = None if at_head else found.made_from(line)
    return types.Location(uri, _line(made.text, found.head if number is None else number, snapshot.client.encoding))


def _line(text: str, number: int, encoding: Encoding) -> types.Range:
    line = text.split("\n")[number]
    indent = len(line) - len(line.lstrip(" "))
    match encoding:
        case Encoding.UTF8:
            end = len(line.encode())
        case Encoding.UTF16:
            end = len(line.encode("utf-16-le")) // 2
        case Encoding.UTF32:
            end = len(line)
    return types.Range(types.Position(number, indent), types.Position(number, end))
