"""The other files of a workspace, as plain values: which module a name means, and who imports a module.

Nothing is read from disk here: the command line and the server give a mapping from module names to documents, which
may be lazy. What was derived from a document is kept for as long as that very document is in the mapping."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Protocol, runtime_checkable

from msgspec import Struct

from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module, parse_module
from ferrotile.syntax.parsed import ParseCache

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<base>[\w.]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#]*)"
    rb"|import[ \t]+(?P<plain>[^\n#]+))",
    re.MULTILINE,
)
_FIRST_KEY = 1 << 40
"""Items of these modules are told from those of the document under translation, of which there are fewer."""

_WORD = re.compile(rb"[^\W\d][\w.]*")
_PART = re.compile(rb"[^\W\d]\w*")


class _Derived(Struct):
    document: Document
    digest: bytes | None = None
    module: Module | None = None
    imports: frozenset[str] | None = None


@runtime_checkable
class Mentions(Protocol):
    """Documents that know what their imports mention before they are read as a whole."""

    def mentioning(self, word: str) -> Iterable[str]:
        """The modules in whose imports a word stands."""


def imported_words(data: bytes) -> frozenset[str]:
    """The words in a file's imports, each part of a dotted name on its own."""
    words: set[bytes] = set()
    for match in _IMPORT.finditer(data) if b"import" in data else ():
        words.update(_PART.findall(match[0]))
    return frozenset(w.decode("utf-8", "replace") for w in words)


class Workspace:
    """Documents by dotted module name (`pkg.ops.softmax`); `packages` names those that are an `__init__.py`.
    Not for use by two threads at once."""

    def __init__(self, documents: Mapping[str, Document], packages: Collection[str] = ()) -> None:
        self._documents = documents
        self._packages = packages
        self._derived: dict[str, _Derived] = {}
        self._parsed = ParseCache(first_key=_FIRST_KEY)

    def replaced(self, documents: Mapping[str, Document], packages: Collection[str] = ()) -> Workspace:
        """The next snapshot: what is known of unchanged documents is kept."""
        following = Workspace(documents, packages)
        following._derived = self._derived
        following._parsed = self._parsed
        return following

    def document(self, name: str) -> Document | None:
        """The text of a module, None for one that is not in the workspace."""
        return self._documents.get(name)

    def module(self, name: str) -> Module | None:
        """A module, parsed once for each of its texts."""
        derived = self._of(name)
        if derived is None:
            return None
        if derived.module is None:
            derived.module = parse_module(derived.document, self._parsed)
        return derived.module

    def digest(self, name: str) -> bytes | None:
        """Content hash of a module's text, None for one that is not in the workspace."""
        derived = self._of(name)
        if derived is None:
            return None
        if derived.digest is None:
            derived.digest = blake2b(derived.document.data, digest_size=16).digest()
        return derived.digest

    def users(self, name: str) -> tuple[str, ...]:
        """The modules that import `name` or something of it, in order of their names."""
        known = self._documents
        likely = known.mentioning(name.rpartition(".")[2]) if isinstance(known, Mentions) else known
        return tuple(sorted(u for u in likely if u != name and name in self._imports(u)))

    def absolute(self, home: str, dotted: str) -> str:
        """A dotted name as module `home` writes it (`.ops.add`), from the top."""
        rest = dotted.lstrip(".")
        up = len(dotted) - len(rest)
        if not up:
            return dotted
        parts = home.split(".") if home else []
        kept = len(parts) - up + (home in self._packages)
        return ".".join([*parts[: max(kept, 0)], *([rest] if rest else [])])

    def split(self, dotted: str) -> tuple[str, tuple[str, ...]] | None:
        """The longest prefix of a dotted name that is a module here, and what follows it."""
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            name = ".".join(parts[:end])
            if name in self._documents:
                return name, tuple(parts[end:])
        return None

    def file(self, name: str) -> str:
        """A module as a path below the folder that it is imported from."""
        return name.replace(".", "/") + ("/__init__.py" if name in self._packages else ".py")

    def _of(self, name: str) -> _Derived | None:
        document = self._documents.get(name)
        if document is None:
            self._derived.pop(name, None)
            return None
        derived = self._derived.get(name)
        if derived is None or derived.document is not document:
            derived = self._derived[name] = _Derived(document)
        return derived

    def _imports(self, name: str) -> frozenset[str]:
        derived = self._of(name)
        if derived is None:
            return frozenset()
        if derived.imports is None:
            derived.imports = frozenset(self._imported(name, derived.document.data))
        return derived.imports

    def _imported(self, home: str, data: bytes) -> Iterable[str]:
        for match in _IMPORT.finditer(data):
            if match["plain"] is not None:
                yield from (w.decode() for w in _WORD.findall(match["plain"]))
                continue
            base = self.absolute(home, match["base"].decode())
            yield base
            for word in _WORD.findall(match["names"]):
                yield f"{base}.{word.decode()}" if base else word.decode()


def module_names(paths: Iterable[str]) -> tuple[dict[str, str], frozenset[str]]:
    """Dotted module names of POSIX paths, and which of them are packages: a module's name starts at the outermost
    folder of its chain of folders that have an `__init__.py`. Of two files with one name the first keeps it."""
    files = sorted({tuple(p.split("/")) for p in paths})
    packages = {f[:-1] for f in files if f[-1] == "__init__.py"}
    names: dict[str, str] = {}
    inits: set[str] = set()
    for file in files:
        *folder, last = file
        parts = [] if last == "__init__.py" else [last.removesuffix(".py")]
        while folder and tuple(folder) in packages and folder[-1]:
            parts.insert(0, folder.pop())
        name = ".".join(parts)
        if name and name not in names:
            names[name] = "/".join(file)
            if last == "__init__.py":
                inits.add(name)
    return names, frozenset(inits)
