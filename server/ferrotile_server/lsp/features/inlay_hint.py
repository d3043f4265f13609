"""`textDocument/inlayHint`: element type and shape where a variable of a kernel becomes another tile; in its head, what
each parameter is, where no directive says it; the verdict, where the editor has no lenses. Tooltips are resolved."""

from __future__ import annotations

from collections.abc import Iterator

from ferrotile.signatures.model import Source
from ferrotile.syntax.module import parameters_of
from ferrotile.syntax.span import Span
from ferrotile.tiles import assigned_names, values_text
from ferrotile.translation import KernelTranslation
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features import signature_text
from ferrotile_server.lsp.features.verdict_text import verdict_mark

LONGEST = 40
"""Of a hint in characters; what is longer is cut, and the tooltip has all of it."""


def register(context: Context) -> None:
    """Offer inlay hints for the lines that are asked for."""

    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None or not context.settings_of(snapshot.file.uri).inlay_hints:
            return []
        start, end = snapshot.offset_of(params.range.start), snapshot.offset_of(params.range.end)
        found: dict[int, types.InlayHint] = {}
        done: set[str] = set()
        for kernel in snapshot.analysis.at(start, end):
            if kernel.name in done:
                continue  # of several signatures the first has the word
            done.add(kernel.name)
            for at, hint in _of(context, snapshot, kernel):
                if start <= at <= end:
                    found.setdefault(at, hint)
        return [found[at] for at in sorted(found)]

    async def resolve(hint: types.InlayHint) -> types.InlayHint:
        data = hint.data
        if not isinstance(data, dict) or not isinstance(uri := data.get("uri"), str):
            return hint
        snapshot = await context.snapshot(uri)
        if snapshot is not None and snapshot.file.version == data.get("version"):
            named = snapshot.analysis.named(str(data.get("kernel")))
            text = _tooltip(snapshot, named[0], str(data.get("part"))) if named else None
            hint.tooltip = text
        return hint

    context.server.feature(types.TEXT_DOCUMENT_INLAY_HINT, types.InlayHintOptions(resolve_provider=True))(hints)
    context.server.feature(types.INLAY_HINT_RESOLVE)(resolve)


def _of(context: Context, snapshot: Snapshot, kernel: KernelTranslation) -> Iterator[tuple[int, types.InlayHint]]:
    """Each hint with the byte offset of its place."""
    yield from _parameters(snapshot, kernel)
    yield from _tiles(snapshot, kernel)
    if not snapshot.client.shows_lenses and kernel.rust is not None:
        mark = verdict_mark(context, snapshot, kernel.name)
        lines = snapshot.file.document.lines
        end = lines.line_end(lines.line_of(kernel.name_span.start))
        if mark is not None:
            yield end, _hint(snapshot, end, mark, padded=True)


def _tiles(snapshot: Snapshot, kernel: KernelTranslation) -> Iterator[tuple[int, types.InlayHint]]:
    module, function = snapshot.analysis.translation.module, snapshot.analysis.function_of(kernel)
    if kernel.readings is None or module is None or function is None:
        return
    for name in assigned_names(kernel.readings, module, function):
        type_ = name.reading.type
        if type_ is None or not type_.shape or name.again:
            continue
        hint = _hint(snapshot, name.span.end, f": {name.reading.text}", types.InlayHintKind.Type)
        numbers = values_text(type_)
        if numbers is not None:
            hint.tooltip = numbers
        yield name.span.end, hint


def _parameters(snapshot: Snapshot, kernel: KernelTranslation) -> Iterator[tuple[int, types.InlayHint]]:
    """What no directive above the kernel says."""
    signature, module, function = (
        kernel.signature,
        snapshot.analysis.translation.module,
        snapshot.analysis.function_of(kernel),
    )
    if signature is None or module is None or function is None:
        return
    if all(a.source is Source.DIRECTIVE for a in signature.arguments):
        return
    told, known = signature_text.stated(signature), signature_text.rows(signature)
    for argument in parameters_of(function.node):
        row = known.get(argument.arg)
        if row is None or argument.arg in told:
            continue
        span: Span = module.span_of(argument)
        sign = " =" if signature_text.is_constant(signature, argument.arg) else ":"
        doubt = "?" if signature_text.is_assumed(signature, row) else ""
        hint = _hint(snapshot, span.end, f"{sign} {row.what}{doubt}", types.InlayHintKind.Type)
        hint.data = {
            "uri": snapshot.file.uri,
            "version": snapshot.file.version,
            "kernel": kernel.name,
            "part": argument.arg,
        }
        yield span.end, hint


def _hint(
    snapshot: Snapshot, at: int, text: str, kind: types.InlayHintKind | None = None, padded: bool = False
) -> types.InlayHint:
    cut = text if len(text) <= LONGEST else text[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
    place = snapshot.position_of(at)
    return types.InlayHint(position=place, label=cut, kind=kind, padding_left=True if padded else None)


def _tooltip(snapshot: Snapshot, kernel: KernelTranslation, part: str) -> str | None:
    signature = kernel.signature
    row = None if signature is None else signature_text.rows(signature).get(part)
    if signature is None or row is None:
        return None
    text = f"{part}: {row.what}\n{signature_text.origin(snapshot.file, signature, row)}"
    others = len(snapshot.analysis.named(kernel.name)) - 1
    return text if not others else f"{text}\nunder the first of {others + 1} signatures"
