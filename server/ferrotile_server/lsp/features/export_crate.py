"""The command that exports saved files into a crate: what became of each file is the answer, and the editor shows the
first place where a person must choose."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.features.verify import RequestFailed
from ferrotile_server.lsp.protocol import InvalidParams, Json
from ferrotile_server.lsp.surroundings import path_of

if TYPE_CHECKING:
    from ferrotile_runner.export.outcome import Outcome

COMMAND = "ferrotile.server.export"
WRONG = "The arguments are a URI or a list of URIs, the URI of the crate's folder and, if wanted, true to check alone."


def register(context: Context) -> None:
    """Offer the command."""

    async def export(*arguments: Json) -> Json:
        paths, folder, check = _arguments(arguments)
        outcome = await asyncio.to_thread(_export, paths, folder, check)
        await _show(context, folder, outcome)
        return {"folder": folder.as_uri(), **outcome.to_json()}

    context.server.command(COMMAND)(export)


def _export(paths: tuple[Path, ...], folder: Path, check: bool) -> Outcome:
    """As `ferrotile export`. Raises `RequestFailed`."""
    from ferrotile_server.cli.arguments import parse
    from ferrotile_server.cli.export import make, merge
    from ferrotile_server.cli.paths import PathError

    only = ("--check",) if check else ()
    arguments = parse(("export", "-o", str(folder), *only, "--", *map(str, paths)))
    try:
        crate, _ = make(arguments, folder)
        return merge(folder, crate, arguments)
    except PathError as error:
        raise RequestFailed(str(error)) from None


async def _show(context: Context, folder: Path, outcome: Outcome) -> None:
    """Open the first conflict that is in a file: editors show its two sides as a diff."""
    places = [(file.path, file.conflicts[0].first - 1) for file in outcome.files if file.conflicts]
    if not places or not outcome.written or not context.client.shows_documents:
        return
    path, line = places[0]
    at = types.Position(line, 0)
    shown = types.ShowDocumentParams(uri=(folder / path).as_uri(), take_focus=True, selection=types.Range(at, at))
    await context.ask(context.server.window_show_document_async(shown))


def _arguments(given: tuple[Json, ...]) -> tuple[tuple[Path, ...], Path, bool]:
    if not 2 <= len(given) <= 3:
        raise InvalidParams(WRONG)
    uris = given[0] if isinstance(given[0], list) else [given[0]]
    paths = [path_of(uri) if isinstance(uri, str) else None for uri in uris]
    folder = path_of(given[1]) if isinstance(given[1], str) else None
    check = given[2] if len(given) == 3 else False
    known = tuple(path for path in paths if path is not None)
    if not known or len(known) != len(paths) or folder is None or not isinstance(check, bool):
        raise InvalidParams(WRONG)
    return known, folder, check
