"""The log of a draft: JSON lines with every prompt, answer and verdict, from which the draft can be run again without a
model. No key is ever in it: none is given to what writes it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from io import FileIO, TextIOWrapper
from pathlib import Path
from types import TracebackType

VERSION = 1
LARGEST = 64 * 2**20
"""Bytes of a log that is read."""

Record = Mapping[str, object]
Write = Callable[[Record], None]
"""Takes one record; its `kind` says what it is."""


class LogError(Exception):
    """A log cannot be written or read; the message says why."""


def silent(record: Record) -> None:
    """For drafts whose log nobody wants."""


class LogFile:
    """Records as lines of a new file, each on the disk before the draft goes on. Only its owner may read it: prompts
    hold source code. Raises `LogError`; a file that is there is not overwritten."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except FileExistsError:
            raise LogError(f"{path}: exists; name a new file for the log") from None
        except OSError as error:
            raise LogError(f"{path}: {error.strerror or error}") from None
        self._file = TextIOWrapper(FileIO(descriptor, "w"), encoding="utf-8", newline="\n", write_through=True)

    def __enter__(self) -> LogFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, record: Record) -> None:
        """Append a record. Raises `LogError`."""
        try:
            self._file.write(json.dumps(record, ensure_ascii=True) + "\n")
            self._file.flush()
        except OSError as error:
            raise LogError(f"{self._path}: {error.strerror or error}") from None


def read(path: Path) -> tuple[Record, ...]:
    """The records of a log; raises `LogError` where it is none. An interrupted last line is left out."""
    try:
        if path.stat().st_size > LARGEST:
            raise LogError(f"{path}: larger than a log can be")
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise LogError(f"{path}: not UTF-8") from None
    except OSError as error:
        raise LogError(f"{path}: {error.strerror or error}") from None
    found: list[Record] = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            record = json.loads(line)
        except ValueError:
            raise LogError(f"{path}:{number}: not a line of JSON") from None
        if not isinstance(record, dict) or not isinstance(record.get("kind"), str):
            raise LogError(f"{path}:{number}: not a record of a draft")
        found.append(record)
    if not found or found[0]["kind"] != "draft":
        raise LogError(f"{path}: not the log of a draft")
    if found[0].get("version") != VERSION:
        raise LogError(f"{path}: version {found[0].get('version')} of the log; this ferrotile reads version {VERSION}")
    return tuple(found)
