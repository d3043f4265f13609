"""The Rust in a model's answer: the text of its one code block. Everything else in an answer is left alone; none of it
is a command to anybody."""

from __future__ import annotations

import re

LARGEST_ANSWER = 400_000
"""Characters; whatever is longer is no answer to a question about one kernel."""
LARGEST_RUST = 64_000
"""Bytes of a candidate: twenty times the longest kernel that ferrotile itself writes for an example."""

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<word>[\w+-]*)[^\n`]*$")
_RUST = frozenset({"rust", "rs"})


class NoRust(Exception):
    """Why nothing of an answer is taken; for the user, and for the model's next try."""


def rust_of(text: str) -> str:
    """The Rust of an answer, its lines ended by LF. Raises `NoRust`."""
    if len(text) > LARGEST_ANSWER:
        raise NoRust(f"the answer has {len(text)} characters, more than the {LARGEST_ANSWER} that are read")
    blocks, open_ = _blocks(text.replace("\r\n", "\n").replace("\r", "\n"))
    if open_:
        raise NoRust("the answer ends within a code block")
    rust = [block for word, block in blocks if word in _RUST]
    if not rust and len(blocks) == 1 and blocks[0][0] == "":
        rust = [blocks[0][1]]  # the one block there is, whose language nobody named
    if not rust:
        others = f", only {len(blocks)} of other kinds" if blocks else ""
        raise NoRust(f"the answer has no ```rust code block{others}")
    if len(rust) > 1:
        raise NoRust(f"the answer has {len(rust)} Rust code blocks; exactly one is taken")
    found = rust[0]
    if len(found.encode("utf-8", "replace")) > LARGEST_RUST:
        raise NoRust(f"the Rust is longer than {LARGEST_RUST} bytes")
    if not found.strip():
        raise NoRust("the Rust code block is empty")
    strange = next((c for c in found if c != "\n" and c != "\t" and not c.isprintable()), None)
    if strange is not None:
        raise NoRust(f"the Rust has the character U+{ord(strange):04X}, which cannot be seen")
    return found.strip("\n") + "\n"


def _blocks(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Fenced blocks as (language in small letters, text), and whether the last one has no end."""
    found: list[tuple[str, str]] = []
    fence, word = "", ""
    lines: list[str] = []
    for line in text.split("\n"):
        head = _FENCE.match(line)
        if not fence:
            if head is not None:
                fence, word, lines = head["fence"], head["word"].lower(), []
        elif head is not None and head["word"] == "" and head["fence"].startswith(fence):
            found.append((word, "\n".join(lines) + "\n"))
            fence = ""
        else:
            lines.append(line)
    return found, bool(fence)
