"""How much slower than NumPy does the interpreter run a kernel, and how much memory does it take?

Processor time of one thread, the least of several runs, in turn with NumPy's. What is simulated is the Tile IR of
the examples, as both compilers emit it (tests/fixtures/tileir).
"""

from __future__ import annotations

import os

THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
os.environ.update(THREADS)  # NumPy reads it when it is loaded

import time  # noqa: E402
import tracemalloc  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from functools import partial  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from ferrotile_runner.tileir.interpreter import RunResult, Storage, Word, run  # noqa: E402
from ferrotile_runner.tileir.interpreter.elements import Array  # noqa: E402
from ferrotile_runner.tileir.interpreter.run import BATCH_ELEMENTS  # noqa: E402
from ferrotile_runner.tileir.reader import read  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "tileir"
RUNS = 5
MARK_BYTES = 5
"""An element that is written has a mark of 4 bytes, and one in the answer."""
TILES_AT_ONCE = 8
"""How many tiles of a batch, in f32, may be in use at one time."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel on arrays: `plain` is NumPy's way. The simulation may take `budget` times its time."""

    name: str
    file: str
    arrays: dict[str, Array]
    output: str
    grid: tuple[int, int, int]
    plain: Callable[[], Array]
    what: str
    budget: float
    tolerance: float

    def words(self, count: int) -> tuple[Word, ...]:
        """Pointer, extents and strides of each array, then the words that no kernel reads."""
        found: list[Word] = []
        for name, array in self.arrays.items():
            found += [Storage(name, array), *array.shape, *(s // array.itemsize for s in array.strides)]
        return tuple((found + [0] * count)[:count])


def softmax() -> Subject:
    x = np.random.default_rng(0).standard_normal((4096, 1024)).astype(np.float32)

    def plain() -> Array:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    arrays = {"x": x, "y": np.zeros_like(x)}
    return Subject("softmax 4096 x 1024, f32", "softmax", arrays, "y", (4096, 1, 1), plain, "whole array", 10, 1e-5)


def matmul() -> Subject:
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(-1, 1, (1024, 1024)).astype(np.float16) for _ in range(2))
    wide = a.astype(np.float32), b.astype(np.float32)
    arrays = {"a": a, "b": b, "c": np.zeros_like(a)}
    name = "matmul 1024 x 1024 x 1024, f16 in tiles of 128 x 128 x 64"
    return Subject(name, "matmul", arrays, "c", (8, 8, 1), lambda: np.matmul(*wide), "f32 `@`", 20, 2e-2)


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def sides(subject: Subject) -> Iterator[tuple[str, Callable[[], RunResult]]]:
    for label, suffix in (("original", "py"), ("translation", "rs")):
        entry = read((FIXTURES / f"{subject.file}.{suffix}.ir").read_text(encoding="utf-8")).entry()
        words = subject.words(len(entry.parameters))
        yield label, partial(run, entry, words, subject.grid)


def check(subject: Subject, result: RunResult) -> None:
    """Raises ValueError where what was measured is wrong."""
    expected, found = subject.plain().astype(np.float32), result.arrays[subject.output].astype(np.float32)
    if not np.allclose(found, expected, rtol=subject.tolerance, atol=subject.tolerance):
        raise ValueError(f"{subject.name}: the simulation is wrong")


def peak(action: Callable[[], RunResult]) -> int:
    """Bytes that a run allocates at most, beside the arrays that it is given."""
    tracemalloc.start()
    action()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def measure(subject: Subject, console: Console) -> None:
    table = Table(title=f"simulation of {subject.name}", title_justify="left", caption_justify="left")
    for name in ("", "ms", f"ratio to NumPy ({subject.what})", "MiB beside the arrays"):
        table.add_column(name, justify="right" if name else "left")
    output = subject.arrays[subject.output]
    allowed = output.nbytes + MARK_BYTES * output.size + TILES_AT_ONCE * 4 * BATCH_ELEMENTS
    kept = True
    for label, action in sides(subject):
        check(subject, action())
        pairs = [(seconds(subject.plain), seconds(action)) for _ in range(RUNS)]
        plain, simulated = (min(times) for times in zip(*pairs, strict=True))
        memory = peak(action)
        kept &= simulated <= subject.budget * plain and memory <= allowed
        table.add_row(label, f"{simulated * 1e3:.0f}", f"{simulated / plain:.1f}", f"{memory / 2**20:.0f}")
        table.add_row("  NumPy", f"{plain * 1e3:.0f}", "1.0", "")
    limits = f"{subject.budget:g} times NumPy, {allowed / 2**20:.0f} MiB"
    table.caption = f"budget: {limits}: {'kept' if kept else 'NOT KEPT'}"
    console.print(table)
    console.print()


def main() -> None:
    console = Console()
    for subject in (softmax(), matmul()):
        measure(subject, console)


if __name__ == "__main__":
    main()
