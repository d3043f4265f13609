"""The open documents, as the editor sees them. Nothing is ever read from the disk."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding
from msgspec import Struct

logger = logging.getLogger(__name__)


class Change(Struct, frozen=True):
    """A change of an open document: a replaced range, or the whole text where `start` is None. (line,
    column) pairs."""

    text: str
    start: tuple[int, int] | None = None
    end: tuple[int, int] = (0, 0)


class OpenDocument(Struct, frozen=True):
    """A snapshot of one open document under the editor's own spelling of its URI."""

    uri: str
    version: int
    document: Document

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return stem_of(self.uri)


class Documents:
    """The store. Versions only grow; some editors begin at 0."""

    def __init__(self) -> None:
        self._open: dict[str, OpenDocument] = {}

    def open(self, uri: str, version: int, text: str) -> OpenDocument:
        """A document was opened, or opened anew."""
        self._open[uri] = OpenDocument(uri, version, Document(text))
        return self._open[uri]

    def change(self, uri: str, version: int, changes: Sequence[Change], encoding: Encoding) -> OpenDocument | None:
        """Apply changes in order, each to the result of the one before. None where they are to be ignored."""
        current = self._open.get(uri)
        if current is None:
            logger.warning("a change to a document that is not open was ignored")
            return None
        if version < current.version:
            logger.warning("version %d is older than %d and was ignored", version, current.version)
            return None
        document = current.document
        for change in changes:
            if change.start is None:
                document = Document(change.text)
                continue
            start = document.lines.offset(*change.start, encoding)
            end = document.lines.offset(*change.end, encoding)
            document = document.edit(min(start, end), max(start, end), change.text)
        self._open[uri] = OpenDocument(uri, version, document)
        return self._open[uri]

    def close(self, uri: str) -> None:
        """A document was closed; one that is not open is none of our business."""
        self._open.pop(uri, None)

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
