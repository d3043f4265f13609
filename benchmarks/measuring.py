"""Timing that the benchmarks share."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of some runs."""

    ms: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.ms)

    def percentile(self, percent: float) -> float:
        """The smallest time that `percent` of the runs do not exceed."""
        return sorted(self.ms)[math.ceil(percent / 100 * len(self.ms)) - 1]


@dataclass(frozen=True, slots=True)
class Budget:
    """What the first row of a table may cost, in milliseconds. Without `p99`, only the median counts."""

    p50: float
    p99: float | None = None

    def verdict(self, times: Times) -> str:
        """The budget in words, and whether it is kept."""
        kept = times.median <= self.p50 and (self.p99 is None or times.percentile(99) <= self.p99)
        limits = f"p50 {self.p50:g} ms" + ("" if self.p99 is None else f", p99 {self.p99:g} ms")
        return f"budget: {limits}: {'kept' if kept else 'NOT KEPT'}"


def measure(action: Callable[[], None], runs: int) -> Times:
    """Run `action` that many times."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    return Times(tuple(times))


def print_table(subject: str, rows: Sequence[tuple[str, Times]], budget: Budget | None = None) -> None:
    """All rows; `ratio` is each median over the first one's."""
    caption = budget.verdict(rows[0][1]) if budget else None
    table = Table(title=subject, title_justify="left", caption=caption, caption_justify="left")
    for name in ("", "p50 ms", "p90 ms", "p99 ms", "runs", "ratio"):
        table.add_column(name, justify="right" if name else "left")
    first = rows[0][1].median
    for name, times in rows:
        cells = [f"{t:.1f}" for t in (times.median, times.percentile(90), times.percentile(99))]
        table.add_row(name, *cells, str(len(times.ms)), f"{times.median / first:.2f}")
    console = Console()
    console.print(table)
    console.print()
