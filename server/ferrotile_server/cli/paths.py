"""What the paths on the command line name: files, folders, and kernels in files (`PATH::KERNEL`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

LARGEST_FILE = 5_000_000
"""Bytes; a larger Python file is no source that a person wrote."""

SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "target", "build", "dist", "venv"})


class PathError(Exception):
    """A path that cannot be used; the message says why, for a person."""


class Source(Struct, frozen=True):
    """A file that was read. `name` is the path as the user gave it; `kernel` restricts it to one kernel."""

    path: Path
    name: str
    text: str
    kernel: str | None = None

    @property
    def stem(self) -> str:
        """The file's name without folder and ending: the Rust module is named after it."""
        return self.path.stem


def split_node(argument: str) -> tuple[str, str | None]:
    """`a/b.py::k` as (`a/b.py`, `k`); the kernel is None where there is none."""
    path, separator, kernel = argument.rpartition("::")
    return (path, kernel) if separator and path and kernel else (argument, None)


def decode(name: str, data: bytes) -> str:
    """The text of a file; raises `PathError` where it is too large or not UTF-8."""
    if len(data) > LARGEST_FILE:
        megabytes = len(data) / 1e6
        raise PathError(f"{name}: {megabytes:.1f} MB is more than the {LARGEST_FILE // 1_000_000} MB ferrotile reads")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PathError(f"{name}: not UTF-8 (byte {data[error.start]:#04x} at offset {error.start})") from None


def read_source(path: Path, name: str, kernel: str | None = None) -> Source:
    """Read one file; raises `PathError`."""
    try:
        if path.stat().st_size > LARGEST_FILE * 4:
            raise PathError(f"{name}: more than the {LARGEST_FILE // 1_000_000} MB ferrotile reads")
        data = path.read_bytes()
    except FileNotFoundError:
        raise PathError(f"{name}: no such file") from None
    except OSError as error:
        raise PathError(f"{name}: {error.strerror or error}") from None
    return Source(path, name, decode(name, data), kernel)


def _python_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("."))
        for file in sorted(files):
            path = Path(parent, file)
            if file.endswith(".py") and path.is_file():  # a pipe would be waited for
                yield path


def _may_hold_kernels(path: Path) -> bool:
    """A cheap test, so that a large tree is walked quickly: a kernel file names `cuda` and `kernel`."""
    try:
        data = path.read_bytes()
    except OSError:
        return True
    return b"cuda" in data and b"kernel" in data


def read_sources(arguments: Sequence[str]) -> tuple[tuple[Source, ...], tuple[PathError, ...]]:
    """All files that the arguments name, folders recursively, each once; and the unreadable ones in folders.
    Raises `PathError` where an argument itself names nothing usable."""
    sources: list[Source] = []
    errors: list[PathError] = []
    seen: set[tuple[Path, str | None]] = set()
    for argument in arguments:
        name, kernel = split_node(argument)
        path = Path(name)
        if not path.is_dir():
            key = (path.absolute(), kernel)
            if key not in seen:
                seen.add(key)
                sources.append(read_source(path, name, kernel))
            continue
        if kernel is not None:
            raise PathError(f"{argument}: '{name}' is a folder; name the file that holds the kernel")
        files = tuple(_python_files(path))
        if not files:
            raise PathError(f"{name}: no Python files in this folder")
        for file in files:
            key = (file.absolute(), None)
            if key in seen or not _may_hold_kernels(file):
                continue
            seen.add(key)
            try:
                sources.append(read_source(file, str(file)))
            except PathError as error:
                errors.append(error)
    return tuple(sources), tuple(errors)
