"""Writing `<stem>.rs` beside a Python file, as an edit that the editor applies. Never over a file of
someone else's."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lsprotocol import types

from ferrotile_server.application import MARK
from ferrotile_server.lsp.context import Context, Snapshot

NO_RUST = "No kernel here is translated; the diagnostics say why."
_FUNCTION = re.compile(r"^    fn (\w+)", re.MULTILINE)
LONGEST = 16 * 2**20
"""Bytes of the longest file that is read."""


class CannotWrite(Exception):
    """Why no file can be written."""


def edit_for(context: Context, snapshot: Snapshot, kernels: tuple[str, ...] = ()) -> types.WorkspaceEdit:
    """The edit that writes the Rust of `kernels` (none: all), and anew that of those that are in the file already.
    Raises `CannotWrite`."""
    client = snapshot.client
    if not (client.document_changes and client.creates_files):
        raise CannotWrite("This editor cannot create files for a language server; use Preview Rust.")
    uri, path = target_of(snapshot.file.uri)
    text = _text(context, snapshot, kernels, path)
    last_line = _lines_to_replace(path)
    whole = types.Range(types.Position(0, 0), types.Position(last_line, 0))
    document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=None)
    return types.WorkspaceEdit(
        document_changes=[
            types.CreateFile(uri=uri, options=types.CreateFileOptions(overwrite=False, ignore_if_exists=True)),
            types.TextDocumentEdit(document, [types.TextEdit(whole, text)]),
        ]
    )


def write(context: Context, snapshot: Snapshot, kernels: tuple[str, ...] = ()) -> None:
    """As `edit_for`, but to the disk, for an editor that cannot. Raises `CannotWrite`."""
    _, path = target_of(snapshot.file.uri)
    text = _text(context, snapshot, kernels, path)
    _lines_to_replace(path)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags, 0o666), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise CannotWrite(f"{path.name}: {error.strerror or error}") from None


def _text(context: Context, snapshot: Snapshot, kernels: tuple[str, ...], path: Path) -> str:
    """What is to be written at `path`. Raises `CannotWrite` where there is nothing."""
    wanted = (*kernels, *_written(snapshot, path)) if kernels else ()
    text = context.application.rust_file(snapshot.analysis, snapshot.file.stem, wanted)
    if text is None:
        raise CannotWrite(NO_RUST)
    return text


def _written(snapshot: Snapshot, path: Path) -> list[str]:
    """The kernels of the Python that are in the file on disk."""
    functions = frozenset(_FUNCTION.findall(read(path) or ""))
    kernels = snapshot.analysis.translation.kernels
    return [k.name for k in kernels if (k.name if k.entry is None else k.entry.name) in functions]


def target_of(uri: str) -> tuple[str, Path]:
    """The URI and path of the Rust file beside a Python file. Raises `CannotWrite` where there is none."""
    unsaved = CannotWrite("Save the Python file first; the Rust file is written beside it.")
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise unsaved from None
    path = unquote(parts.path)
    if parts.scheme != "file" or "\0" in path or not path.endswith((".py", ".pyi")):
        raise unsaved
    stem = parts.path.rsplit(".", 1)[0]
    local = path.rsplit(".", 1)[0] + ".rs"
    if os.name == "nt":
        local = local.lstrip("/")
    return f"{uri[: uri.index(parts.path)]}{stem}.rs", Path(local)


def read(path: Path) -> str | None:
    """A file on disk that ferrotile wrote, its lines ended as ferrotile ends them; None for whatever else is there."""
    try:
        there = path.lstat()
        if not stat.S_ISREG(there.st_mode) or there.st_size > LONGEST:
            return None
        text = path.read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return None
    return text.replace("\r\n", "\n") if text.startswith(MARK) else None


def is_foreign(path: Path) -> bool:
    """Whether something is there that ferrotile did not write."""
    return os.path.lexists(path) and read(path) is None


def _lines_to_replace(path: Path) -> int:
    """How many lines the file on disk has that may be replaced; 0 where there is no file."""
    try:
        if path.is_symlink():
            raise CannotWrite(f"{path.name} is a link; it is left alone.")
        if not path.exists():
            return 0
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise CannotWrite(f"{path.name}: {error.strerror or error}") from None
    if text and not text.startswith(MARK):
        raise CannotWrite(f"{path.name} exists and was not written by ferrotile; it is left alone.")
    return text.count("\n") + 1
