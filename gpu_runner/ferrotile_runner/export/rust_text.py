"""Rust text as far as it is needed to put a line into it: what is code, and at which depth."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SKIPPED = re.compile(
    r"""
      //[^\n]*
    | /\*
    | \b(?:br|cr|r)(?P<hashes>\#*)"
    | "(?:[^"\\]|\\.)*"
    | '(?:[^'\\\n]|\\(?:[^u\n]|u\{[^}\n]*\}))'
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


def code_alone(text: str) -> str:
    """`text` with comments, strings and characters blanked: line ends stay, and so does every offset."""
    return "".join(part if code else re.sub(r"[^\n]", " ", part) for code, part in _parts(text))


def outside_literals(text: str, pattern: re.Pattern[str], by: str) -> str:
    """`text` with what matches in code and in comments replaced: what a program prints stays."""
    parts = ((code or part.startswith(("//", "/*")), part) for code, part in _parts(text))
    return "".join(pattern.sub(by, part) if open_ else part for open_, part in parts)


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """Pieces of `text` in order, and whether each is code; comments and literals are not."""
    at = 0
    while (found := _SKIPPED.search(text, at)) is not None:
        end = found.end()
        if found.group() == "/*":
            end = _comment_end(text, end)
        elif found.group("hashes") is not None:
            close = text.find('"' + found.group("hashes"), end)
            end = len(text) if close < 0 else close + 1 + len(found.group("hashes"))
        yield True, text[at : found.start()]
        yield False, text[found.start() : end]
        at = end
    yield True, text[at:]


def _comment_end(text: str, at: int) -> int:
    """Past the end of a block comment; they nest."""
    depth = 1
    for found in _COMMENT.finditer(text, at):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


def depths(code: str) -> list[int]:
    """For each line of code without comments and strings, how many brackets are open at its start."""
    found, depth = [], 0
    for line in code.split("\n"):
        found.append(depth)
        depth += sum(line.count(c) for c in "{[(") - sum(line.count(c) for c in "}])")
    return found
