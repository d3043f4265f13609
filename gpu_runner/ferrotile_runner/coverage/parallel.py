"""Spreads work over worker processes, one thread each."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")

_JOIN_SECONDS = 0.1


class Closable(Protocol):
    def close(self) -> None: ...


Worker = TypeVar("Worker", bound=Closable)


def spread(
    workers: Sequence[Worker], items: Iterable[Item], do: Callable[[Worker, Item], None], cancel: threading.Event
) -> None:
    """Does `do` with every item and some worker. The first exception of `do`, or an interrupt here, sets `cancel`,
    closes the workers and is raised once their threads have ended."""
    todo: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        todo.put(item)
    failures: list[BaseException] = []

    def drain(worker: Worker) -> None:
        with contextlib.suppress(queue.Empty):
            while not cancel.is_set():
                item = todo.get_nowait()
                try:
                    do(worker, item)
                except BaseException as error:
                    failures.append(error)
                    cancel.set()

    threads = [threading.Thread(target=drain, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(_JOIN_SECONDS)
    except BaseException:
        cancel.set()
        for worker in workers:
            worker.close()
        for thread in threads:
            thread.join(_JOIN_SECONDS)
        raise
    if failures:
        raise failures[0]
