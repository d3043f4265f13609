"""Where the cursor is in a `# ferrotile:` directive, and which kernel that is about."""

from __future__ import annotations

import re

from ferrotile.signatures.directive import is_directive
from ferrotile.syntax.document import Comment, Document
from ferrotile.syntax.module import FunctionSource
from ferrotile.syntax.span import Span
from ferrotile.translation import KernelTranslation
from msgspec import Struct

from ferrotile_server.lsp.context import Snapshot
from ferrotile_server.lsp.documents import OpenDocument

_WORD = re.compile(r"[^\W\d]\w*")
_LINE = re.compile(rb"[ \t\x0c]*(#[^\r\n]*)")
_BEFORE = re.compile(r"#+\s*ferrotile\s*:")


class Word(Struct, frozen=True):
    """A name in a directive."""

    text: str
    span: Span


def comment_at(document: Document, offset: int) -> Comment | None:
    """The comment, alone on its line, around a byte offset; its end counts. From the line alone, at once: the
    document's own list of comments is made anew after an edit. A line of a long string can look the same."""
    number = document.lines.line_of(offset)
    start = document.lines.line_start(number)
    found = _LINE.match(document.data[start : document.lines.line_end(number)])
    if found is None:
        return None
    span = Span(start + found.start(1), start + found.end(1))
    return Comment(span, document.slice(span)) if span.start <= offset <= span.end else None


def directive_at(file: OpenDocument, offset: int) -> Comment | None:
    """The directive line around a byte offset."""
    comment = comment_at(file.document, offset)
    return comment if comment is not None and is_directive(comment) else None


def words(comment: Comment) -> list[Word]:
    """The names in a directive line."""
    head = _BEFORE.match(comment.text)
    found = []
    for match in _WORD.finditer(comment.text, head.end() if head else 0):
        start = comment.span.start + len(comment.text[: match.start()].encode())
        found.append(Word(match[0], Span(start, start + len(match[0].encode()))))
    return found


def word_at(comment: Comment, offset: int) -> Word | None:
    """The name around, or just before, a byte offset."""
    return next((w for w in words(comment) if w.span.start <= offset <= w.span.end), None)


def function_below(snapshot: Snapshot, comment: Comment) -> FunctionSource | None:
    """The function that a comment stands above, with nothing but comments and decorators between."""
    module = snapshot.analysis.translation.module
    if module is None:
        return None
    below = [f for f in (*module.functions, *module.nested) if f.span.start >= comment.span.end]
    nearest = min(below, key=lambda f: f.span.start, default=None)
    if nearest is None:
        return None
    lines = snapshot.file.document.lines
    return nearest if lines.block_start(nearest.span.start) <= comment.span.start else None


def kernel_below(snapshot: Snapshot, comment: Comment) -> KernelTranslation | None:
    """The kernel, under its first signature, that a comment stands above."""
    function = function_below(snapshot, comment)
    return None if function is None else kernel_of(snapshot, function)


def kernel_of(snapshot: Snapshot, function: FunctionSource) -> KernelTranslation | None:
    """The kernel, under its first signature, that a function is."""
    kernels = snapshot.analysis.translation.kernels
    return next((k for k in kernels if k.name_span == function.name_span), None)


def lines_above(snapshot: Snapshot, kernel: KernelTranslation) -> list[Comment]:
    """The directive lines of a kernel, in order."""
    document = snapshot.file.document
    lines = document.lines
    numbers = range(lines.line_of(lines.block_start(kernel.span.start)), lines.line_of(kernel.span.start))
    found = (comment_at(document, lines.line_end(number)) for number in numbers)
    return [c for c in found if c is not None and is_directive(c)]
