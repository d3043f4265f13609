"""What the editor's changes make of a text, in the order in which the editor made them.

That is not always the order in which they come: Helix 25.01 gives each of them to a task of its own, and where two are
made at once, the second often comes first. Its positions are those of a text that the first has changed already, so
that neither taking it as it is nor ignoring the first gives what the editor shows. The versions tell: the newest
changes are kept, and a late one is put where it belongs."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding, boundary
from ferrotile.syntax.span import Span
from msgspec import Struct

MOST_STEPS = 64
MOST_BYTES = 1024 * 1024
"""What is kept of the newest changes of one document, so that memory stays."""


class Change(Struct, frozen=True):
    """A change of an open document: a replaced range, or the whole text where `start` is None. (line,
    column) pairs."""

    text: str
    start: tuple[int, int] | None = None
    end: tuple[int, int] = (0, 0)


class _Undo(Struct, frozen=True):
    """The bytes that a change has put there, and what stood there before."""

    span: Span
    text: str


class _Step(Struct, frozen=True):
    """The changes of one version, and what undoes them, the last first."""

    version: int
    changes: tuple[Change, ...]
    undo: tuple[_Undo, ...]

    @property
    def size(self) -> int:
        return sum(len(c.text) for c in self.changes) + sum(len(u.text) for u in self.undo)


class History:
    """The newest changes of one open document."""

    __slots__ = ("_bytes", "_since", "_steps")

    def __init__(self, version: int) -> None:
        self._since = version
        """No change of this version, or of an older one, can be put in its place."""
        self._steps: deque[_Step] = deque()
        self._bytes = 0

    def apply(self, document: Document, version: int, changes: Sequence[Change], encoding: Encoding) -> Document | None:
        """The text after changes, and after the newer ones that came before them. None where they are to be ignored:
        they are too old, or were made already."""
        newest = self._steps[-1].version if self._steps else self._since
        if version >= newest:  # some editors do not count
            return self._make(document, version, tuple(changes), encoding)
        if version <= self._since or any(s.version == version for s in self._steps):
            return None
        newer: list[_Step] = []
        while self._steps and self._steps[-1].version > version:
            step = self._pop()
            newer.append(step)
            for undo in step.undo:
                document = document.edit(undo.span.start, undo.span.end, undo.text)
        document = self._make(document, version, tuple(changes), encoding)
        for step in reversed(newer):
            document = self._make(document, step.version, step.changes, encoding)
        return document

    def _make(self, document: Document, version: int, changes: tuple[Change, ...], encoding: Encoding) -> Document:
        undo: list[_Undo] = []
        for change in changes:
            document, back = _changed(document, change, encoding)
            undo.append(back)
        step = _Step(version, changes, tuple(reversed(undo)))
        self._steps.append(step)
        self._bytes += step.size
        while len(self._steps) > MOST_STEPS or (self._bytes > MOST_BYTES and len(self._steps) > 1):
            oldest = self._steps.popleft()
            self._bytes -= oldest.size
            self._since = oldest.version
        return document

    def _pop(self) -> _Step:
        step = self._steps.pop()
        self._bytes -= step.size
        return step


def changed(document: Document, changes: Sequence[Change], encoding: Encoding) -> Document:
    """A text after changes, each of the result of the one before."""
    for change in changes:
        document, _ = _changed(document, change, encoding)
    return document


def _changed(document: Document, change: Change, encoding: Encoding) -> tuple[Document, _Undo]:
    if change.start is None:
        made = Document(change.text)
        return made, _Undo(Span(0, len(made.data)), document.text)
    first, second = document.lines.offset(*change.start, encoding), document.lines.offset(*change.end, encoding)
    start, end = boundary(document.data, min(first, second)), boundary(document.data, max(first, second))
    made = document.edit(start, end, change.text)
    return made, _Undo(Span(start, end + len(made.data) - len(document.data)), document.slice(Span(start, end)))
