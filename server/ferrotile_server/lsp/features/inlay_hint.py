"""`textDocument/inlayHint`: element type and shape after each variable of a kernel that is assigned a tile."""

from __future__ import annotations

from ferrotile.tiles import AssignedTile, assigned_tiles, type_text
from ferrotile.translation import KernelTranslation
from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot


def register(context: Context) -> None:
    """Offer inlay hints for the lines that are asked for."""

    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None or not context.settings.inlay_hints:
            return []
        start, end = snapshot.offset_of(params.range.start), snapshot.offset_of(params.range.end)
        seen: dict[int, types.InlayHint] = {}
        for kernel in snapshot.analysis.at(start, end):
            for tile in _tiles(snapshot, kernel):
                if start <= tile.span.start and tile.span.end <= end:
                    seen.setdefault(tile.span.end, _hint(snapshot, kernel, tile))
        return [seen[at] for at in sorted(seen)]

    context.server.feature(types.TEXT_DOCUMENT_INLAY_HINT)(hints)


def _tiles(snapshot: Snapshot, kernel: KernelTranslation) -> list[AssignedTile]:
    """Those of a kernel under one signature: of several, the first has the word."""
    module, function = snapshot.analysis.translation.module, snapshot.analysis.function_of(kernel)
    if kernel.program is None or module is None or function is None:
        return []
    return [tile for tile in assigned_tiles(kernel.program, module, function) if tile.type.shape]


def _hint(snapshot: Snapshot, kernel: KernelTranslation, tile: AssignedTile) -> types.InlayHint:
    return types.InlayHint(
        position=snapshot.range_of(tile.span).end,
        label=f": {type_text(tile.type)}",
        kind=types.InlayHintKind.Type,
        tooltip=f"Inferred for `{kernel.name}`",
    )
