"""A program in a terminal of its own: keys go in, and what a person would see is read from the screen."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pyte

T = TypeVar("T")
PATIENCE_S = 60.0


class _Screen(pyte.Screen):
    """Answers what programs ask of a terminal: Helix waits two seconds where it is silent."""

    answer: Callable[[str], None] = staticmethod(lambda _: None)

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Terminal:
    """`columns` and `rows` are characters. To be used with `with`, which ends the program if it has not ended."""

    def __init__(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        folder: Path,
        columns: int = 180,
        rows: int = 45,
    ) -> None:
        self._screen = _Screen(columns, rows)
        self._screen.answer = self.keys
        self._stream = pyte.ByteStream(self._screen)
        self._master, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        try:
            self.process = subprocess.Popen(
                command,
                env={**environment, "TERM": "xterm-256color"},
                cwd=folder,
                stdin=inside,
                stdout=inside,
                stderr=inside,
                start_new_session=True,
            )
        finally:
            os.close(inside)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._master)

    def keys(self, typed: str) -> None:
        os.write(self._master, typed.encode())

    @property
    def lines(self) -> list[str]:
        """The screen, without the spaces at the ends of lines."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, what: str, seen: Callable[[], T], seconds: float = PATIENCE_S) -> T:
        """Wait until `seen` gives something true; that, or a failure that shows the screen."""
        end = time.monotonic() + seconds
        while not (found := seen()):
            assert time.monotonic() < end, f"never: {what}\n{self.text}"
            if not self._read(0.05) and self.process.poll() is not None:
                raise AssertionError(f"ended before: {what}\n{self.text}")
        return found

    def shows(self, *words: str, seconds: float = PATIENCE_S) -> None:
        """Wait until all these are on the screen."""
        self.until(" and ".join(words), lambda: all(w in self.text for w in words), seconds)

    def settle(self, quiet: float = 0.1, most: float = 0.5) -> None:
        """Wait until nothing more is drawn for a moment; what turns while work goes on is drawn all the time."""
        end = time.monotonic() + most
        while time.monotonic() < end and self._read(quiet):
            pass

    def ended(self, seconds: float = 20.0) -> int:
        """Wait until the program has ended; its exit status."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end\n{self.text}"
            self._read(0.05)
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        """Draw what comes within a while; whether anything came."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # nobody is at the other end
            return False
        self._stream.feed(data)
        return bool(data)
