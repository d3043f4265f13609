"""Parameters `{uri, kernel?}` of our own requests about the Rust of a document, or of one of its kernels."""

from __future__ import annotations

from collections.abc import Mapping

from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.protocol import InvalidParams, Json


async def asked_about(context: Context, params: Json) -> tuple[Snapshot, str, str | None, Mapping[str, object]]:
    """The document, its address, the kernel's name where there is one, and all that was given. Raises InvalidParams."""
    given = params if isinstance(params, dict) else {}
    uri, kernel = given.get("uri"), given.get("kernel")
    if not isinstance(uri, str) or not isinstance(kernel, str | None):
        raise InvalidParams("`uri` must be text, and `kernel`, if there, too.")
    snapshot = await context.snapshot(uri)
    if snapshot is None:
        raise InvalidParams("The document is not open.")
    return snapshot, uri, kernel, given
