"""Runs both sides of a kernel in the interpreter and compares what they make of the same arrays. Pure.

An element counts only where the original determines it: it is run with two fillings of undetermined lanes
and with its blocks in both orders, and elements that differ among these may be anything in the translation
too; but for sums of atomics, which only the rounding of another order changes: they are compared within it.
Launches for which the original has undefined behaviour are left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

import numpy as np
from ferrotile.signatures.model import Signature
from ferrotile.translation import Entry as RustEntry
from msgspec import Struct, field

from ferrotile_runner.assumed_grid import assumed_grid
from ferrotile_runner.compare import Difference, Prints, compare, tolerance
from ferrotile_runner.entry_arrays import tile_extents, updated_names
from ferrotile_runner.entry_hints import hints_of
from ferrotile_runner.fitting import Fitter
from ferrotile_runner.inputs import Case, cases, describe
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.launch_grid import rust_grid
from ferrotile_runner.launch_words import words_of
from ferrotile_runner.parameter_words import python_words, rust_words
from ferrotile_runner.tileir.interpreter import (
    SHUFFLED,
    Finding,
    FindingKind,
    Order,
    OutOfTime,
    Program,
    RunResult,
    UndefinedBehaviour,
    Unsupported,
    Word,
    prepare,
    run,
)
from ferrotile_runner.tileir.interpreter.elements import Array, is_float
from ferrotile_runner.tileir.model import Entry, walk

MORE_SEEDS = (-1, -2, 5, 6, 7, 8)
"""Fillings of undetermined lanes with which the original is run again before a difference counts; the first two are
zero, which the translation often has there. Even ones combine the identities of reductions."""
ORDERS = (SHUFFLED + 1, SHUFFLED + 2, SHUFFLED + 3)
MORE_ORDERS = tuple(range(SHUFFLED + 4, SHUFFLED + 12))
"""Other orders of the original's reductions, for hard values, of which these show most; the latter before a difference
counts."""

LEAST_SECONDS = 1.0
"""What a tentative launch may take."""

FAILURES = (FindingKind.ASSERT, FindingKind.OUTSIDE, FindingKind.LOOP, FindingKind.ASSUME)
"""What a translation must not do where the original does not: `LOOP` is a step that is not positive."""


class Verdict(StrEnum):
    """What a simulation found. Values are those of the worker's answers."""

    AGREED = "agreed"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    """No launch could be compared."""
    OUT_OF_TIME = "out of time"


class Noticed(Struct, frozen=True):
    """What a correct program does not do, in words; `side` is `original` or `translation`, `text_line` the line of the
    operation in that side's disassembly, from 1 (0: unknown)."""

    side: str
    text: str
    text_line: int


class Simulation(Struct, frozen=True):
    """`text` says for which launches the verdict holds, or what is wrong with which launch. `noticed`: why the original
    is undefined for a launch, what else its accesses are to be blamed for, and what access is the difference."""

    verdict: Verdict
    text: str
    noticed: tuple[Noticed, ...] = ()
    values: tuple[str, str] = ("", "")
    """The worst element that differs: as the original has it, and the translation."""


Execute = Callable[..., RunResult]
"""How an entry is run: as by `interpreter.run`, or by what answers as it would."""


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


class _Differs(Exception):
    """The translation does something else than the original; `text_line` of an access or assert that shows it, or both
    `values` of an element."""

    def __init__(self, message: str, text_line: int = 0, values: tuple[str, str] = ("", "")) -> None:
        super().__init__(message)
        self.text_line, self.values = text_line, values


class _Clock(Struct):
    """When a launch must have ended, and all of them."""

    started: float
    deadline: float
    launch: float

    @classmethod
    def of(cls, seconds: float) -> _Clock:
        now = time.monotonic()
        return cls(now, now + seconds, now + seconds)

    def next(self, tentative: bool) -> None:
        """A tentative launch, whose values may be the ends of loops, takes no longer than all before it."""
        now = time.monotonic()
        self.launch = min(self.deadline, now + max(now - self.started, LEAST_SECONDS)) if tentative else self.deadline

    def left(self) -> float:
        return self.launch - time.monotonic()

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.deadline


class _Sides(Struct, frozen=True):
    """Both entries under one signature, and what comparing them has shown so far."""

    original: Entry
    translation: Entry
    signature: Signature
    rust: RustEntry
    clock: _Clock
    execute: Execute
    summed: frozenset[str]
    """Arrays that atomics of the original may update."""
    shuffles: bool
    """Whether the order of reductions, and of nothing else that is summed, is not the same on both sides."""
    notes: dict[str, None] = field(default_factory=dict)
    noticed: dict[tuple[str, FindingKind, int], Noticed] = field(default_factory=dict)

    def notice(self, side: str, kind: FindingKind, text: str, text_line: int) -> None:
        """Keeps the first of a kind at an operation."""
        self.noticed.setdefault((side, kind, text_line), Noticed(side, text, text_line))

    def undefined(self, text: str, text_line: int) -> None:
        self.notice("original", FindingKind.OUTSIDE, text, text_line)

    def original_on(self, case: Case) -> RunResult:
        words = words_of(python_words(self.signature), case)
        return self.run(self.original, words, case.grid, 1, Order.FORWARD)

    def run(
        self, entry: Entry, words: Sequence[Word], grid: tuple[int, int, int], seed: int, order: Order
    ) -> RunResult:
        return self.execute(entry, words, grid, seed=seed, order=order, seconds=self.clock.left())


def _quiet(text: str, text_line: int) -> None:
    """Of launches that no proof is about."""


def simulate(
    original: Entry,
    translation: Entry,
    signature: Signature,
    rust: RustEntry,
    seconds: float,
    *,
    launches: Iterable[Case] | None = None,
    execute: Execute | None = None,
    seed: int = 0,
) -> Simulation:
    """Compares both sides on `launches`, by default those that `inputs.cases` makes from `seed`, for which the grid
    must be known, within `seconds`."""
    shuffles = _reductions(original, ("scan", "mmaf")) == _reductions(translation, ("scan", "mmaf"))
    summed = updated_names(original, signature)
    execute = execute or Prepared()
    sides = _Sides(original, translation, signature, rust, _Clock.of(seconds), execute, summed, shuffles)
    grids = assumed_grid(original, signature, rust)
    if launches is None:
        tiles, hints = tile_extents(original, signature), hints_of(original, signature)
        launches = cases(signature, rust.hypotheses, tiles, seed, grids, True, hints)
    fitter = Fitter(signature, rust.hypotheses, grids)
    agreed: list[str] = []
    undefined: list[str] = []
    exact = True
    place = "preparing inputs"
    try:
        for case in launches:
            place = describe(case)
            sides.clock.next(case.tentative)
            aside = bool(case.against) or case.tentative
            try:
                fitting = fitter.fit(case, sides.original_on, _quiet if aside else sides.undefined)
                equal = None
                if fitting is not None:
                    case, first = fitting
                    place = describe(case)
                    equal = _compare_case(sides, case, first, place)
            except _Differs as difference:
                if not case.against:
                    raise
                sides.notes[f"otherwise where `{case.against}` does not hold: {difference} ({place})"] = None
                continue
            except (OutOfTime, Unsupported) as error:
                if not case.tentative or sides.clock.over:
                    raise
                sides.notes[f"not tried to the end, {error}: {place}"] = None
                continue
            if equal is None:
                undefined += [] if aside else [place]
            else:
                agreed.append(place)
                exact &= equal
    except Unsupported as error:
        return Simulation(Verdict.UNDECIDED, f"the simulator does not know {error}")
    except OutOfTime as error:
        if not agreed:
            return Simulation(Verdict.OUT_OF_TIME, f"{error} ({place})", tuple(sides.noticed.values()))
        sides.notes[f"not tried to the end within {seconds:g} s: {place}, and what would have followed"] = None
    except _Differs as difference:
        if difference.text_line:
            sides.notice("translation", FindingKind.OUTSIDE, str(difference), difference.text_line)
        seen = tuple(sides.noticed.values())
        return Simulation(Verdict.DIFFERS, f"{difference} ({place})", seen, difference.values)
    if not agreed:
        why = f"the original is undefined for {'; '.join(undefined)}" if undefined else "no launch fits the hypotheses"
        return Simulation(Verdict.UNDECIDED, why, tuple(sides.noticed.values()))
    lines = [f"{'bit-equal' if exact else 'equal within rounding of the reductions'} on {'; '.join(agreed)}"]
    lines += sides.notes
    lines += [f"left out, undefined in the original: {'; '.join(undefined)}"] if undefined else []
    facts = facts_of(rust.hypotheses)
    if signature.grid is None and not facts.grid:
        lines.append(
            "the launch's grid is not known: one block a tile was tried; `grid=(...)` in a directive says more"
        )
    unread = facts.open
    lines += [f"assuming {'; '.join(unread)}"] if unread else []
    return Simulation(Verdict.AGREED, "\n".join(lines), tuple(sides.noticed.values()))


def _compare_case(sides: _Sides, case: Case, first: RunResult, place: str) -> bool | None:
    """Whether all arrays are bit-equal (False: equal within tolerance); None where the original is undefined.
    `first`: what it does in the first of two orders."""
    aside = bool(case.against) or case.tentative
    depth = reduction_depth(sides.original, sides.translation, case)
    shuffled = case.tentative and depth is not None
    if shuffled and not sides.shuffles:  # hard values show the order of a sum more than anything else
        return None
    python = words_of(python_words(sides.signature), case)
    try:
        again = () if first.repeatable else ((2, Order.FORWARD), (1, Order.REVERSED))
        others = [sides.run(sides.original, python, case.grid, seed, order) for seed, order in again]
        others += [sides.run(sides.original, python, case.grid, s, Order.FORWARD) for s in ORDERS if shuffled]
    except UndefinedBehaviour as error:
        if not aside:
            sides.undefined(str(error), error.text_line)
        return None
    for finding in () if aside else first.findings:
        if finding.kind is FindingKind.ASSUME:
            continue
        sides.notice("original", finding.kind, finding.text, finding.text_line)
    exact = True
    grid = rust_grid(sides.rust.parameters, {name: a.shape for name, a in case.arrays.items()}, case.grid)
    words = words_of(rust_words(sides.rust), case)
    checked = _failures(first, FindingKind.ASSERT)
    failures = [kind for kind in FAILURES if kind is not FindingKind.ASSUME or not _failures(first, kind)]
    prints = Prints(first.printed, tuple(o.printed for o in others), grid == case.grid, depth is None)
    more: list[RunResult] = []
    for seed, order in ((3, Order.FORWARD), (4, Order.REVERSED)):
        try:
            result = sides.run(sides.translation, words, grid, seed, order)
        except UndefinedBehaviour as error:
            raise _Differs(f"the translation leaves its array, {error}", error.text_line) from error
        failed = _failures(result, *failures)
        if failed and not checked:
            raise _Differs(f"{failed[0].text} in the translation only", failed[0].text_line)
        if checked and not failed:
            raise _Differs(f"{checked[0].text} in the original only")
        if checked:  # both stop: what their blocks have done by then is open
            return True
        line = prints.difference(result.printed)
        if line:
            raise _Differs(line)
        for name, expected in first.arrays.items():
            if name not in result.arrays:
                continue
            fixed = determined(expected, [o.arrays[name] for o in others])
            rounded = ~fixed & (near(expected, [o.arrays[name] for o in others]) if name in sides.summed else False)
            _note_gaps(name, case.arrays[name].size, first.written[name], fixed | rounded, place, sides.notes)
            actual = result.arrays[name].reshape(expected.shape)
            difference = _worse(
                _difference(expected, actual, fixed, depth, shuffled), _difference(expected, actual, rounded, TERMS)
            )
            if not difference.equal:
                # Two fillings may make the same of a lane, above all where a softmax picks one of few rows.
                seeds = MORE_SEEDS + MORE_ORDERS if shuffled else MORE_SEEDS
                more = more or [sides.run(sides.original, python, case.grid, s, Order.FORWARD) for s in seeds]
                fixed &= determined(expected, [o.arrays[name] for o in more])
                rounded &= near(expected, [o.arrays[name] for o in more])
                summing = _difference(expected, actual, rounded, TERMS)
                difference = _worse(_difference(expected, actual, fixed, depth, shuffled), summing)
            if not difference.equal:
                element = f"{name}{difference.place}"
                values = (f"{element} = {difference.expected}", f"{element} = {difference.actual}")
                raise _Differs(f"{name}{difference}", values=values)
            exact &= difference.bit_equal
        if result.repeatable:
            break
    return exact


def _failures(result: RunResult, *kinds: FindingKind) -> list[Finding]:
    return [finding for finding in result.findings if finding.kind in kinds]


def has_loops(entry: Entry) -> bool:
    """Whether integers of the launch may be how often something is done."""
    return any(operation.name in ("for", "loop") for operation in walk(entry.body))


def _note_gaps(name: str, size: int, written: Array, fixed: Array, place: str, notes: dict[str, None]) -> None:
    """Elements of an output that say nothing about the translation."""
    stored = int(written.sum())
    if 0 < stored < size:
        notes[f"{name}: {size - stored} of {size} elements are not written ({place})"] = None
    if not fixed.all():
        loose = int((~fixed).sum())
        notes[f"{name}: {loose} of {fixed.size} elements are not determined by the original ({place})"] = None


def determined(expected: Array, others: Sequence[Array]) -> Array:
    """The elements that are the same bits, or NaN, in all runs."""
    fixed: Array = np.ones(expected.shape, np.bool_)
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    for other in others:
        same = expected.view(bits) == other.view(bits)
        with np.errstate(all="ignore"):
            fixed &= same | ((expected != expected) & (other != other))
    return fixed


TERMS = 4096
"""How many terms an element that atomics add to may have, for the tolerance of their order."""


def near(expected: Array, others: Sequence[Array]) -> Array:
    """The elements that the order of the blocks changes by no more than the rounding of a sum."""
    near: Array = np.full(expected.shape, is_float(expected.dtype))
    if is_float(expected.dtype):
        with np.errstate(all="ignore"):
            wide = expected.astype(np.float64)
            allowed = tolerance(expected.dtype, TERMS, np.abs(wide))
            for other in others:
                near &= np.abs(wide - other.astype(np.float64)) <= allowed
    return near


def _worse(one: Difference, other: Difference) -> Difference:
    return one if not one.equal or (other.equal and not one.bit_equal) else other


def _difference(
    expected: Array, actual: Array, fixed: Array, depth: int | None, own: bool = False
) -> Difference:
    return compare(expected, np.where(fixed, actual, expected).astype(expected.dtype), depth, own)


def reduction_depth(original: Entry, translation: Entry, case: Case) -> int | None:
    """None when both sides reduce in the same shapes, so that bits must be equal; else how many values a
    result may sum."""
    if _reductions(original) == _reductions(translation):
        return None
    return max((math.prod(a.shape) for a in case.arrays.values()), default=1)


def _reductions(entry: Entry, names: Sequence[str] = ("reduce", "scan", "mmaf")) -> list[str]:
    return sorted(
        f"{op.name} {op.attributes.get('dim')} {[getattr(v.type, 'shape', ()) for v in op.operands]}"
        for op in walk(entry.body)
        if op.name in names
    )
