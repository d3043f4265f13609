"""`ferrotile/previewUri`: the address of a preview, for a client that opens it itself, beside the Python.

Parameters `{"uri", "kernel"?, "line"?, "character"?}`, result `{"uri", "kernel"}`; without a kernel, the
one at the
position is meant, else the whole file."""

from __future__ import annotations

from lsprotocol import types

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.features.content import preview_uri
from ferrotile_server.lsp.features.kernel_params import asked_about
from ferrotile_server.lsp.protocol import InvalidParams, Json

METHOD = "ferrotile/previewUri"


def register(context: Context) -> None:
    """Offer the address of previews."""

    async def address(params: Json) -> dict[str, str | None]:
        snapshot, uri, kernel, given = await asked_about(context, params)
        line, character = given.get("line"), given.get("character")
        if kernel is None and isinstance(line, int) and isinstance(character, int):
            offset = snapshot.offset_of(types.Position(max(line, 0), max(character, 0)))
            found = snapshot.analysis.at(offset, offset)
            kernel = found[0].name if found else None
        if kernel is not None and kernel not in snapshot.analysis.kernel_names:
            raise InvalidParams("There is no such kernel.")
        return {"uri": preview_uri(uri, kernel), "kernel": kernel}

    context.server.feature(METHOD)(address)
