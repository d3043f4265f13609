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
from ferrotile_server.lsp.documents import OpenDocument

NO_RUST = "No kernel here is translated; the diagnostics say why."
_FUNCTION = re.compile(r"^    fn (\w+)", re.MULTILINE)
LONGEST = 16 * 2**20
"""Bytes of the longest file that is read."""
_PAST_THE_END = types.Position(2**31 - 1, 0)
"""Editors take a line that no text has for its end; they may hold more lines than the disk, not saved yet."""


class CannotWrite(Exception):
    """Why no file can be written."""


def edit_for(context: Context, snapshot: Snapshot, kernels: tuple[str, ...] = ()) -> types.WorkspaceEdit:
    """The edit that writes the Rust of `kernels` (none: all), and anew that of those that are in the file already.
    Raises `CannotWrite`."""
    client = snapshot.client
    if not (client.document_changes and client.creates_files):
        raise CannotWrite("This editor cannot create files for a language server; use Preview Rust.")
    uri, path = target_of(snapshot.file.uri)
    there = _there(path, context.rust.get(uri))
    text = _text(context, snapshot, kernels, there)
    start = types.Position(0, 0)
    whole = types.Range(start, start if there is None else _PAST_THE_END)
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
    text = _text(context, snapshot, kernels, _there(path))
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with open(os.open(path, flags, 0o666), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise CannotWrite(f"{path.name}: {error.strerror or error}") from None


def _text(context: Context, snapshot: Snapshot, kernels: tuple[str, ...], there: str | None) -> str:
    """What is to be written in the place of `there`. Raises `CannotWrite` where there is nothing."""
    wanted = (*kernels, *_written(snapshot, there or "")) if kernels else ()
    text = context.application.rust_file(snapshot.analysis, snapshot.file.stem, wanted)
    if text is None:
        raise CannotWrite(NO_RUST)
    return text


def _written(snapshot: Snapshot, there: str) -> list[str]:
    """The kernels of the Python that are in the Rust already."""
    functions = frozenset(_FUNCTION.findall(there))
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


def _there(path: Path, shown: OpenDocument | None = None) -> str | None:
    """The text that may be replaced: what the editor shows of the file, if that is known, else what the disk has; None
    where there is no file. Raises `CannotWrite` where someone else wrote it."""
    try:
        if path.is_symlink():
            raise CannotWrite(f"{path.name} is a link; it is left alone.")
        if shown is not None:
            text = shown.document.text
        elif path.exists():
            text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        else:
            return None
    except OSError as error:
        raise CannotWrite(f"{path.name}: {error.strerror or error}") from None
    if text and not text.startswith(MARK):
        raise CannotWrite(f"{path.name} exists and was not written by ferrotile; it is left alone.")
    return text
