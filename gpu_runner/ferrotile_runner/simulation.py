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

from ferrotile.signatures.model import Signature
from ferrotile.translation import Entry as RustEntry
from msgspec import Struct, field

from ferrotile_runner.assumed_grid import assumed_grid
from ferrotile_runner.compare import Prints
from ferrotile_runner.determined import (
    MORE_ORDERS,
    MORE_SEEDS,
    ORDERS,
    determined,
    difference,
    near,
    orders,
    terms_of,
    worse,
)
from ferrotile_runner.entry_arrays import tile_extents, updated_names
from ferrotile_runner.entry_hints import hints_of
from ferrotile_runner.fillings import ends, ordinary, placed
from ferrotile_runner.fitting import Fitter
from ferrotile_runner.inputs import Case, cases, describe
from ferrotile_runner.launch_clock import MORE_SECONDS, Clock, is_endless
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.launch_grid import own_grid, rust_grid
from ferrotile_runner.launch_words import words_of
from ferrotile_runner.other_orders import Ordering, orderings
from ferrotile_runner.parameter_words import python_words, rust_words
from ferrotile_runner.tileir.interpreter import (
    Endless,
    Finding,
    FindingKind,
    Order,
    OutOfTime,
    RunResult,
    UndefinedBehaviour,
    Unsupported,
    Word,
)
from ferrotile_runner.tileir.interpreter.elements import Array, is_float
from ferrotile_runner.tileir.interpreter.prepared import Prepared
from ferrotile_runner.tileir.model import Entry, walk
from ferrotile_runner.workers.array_verdict import TERMS

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


class _Differs(Exception):
    """The translation does something else than the original; `text_line` of an access or assert that shows it, or both
    `values` of an element."""

    def __init__(self, message: str, text_line: int = 0, values: tuple[str, str] = ("", "")) -> None:
        super().__init__(message)
        self.text_line, self.values = text_line, values


class _Sides(Struct, frozen=True):
    """Both entries under one signature, and what comparing them has shown so far."""

    original: Entry
    translation: Entry
    signature: Signature
    rust: RustEntry
    clock: Clock
    execute: Execute
    summed: frozenset[str]
    """Arrays that atomics of the original may update."""
    reduce_alike: bool
    sum_alike: bool
    """Whether reductions, and scans and products, are made in the same order on both sides."""
    orderings: tuple[Ordering, ...] = ()
    notes: dict[str, None] = field(default_factory=dict)
    noticed: dict[tuple[str, FindingKind, int], Noticed] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)
    """Seconds of the processor that the original took, by the launch's name."""

    def notice(self, side: str, kind: FindingKind, text: str, text_line: int) -> None:
        """Keeps the first of a kind at an operation."""
        self.noticed.setdefault((side, kind, text_line), Noticed(side, text, text_line))

    def undefined(self, text: str, text_line: int) -> None:
        self.notice("original", FindingKind.OUTSIDE, text, text_line)

    def original_on(self, case: Case) -> RunResult:
        words = words_of(python_words(self.signature), case)
        found = self.run(self.original, words, case.grid, 1, Order.FORWARD)
        self.took[case.name] = found.spent
        return found

    def depth(self, case: Case) -> int | None:
        """None where bits must be equal, else how many values a result may sum in another order."""
        return None if self.reduce_alike and self.sum_alike else terms_of(case)

    def run(
        self,
        entry: Entry,
        words: Sequence[Word],
        grid: tuple[int, int, int],
        seed: int,
        order: Order,
        most: float = math.inf,
    ) -> RunResult:
        """`most`: seconds, where fewer are enough."""
        return self.execute(entry, words, grid, seed=seed, order=order, seconds=min(most, self.clock.left()))


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
    reduce_alike = orders(original, "reduce") == orders(translation, "reduce")
    sum_alike = orders(original, "scan", "mmaf") == orders(translation, "scan", "mmaf")
    sums = any(operation.word("mode") == "addf" for operation in walk(original.body))
    summed = updated_names(original, signature) if sums else frozenset[str]()
    clock, ways = Clock.of(seconds), orderings(original, translation)
    run = execute or Prepared()
    sides = _Sides(original, translation, signature, rust, clock, run, summed, reduce_alike, sum_alike, ways)
    ordered = 0
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
                    if equal is not None and _shows_order(sides, case, ordered):
                        ordered += 1
                        _compare_orders(sides, case, first)
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
    depth = sides.depth(case)
    shuffled = case.tentative and depth is not None
    if shuffled and not sides.sum_alike:  # hard values show the order of a sum more than anything else
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
    grid = _rust_grid(sides, case)
    words = words_of(rust_words(sides.rust), case)
    checked = _failures(first, FindingKind.ASSERT)
    failures = [kind for kind in FAILURES if kind is not FindingKind.ASSUME or not _failures(first, kind)]
    prints = Prints(first.printed, tuple(o.printed for o in others), grid == case.grid, depth is None)
    more: list[RunResult] = []
    for seed, order in ((3, Order.FORWARD), (4, Order.REVERSED)):
        try:
            result = _ended(sides, case, words, grid, seed, order)
        except Endless as error:
            raise _Differs(f"in the translation only {error}", error.text_line) from error
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
                if first.written[name].any():
                    raise _Differs(f"{name} is written by the original, and is no parameter of the translation")
                continue
            fixed = determined(expected, [o.arrays[name] for o in others])
            rounded = ~fixed & (near(expected, [o.arrays[name] for o in others]) if name in sides.summed else False)
            _note_gaps(name, case.arrays[name].size, first.written[name], fixed | rounded, place, sides.notes)
            actual = result.arrays[name].reshape(expected.shape)
            found = worse(
                difference(expected, actual, fixed, depth, shuffled), difference(expected, actual, rounded, TERMS)
            )
            if not found.equal:
                # Two fillings may make the same of a lane, above all where a softmax picks one of few rows.
                seeds = MORE_SEEDS + MORE_ORDERS if shuffled else MORE_SEEDS
                more = more or [sides.run(sides.original, python, case.grid, s, Order.FORWARD) for s in seeds]
                fixed &= determined(expected, [o.arrays[name] for o in more])
                rounded &= near(expected, [o.arrays[name] for o in more])
                summing = difference(expected, actual, rounded, TERMS)
                found = worse(difference(expected, actual, fixed, depth, shuffled), summing)
            if not found.equal:
                element = f"{name}{found.place}"
                values = (f"{element} = {found.expected}", f"{element} = {found.actual}")
                raise _Differs(f"{name}{found}", values=values)
            exact &= found.bit_equal
        if result.repeatable:
            break
    return exact


def _rust_grid(sides: _Sides, case: Case) -> tuple[int, int, int]:
    shapes = {name: a.shape for name, a in case.arrays.items()}
    return rust_grid(sides.rust.parameters, shapes, own_grid(sides.rust, case.sizes, case.grid))


def _ended(
    sides: _Sides, case: Case, words: Sequence[Word], grid: tuple[int, int, int], seed: int, order: Order
) -> RunResult:
    """What the translation does; a tentative launch that is out of time is given as much as shows that it has no end,
    on a busy machine too."""
    for most in (sides.clock.left(), *(MORE_SECONDS if case.tentative else ())):
        started = time.process_time()
        try:
            return sides.execute(sides.translation, words, grid, seed=seed, order=order, seconds=most)
        except OutOfTime:
            if not case.tentative or sides.clock.over:
                raise
            spent = time.process_time() - started
            if is_endless(spent, sides.took.get(case.name, 0.0)):
                raise _Differs(f"the translation comes to no end: it was stopped after {spent:.1f} s") from None
    raise OutOfTime("the time limit was reached")


SOME = 5
"""Launches that are made in other orders of accesses too, besides those with indices that differ."""
ORDERED_ELEMENTS = 1 << 12
"""Where there are more, only ordinary launches are."""
ORDERED_SECONDS = 2.0


def _shows_order(sides: _Sides, case: Case, done: int) -> bool:
    if not sides.orderings or case.against or case.plan is None:
        return False
    if done >= SOME and case.plan.values.fill not in (ends, placed):
        return False
    elements = sum(array.size for array in case.arrays.values())
    few = elements <= ORDERED_ELEMENTS or (case.plan.values.fill is ordinary and elements <= 8 * ORDERED_ELEMENTS)
    return len(case.arrays) < elements and few


def _compare_orders(sides: _Sides, case: Case, first: RunResult) -> None:
    """Both sides in other orders of accesses, `first` being what the original does in the order of its program."""
    python, rust = words_of(python_words(sides.signature), case), words_of(rust_words(sides.rust), case)
    grid = _rust_grid(sides, case)
    depth = sides.depth(case)
    again = () if first.repeatable else ((2, Order.FORWARD), (1, Order.REVERSED))
    others = [sides.run(sides.original, python, case.grid, seed, order) for seed, order in again]
    for way in sides.orderings:
        try:
            known = [*others, sides.run(way.original, python, case.grid, 1, way.order, ORDERED_SECONDS)]
            result = sides.run(way.translation, rust, grid, 1, way.order, ORDERED_SECONDS)
        except (UndefinedBehaviour, OutOfTime):
            if sides.clock.over:
                raise
            continue
        for name, expected in first.arrays.items():
            if name not in result.arrays or (name in sides.summed and is_float(expected.dtype)):
                continue  # the order of a sum shows
            fixed = determined(expected, [o.arrays[name] for o in known])
            found = difference(expected, result.arrays[name].reshape(expected.shape), fixed, depth)
            if not found.equal:
                more = [sides.run(sides.original, python, case.grid, s, Order.FORWARD) for s in MORE_SEEDS]
                fixed &= determined(expected, [o.arrays[name] for o in more])
                found = difference(expected, result.arrays[name].reshape(expected.shape), fixed, depth)
            if not found.equal:
                raise _Differs(f"{name}{found} with {way.words}")


def _failures(result: RunResult, *kinds: FindingKind) -> list[Finding]:
    return [finding for finding in result.findings if finding.kind in kinds]


def _note_gaps(name: str, size: int, written: Array, fixed: Array, place: str, notes: dict[str, None]) -> None:
    """Elements of an output that say nothing about the translation."""
    stored = int(written.sum())
    if 0 < stored < size:
        notes[f"{name}: {size - stored} of {size} elements are not written ({place})"] = None
    if not fixed.all():
        loose = int((~fixed).sum())
        notes[f"{name}: {loose} of {fixed.size} elements are not determined by the original ({place})"] = None
