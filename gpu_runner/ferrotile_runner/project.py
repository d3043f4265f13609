"""The Python files around a file: found by walking folders, read when they are needed, never imported.

A project is bounded: at most `MOST_FILES` files in `MOST_FOLDERS` folders, nearest first, none over `LARGEST_FILE`
bytes. What is beyond is treated as if it were not there, so the translator refuses what it would need."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path, PurePath

from ferrotile.signatures.workspace import Workspace, imported_words, module_names
from ferrotile.syntax.document import Document
from msgspec import Struct

MOST_FILES = 2_000
MOST_FOLDERS = 4_000
MOST_BESIDE = 200
"""Files in the folder of a file that lies in no project."""
LARGEST_FILE = 1_000_000

MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
"""One of these makes a folder a project's root."""

_RELATIVE = re.compile(rb"^[ \t]*from[ \t]+\.", re.MULTILINE)

SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "target", "build", "dist", "venv"})


def root_of(path: Path, folders: Sequence[Path] = ()) -> Path | None:
    """The folder of the project that a file lies in: the nearest that says so, else the one above its outermost
    package, else that of `folders` it lies in. None for a file of no project, and for one whose project would be the
    home folder or the whole disk."""
    folder = path.parent
    home = Path.home()
    package = None
    for candidate in (folder, *folder.parents):
        if candidate in (home, candidate.parent):
            break
        if any((candidate / mark).exists() for mark in MARKS):
            return candidate
        if (candidate / "__init__.py").is_file():
            package = candidate
    if package is not None:
        return package.parent
    return next((f for f in folders if f in path.parents and f not in (home, f.parent)), None)


def python_files(root: Path | None, path: Path) -> tuple[Path, ...]:
    """The files of the project, those nearest to `path` first; of no project: the files of its folder alone."""
    found: dict[Path, None] = {path: None}
    done: set[Path] = set()
    folders = 0
    start = path.parent
    inside = root is not None and (start == root or root in start.parents)
    upwards = (start, *start.parents) if inside else (start,)
    most = MOST_FILES if inside else MOST_BESIDE
    for top in upwards:
        for parent, names, files in os.walk(top):
            folder = Path(parent)
            folders += 1
            descends = inside and folders < MOST_FOLDERS
            names[:] = (
                sorted(n for n in names if n not in SKIPPED_FOLDERS and n[0] != "." and folder / n not in done)
                if descends
                else []
            )
            found.update((folder / f, None) for f in sorted(files) if f.endswith(".py"))
            if len(found) >= most or folders >= MOST_FOLDERS:
                return tuple(found)[:most]
        done.add(top)
        if top == root:
            break
    return tuple(found)


class _File(Struct):
    """`data` is kept until the words of the imports have been read from it: most files are asked once, for one word."""

    stamp: tuple[int, int]
    digest: bytes
    data: bytes | None
    imports: frozenset[str] | None = None
    document: Document | None = None

    def words(self) -> frozenset[str]:
        if self.imports is None:
            self.imports = imported_words(self.data or b"")
            self.data = None
        return self.imports

    def mentions(self, word: str) -> bool:
        if self.data is not None and word.encode() not in self.data:
            return False
        return word in self.words()


class Files:
    """Files as they are on disk, kept until their time or size changes and `renew` is told. Total: what cannot be
    read is not there. Not for use by two threads at once."""

    def __init__(self) -> None:
        self._files: dict[str, _File | None] = {}
        self._open: dict[str, Document] = {}
        self._open_words: dict[str, tuple[Document, frozenset[str]]] = {}

    def override(self, documents: Mapping[str, Document]) -> None:
        """Texts that win over the disk, by path: the buffers of an editor."""
        self._open = dict(documents)
        self._open_words = {p: w for p, w in self._open_words.items() if p in self._open}

    def renew(self, paths: Iterable[str] | None = None) -> None:
        """Look at these files anew when they are next asked for; without `paths` at all of them."""
        for path in list(self._files) if paths is None else paths:
            kept = self._files.get(path)
            if kept is None or _stamp(path) != kept.stamp:
                self._files.pop(path, None)

    def document(self, path: str) -> Document | None:
        """The text of a file; the same object for as long as it does not change."""
        if path in self._open:
            return self._open[path]
        kept = self._kept(path)
        if kept is not None and kept.document is None:
            text = _read(path)
            kept.document = Document("" if text is None else text.decode("utf-8-sig", "replace"))
        return None if kept is None else kept.document

    def words(self, path: str) -> frozenset[str]:
        """The words in the file's imports."""
        opened = self._open.get(path)
        if opened is not None:
            known = self._open_words.get(path)
            if known is None or known[0] is not opened:
                known = self._open_words[path] = opened, imported_words(opened.data)
            return known[1]
        kept = self._kept(path)
        return frozenset() if kept is None else kept.words()

    def mentions(self, path: str, word: str) -> bool:
        """Whether a word stands in the file's imports."""
        opened = self._open.get(path)
        if opened is not None:  # asked at every key: most files do not have the word at all
            return word.encode() in opened.data and word in self.words(path)
        kept = self._kept(path)
        return kept is not None and kept.mentions(word)

    def digest(self, path: str) -> bytes:
        """Content hash; empty for a file that is not there."""
        kept = self._kept(path)
        return b"" if kept is None else kept.digest

    def _kept(self, path: str) -> _File | None:
        if path not in self._files:
            stamp, data = _stamp(path), _read(path)
            if stamp is None or data is None:
                self._files[path] = None
            else:
                self._files[path] = _File(stamp, _hash(data), data)
        return self._files[path]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def _read(path: str) -> bytes | None:
    try:
        found = os.stat(path)
        if found.st_size > LARGEST_FILE or not stat.S_ISREG(found.st_mode):  # a pipe would be waited for
            return None
        with open(path, "rb") as file:
            return file.read(LARGEST_FILE + 1)
    except (OSError, ValueError):
        return None


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def names_for(
    path: PurePath, paths: Iterable[PurePath], root: PurePath | None = None
) -> tuple[dict[str, str], frozenset[str]]:
    """Module names as the file at `path` means them, to paths; and which of them are packages. A top-level name that
    several folders have means the one beside or around the file, and without such a one nothing: which of them Python
    would import depends on how it is started. Folders without `__init__.py` are packages, too, below the folder that
    the file is imported from and below the project's `root`: a file there has two names."""
    tops: dict[str, dict[str, dict[str, str]]] = {}
    home = ""
    files = tuple(dict.fromkeys((path, *paths)))
    for start, inside in _roots(files).items():
        for name, where in module_names(inside)[0].items():
            tops.setdefault(name.partition(".")[0], {}).setdefault(start, {})[name] = where
            if where == path.as_posix():
                home = start
    names: dict[str, str] = {}
    for roots in tops.values():
        names.update(next(iter(roots.values())) if len(roots) == 1 else roots.get(home, {}))
    tops_known = {n.partition(".")[0] for n in names}
    for top in dict.fromkeys((home, *(() if root is None else (root.as_posix(),)))):
        for name, where in _below(top, files):
            if name.partition(".")[0] not in tops_known:
                names.setdefault(name, where)
    return names, frozenset(n for n, where in names.items() if where.endswith("/__init__.py"))


def _below(top: str, files: Sequence[PurePath]) -> Iterator[tuple[str, str]]:
    """Files in folders below `top`, by the names that they have from there."""
    for file in files:
        where = file.as_posix()
        parts = where.removeprefix(f"{top}/").removesuffix(".py").split("/")
        if where.startswith(f"{top}/") and len(parts) > 1 and all(p.isidentifier() for p in parts):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), where


def _roots(files: Sequence[PurePath]) -> dict[str, list[str]]:
    """The files by the folder that would have to be on Python's path to import them."""
    paths = [file.as_posix() for file in files]
    packages = {posixpath.dirname(p) for p in paths if p.endswith("/__init__.py")}
    found: dict[str, list[str]] = {}
    for path in paths:
        folder = posixpath.dirname(path)
        while folder in packages and posixpath.basename(folder):
            folder = posixpath.dirname(folder)
        found.setdefault(folder, []).append(path)
    return found


class Modules(Mapping[str, Document]):
    """Documents by module name, each read when it is asked for."""

    def __init__(self, paths: Mapping[str, str], files: Files) -> None:
        self.paths = paths
        self._files = files

    def __getitem__(self, name: str) -> Document:
        document = self._files.document(self.paths[name])
        if document is None:
            raise KeyError(name)
        return document

    def __contains__(self, name: object) -> bool:
        return name in self.paths

    def __iter__(self) -> Iterator[str]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)

    def mentioning(self, word: str) -> Iterator[str]:
        """The modules in whose imports a word stands."""
        return (name for name, path in self.paths.items() if self._files.mentions(path, word))


class Surroundings(Struct, frozen=True):
    """A file's place among the modules of its project: its own `name`, and the others."""

    name: str
    workspace: Workspace
    paths: Mapping[str, str]


def may_hold_kernels(data: bytes) -> bool:
    """A cheap test: a kernel file names `cuda` and `kernel`."""
    return b"cuda" in data and b"kernel" in data


class Projects:
    """The projects of the files at hand. Not for use by two threads at once."""

    def __init__(self) -> None:
        self.files = Files()
        self.folders: tuple[Path, ...] = ()
        self._listed: dict[tuple[Path | None, Path], tuple[Path, ...]] = {}
        self._around: dict[Path, Surroundings] = {}

    def around(self, path: Path) -> Surroundings | None:
        """The modules around a file; None for one that has no name of a module."""
        known = self._around.get(path)
        if known is None:
            root = root_of(path, self.folders)
            key = (root, path.parent)
            if key not in self._listed:
                self._listed[key] = python_files(root, path)
            names, packages = names_for(path, self._listed[key], root)
            workspace = Workspace(Modules(names, self.files), packages)
            own = [n for n, where in names.items() if where == path.as_posix()]
            if not own:
                return None
            known = self._around[path] = Surroundings(self._own_name(path, own, workspace), workspace, names)
        return known

    def _own_name(self, path: Path, names: Sequence[str], workspace: Workspace) -> str:
        """Of several names of one file, the one that its own imports or those of other files mean."""
        if len(names) > 1:
            document = self.files.document(path.as_posix())
            if document is not None and _RELATIVE.search(document.data):
                return max(names, key=lambda n: n.count("."))
            return next((n for n in names if workspace.users(n)), names[0])
        return names[0]

    def digest(self, path: Path) -> bytes:
        """Of all files that a translation of `path` may look at."""
        around = self.around(path)
        state = blake2b(digest_size=16)
        for name, where in sorted({} if around is None else around.paths.items()):
            state.update(name.encode() + b"\0" + self.files.digest(where))
        return state.digest()

    def use_listing(self, path: Path, listed: tuple[Path, ...]) -> None:
        """What `python_files` finds for a file, looked for elsewhere: walking folders takes its time."""
        self._listed[root_of(path, self.folders), path.parent] = listed

    def relist(self) -> None:
        """Files were made or removed: look for them anew."""
        self._listed.clear()
        self._around.clear()

    def forget(self, path: Path) -> None:
        """The modules around this file are not asked for any more."""
        self._around.pop(path, None)
