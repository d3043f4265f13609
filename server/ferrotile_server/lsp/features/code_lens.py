"""`textDocument/codeLens`: above each kernel its verdict, the preview and the verification."""

from __future__ import annotations

from lsprotocol import types

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.features import commands
from ferrotile_server.lsp.features.hover import verdict_line


def register(context: Context) -> None:
    """Offer code lenses."""

    async def lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        snapshot = await context.snapshot(params.text_document.uri)
        if snapshot is None:
            return []
        return [lens for name in snapshot.analysis.kernel_names for lens in _of(context, snapshot, name)]

    context.server.feature(types.TEXT_DOCUMENT_CODE_LENS)(lenses)


def _of(context: Context, snapshot: Snapshot, name: str) -> list[types.CodeLens]:
    entries = snapshot.analysis.named(name)
    place = snapshot.range_of(entries[0].name_span)
    uri, client = snapshot.file.uri, snapshot.client
    if all(k.rust is None for k in entries):
        return [
            types.CodeLens(
                place, types.Command(title=f"{_icon(client.icons, 'circle-slash')}not translated", command="")
            )
        ]
    line = verdict_line(context, snapshot, name).removeprefix(f"{name}: ")
    return [
        types.CodeLens(place, commands.preview(client, uri, name, f"{_icon(client.icons, 'eye')}Preview Rust")),
        types.CodeLens(place, commands.verify(client, uri, name, f"{_icon(client.icons, 'play')}Verify")),
        types.CodeLens(place, types.Command(title=line, command="")),
    ]


def _icon(drawn: bool, name: str) -> str:
    # VS Code swallows a plain space after an icon.
    return f"$({name})\N{NO-BREAK SPACE}" if drawn else ""
