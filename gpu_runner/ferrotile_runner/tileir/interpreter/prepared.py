"""Entries that are run many times."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile_runner.tileir.interpreter.run import Order, Program, RunResult, Word, prepare, run
from ferrotile_runner.tileir.model import Entry


class Prepared:
    """Runs entries, each of which is prepared once."""

    def __init__(self) -> None:
        self._programs: dict[int, Program] = {}

    def __call__(
        self, entry: Entry, words: Sequence[Word], grid: Sequence[int], *, seed: int, order: Order, seconds: float
    ) -> RunResult:
        program = self._programs.get(id(entry))
        if program is None or program.entry is not entry:
            program = self._programs[id(entry)] = prepare(entry)
        return run(program, words, grid, seed=seed, order=order, seconds=seconds)
