"""`ferrotile/verifyWorkspace`: climb the ladder for all kernels of the files in the workspace's folders, a file after
another, with one progress and one cancel.

Parameters `{"rungs"?, "workDoneToken"?, "partialResultToken"?}`; result `{"files": [{"uri", "kernels"}]}`, kernels as
in verify_result.py; with a `partialResultToken` each file is sent as soon as it is done, and the result has none. Open
files count as they are in the editor. Refused where the workspace is not trusted."""

from __future__ import annotations

import asyncio
from threading import Event

from ferrotile.syntax.document import Document
from lsprotocol import types
from msgspec import Struct

from ferrotile_server.application import Progress
from ferrotile_server.lsp.context import Context, Snapshot
from ferrotile_server.lsp.documents import OpenDocument
from ferrotile_server.lsp.features.verify import Verification, VerifyParams, parse
from ferrotile_server.lsp.features.workspace_kernels import list_kernels, read
from ferrotile_server.lsp.protocol import InvalidParams, Json
from ferrotile_server.lsp.surroundings import path_of
from ferrotile_server.verdicts import DEFAULT_RUNGS

METHOD = "ferrotile/verifyWorkspace"


class Wanted(Struct, frozen=True):
    """What the request asks for."""

    rungs: tuple[str, ...] = DEFAULT_RUNGS
    work_done: str | int | None = None
    partial: str | int | None = None


def register(context: Context, verification: Verification) -> None:
    """Offer the request."""

    async def request(params: Json) -> dict[str, object]:
        if not isinstance(params, dict) or "uri" in params or "kernel" in params:
            raise InvalidParams("ferrotile/verifyWorkspace takes an object, without `uri` and `kernel`.")
        asked = parse({**params, "uri": ""})
        return {"files": await verify(context, verification, Wanted(asked.rungs, asked.work_done, asked.partial))}

    context.server.feature(METHOD)(request)


async def verify(context: Context, verification: Verification, wanted: Wanted) -> list[dict[str, object]]:
    """Verify all; gives the files that were not sent as partial results. Raises as `Verification.run` does."""
    verification.require_trust()
    cancel = Event()
    done: list[dict[str, object]] = []
    shown = context.client.progress
    async with context.progress.work(context.server, shown, "Verify workspace", cancel, wanted.work_done) as say:
        say("looking for kernels")
        files, _ = await list_kernels(context)
        for number, listed in enumerate(files, 1):
            if cancel.is_set():
                raise asyncio.CancelledError
            uri = _open_as(context, str(listed["uri"]))
            snapshot = await _snapshot(context, uri)
            if snapshot is None or not snapshot.kernel_names:
                continue
            made = await _file(verification, snapshot, wanted, _in(say, number, len(files), snapshot), cancel)
            if wanted.partial is None:
                done.append(made)
            else:
                context.server.progress(types.ProgressParams(wanted.partial, {"files": [made]}))
    return done


def _in(say: Progress, number: int, count: int, snapshot: Snapshot) -> Progress:
    return lambda words: say(f"{snapshot.file.stem} ({number} of {count}): {words}")


async def _file(
    verification: Verification, snapshot: Snapshot, wanted: Wanted, say: Progress, cancel: Event
) -> dict[str, object]:
    uri, names = snapshot.file.uri, snapshot.kernel_names
    kernels = await verification.climb(snapshot, names, VerifyParams(uri, None, wanted.rungs), say, cancel)
    return {"uri": uri, "kernels": kernels}


def _open_as(context: Context, uri: str) -> str:
    """The editor's own spelling of the URI of a file that is open."""
    path = path_of(uri)
    return next((f.uri for f in context.documents if path_of(f.uri) == path), uri)


async def _snapshot(context: Context, uri: str) -> Snapshot | None:
    """The file as it is in the editor, else as it is on disk; None where it is gone."""
    if context.documents.get(uri) is not None:
        return await context.snapshot(uri)
    path = path_of(uri)
    document: Document | None = None if path is None else await asyncio.to_thread(read, path)
    return None if document is None else await context.closed(OpenDocument(uri, 0, document))
