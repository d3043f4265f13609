"""The files around the open ones, for the analysis: read in a thread of their own, with open buffers instead of files
on disk. The event loop never waits for a disk, and what is read is read in slices between which an analysis comes
first; a slow disk holds up the first analysis of a file for a moment at most."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from ferrotile.syntax.document import Document
from ferrotile.translation import Options
from ferrotile_runner.project import Projects, may_hold_kernels, python_files, root_of
from msgspec import Struct
from pygls.uris import to_fs_path

from ferrotile_server.application import Analysis, Application
from ferrotile_server.project_settings import ProjectSettings

GRACE_S = 0.5
"""How long after its opening a file's analysis waits for the files around it; after that it goes on without them, and
is done again later."""
PAUSE_S = 0.001


@lru_cache(1024)
def path_of(uri: str) -> Path | None:
    """The file that a URI names; None for a buffer that is no file."""
    try:
        if urlsplit(uri).scheme != "file":
            return None
        found = to_fs_path(uri)
    except ValueError:
        return None
    return Path(os.path.abspath(found)) if found and "\0" not in found else None


class Listing(Struct, frozen=True):
    """The search for the files around one file."""

    found: Future[None]
    deadline: float
    """In `time.monotonic`: until then an analysis waits for it."""

    @property
    def patience(self) -> float:
        """Seconds that an analysis still waits; 0 once there is nothing to wait for."""
        return 0.0 if self.found.done() else max(0.0, self.deadline - time.monotonic())


class Surroundings:
    """Analyses documents among the files of their projects. `late` is called, from any thread, with the URI of a
    document that was analysed without them."""

    def __init__(self, application: Application, late: Callable[[str], None]) -> None:
        self._application = application
        self._late = late
        self._projects = Projects()
        self._settings = ProjectSettings()
        self._lock = threading.Lock()
        self._waiting = 0
        self._reader = ThreadPoolExecutor(1, "ferrotile-files")
        self._listed: dict[Path, Listing] = {}
        self._depends: dict[str, frozenset[str]] = {}
        self.watched = False
        """Whether the editor tells of changes on disk; otherwise what was consulted is looked at before each use."""

    def listing(self, document: Document, uri: str) -> Listing | None:
        """The search for the files around `uri`, begun where it was not; None where there is nothing to find."""
        path = path_of(uri)
        if path is None or not may_hold_kernels(document.data):
            return None
        known = self._listed.get(path)
        if known is None:
            found = self._reader.submit(self._list, path)
            known = self._listed[path] = Listing(found, time.monotonic() + GRACE_S)
        return known

    def analyse(
        self, document: Document, uri: str, buffers: Mapping[str, Document], options: Options | None = None
    ) -> Analysis:
        """Analyse the newest text of `uri`; `buffers` are the open documents by URI. `options`: the editor's for it,
        which its project may override. Blocks: for a worker thread."""
        path, listing = path_of(uri), self.listing(document, uri)
        if path is None or listing is None:
            return self._application.check_document(document, uri, options=options)
        own = self._settings.options(path, self._projects.folders, options or self._application.options)
        if not listing.found.done():
            listing.found.add_done_callback(lambda _: self._late(uri))
            return self._application.check_document(document, uri, options=own)
        if listing.found.exception() is not None:
            return self._application.check_document(document, uri, options=own)
        with self._first():
            return self._analyse(document, uri, path, buffers, own)

    @contextmanager
    def _first(self) -> Iterator[None]:
        """What is known of the files, before whoever reads on."""
        self._waiting += 1
        try:
            with self._lock:
                yield
        finally:
            self._waiting -= 1

    @contextmanager
    def _slice(self) -> Iterator[None]:
        """What is known of the files, for a moment, after whoever analyses."""
        while self._waiting:
            time.sleep(PAUSE_S)
        with self._lock:
            yield

    def _list(self, path: Path) -> None:
        listed = python_files(root_of(path, self._projects.folders), path)
        for where in listed:
            with self._slice():
                self._projects.files.words(where.as_posix())
        with self._slice():
            self._projects.use_listing(path, listed)
            self._projects.around(path)

    def _analyse(
        self, document: Document, uri: str, path: Path, buffers: Mapping[str, Document], options: Options
    ) -> Analysis:
        files = self._projects.files
        if not self.watched:
            files.renew(self._depends.get(uri, ()))
        opened = {where.as_posix(): text for u, text in buffers.items() if (where := path_of(u)) is not None}
        files.override(opened | {path.as_posix(): document})
        around = self._projects.around(path)
        if around is None:
            return self._application.check_document(document, uri, options=options)
        made = self._application.check_document(document, uri, around.workspace, around.name, options)
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
            with self._slice():
                self._projects.files.renew(paths)
            if listing:
                self._relist()
            done()

        self._reader.submit(renew)

    def may_read_beside(self, source: Path, path: Path) -> bool:
        """Whether a file that `source` names belongs to what is open with it: a workspace folder that both lie in,
        else the project, else the folder of `source`. Links are followed first."""
        source, path = source.resolve(), path.resolve()
        folders = [folder.resolve() for folder in self._projects.folders]
        around = [folder for folder in folders if folder in source.parents]
        own = root_of(source, folders)
        return any(folder in path.parents for folder in (*around, source.parent if own is None else own))

    def use_folders(self, uris: Iterable[str], done: Callable[[], None]) -> None:
        """The editor's workspace folders, which are projects where nothing else says so."""
        folders = [path for u in uris if (path := path_of(u)) is not None]

        def use() -> None:
            self._relist(tuple(folders))
            done()

        self._reader.submit(use)

    def _relist(self, folders: tuple[Path, ...] | None = None) -> None:
        """Look for the files anew; until that is done, the old ones serve."""
        chosen = self._projects.folders if folders is None else folders
        found = {path: python_files(root_of(path, chosen), path) for path in tuple(self._listed)}
        for where in dict.fromkeys(w for listed in found.values() for w in listed):
            with self._slice():
                self._projects.files.words(where.as_posix())
        with self._slice():
            self._projects.folders = chosen
            self._projects.relist()
            self._settings.relist()
            for path, listed in found.items():
                self._projects.use_listing(path, listed)

    def forget(self, uri: str) -> None:
        """The document was closed."""
        self._depends.pop(uri, None)
        path = path_of(uri)
        if path is not None and self._listed.pop(path, None) is not None:
            self._reader.submit(self._forget, path)

    def _forget(self, path: Path) -> None:
        with self._slice():
            self._projects.forget(path)
