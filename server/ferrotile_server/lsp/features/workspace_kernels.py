"""`ferrotile/workspaceKernels`: the kernels of all files in the workspace's folders, by parsing alone.

No parameters; result `{"files": [{"uri", "kernels": [{"name", "range"}]}], "complete": bool}`. Open files count as they
are in the editor. `complete` is false where a folder has more files than ferrotile looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from threading import Event

from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.syntax.positions import Encoding
from ferrotile_runner.project import LARGEST_FILE, MOST_FILES, may_hold_kernels, python_files

from ferrotile_server.lsp import convert
from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.convert import plain_range
from ferrotile_server.lsp.features.kernels import body_range
from ferrotile_server.lsp.protocol import Json
from ferrotile_server.lsp.surroundings import path_of

METHOD = "ferrotile/workspaceKernels"


def register(context: Context) -> None:
    """Offer the request."""

    async def workspace_kernels(params: Json) -> dict[str, object]:
        files, complete = await list_kernels(context)
        return {"files": files, "complete": complete}

    context.server.feature(METHOD)(workspace_kernels)


async def list_kernels(context: Context) -> tuple[list[dict[str, object]], bool]:
    """The files with kernels, and whether these are all. One search runs at a time, in a thread of its own."""
    folders = [path for uri in context.server.workspace.folders if (path := path_of(uri)) is not None]
    opened = {path: file.document for file in context.documents if (path := path_of(file.uri)) is not None}
    cancel = Event()
    try:
        work = asyncio.get_running_loop().run_in_executor(
            context.searches, _search, folders, opened, context.client.encoding, cancel
        )
        return await work
    finally:
        cancel.set()


def _search(
    folders: list[Path], opened: Mapping[Path, Document], encoding: Encoding, cancel: Event
) -> tuple[list[dict[str, object]], bool]:
    paths: dict[Path, None] = {}
    complete = True
    for folder in folders:
        listed = python_files(folder, folder / "__init__.py")
        complete &= len(listed) < MOST_FILES
        paths.update(dict.fromkeys(listed))
    found: list[dict[str, object]] = []
    for path in sorted(paths):
        if cancel.is_set():
            break
        document = opened.get(path) or read(path)
        kernels = [] if document is None else _kernels(document, encoding)
        if kernels:
            found.append({"uri": path.as_uri(), "kernels": kernels})
    return found, complete


def read(path: Path) -> Document | None:
    """A file that may hold kernels; None for any other, and for one that cannot be read."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            return None
        data = path.read_bytes()
    except (OSError, ValueError):
        return None
    return Document(data.decode("utf-8-sig", "replace")) if may_hold_kernels(data) else None


def _kernels(document: Document, encoding: Encoding) -> list[dict[str, object]]:
    try:
        sources = find_kernels(parse_module(document))
    except Exception:  # opening the file tells what is wrong with it
        return []
    found: dict[str, dict[str, object]] = {}
    for source in sources:
        name = convert.range_of(document, source.name_span, encoding)
        place = plain_range(body_range(name, convert.range_of(document, source.span, encoding)))
        found.setdefault(source.name, {"name": source.name, "range": place})
    return list(found.values())
