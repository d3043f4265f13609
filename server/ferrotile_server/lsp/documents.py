"""The open documents, as the editor sees them. Nothing is ever read from the disk."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding
from ferrotile.syntax.span import Span
from msgspec import Struct

from ferrotile_server.lsp.changes import Change, History

logger = logging.getLogger(__name__)


class Cell(Struct, frozen=True):
    """Which part of a notebook's text is a cell's: its first line, and its bytes."""

    first_line: int
    span: Span


class OpenDocument(Struct, frozen=True):
    """A snapshot of one open document under the editor's own spelling of its URI. Of a notebook's `cell`, `document` is
    the text of the whole notebook, whose URI is `notebook`."""

    uri: str
    version: int
    document: Document
    cell: Cell | None = None
    notebook: str = ""

    @property
    def whole(self) -> str:
        """The URI of what is analysed as one."""
        return self.notebook or self.uri

    def offset(self, line: int, character: int, encoding: Encoding) -> int:
        """The byte offset of a place in the editor; clamps."""
        if self.cell is None:
            return self.document.lines.offset(line, character, encoding)
        found = self.document.lines.offset(line + self.cell.first_line, character, encoding)
        return min(max(found, self.cell.span.start), self.cell.span.end)

    def position(self, offset: int, encoding: Encoding) -> tuple[int, int]:
        """Line and column in the editor of a byte offset."""
        line, column = self.document.lines.position(offset, encoding)
        return (line, column) if self.cell is None else (max(0, line - self.cell.first_line), column)

    def holds(self, span: Span) -> bool:
        """Whether a place in the text is in what the editor knows by this URI."""
        return self.cell is None or self.cell.span.start <= span.start <= self.cell.span.end

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return stem_of(self.uri)


class Documents:
    """The store. Versions only grow; some editors begin at 0."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}
        self._histories: dict[str, History] = {}

    def open(self, uri: str, version: int, text: str) -> OpenDocument:
        """A document was opened, or opened anew."""
        self._open[uri] = OpenDocument(uri, version, Document(text))
        self._histories[uri] = History(version)
        return self._open[uri]

    def change(self, uri: str, version: int, changes: Sequence[Change], encoding: Encoding) -> OpenDocument | None:
        """Apply changes in the order of their versions, those of one version each to the result of the one before. None
        where they are to be ignored."""
        current, history = self._open.get(uri), self._histories.get(uri)
        if current is None or history is None:
            logger.warning("a change to a document that is not open was ignored")
            return None
        document = history.apply(current.document, version, changes, encoding)
        if document is None:
            logger.warning("version %d is older than %d and was ignored", version, current.version)
            return None
        return self.put(OpenDocument(uri, max(version, current.version), document))

    def put(self, file: OpenDocument) -> OpenDocument:
        """Keep a snapshot in the place of the one before it."""
        self._open[file.uri] = file
        return file

    def close(self, uri: str) -> None:
        """A document was closed; one that is not open is none of our business."""
        self._open.pop(uri, None)
        self._histories.pop(uri, None)

    def get(self, uri: str) -> OpenDocument | None:
        """The newest snapshot, None where the document is not open."""
        return self._open.get(uri)

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(tuple(self._open.values()))


def stem_of(uri: str) -> str:
    """The name, without its ending, of the file that a URI names; `kernels` where it names none."""
    try:
        path = unquote(urlsplit(uri).path)
    except ValueError:
        return "kernels"
    return PurePosixPath(path).stem or "kernels"
