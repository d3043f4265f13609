"""`workspace/diagnostic`: the kernel files that are not open, where the setting `diagnosticMode` is `workspace`. The
request stays open until there is something new to say, and gives files whose result the editor has as unchanged.

The files are analysed in a thread and with caches of their own, one after another: open documents do not wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ferrotile.syntax.document import Document
from ferrotile.translation import Options
from ferrotile_runner.project import Projects, may_hold_kernels, python_files
from lsprotocol import types
from msgspec import Raw, Struct

from ferrotile_server.application import Application
from ferrotile_server.lsp import convert
from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.convert import Plain
from ferrotile_server.lsp.features.diagnostics_pull import result_id
from ferrotile_server.lsp.features.grouping import grouped
from ferrotile_server.lsp.protocol import encoded
from ferrotile_server.lsp.session import Client
from ferrotile_server.lsp.surroundings import path_of
from ferrotile_server.project_settings import ProjectSettings

POLL_S = 0.5
UNTOLD_S = 10.0
"""Between two looks at the files, in an editor that does not tell of changes on disk."""


class Known(Struct, frozen=True):
    """What was found in a file, and what that rests on."""

    state: bytes
    items: list[Plain]
    identity: str


class Scan:
    """The diagnostics of files on disk, kept for as long as nothing that they rest on changes. For one thread."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._projects = Projects()
        self._settings = ProjectSettings()
        self._known: dict[Path, Known] = {}
        self.stop = threading.Event()

    def run(self, folders: tuple[Path, ...], left_out: frozenset[Path], options: Options, client: Client) -> None:
        """Look at all files of `folders` but those that are `left_out`."""
        self._projects.folders = folders
        self._projects.relist()
        self._settings.relist()
        self._projects.files.renew()
        found = dict.fromkeys(path for folder in folders for path in python_files(folder, folder / "__init__.py"))
        for path in [p for p in self._known if p not in found]:
            del self._known[path]
        for path in found:
            if self.stop.is_set():
                return
            if path in left_out:
                self._known.pop(path, None)
            else:
                self._look(path, folders, options, client)

    def _look(self, path: Path, folders: tuple[Path, ...], options: Options, client: Client) -> None:
        document = self._projects.files.document(path.as_posix())
        if document is None or not may_hold_kernels(document.data):
            self._known.pop(path, None)
            return
        own = self._settings.options(path, folders, options)
        state = self._projects.digest(path) + repr(own).encode()
        known = self._known.get(path)
        if known is None or known.state != state:
            items = self._diagnose(path, document, own, client)
            self._known[path] = Known(state, items, result_id(items))

    def _diagnose(self, path: Path, document: Document, options: Options, client: Client) -> list[Plain]:
        uri, around = path.as_uri(), self._projects.around(path)
        workspace, name = (None, "") if around is None else (around.workspace, around.name)
        analysis = self._application.check_document(document, uri, workspace, name, options)
        self._application.forget(uri)
        return [convert.diagnostic(uri, document, found, client) for found in grouped(analysis.diagnostics)]

    def reports(self, previous: Mapping[str, str]) -> tuple[list[Plain], bool]:
        """One report a file, and whether any is news for an editor that has `previous`, result ids by URI."""
        reports: list[Plain] = []
        news = False
        by_path = {path: (uri, identity) for uri, identity in previous.items() if (path := path_of(uri)) is not None}
        for path, known in self._known.items():
            uri, had = by_path.pop(path, (path.as_uri(), None))
            if had == known.identity:
                reports.append(_report(uri, known.identity))
            else:
                news = True
                reports.append(_report(uri, known.identity, known.items))
        for uri, had in by_path.values():
            if had != GONE:
                news = True
                reports.append(_report(uri, GONE, []))
        return reports, news


def _report(uri: str, identity: str, items: list[Plain] | None = None) -> Plain:
    """Without `items`, the report that nothing changed."""
    kind: Plain = {"kind": "unchanged"} if items is None else {"kind": "full", "items": items}
    return {"uri": uri, "version": None, "resultId": identity, **kind}


GONE = "gone"
"""The result id of a file that is no more, or has no kernels any more, or is open now."""


def register(context: Context) -> None:
    """Offer the request."""
    scan = Scan(context.application.alike())
    pool = ThreadPoolExecutor(1, "ferrotile-workspace")
    asked = 0

    async def pull(params: types.WorkspaceDiagnosticParams) -> Raw:
        nonlocal asked
        asked += 1
        turn = asked
        previous = {one.uri: one.value for one in params.previous_result_ids}
        last: object = None
        while context.settings.checks_workspace:
            folders = tuple(path for u in context.server.workspace.folders if (path := path_of(u)) is not None)
            opened = frozenset(path for file in context.documents if (path := path_of(file.uri)) is not None)
            options, client = context.settings.options, context.client
            clock = 0.0 if context.surroundings.watched else asyncio.get_running_loop().time() // UNTOLD_S
            now = (folders, opened, options, context.rounds, clock)
            if now != last:
                await look(folders, opened, options, client)
                last = now
                reports, news = scan.reports(previous)
                if news or turn != asked:
                    return encoded({"items": reports})
            await asyncio.sleep(POLL_S)
        return encoded({"items": []})

    async def look(folders: tuple[Path, ...], opened: frozenset[Path], options: Options, client: Client) -> None:
        scan.stop.clear()
        work = asyncio.get_running_loop().run_in_executor(pool, scan.run, folders, opened, options, client)
        try:
            await work
        except asyncio.CancelledError:
            scan.stop.set()
            raise

    context.server.feature(types.WORKSPACE_DIAGNOSTIC)(pull)
