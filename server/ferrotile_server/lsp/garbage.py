"""Garbage collection that no request waits for. A translation makes many small records that stay and hardly a cycle:
the young are looked at a few thousand at a time, those that stay only while the editor is silent."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

YOUNG = 5_000
"""So many new objects are looked at in well under a millisecond."""
NEVER = 1_000_000
MANY = 200
"""Looks at the young after which those that stayed are worth a look."""
SILENCE_S = 5.0


def begin() -> None:
    """For a process that has imported what it needs: that stays, and no collection needs to look at it."""
    gc.freeze()
    gc.set_threshold(YOUNG, NEVER, NEVER)
    gc.enable()


async def collect_in_silence(silence: Callable[[], float]) -> None:
    """Look at what stayed whenever there was no message for some seconds; `silence` tells for how many."""
    while True:
        await asyncio.sleep(SILENCE_S)
        if silence() >= SILENCE_S and gc.get_count()[1] >= MANY:
            gc.collect(1)
