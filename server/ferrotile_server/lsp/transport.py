"""Frames on standard input: `Content-Length` headers of any case, with limits. pygls reads one spelling,
without limits."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

from msgspec import Struct

MAX_MESSAGE = 64 * 1024 * 1024
MAX_HEADER = 8 * 1024


class FramingError(Exception):
    """The stream cannot be followed any further."""


class Frame(Struct, frozen=True):
    """The body of one message, not yet decoded."""

    body: bytes


def read_frame(stream: BinaryIO) -> Frame | None:
    """The next message, None at the end of the stream. Raises `FramingError` where the stream makes no
    sense."""
    length: int | None = None
    seen = 0
    while True:
        line = stream.readline(MAX_HEADER)
        if not line:
            return None
        seen += len(line)
        if seen > MAX_HEADER:
            raise FramingError("header too long")
        stripped = line.strip()
        if not stripped:
            if length is None:
                continue
            break
        name, _, value = stripped.partition(b":")
        if name.strip().lower() == b"content-length":
            length = _length(value)
    body = stream.read(length)
    return Frame(body) if len(body) == length else None


def _length(value: bytes) -> int:
    digits = value.strip()
    if not digits.isdigit() or len(digits) > 12:
        raise FramingError("Content-Length is not a number")
    length = int(digits)
    if length > MAX_MESSAGE:
        raise FramingError(f"message of {length} bytes; the limit is {MAX_MESSAGE}")
    return length


def guard_stdout() -> BinaryIO:
    """Keep the real standard output for the protocol; `print` and child processes write to standard error
    instead."""
    sys.stdout.flush()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return channel


def parent_is_gone(process_id: int | None, started_by: int) -> bool:
    """Whether the editor that started us, or the process that it named, has died."""
    if os.name == "posix" and os.getppid() != started_by:
        return True
    if process_id is None or os.name != "posix":
        return False
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
