"""Three-way merges of text, and the markers of their conflicts.

The merge is `git merge-file`: what people who resolve the conflicts know, and what their tools show. (The library on
PyPI, merge3, has a licence that Apache-2.0 programs cannot take in.) No repository, and no setting of one, is read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from msgspec import Struct

from ferrotile_runner.export.outcome import Conflict
from ferrotile_runner.process import Command, ProcessError, run

SECONDS = 60.0
EDITED, GENERATED, LAST = "edited", "generated", "last generated"
"""The labels beside `<<<<<<<`, `>>>>>>>` and `|||||||`."""

_MOST_CONFLICTS = 127
"""`git merge-file` counts conflicts in its exit code up to this number; above are errors."""
_OPEN, _MIDDLE, _CLOSE = re.compile(rb"<{7} \S"), re.compile(rb"={7}\r?$"), re.compile(rb">{7} \S")


class MergeError(Exception):
    """No merge could be made; the message says why, for a person."""


class Merged(Struct, frozen=True):
    text: bytes
    conflicts: tuple[Conflict, ...]


def conflicts_of(text: bytes) -> tuple[Conflict, ...]:
    """The conflicts whose markers stand in `text`, git's own among them."""
    found: list[Conflict] = []
    first, middle = 0, False
    for number, line in enumerate(text.split(b"\n"), start=1):
        if _OPEN.match(line):
            first, middle = number, False
        elif first and _MIDDLE.match(line):
            middle = True
        elif first and middle and _CLOSE.match(line):
            found.append(Conflict(first, number))
            first, middle = 0, False
    return tuple(found)


def merge(base: bytes, edited: bytes, generated: bytes) -> Merged:
    """What both sides made of `base`, lines ended by LF; where they disagree, both with markers. Raises `MergeError`
    where git is not there."""
    git = shutil.which("git")
    if git is None:
        raise MergeError("edited, and generated anew; git, which merges them, is not there: install it")
    with tempfile.TemporaryDirectory(prefix="ferrotile-") as name:
        folder = Path(name)
        for part, content in (("edited", edited), ("base", base), ("generated", generated)):
            (folder / part).write_bytes(content)
        labels = ("-L", EDITED, "-L", LAST, "-L", GENERATED)
        command = (git, "merge-file", "--stdout", "--marker-size=7", *labels, "edited", "base", "generated")
        # A repository around the folder of temporary files could change the style of the markers.
        environment = {"GIT_CEILING_DIRECTORIES": str(folder.parent), "GIT_DIR": os.devnull, "LC_ALL": "C"}
        try:
            done = run(Command(command, environment, folder), SECONDS)
        except ProcessError as error:
            raise MergeError(f"edited, and generated anew; git, which merges them, gave no answer: {error}") from None
    if not 0 <= done.returncode <= _MOST_CONFLICTS:
        raise MergeError(f"git merge-file: {done.stderr.strip() or f'exit code {done.returncode}'}")
    return Merged(done.stdout, conflicts_of(done.stdout) if done.returncode else ())
