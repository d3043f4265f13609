"""Python files as a call names them, translated with the files around them. Nothing of them is run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.syntax.document import Document
from ferrotile.translation import KernelTranslation, Options
from ferrotile_runner.project import Projects, may_hold_kernels, python_files, root_of
from msgspec import Struct

from ferrotile_server.application import Analysis, Application
from ferrotile_server.mcp.answers import Problem
from ferrotile_server.mcp.folders import Folders, is_file, one_line
from ferrotile_server.project_settings import ProjectSettings

LARGEST_FILE = 5_000_000
"""Bytes; a larger file is no source that a person wrote."""
MOST_FILES = 500
"""Files with kernels that one call translates."""
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "target", "build", "dist", "venv"})


class Source(Struct, frozen=True):
    """A file that was read; `name` is its path from the folder that it lies in."""

    path: Path
    name: str
    text: str


class Checked(Struct, frozen=True):
    """A file and its translation; `kernels` are those that were asked for."""

    source: Source
    analysis: Analysis
    kernels: tuple[KernelTranslation, ...]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Those of the kernels that were asked for and those that belong to none."""
        unwanted = {d for k in self.analysis.translation.kernels if k not in self.kernels for d in k.diagnostics}
        wanted = {d for k in self.kernels for d in k.diagnostics}
        return tuple(d for d in self.analysis.diagnostics if d in wanted or d not in unwanted)


def shown_name(path: Path, folders: Folders) -> str:
    """A resolved path as it is told to the caller."""
    root = folders.root_of(path)
    return path.name if root is None or path == root else path.relative_to(root).as_posix()


def read_text(path: Path, name: str, largest: int = LARGEST_FILE) -> str:
    """The text of a file. Raises `Problem` where it is too large, not UTF-8, or no file."""
    shown = one_line(name)
    if not is_file(path):
        raise Problem(f"{shown}: not a file.")
    try:
        with path.open("rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise Problem(f"{shown}: {error.strerror or error}.") from None
    if len(data) > largest:
        raise Problem(f"{shown}: larger than the {largest:,} bytes that ferrotile reads.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(f"{shown}: not UTF-8 (at byte {error.start}); save the file as UTF-8.") from None


def read_file(given: str, folders: Folders) -> Source:
    """The Python file that a caller named. Raises `Problem`."""
    path = folders.find(given)
    if path.is_dir():
        raise Problem(f"{one_line(given)}: a folder; name one Python file (`check` takes folders).")
    name = shown_name(path, folders)
    return Source(path, name, read_text(path, name))


def read_files(given: str, folders: Folders) -> tuple[Source, ...]:
    """The file, or all files with kernels below the folder. Raises `Problem`."""
    path = folders.find(given)
    if not path.is_dir():
        return (read_file(given, folders),)
    found: list[Source] = []
    for file in _python_files(path):
        if not folders.holds(file) or not is_file(file) or file.stat().st_size > LARGEST_FILE:
            continue
        if not may_hold_kernels(file.read_bytes()):
            continue
        if len(found) == MOST_FILES:
            raise Problem(f"{one_line(given)}: more than {MOST_FILES} files with kernels; name a folder below it.")
        name = shown_name(file, folders)
        try:
            found.append(Source(file, name, read_text(file, name)))
        except Problem:
            continue
    return tuple(found)


def _python_files(folder: Path) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("."))
        yield from (Path(parent, file) for file in sorted(files) if file.endswith(".py"))


class Translating:
    """Translates files with those of their projects at hand, as far as these lie in `folders`. For one call, which may
    take minutes of reading; `cancel` ends it."""

    def __init__(self, application: Application, folders: Folders, cancel: Event) -> None:
        self._application = application
        self._folders = folders
        self._cancel = cancel
        self._projects = Projects()
        self._settings = ProjectSettings()

    def file(self, source: Source, kernel: str | None = None, unsafe: str | None = None) -> Checked:
        """One file, or one kernel of it. Raises `Problem` where that kernel is not there."""
        analysis = self._analysis(source, unsafe)
        if kernel is None:
            return Checked(source, analysis, analysis.translation.kernels)
        found = analysis.named(kernel)
        if not found:
            there = ", ".join(analysis.kernel_names)
            raise Problem(f"{source.name}: no kernel is called '{one_line(kernel)}'; it has {there or 'none'}.")
        return Checked(source, analysis, found)

    def files(self, sources: tuple[Source, ...]) -> Iterator[Checked]:
        """Each file in turn, until the call is cancelled."""
        for source in sources:
            if self._cancel.is_set():
                return
            yield self.file(source)

    def _analysis(self, source: Source, unsafe: str | None) -> Analysis:
        document = Document(source.text)
        options = self._options(source.path, unsafe)
        uri = str(source.path)
        try:
            if not may_hold_kernels(document.data):
                return self._application.check_document(document, uri, options=options)
            root = root_of(source.path)
            inside = root if root is not None and self._folders.holds(root) else self._folders.root_of(source.path)
            listed = python_files(inside, source.path)
            self._projects.use_listing(source.path, tuple(f for f in listed if self._folders.holds(f)))
            around = self._projects.around(source.path)
            if around is None:
                return self._application.check_document(document, uri, options=options)
            return self._application.check_document(document, uri, around.workspace, around.name, options)
        finally:
            self._application.release(uri)  # each call reads the files anew, and an agent may name any number of them

    def _options(self, path: Path, unsafe: str | None) -> Options:
        """The project's, where its settings lie in the folders."""
        root = root_of(path)
        given = self._application.options
        options = self._settings.options(path, (), given) if root is not None and self._folders.holds(root) else given
        return options if unsafe is None else Options(options.target, unsafe, options.checks, options.choices)
