"""Progress on standard error: shown only in a terminal, and only for work that takes more than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE_S = 1.0


class Progress:
    """One line that is rewritten in place and vanishes at the end; silent in pipes and for quick work."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._width = 0
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()

    def step(self, message: str) -> None:
        """Say what is being done now."""
        if not self._shown or time.monotonic() - self._started < PATIENCE_S:
            return
        bar = f"[{self._done}/{self._total}] " if self._total > 1 else ""
        line = f"{bar}{message}"[:100]
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = max(self._width, len(line))

    def finish_one(self) -> None:
        """One of `total` is done."""
        self._done += 1
