"""Files of a folder, read and written: whole or not at all, line ends as they are, links left alone."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from msgspec import Struct

_PARTIAL = ".partial"
Replace = Callable[[str, str], None]
"""`os.replace`, or what a test puts in its place."""


class UnsafePath(ValueError):
    """A path that leads out of the folder, or into ferrotile's own record."""


class Found(Struct, frozen=True):
    """What is at a path: `data` is None for nothing, and for what is no plain file (`strange` says what)."""

    data: bytes | None = None
    strange: str = ""


def checked(path: str) -> str:
    """`path` itself where it is relative, POSIX and within its folder; raises `UnsafePath`."""
    parts = PurePosixPath(path).parts
    if not parts or path != "/".join(parts) or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise UnsafePath(f"{path!r} is no plain path within a crate")
    return path


def look(folder: Path, path: str) -> Found:
    """What is at `path` below `folder`. A link on the way there is strange too: it may lead elsewhere."""
    place = folder
    for part in PurePosixPath(path).parts[:-1]:
        place = place / part
        if place.is_symlink():
            return Found(strange=f"'{part}' is a link")
        if not place.exists():
            return Found()
        if not place.is_dir():
            return Found(strange=f"'{part}' is no folder")
    place = folder / path
    try:
        mode = place.lstat().st_mode
    except FileNotFoundError:
        return Found()
    if stat.S_ISLNK(mode):
        return Found(strange="a link")
    if stat.S_ISDIR(mode):
        return Found(strange="a folder")
    if not stat.S_ISREG(mode):
        return Found(strange="no plain file")
    return Found(place.read_bytes())


def write(path: Path, data: bytes, replace: Replace = os.replace) -> None:
    """A reader, and whoever comes after an interrupt, sees the old file or the new one. Keeps the file's mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, partial = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_PARTIAL, dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(partial, _mode(path))
        replace(partial, str(path))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def partials(name: str) -> str:
    """A pattern of the files that `write` makes on its way to a file of this name."""
    return f".{name if name == '*' else glob.escape(name)}.*{_PARTIAL}"


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def delete(folder: Path, path: str) -> None:
    """Delete a file, and the folders above it that are empty then."""
    place = folder / path
    place.unlink(missing_ok=True)
    for parent in place.parents:
        if parent == folder:
            return
        try:
            parent.rmdir()
        except OSError:
            return


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def has_crlf(data: bytes) -> bool:
    """Whether every line ends in CR LF, as git on Windows checks files out."""
    ends = data.count(b"\n")
    return ends > 0 and data.count(b"\r\n") == ends


def with_lf(data: bytes) -> bytes:
    """The same with LF; a file with ends of both kinds stays as it is."""
    return data.replace(b"\r\n", b"\n") if has_crlf(data) else data


def like(data: bytes, model: bytes | None) -> bytes:
    """`data`, whose lines end in LF, with the line ends of `model`."""
    return data.replace(b"\n", b"\r\n") if model is not None and has_crlf(model) else data
