"""Whose work a Python file is: its licence header and copyright lines, for the Rust that is made from it.

Kept is every block of comments, and every paragraph of the module's docstring, that speaks of copyright, of a licence
or of where the code comes from (the marks of the REUSE specification among them), word by word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

_OWNED = re.compile(
    r"copyright|\(c\)\s*<?\d{4}|©|\bSPDX-|licen[sc]e[sd]?\b|all rights reserved|permission is hereby granted"
    r"|redistribution and use|(?:adapted|derived|ported|copied|modified|taken) from\b|original authors?\b",
    re.IGNORECASE,
)
_LATER = re.compile(r"copyright\b.*\d{4}|©\s*<?\d{4}|\bSPDX-|\blicensed under\b|\badapted from\b", re.IGNORECASE)
"""Below the head of a file, where people also write about the licences of other things."""
_PRAGMA = re.compile(r"#\s*(!|-\*-|.*\bcoding[:=]|noqa|type:|fmt:|ruff:|pylint:|mypy:|isort:|pragma:|ferrotile:)")
_DOCSTRING = re.compile(
    r"""[rRuU]?(?P<quotes>\"\"\"|'''|"|')(?P<text>(?:\\.|(?!(?P=quotes)).)*)(?P=quotes)""", re.DOTALL
)
_LICENCE = re.compile(r"SPDX-License-Identifier:\s*([\w.+() -]*[\w.+)])")
_COPYRIGHT = re.compile(
    r"copyright\b.*\d{4}|copyright\s*\(c\)|\(c\)\s*<?\d{4}|©|SPDX-FileCopyrightText:", re.IGNORECASE
)
_PREFIX = re.compile(r"SPDX-FileCopyrightText:\s*")


class Attribution(Struct, frozen=True):
    """`lines`: the kept texts without comment marks, blocks apart by an empty line. `copyrights`: the lines that name
    an owner. `licences`: SPDX expressions. All in the order of the file, each once."""

    lines: tuple[str, ...] = ()
    copyrights: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()

    @property
    def rust(self) -> str:
        """As comments at the head of a Rust file, each line ended; empty where the Python says nothing."""
        return "".join(f"// {line}".rstrip() + "\n" for line in self.lines)


def attribution(source_text: str) -> Attribution:
    """What a Python file says of its owners and its licence. Total: of a file that is no Python it is what its
    comments say."""
    blocks = dict.fromkeys(_blocks(source_text))
    lines = tuple(line for block in blocks for line in ("", *block))[1:]
    copyrights = dict.fromkeys(_PREFIX.sub("", line) for line in lines if _COPYRIGHT.search(line))
    licences = dict.fromkeys(found.group(1) for line in lines if (found := _LICENCE.search(line)))
    return Attribution(lines, tuple(copyrights), tuple(licences))


def heading(source_text: str, inlined: Sequence[tuple[str, str]]) -> str:
    """The comments at the head of a Rust file: what its Python file says, then what the files say of which functions
    are inlined (path and text), where that is something else. Each line ended; empty where nothing is said."""
    own = attribution(source_text)
    text = own.rust
    for path, other in inlined:
        said = attribution(other)
        if said.lines and said.lines != own.lines:
            text += ("//\n" if text else "") + f"// Functions of {path} are inlined:\n//\n{said.rust}"
    return text


def notice(sources: Iterable[tuple[str, str, Attribution]]) -> str:
    """The file `NOTICE`: an entry for each Rust file and each Python file that it is made from, with their paths and
    what the Python file says."""
    text = "This crate was made from Python files by ferrotile. Their owners and licences, as the files say:\n"
    for rust, python, said in sources:
        text += f"\n{rust}, from {python}\n"
        named = [*said.copyrights, *(f"SPDX-License-Identifier: {licence}" for licence in said.licences)]
        rest = [] if named else [line for line in said.lines if line]
        text += "".join(f"    {line}\n" for line in named or rest or ("(the file names neither)",))
    return text


def _blocks(text: str) -> Iterator[tuple[str, ...]]:
    lines = text.removeprefix("\ufeff").splitlines()
    at = 0
    for start, end in _comment_blocks(lines):
        head = all(not line.strip() or line.lstrip().startswith("#") for line in lines[at:start])
        if head:
            at = end
        block = _clean(line.strip() for line in lines[start:end] if not _PRAGMA.match(line.strip()))
        if any((_OWNED if head else _LATER).search(line) for line in block):
            yield block
        if head:
            yield from _of_docstring("\n".join(lines[end:]).lstrip())
    if at == 0:
        yield from _of_docstring("\n".join(lines).lstrip())


def _comment_blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Half-open ranges of lines that are comments and stand together."""
    start: int | None = None
    for number, line in enumerate([*lines, ""]):
        comment = line.lstrip().startswith("#")
        if comment and start is None:
            start = number
        elif not comment and start is not None:
            yield start, number
            start = None


def _of_docstring(rest: str) -> Iterator[tuple[str, ...]]:
    """The paragraphs of a docstring that `rest` begins with."""
    found = _DOCSTRING.match(rest)
    if found is None:
        return
    for paragraph in re.split(r"\n\s*\n", found.group("text")):
        lines = _clean(line.strip() for line in paragraph.splitlines())
        if any(_OWNED.search(line) for line in lines):
            yield lines


def _clean(lines: Iterator[str]) -> tuple[str, ...]:
    """Without comment marks, and without characters that change how other text is shown, which `rustc` refuses."""
    plain = [
        "".join(c for c in line if c == "\t" or unicodedata.category(c) not in ("Cc", "Cf")).strip()
        for line in (re.sub(r"^#+ ?", "", line) for line in lines)
    ]
    while plain and not plain[0]:
        plain.pop(0)
    while plain and not plain[-1]:
        plain.pop()
    return tuple(plain)
