"""Debounce: work on a document waits until typing pauses, at most a bounded time, and the latest version
wins."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

DELAY_S = 0.040
LATEST_S = 0.200


class Scheduler:
    """Calls `work(uri)` after `touch(uri)`; never twice at once for one URI."""

    def __init__(
        self, work: Callable[[str], Awaitable[None]], delay: float = DELAY_S, latest: float = LATEST_S
    ) -> None:
        self._work = work
        self._delay = delay
        self._latest = latest
        self._first: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()

    def touch(self, uri: str, *, at_once: bool = False) -> None:
        """The document changed."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        first = self._first.setdefault(uri, now)
        if uri in self._timers:
            self._timers.pop(uri).cancel()
        due = now if at_once else min(now + self._delay, first + self._latest)
        self._timers[uri] = loop.call_at(due, self._start, uri)

    def drop(self, uri: str) -> None:
        """The document was closed: nothing more is to be done for it."""
        self._first.pop(uri, None)
        self._again.discard(uri)
        if uri in self._timers:
            self._timers.pop(uri).cancel()

    def _start(self, uri: str) -> None:
        self._timers.pop(uri, None)
        self._first.pop(uri, None)
        if uri in self._running:
            self._again.add(uri)
            return
        self._running[uri] = asyncio.get_running_loop().create_task(self._run(uri))

    async def _run(self, uri: str) -> None:
        try:
            await self._work(uri)
        except Exception:
            logger.exception("work on a document failed")
        finally:
            self._running.pop(uri, None)
            if uri in self._again:
                self._again.discard(uri)
                self._start(uri)
