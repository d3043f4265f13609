"""Runs both sides of a kernel in the interpreter and compares what they make of the same arrays. Pure.

An element counts only where the original determines it: it is run with two fillings of undetermined lanes
and with its blocks in both orders, and elements that differ among these may be anything in the translation
too. Launches for which the original has undefined behaviour are left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from ferrotile.signatures.model import ArrayArgument, Signature
from ferrotile.translation import Entry as RustEntry
from msgspec import Struct, field

from ferrotile_runner.compare import Difference, compare
from ferrotile_runner.inputs import Case, cases, describe
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.launch_grid import rust_grid
from ferrotile_runner.launch_words import words_of
from ferrotile_runner.parameter_words import Role, python_words, rust_words
from ferrotile_runner.tileir.interpreter import (
    Order,
    OutOfTime,
    RunResult,
    UndefinedBehaviour,
    Unsupported,
    Word,
    run,
)
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.model import Entry, PartitionViewType, Value, walk

MORE_SEEDS = (-1, 5, 6, 7, 8)
"""Fillings of undetermined lanes with which the original is run again before a difference counts; the first is zero,
which the translation often has there."""


class Verdict(StrEnum):
    """What a simulation found. Values are those of the worker's answers."""

    AGREED = "agreed"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    """No launch could be compared."""
    OUT_OF_TIME = "out of time"


class Simulation(Struct, frozen=True):
    """`text` says for which launches the verdict holds, or what is wrong with which launch."""

    verdict: Verdict
    text: str


class _Differs(Exception):
    """The translation does something else than the original."""


class _Sides(Struct, frozen=True):
    """Both entries under one signature, and what comparing them has shown so far."""

    original: Entry
    translation: Entry
    signature: Signature
    rust: RustEntry
    deadline: float
    notes: dict[str, None] = field(default_factory=dict)

    def run(
        self, entry: Entry, words: Sequence[Word], grid: tuple[int, int, int], seed: int, order: Order
    ) -> RunResult:
        left = self.deadline - time.monotonic()
        return run(entry, words, grid, seed=seed, order=order, seconds=left)


def simulate(original: Entry, translation: Entry, signature: Signature, rust: RustEntry, seconds: float) -> Simulation:
    """Compares both sides on the launches that `inputs.cases` makes, within `seconds`. The grid must be known."""
    sides = _Sides(original, translation, signature, rust, time.monotonic() + seconds)
    agreed: list[str] = []
    undefined: list[str] = []
    exact = True
    place = "preparing inputs"
    try:
        for case in cases(signature, rust.hypotheses, tile_extents(original, signature)):
            place = describe(case)
            equal = _compare_case(sides, case, place)
            if equal is None:
                undefined.append(place)
            else:
                agreed.append(place)
                exact &= equal
    except Unsupported as error:
        return Simulation(Verdict.UNDECIDED, f"the simulator does not know {error}")
    except OutOfTime as error:
        return Simulation(Verdict.OUT_OF_TIME, f"{error} ({place})")
    except _Differs as difference:
        return Simulation(Verdict.DIFFERS, f"{difference} ({place})")
    if not agreed:
        why = f"the original is undefined for {'; '.join(undefined)}" if undefined else "no launch fits the hypotheses"
        return Simulation(Verdict.UNDECIDED, why)
    lines = [f"{'bit-equal' if exact else 'equal within rounding of the reductions'} on {'; '.join(agreed)}"]
    lines += sides.notes
    lines += [f"left out, undefined in the original: {'; '.join(undefined)}"] if undefined else []
    unread = facts_of(rust.hypotheses).open
    lines += [f"assuming {'; '.join(unread)}"] if unread else []
    return Simulation(Verdict.AGREED, "\n".join(lines))


def _compare_case(sides: _Sides, case: Case, place: str) -> bool | None:
    """Whether all arrays are bit-equal (False: equal within tolerance); None where the original is
    undefined."""
    python = words_of(python_words(sides.signature), case)
    try:
        first = sides.run(sides.original, python, case.grid, 1, Order.FORWARD)
        again = () if first.repeatable else ((2, Order.FORWARD), (1, Order.REVERSED))
        others = [sides.run(sides.original, python, case.grid, seed, order) for seed, order in again]
    except UndefinedBehaviour:
        return None
    if any("wholly outside" in finding for finding in first.findings):
        return None
    exact = True
    grid = rust_grid(sides.rust.parameters, {name: a.shape for name, a in case.arrays.items()}, case.grid)
    words = words_of(rust_words(sides.rust), case)
    depth = reduction_depth(sides.original, sides.translation, case)
    for seed, order in ((3, Order.FORWARD), (4, Order.REVERSED)):
        try:
            result = sides.run(sides.translation, words, grid, seed, order)
        except UndefinedBehaviour as error:
            raise _Differs(f"the translation leaves its array, {error}") from error
        failed = [f for f in result.findings if f.startswith("assert failed") or "wholly outside" in f]
        if failed:
            raise _Differs(f"{failed[0]} in the translation only")
        for name, expected in first.arrays.items():
            if name not in result.arrays:
                continue
            fixed = _determined(expected, [o.arrays[name] for o in others])
            _note_gaps(name, case.arrays[name].size, first.written[name], fixed, place, sides.notes)
            actual = result.arrays[name].reshape(expected.shape)
            difference = _difference(expected, actual, fixed, depth)
            if not difference.equal:
                # Two fillings may make the same of a lane, above all where a softmax picks one of few rows.
                more = [sides.run(sides.original, python, case.grid, more, Order.FORWARD) for more in MORE_SEEDS]
                fixed &= _determined(expected, [o.arrays[name] for o in more])
                difference = _difference(expected, actual, fixed, depth)
            if not difference.equal:
                raise _Differs(f"{name}{difference}")
            exact &= difference.bit_equal
        if result.repeatable:
            break
    return exact


def _note_gaps(name: str, size: int, written: Array, fixed: Array, place: str, notes: dict[str, None]) -> None:
    """Elements of an output that say nothing about the translation."""
    stored = int(written.sum())
    if 0 < stored < size:
        notes[f"{name}: {size - stored} of {size} elements are not written ({place})"] = None
    if not fixed.all():
        loose = int((~fixed).sum())
        notes[f"{name}: {loose} of {fixed.size} elements are not determined by the original ({place})"] = None


def _determined(expected: Array, others: Sequence[Array]) -> Array:
    fixed: Array = np.ones(expected.shape, np.bool_)
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    for other in others:
        same = expected.view(bits) == other.view(bits)
        with np.errstate(all="ignore"):
            fixed &= same | ((expected != expected) & (other != other))
    return fixed


def _difference(expected: Array, actual: Array, fixed: Array, depth: int | None) -> Difference:
    return compare(expected, np.where(fixed, actual, expected).astype(expected.dtype), depth)


def reduction_depth(original: Entry, translation: Entry, case: Case) -> int | None:
    """None when both sides reduce in the same shapes, so that bits must be equal; else how many values a
    result may sum."""

    def reductions(entry: Entry) -> list[str]:
        return sorted(
            f"{op.name} {op.attributes.get('dim')} {[getattr(v.type, 'shape', ()) for v in op.operands]}"
            for op in walk(entry.body)
            if op.name in ("reduce", "scan", "mmaf")
        )

    if reductions(original) == reductions(translation):
        return None
    return max((math.prod(a.shape) for a in case.arrays.values()), default=1)


def tile_extents(entry: Entry, signature: Signature) -> dict[str, int]:
    """The largest tile along each extent symbol, from the partition views of an entry."""
    arrays = {a.name: a.extents for a in signature.arguments if isinstance(a, ArrayArgument)}
    words = python_words(signature)
    origin: dict[int, str] = {
        p.number: w.argument for p, w in zip(entry.parameters, words, strict=False) if w.role is Role.POINTER
    }
    found: dict[str, int] = {}
    for operation in walk(entry.body):
        source = next(iter(operation.operands), None)
        if source is None or source.number not in origin:
            continue
        if operation.name in ("assume", "make_tensor_view", "make_partition_view"):
            origin[operation.results[0].number] = origin[source.number]
        if operation.name == "make_partition_view":
            _note_tiles(operation.results[0], arrays.get(origin[source.number], ()), found)
    return found


def _note_tiles(view: Value, extents: tuple[str | int, ...], found: dict[str, int]) -> None:
    if not isinstance(view.type, PartitionViewType) or len(view.type.dim_map) != len(extents):
        return
    for axis, tile in zip(view.type.dim_map, view.type.tile, strict=True):
        extent = extents[axis]
        if isinstance(extent, str):
            found[extent] = max(found.get(extent, 1), tile)
