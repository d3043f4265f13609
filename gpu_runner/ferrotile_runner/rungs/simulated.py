"""Rung `simulated`: original and translation give the same arrays in the interpreter.

An element counts only where the original determines it: it is run with two fillings of undetermined lanes
and with its blocks in both orders, and elements that differ among these may be anything in the translation
too. Launches for which the original has undefined behaviour are left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ferrotile.signatures.model import ArrayArgument, Signature
from ferrotile.translation import Entry as RustEntry

from ferrotile_runner.compare import Difference, compare
from ferrotile_runner.inputs import Case, cases, describe, facts_of
from ferrotile_runner.parameter_words import ParameterWord, Role, python_words, rust_words
from ferrotile_runner.process import Ending, ProcessError
from ferrotile_runner.rungs.subject import RungFailure, RungSkipped, Subject
from ferrotile_runner.session import Session
from ferrotile_runner.tileir.interpreter import (
    Order,
    OutOfTime,
    RunResult,
    Storage,
    UndefinedBehaviour,
    Unsupported,
    Word,
    run,
)
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.model import Entry, PartitionViewType, Value, walk

SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class _Limits:
    deadline: float
    subject: Subject

    def run(
        self,
        entry: Entry,
        words: Sequence[Word],
        grid: tuple[int, int, int],
        seed: int,
        order: Order,
        place: str,
    ) -> RunResult:
        left = self.deadline - time.monotonic()
        try:
            return run(entry, words, grid, seed=seed, order=order, seconds=left, cancel=self.subject.cancel)
        except OutOfTime as error:
            cancelled = self.subject.cancel.is_set()
            ending = Ending.CANCELLED if cancelled else Ending.TIMEOUT
            raise ProcessError(ending, f"simulation: {error} ({place})") from error


def simulated(session: Session, subject: Subject) -> str:
    """Says which launches agreed. Raises RungFailure with the first difference."""
    signature, rust = subject.kernel.signature, subject.kernel.entry
    if signature is None or rust is None:
        raise RungSkipped("not translated")
    if signature.grid is None and not facts_of(rust.hypotheses).grid:
        raise RungSkipped("the grid is not known: add `grid=(...)` to the `# ferrotile:` directive")
    original, translation = session.python_entry(subject), session.rust_entry(subject)
    tiles = tile_extents(original, signature)
    limits = _Limits(time.monotonic() + SECONDS, subject)
    agreed: list[str] = []
    undefined: list[str] = []
    exact = True
    notes: dict[str, None] = {}
    try:
        for case in cases(signature, rust.hypotheses, tiles):
            verdict = _compare_case(limits, original, translation, signature, rust, case, notes)
            if verdict is None:
                undefined.append(describe(case))
            else:
                agreed.append(describe(case))
                exact &= verdict
    except Unsupported as error:
        raise RungSkipped(f"the simulator does not know {error}") from error
    if not agreed:
        why = f"the original is undefined for {'; '.join(undefined)}" if undefined else "no launch fits the hypotheses"
        raise RungSkipped(why)
    lines = [f"{'bit-equal' if exact else 'equal within rounding of the reductions'} on {'; '.join(agreed)}"]
    lines += notes
    lines += [f"left out, undefined in the original: {'; '.join(undefined)}"] if undefined else []
    unread = facts_of(rust.hypotheses).open
    lines += [f"assuming {'; '.join(unread)}"] if unread else []
    return "\n".join(lines)


def _compare_case(
    limits: _Limits,
    original: Entry,
    translation: Entry,
    signature: Signature,
    rust: RustEntry,
    case: Case,
    notes: dict[str, None],
) -> bool | None:
    """Whether all arrays are bit-equal (False: equal within tolerance); None where the original is
    undefined."""
    place = describe(case)
    python = words_of(python_words(signature), case)
    try:
        first = limits.run(original, python, case.grid, 1, Order.FORWARD, place)
        others = [
            limits.run(original, python, case.grid, 2, Order.FORWARD, place),
            limits.run(original, python, case.grid, 1, Order.REVERSED, place),
        ]
    except UndefinedBehaviour:
        return None
    if any("wholly outside" in finding for finding in first.findings):
        return None
    span = limits.subject.kernel.name_span
    exact = True
    grid = rust_grid(rust, case)
    words = words_of(rust_words(rust), case)
    for seed, order in ((3, Order.FORWARD), (4, Order.REVERSED)):
        try:
            result = limits.run(translation, words, grid, seed, order, place)
        except UndefinedBehaviour as error:
            raise RungFailure("FT505", f"the translation leaves its array, {error} ({place})", span) from error
        failed = [f for f in result.findings if f.startswith("assert failed") or "wholly outside" in f]
        if failed:
            raise RungFailure("FT505", f"{failed[0]} in the translation only ({place})", span)
        for name, expected in first.arrays.items():
            if name not in result.arrays:
                continue
            fixed = _determined(expected, [o.arrays[name] for o in others])
            _note_gaps(name, case.arrays[name].size, first.written[name], fixed, place, notes)
            actual = result.arrays[name].reshape(expected.shape)
            difference = _difference(expected, actual, fixed, reduction_depth(original, translation, case))
            if not difference.equal:
                raise RungFailure("FT505", f"{name}{difference} ({place})", span)
            exact &= difference.bit_equal
    return exact


def _note_gaps(name: str, size: int, written: Array, fixed: Array, place: str, notes: dict[str, None]) -> None:
    """Elements of an output that say nothing about the translation."""
    stored = int(written.sum())
    if 0 < stored < size:
        notes[f"{name}: {size - stored} of {size} elements are not written ({place})"] = None
    if not fixed.all():
        loose = int((~fixed).sum())
        notes[f"{name}: {loose} of {fixed.size} elements are not determined by the original ({place})"] = None


def rust_grid(rust: RustEntry, case: Case) -> tuple[int, int, int]:
    """The translation's grid: that of the partition of its first `&mut` tensor, as the launcher infers it."""
    for parameter in rust.parameters:
        if parameter.kind == "tensor_mut" and parameter.tile:
            array = case.arrays[parameter.name]
            shape = list(array.shape)
            merged = array.ndim - len(parameter.tile)
            if merged > 0:
                shape[: merged + 1] = [math.prod(shape[: merged + 1])]
            blocks = [-(-n // t) if t > 0 else 1 for n, t in zip(shape, parameter.tile, strict=True)]
            filled = [*blocks, 1, 1, 1][:3]
            return (filled[0], filled[1], filled[2])
    return case.grid


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


def words_of(parameters: Sequence[ParameterWord], case: Case) -> tuple[Word, ...]:
    """The launch's words. An array of lower rank in the entry than in the case has its leading axes
    merged."""
    return tuple(_word(word, case) for word in parameters)


def _word(word: ParameterWord, case: Case) -> Word:
    if word.role is Role.SCALAR:
        return case.scalars[word.argument]
    array = case.arrays[word.argument]
    # Seen whole: the storage behind a strided array begins where the array does.
    storage = array if array.flags.c_contiguous or not isinstance(array.base, np.ndarray) else array.base
    merged = array.ndim - word.rank
    shape: list[int] = list(array.shape)
    strides: list[int] = [s // array.itemsize for s in array.strides]
    if merged > 0:
        shape[: merged + 1], strides[: merged + 1] = [math.prod(shape[: merged + 1])], [strides[merged]]
    match word.role:
        case Role.POINTER:
            return Storage(word.argument, storage)
        case Role.EXTENT:
            return shape[word.axis]
        case Role.STRIDE:
            return strides[word.axis]
        case _:
            return 0


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
