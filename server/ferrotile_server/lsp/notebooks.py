"""Notebooks: the code cells of one, in order, are one module, since a kernel may use what a cell above it defines. Each
cell is an open document whose text is that module, and whose own part of it is what the editor knows it by."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding, LineTable
from ferrotile.syntax.span import Span
from msgspec import Struct

from ferrotile_server.lsp.changes import Change, changed
from ferrotile_server.lsp.documents import Cell, Documents, OpenDocument

_LINE_MAGIC = re.compile(r"^(?=[ \t]*[%!?])(?P<indent>[ \t]*)[%!?]", re.MULTILINE)
_HELP = re.compile(r"^[A-Za-z_](?=[\w.]*\?{1,2}[ \t]*$)", re.MULTILINE)
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
_VISIBLE = re.compile(r"[^\r\n]")


def as_python(text: str) -> str:
    """A cell without what only notebooks understand; every line and column stays where it is."""
    first = text.lstrip().split(None, 1)[0] if text.strip() else ""
    if first.startswith("%%") and first not in _PYTHON_CELLS:
        return _VISIBLE.sub(" ", text)
    return _HELP.sub("#", _LINE_MAGIC.sub(r"\g<indent>#", text))


class _Part(Struct, frozen=True):
    """One cell as the editor has it; one that is not code has no document."""

    uri: str
    version: int = 0
    document: Document | None = None


def _part(uri: str, texts: Mapping[str, tuple[int, str]]) -> _Part:
    return _Part(uri, texts[uri][0], Document(texts[uri][1])) if uri in texts else _Part(uri)


class _Notebook(Struct, frozen=True):
    parts: tuple[_Part, ...]


class Notebooks:
    """The open notebooks; keeps `documents` up to date with a document for each of their code cells."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._open: dict[str, _Notebook] = {}

    def open(self, uri: str, cells: Iterable[str], texts: Mapping[str, tuple[int, str]]) -> tuple[str, ...]:
        """A notebook was opened: its cells in order, and version and text of each code cell. Gives those cells."""
        return self._keep(uri, [_part(c, texts) for c in cells])

    def restructure(
        self, uri: str, start: int, removed: int, added: Sequence[str], texts: Mapping[str, tuple[int, str]]
    ) -> tuple[str, ...]:
        """Cells were put in the place of others."""
        known = self._open.get(uri)
        if known is None:
            return ()
        parts = list(known.parts)
        moved = {p.uri: p for p in parts[start : start + removed]}
        new = [moved[c] if c in moved and c not in texts else _part(c, texts) for c in added]
        parts[start : start + removed] = new
        return self._keep(uri, parts)

    def change(
        self, uri: str, changes: Mapping[str, tuple[int, Sequence[Change]]], encoding: Encoding
    ) -> tuple[str, ...]:
        """Texts of cells changed."""
        known = self._open.get(uri)
        if known is None:
            return ()
        parts = []
        for part in known.parts:
            version, edits = changes.get(part.uri, (-1, ()))
            if part.document is not None and version >= part.version:
                part = _Part(part.uri, version, changed(part.document, edits, encoding))
            parts.append(part)
        return self._keep(uri, parts)

    def close(self, uri: str) -> tuple[str, ...]:
        """A notebook was closed. Gives the cells that it had."""
        known = self._open.pop(uri, _Notebook(()))
        for part in known.parts:
            self._documents.close(part.uri)
        return tuple(part.uri for part in known.parts)

    def _keep(self, uri: str, parts: Sequence[_Part]) -> tuple[str, ...]:
        for gone in {p.uri for p in self._open.get(uri, _Notebook(())).parts} - {p.uri for p in parts}:
            self._documents.close(gone)
        self._open[uri] = _Notebook(tuple(parts))
        code = [p for p in parts if p.document is not None]
        whole, cells = _joined([p.document.text for p in code if p.document is not None])
        for part, cell in zip(code, cells, strict=True):
            self._documents.put(OpenDocument(part.uri, part.version, whole, cell, uri))
        return tuple(part.uri for part in code)


def _joined(texts: Sequence[str]) -> tuple[Document, list[Cell]]:
    """All cells in one text, each from the beginning of a line on."""
    joined: list[bytes] = []
    cells = []
    line = at = 0
    for text in texts:
        data = as_python(text).encode() + b"\n"
        cells.append(Cell(line, Span(at, at + len(data) - 1)))
        joined.append(data)
        line += LineTable(data).count - 1
        at += len(data)
    return Document(b"".join(joined).decode()), cells
