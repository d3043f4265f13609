"""The files around the open ones, for the analysis: read in threads of their own, with open buffers instead of files
on disk. The event loop never waits for a disk, and a slow disk holds up an analysis for a moment at most."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from ferrotile.syntax.document import Document
from ferrotile_runner.project import Projects, may_hold_kernels
from pygls.uris import to_fs_path

from ferrotile_server.application import Analysis, Application

GRACE_S = 0.5
"""How long an analysis waits for the files around it; after that it goes on without them, and is done again later."""


def path_of(uri: str) -> Path | None:
    """The file that a URI names; None for a buffer that is no file."""
    try:
        if urlsplit(uri).scheme != "file":
            return None
        found = to_fs_path(uri)
    except ValueError:
        return None
    return Path(os.path.abspath(found)) if found and "\0" not in found else None


class Surroundings:
    """Analyses documents among the files of their projects. `late` is called, from any thread, with the URI of a
    document that was analysed without them."""

    def __init__(self, application: Application, late: Callable[[str], None]) -> None:
        self._application = application
        self._late = late
        self._projects = Projects()
        self._lock = threading.Lock()
        self._reader = ThreadPoolExecutor(1, "ferrotile-files")
        self._listed: dict[Path, Future[None]] = {}
        self._depends: dict[str, frozenset[str]] = {}
        self.watched = False
        """Whether the editor tells of changes on disk; otherwise what was consulted is looked at before each use."""

    def analyse(self, document: Document, uri: str, buffers: Mapping[str, Document]) -> Analysis:
        """Analyse the newest text of `uri`; `buffers` are the open documents by URI. Blocks: for a worker thread."""
        path = path_of(uri)
        if path is None or not may_hold_kernels(document.data):
            return self._application.check_document(document, uri)
        listing = self._listed.get(path)
        if listing is None:
            listing = self._listed[path] = self._reader.submit(self._list, path)
        try:
            listing.result(GRACE_S)
        except TimeoutError:
            listing.add_done_callback(lambda _: self._late(uri))
            return self._application.check_document(document, uri)
        except Exception:
            return self._application.check_document(document, uri)
        if not self._lock.acquire(timeout=GRACE_S):
            self._reader.submit(self._late, uri)
            return self._application.check_document(document, uri)
        try:
            return self._analyse(document, uri, path, buffers)
        finally:
            self._lock.release()

    def _list(self, path: Path) -> None:
        with self._lock:
            around = self._projects.around(path)
            for where in () if around is None else around.paths.values():
                self._projects.files.words(where)

    def _analyse(self, document: Document, uri: str, path: Path, buffers: Mapping[str, Document]) -> Analysis:
        files = self._projects.files
        if not self.watched:
            files.renew(self._depends.get(uri, ()))
        opened = {where.as_posix(): text for u, text in buffers.items() if (where := path_of(u)) is not None}
        files.override(opened | {path.as_posix(): document})
        around = self._projects.around(path)
        if around is None:
            return self._application.check_document(document, uri)
        made = self._application.check_document(document, uri, around.workspace, around.name)
        names = (name for name, _ in made.translation.consulted)
        self._depends[uri] = frozenset(around.paths[name] for name in names if name in around.paths)
        return made

    def dependents(self, uri: str, document: Document | None, opened: Iterable[str]) -> tuple[str, ...]:
        """Which of the open documents a change of `uri` may concern; without its text, those that looked at it."""
        path = path_of(uri)
        if path is None:
            return ()
        return tuple(u for u in opened if u != uri and self._concerns(u, path.as_posix(), document))

    def _concerns(self, uri: str, path: str, document: Document | None) -> bool:
        if path in self._depends.get(uri, ()):
            return True
        own = path_of(uri)
        if own is None or document is None or b"import" not in document.data:
            return False
        name = own.parent.name if own.stem == "__init__" else own.stem
        return name.encode() in document.data

    def changed_on_disk(self, uris: Sequence[str], listing: bool, done: Callable[[], None]) -> None:
        """Files changed; `listing`: some were made or removed. `done` is called from another thread."""
        paths = [path.as_posix() for u in uris if (path := path_of(u)) is not None]

        def renew() -> None:
            with self._lock:
                self._projects.files.renew(paths)
                if listing:
                    self._relist()
            done()

        self._reader.submit(renew)

    def use_folders(self, uris: Iterable[str], done: Callable[[], None]) -> None:
        """The editor's workspace folders, which are projects where nothing else says so."""
        folders = [path for u in uris if (path := path_of(u)) is not None]

        def use() -> None:
            with self._lock:
                self._projects.folders = tuple(folders)
                self._relist()
            done()

        self._reader.submit(use)

    def _relist(self) -> None:
        self._projects.relist()
        self._listed.clear()

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._depends.pop(uri, None)
