"""The comment that keeps a tuner's choices above a kernel."""

from __future__ import annotations

from ferrotile.choices import Choices, is_tuned, target_of
from ferrotile.syntax.document import Document
from ferrotile.translation import KernelTranslation


def with_comment(text: str, kernel: KernelTranslation, choices: Choices, target: str) -> str:
    """`text` with the choices for `target` in the line above the kernel, or in the line that had them; `kernel` is a
    translation of this text."""
    document = Document(text)
    data = document.data
    start = kernel.span.start
    line = data.rfind(b"\n", 0, start) + 1
    indent = data[line:start].decode()
    made = choices.comment(target).encode()
    for comment in document.comments_above(start):
        if is_tuned(comment) and target_of(comment) == target:
            return (data[: comment.span.start] + made + data[comment.span.end :]).decode()
    ending = b"\r\n" if b"\r\n" in data else b"\n"
    return (data[:line] + indent.encode() + made + ending + data[line:]).decode()
