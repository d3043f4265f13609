"""Timing that the benchmarks share."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of some runs."""

    ms: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.ms)

    @property
    def slow(self) -> float:
        """The 90th percentile."""
        return sorted(self.ms)[int(0.9 * (len(self.ms) - 1))]

    def __str__(self) -> str:
        return f"median {self.median:8.1f} ms   90 % {self.slow:8.1f} ms   ({len(self.ms)} runs)"


def measure(action: Callable[[], None], runs: int) -> Times:
    """Run `action` that many times."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    return Times(tuple(times))


def print_table(subject: str, rows: Sequence[tuple[str, Times]]) -> None:
    """All rows, each with its ratio to the first."""
    print(subject)
    first = rows[0][1].median
    for name, times in rows:
        print(f"  {name:<28} {times}   {times.median / first:6.2f} x")
