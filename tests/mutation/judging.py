"""What becomes of a mutant: whether it is proved, and whether running it shows that it is another program."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Sequence
from enum import Enum

import numpy as np
from ferrotile.signatures.model import ScalarArgument
from ferrotile_runner.assumed_grid import assumed_grid
from ferrotile_runner.entry_arrays import tile_extents
from ferrotile_runner.entry_hints import hints_of
from ferrotile_runner.inputs import Case, cases
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.simulation import Verdict, simulate
from ferrotile_runner.simulator import SECONDS as RUNG
from ferrotile_runner.tileir.equivalence import prove
from ferrotile_runner.tileir.interpreter import Order, RunResult, Storage, UndefinedBehaviour, Word
from ferrotile_runner.tileir.interpreter.prepared import Prepared
from ferrotile_runner.tileir.model import Entry
from known import Sides
from launches import large_scalars, more_cases
from msgspec import Struct
from subjects import Pair

SECONDS = 20.0
"""Time that running one mutant may take, at least; one that takes longer is another program."""
LONGER = 4.0
"""So many times what the translation itself took, as far as the rung gives so much: a busy machine is slow."""


_SCALAR = re.compile(r"arithmetic with the scalar (\w+) does not overflow")


class Way(Struct, frozen=True):
    """A way of running both sides beyond the rung's simulation."""

    name: str
    launches: Sequence[Case]
    seconds: float = SECONDS


class Fate(Enum):
    """How a mutant ended. `FAULT` and `NO_VERDICT` must never be; `EQUAL` and `UNSEEN` ask for a reason."""

    CAUGHT = "rejected by the proof, seen in a run"
    UNSEEN = "rejected by the proof, not seen in a run"
    NOT_RUN = "rejected by the proof, not run"
    EQUAL = "proved, equal in every run"
    PROVED_ONLY = "proved, not run"
    FAULT = "proved, though a run differs"
    NO_VERDICT = "the prover fails or takes too long"


class Judgement(Struct, frozen=True):
    """`seen`: by which way of running; `why`: what the proof or the run says."""

    fate: Fate
    seen: str = ""
    why: str = ""


class Judge:
    """Of the mutants of one pair. What the original makes of the inputs is worked out once."""

    def __init__(self, pair: Pair, simulated: bool = True, patient: bool = False) -> None:
        """`simulated`: whether mutants are run. `patient`: in as much time as the rung has, where they need it."""
        self.pair = pair
        self.sides = Sides(pair)
        self.python, self.rust = self.sides.python, self.sides.rust
        self.launches: list[Case] = []
        self.programs = Prepared()
        signature, hypotheses = pair.signature, pair.translation.hypotheses
        more, large = list[Case](), list[Case]()
        if simulated:
            tiles, hints = tile_extents(self.python, signature), hints_of(self.python, signature)
            grids = assumed_grid(self.python, signature, pair.translation)
            self.launches = list(cases(signature, hypotheses, tiles, 0, grids, True, hints))
            if signature.grid is not None or facts_of(hypotheses).grid:
                more = more_cases(signature, hypotheses, tiles)
                large = large_scalars(signature, hypotheses, tiles)
        self.known: dict[tuple[object, ...], RunResult | UndefinedBehaviour] = {}
        self.seconds, started = RUNG if patient else SECONDS, time.monotonic()
        first = self.run(self.rust, self.launches) if self.launches else (None, "no launch is known")
        if patient:
            self.seconds = min(RUNG, max(SECONDS, LONGER * (time.monotonic() - started)))
        self.can_run = first[0] is False
        ways = [Way("more launches", more), Way("large scalars", large, seconds=2.0)]
        tried = [(way, self.run(self.rust, way.launches, way)) for way in ways if way.launches] if self.can_run else []
        self.ways = [way for way, found in tried if found[0] is False]
        """Other launches, as far as the translation itself is the same in them."""
        self.unlike = [f"{way.name}: {said}" for way, (differs, said) in tried if differs]
        self.unlike += [first[1]] if first[0] else []
        """Where the translation itself is not: faults of the tool."""

    def __call__(self, mutant: Entry) -> Judgement:
        proof = prove(self.python, mutant, self.sides.parameters, self.sides.facts)
        why = "" if proof.equal else str(proof.difference or proof.reason)
        seen, said = self.seen(mutant)
        if proof.equal and seen == "simulation":  # unless it is by what the proof takes for granted
            seen, said = self.seen(mutant, self._within(proof.hypotheses_used))
        match proof.equal, seen:
            case True, None:
                return Judgement(Fate.PROVED_ONLY)
            case False, None:
                return Judgement(Fate.NOT_RUN, "", why)
            case True, "":
                return Judgement(Fate.EQUAL)
            case True, str(where):
                return Judgement(Fate.FAULT, where, said)
            case False, "":
                return Judgement(Fate.UNSEEN, "", why)
            case _, where:
                return Judgement(Fate.CAUGHT, where or "", why)

    def _within(self, hypotheses: Sequence[str]) -> list[Case]:
        """The rung's launches but those with the least integers where arithmetic with them must not overflow."""
        names = set(_SCALAR.findall("\n".join(hypotheses)))
        least = {a.name: -(1 << (a.dtype.bits - 1)) for a in self.pair.signature.arguments if a.name in names
                 and isinstance(a, ScalarArgument)}  # fmt: skip
        return [case for case in self.launches if not any(case.scalars.get(n) == low for n, low in least.items())]

    def seen(self, mutant: Entry, launches: Sequence[Case] | None = None) -> tuple[str | None, str]:
        """The way of running that shows a difference, and what it says; "" where none does, None where the mutant
        cannot be run. `launches`: of the rung, by default all of its."""
        if not self.can_run:
            return None, ""
        differs, said = self.run(mutant, self.launches if launches is None else launches)
        if differs is None:
            return None, said
        if differs:
            return "simulation", said
        for way in self.ways:
            differs, said = self.run(mutant, way.launches, way)
            if differs:
                return way.name, said
        return "", ""

    def run(self, mutant: Entry, launches: Sequence[Case], way: Way | None = None) -> tuple[bool | None, str]:
        """Whether it differs from the original on some launch; None where it cannot be run."""

        programs = Prepared()

        def execute(
            entry: Entry, words: Sequence[Word], grid: Sequence[int], *, seed: int, order: Order, seconds: float
        ) -> RunResult:
            if entry is self.python:
                return self.original(words, grid, seed, order, seconds)
            return programs(entry, words, grid, seed=seed, order=order, seconds=seconds)

        signature, rust = self.pair.signature, self.pair.translation
        seconds = self.seconds if way is None else way.seconds
        try:
            found = simulate(self.python, mutant, signature, rust, seconds, launches=launches, execute=execute)
        except (ValueError, TypeError, KeyError, IndexError, AssertionError, AttributeError) as error:
            return None, f"{type(error).__name__}: {error}"  # a mutant that the interpreter has no meaning for
        except RecursionError:
            return None, "too deep"
        match found.verdict:
            case Verdict.AGREED:
                return False, ""
            case Verdict.UNDECIDED:
                return None, found.text
            case Verdict.OUT_OF_TIME if way is not None:
                return None, found.text
            case _:
                return True, found.text

    def original(
        self, words: Sequence[Word], grid: Sequence[int], seed: int, order: Order, seconds: float
    ) -> RunResult:
        key = (*map(_digest, words), *grid, seed, order)
        if key not in self.known:
            try:
                self.known[key] = self.programs(self.python, words, grid, seed=seed, order=order, seconds=seconds)
            except UndefinedBehaviour as error:
                self.known[key] = error
        found = self.known[key]
        if isinstance(found, UndefinedBehaviour):
            raise found
        return found


def _digest(word: Word) -> object:
    if isinstance(word, Storage):
        return word.name, word.array.shape, zlib.crc32(np.ascontiguousarray(word.array).view(np.uint8).tobytes())
    return repr(word)
