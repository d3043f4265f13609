"""Frames on standard input and output: `Content-Length` headers of any case, with limits. pygls reads one spelling,
without limits, in another thread; here the event loop reads for itself where the system lets it, so that a message
waits for no hand-over."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

logger = logging.getLogger(__name__)

MAX_MESSAGE = 64 * 1024 * 1024
MAX_HEADER = 8 * 1024
CHUNK = 1 << 18


class FramingError(Exception):
    """The stream cannot be followed any further."""


class Frames:
    """Cuts a stream of bytes into the bodies of messages, not yet decoded."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._seen = 0
        self._told: int | None = None
        self._length: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that `data` completes. Raises `FramingError` where the stream makes no sense."""
        self._data += data
        while self._length is not None or self._header():
            length = self._length
            if length is None or len(self._data) < length:
                return
            body = bytes(self._data[:length])
            del self._data[:length]
            self._length = None
            yield body

    def _header(self) -> bool:
        """Whether a header is complete; takes it out of the data."""
        while (end := self._data.find(b"\n")) >= 0:
            line = bytes(self._data[:end]).strip()
            del self._data[: end + 1]
            self._seen += end + 1
            if self._seen > MAX_HEADER:
                raise FramingError("header too long")
            if line:
                name, _, value = line.partition(b":")
                if name.strip().lower() == b"content-length":
                    self._told = _length(value)
            elif self._told is not None:
                self._length, self._told, self._seen = self._told, None, 0
                return True
        if self._seen + len(self._data) > MAX_HEADER:
            raise FramingError("header too long")
        return False


def _length(value: bytes) -> int:
    digits = value.strip()
    if not digits.isdigit() or len(digits) > 12:
        raise FramingError("Content-Length is not a number")
    length = int(digits)
    if length > MAX_MESSAGE:
        raise FramingError(f"message of {length} bytes; the limit is {MAX_MESSAGE}")
    return length


def follow(stdin: BinaryIO, receive: Callable[[bytes], None], ended: Callable[[], None]) -> None:
    """Give each message of `stdin` to `receive`, on the running event loop; `ended` is called once, at the end of the
    stream or where it cannot be followed."""
    loop = asyncio.get_running_loop()
    frames = Frames()
    source = stdin.fileno()

    def take(data: bytes) -> bool:
        try:
            for body in frames.feed(data):
                receive(body)
        except FramingError as error:
            logger.error("the stream cannot be followed: %s", error)
            return False
        return bool(data)

    def ready() -> None:
        if not take(_read(source)):
            loop.remove_reader(source)
            ended()

    def hand_over() -> None:
        try:
            while data := _read(source):
                loop.call_soon_threadsafe(arrived, data)
            loop.call_soon_threadsafe(ended)
        except RuntimeError:
            logger.error("the event loop has ended")

    def arrived(data: bytes) -> None:
        if not take(data):
            ended()

    try:
        loop.add_reader(source, ready)
    except (NotImplementedError, OSError):  # Windows; a regular file as standard input
        threading.Thread(target=hand_over, name="ferrotile-reader", daemon=True).start()


def _read(source: int) -> bytes:
    try:
        return os.read(source, CHUNK)
    except OSError:
        logger.error("the stream broke")
        return b""


class Writer:
    """Standard output. Once the editor has closed it, what is written is lost and `closed` is called."""

    def __init__(self, stdout: BinaryIO, closed: Callable[[], None]) -> None:
        self._target = stdout.fileno()
        self._closed = closed

    def write(self, data: bytes) -> None:
        """Write all of a message."""
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._target, rest) :]
        except OSError:
            logger.error("the editor takes no more messages")
            self._closed()

    def close(self) -> None:
        """The process closes it when it ends."""


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
