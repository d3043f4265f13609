"""Which files the server may look at: those below the user's folders, wherever symbolic links lead."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from msgspec import Struct

from ferrotile_server.mcp.answers import Problem

LONGEST_PATH = 4096


def one_line(text: str) -> str:
    """Text of strangers for a message: what is not printable is left out of it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def path_of_uri(uri: str) -> Path | None:
    """The path of a `file:` URI of this machine; None for any other URI."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return Path(url2pathname(parts.path))


class Folders(Struct, frozen=True):
    """Folders, each an absolute path without symbolic links."""

    roots: tuple[Path, ...]

    @staticmethod
    def of(paths: Sequence[Path]) -> Folders:
        """Those of the paths that are folders."""
        found: dict[Path, None] = {}
        for path in paths:
            try:
                resolved = path.resolve()
                if resolved.is_dir():
                    found[resolved] = None
            except (OSError, RuntimeError, ValueError):
                continue
        return Folders(tuple(found))

    def root_of(self, path: Path) -> Path | None:
        """The innermost of the folders that a resolved path lies in."""
        around = [root for root in self.roots if path == root or root in path.parents]
        return max(around, key=lambda root: len(root.parts), default=None)

    def holds(self, path: Path) -> bool:
        """Whether a path, its links followed, lies in one of the folders."""
        try:
            return self.root_of(path.resolve()) is not None
        except (OSError, RuntimeError, ValueError):
            return False

    def __str__(self) -> str:
        return ", ".join(one_line(str(root)) for root in self.roots) or "none"

    def find(self, given: str) -> Path:
        """A file or folder as a caller named it, links followed. Raises `Problem`."""
        shown = one_line(given)
        if not given or len(given) > LONGEST_PATH or "\0" in given:
            raise Problem("`path` is not a path: name a Python file, for example `kernels/norm.py`.")
        if given.startswith("file:"):
            from_uri = path_of_uri(given)
            if from_uri is None:
                raise Problem(f"{shown}: not a file of this machine; give a path.")
            wanted = [from_uri]
        else:
            wanted = [Path(given)] if Path(given).is_absolute() else [root / given for root in self.roots]
        inside = False
        for path in wanted:
            try:
                resolved = path.resolve()
                there = resolved.exists()
            except (OSError, RuntimeError, ValueError):
                continue
            if self.root_of(resolved) is None:
                continue
            inside = True
            if there:
                return resolved
        if inside:
            raise Problem(f"{shown}: no such file in {self}. Give an absolute path, or one from such a folder.")
        raise Problem(
            f"{shown}: outside the folders that this server may read ({self}). Open its folder in the editor or agent, "
            "or start the server as `ferrotile mcp FOLDER`."
        )


def is_file(path: Path) -> bool:
    """Whether it is a regular file: a pipe or device is never opened."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
