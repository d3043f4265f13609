"""What a draft may cost: tries, seconds, tokens. None of it is exceeded, whatever the model or a compiler does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType

from msgspec import Struct

from ferrotile_server.drafting.prices import Prices

_LOOK_S = 0.05
LEAST_ANSWER = 256
"""Tokens below which no kernel can be said: asking for fewer would be money for nothing."""


class Budget(Struct, frozen=True):
    """At most so many candidates, seconds of wall clock, and tokens of prompts and answers together."""

    tries: int = 5
    seconds: float = 600.0
    tokens: int = 200_000
    prices: Prices | None = None


class Clock(Struct, frozen=True):
    """Time as the loop sees it; a test has its own."""

    now: Callable[[], float] = time.monotonic
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait
    """Wait for an event, so many seconds at most; whether it was set."""


class Stop:
    """An event that is set once the user cancels or the time is over, within a `with` block."""

    def __init__(self, cancel: threading.Event, until: float, clock: Clock) -> None:
        self.event = threading.Event()
        self._cancel, self._until, self._clock = cancel, until, clock
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look, name="ferrotile-draft-clock", daemon=True)

    def __enter__(self) -> Stop:
        self._watch.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._watch.join()

    @property
    def left(self) -> float:
        """Seconds; never below 0."""
        return max(0.0, self._until - self._clock.now())

    @property
    def cancelled(self) -> bool:
        return self._cancel.is_set()

    @property
    def over(self) -> bool:
        return self.cancelled or self.left <= 0

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            if self.over:
                self.event.set()
                return
