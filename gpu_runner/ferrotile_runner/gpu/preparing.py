"""Launches of both sides of a kernel for a GPU: on which arrays, with which words, and what the interpreter expects.

Small launches are those of the rung `simulated`, run in the interpreter first: where the original is defined, its
results and which of their elements it determines go along. One large launch is for the clock; its values are made where
it is run.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ferrotile.program.dtypes import BY_NAME, DType, Kind
from ferrotile.signatures.model import ArrayArgument, ScalarArgument, Signature
from ferrotile.translation import Entry as RustEntry
from msgspec import Struct, field

from ferrotile_runner.assumed_grid import assumed_grid
from ferrotile_runner.determined import MORE_SEEDS, SUMS, determined, longest_sum, near, reduction_depth
from ferrotile_runner.entry_arrays import read_names, tile_extents, updated_names, written_names
from ferrotile_runner.entry_hints import has_loops
from ferrotile_runner.fillings import numpy_dtype
from ferrotile_runner.fitting import Fitter
from ferrotile_runner.gpu.large_launch import large_case
from ferrotile_runner.gpu.launch_checks import failed_checks
from ferrotile_runner.gpu.reference import NoReference, double_case, in_double
from ferrotile_runner.host import LaunchCheck
from ferrotile_runner.inputs import Case, cases, describe
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.launch_grid import Grid, merged, own_grid, rust_grid
from ferrotile_runner.launch_words import words_of
from ferrotile_runner.parameter_words import ParameterWord, Role, python_words, rust_words
from ferrotile_runner.tileir.interpreter import (
    FindingKind,
    Order,
    OutOfTime,
    RunResult,
    Storage,
    UndefinedBehaviour,
    Unsupported,
    run,
)
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.interpreter.origins import origins
from ferrotile_runner.tileir.model import Entry, walk
from ferrotile_runner.workers.array_verdict import EXACT, OPEN, SUMMED
from ferrotile_runner.workers.bundle_format import BundleArray, BundleLaunch, BundleSide, Launches

LARGE_DIVISOR = 1 << 12
FUNCTION_ROUNDINGS = 16
"""So many units in the last place may a chain of approximate functions differ."""
INEXACT = SUMS | {
    "exp",
    "exp2",
    "log",
    "log2",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "pow",
    "rsqrt",
    "sqrt",
    "divf",
}
RACES = (FindingKind.CONFLICT, FindingKind.TWICE)
SEEDS = ((2, Order.FORWARD), (1, Order.REVERSED), *((seed, Order.FORWARD) for seed in MORE_SEEDS[:2]))
"""Fillings and orders of blocks that tell which elements the original determines."""


class Both(Struct, frozen=True):
    """Both entries under one signature, and the checks of a launch of the Rust. `prefix`: of the data files' names."""

    original: Entry
    translation: Entry
    signature: Signature
    rust: RustEntry
    checks: tuple[LaunchCheck, ...]
    prefix: str


class Prepared(Struct):
    """Launches without cubins, and what was left out and why."""

    launches: list[BundleLaunch] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    racing: bool = False
    """Whether what the original makes depends on the order of its blocks, in any launch so far."""


def prepare(both: Both, seconds: float, seed: int, folder: Path, wanted: Launches = Launches.ALL) -> Prepared:
    """Writes the data of the launches into `folder`. Raises `Unsupported` and `OutOfTime`
    where the interpreter cannot run the original."""
    facts = facts_of(both.rust.hypotheses)
    grids = assumed_grid(both.original, both.signature, both.rust)
    tiles = tile_extents(both.original, both.signature)
    loops = has_loops(both.original)
    found = Prepared(racing=origins(both.original).in_turn)
    fitter = Fitter(both.signature, both.rust.hypotheses, grids)
    whole: Case | None = None
    for case in cases(both.signature, both.rust.hypotheses, tiles, seed, grids, not loops):
        if case.against:
            continue
        fitted = fitter.fit(case, lambda one: _original(both, one, 1, Order.FORWARD, seconds), _ignore)
        if fitted is None:
            found.left_out.append(f"{describe(case)}: undefined in the original")
            continue
        case, first = fitted
        found.racing |= any(finding.kind in RACES for finding in first.findings)
        if whole is None or (not case.tentative and _roundness(case) > _roundness(whole)):
            whole = case
        if wanted is not Launches.LARGE:
            _add(both, case, first, seconds, folder, found)
    if wanted is not Launches.SMALL and whole is not None:
        large = large_case(whole, both.signature, facts, grids, both.original)
        if large is not None:
            _add_large(both, large, seed, found)
    return found


def _roundness(case: Case) -> int:
    """How well its extents divide: the large launch, which grows by powers of two, is to have no tails."""
    return sum(math.gcd(size, LARGE_DIVISOR) for size in case.sizes.values())


def _ignore(_text: str, _line: int) -> None:
    """Why the original is undefined: the rung `simulated` says it."""


def _original(both: Both, case: Case, seed: int, order: Order, seconds: float) -> RunResult:
    words = words_of(python_words(both.signature), case)
    return run(both.original, words, case.grid, seed=seed, order=order, seconds=seconds)


def _add(both: Both, case: Case, first: RunResult, seconds: float, folder: Path, found: Prepared) -> None:
    if any(finding.kind is FindingKind.ASSERT for finding in first.findings):
        found.left_out.append(f"{describe(case)}: an assert of the original fails")
        return
    try:
        again = () if first.repeatable else SEEDS
        others = [_original(both, case, seed, order, seconds) for seed, order in again]
    except (UndefinedBehaviour, OutOfTime, Unsupported):
        found.left_out.append(f"{describe(case)}: undefined in the original, or too long")
        return
    number = len(found.launches)
    summed = updated_names(both.original, both.signature)
    written = written_names(both.original, both.signature)
    depth = _depth(both, case)
    stored = _stored(both, case)
    inexact = depth is not None or inexact_depth(both.original, case) is not None
    exact = _in_double(both, case, seconds) if inexact else "every operation has one exact meaning"
    arrays: list[BundleArray] = []
    for argument in both.signature.arguments:
        if not isinstance(argument, ArrayArgument):
            continue
        name, data = argument.name, stored[argument.name]
        base = f"{both.prefix}/{number}/{name}"
        array = _array(argument, data.shape, name in written)._replace(data=_write(folder, f"{base}.bin", data))
        if name in written:
            expected = first.arrays[name]
            mask = _mask(expected, [one.arrays[name] for one in others], name in summed)
            array = array._replace(
                expected=_write(folder, f"{base}.expected", expected), mask=_write(folder, f"{base}.mask", mask)
            )
            if isinstance(exact, str):
                array = array._replace(no_reference=exact)
            elif exact[name].dtype == np.float64 and exact[name].shape == expected.shape:
                array = array._replace(reference=_write(folder, f"{base}.reference", exact[name]))
        arrays.append(array)
    launch = _launch(both, case, tuple(arrays), depth, False, found)
    if launch is not None:
        found.launches.append(launch)


def _in_double(both: Both, case: Case, seconds: float) -> Mapping[str, Array] | str:
    """What the original makes of the arrays where every float is an f64; else why it cannot be said."""
    try:
        wide = double_case(case)
        words = words_of(python_words(both.signature), wide)
        return run(in_double(both.original), words, wide.grid, seed=1, seconds=seconds).arrays
    except NoReference as reason:
        return str(reason)
    except (Unsupported, UndefinedBehaviour, OutOfTime) as error:
        return f"the interpreter cannot run it in f64: {error}"


def _add_large(both: Both, case: Case, seed: int, found: Prepared) -> None:
    """The launch for the clock. An output that is only stored starts as NaN."""
    written, read = written_names(both.original, both.signature), read_names(both.original, both.signature)
    summed = updated_names(both.original, both.signature)
    below = min((extent for array in case.arrays.values() for extent in array.shape if extent > 1), default=1)
    arrays = tuple(
        _array(argument, case.arrays[argument.name].shape, argument.name in written)._replace(
            seed=seed + number, below=below, blank=argument.name not in read, summed=argument.name in summed
        )
        for number, argument in enumerate(both.signature.arguments)
        if isinstance(argument, ArrayArgument)
    )
    depth = _depth(both, case)
    launch = _launch(both, case, arrays, depth, True, found)
    if launch is not None:
        found.launches.append(launch)


def _depth(both: Both, case: Case) -> int | None:
    """How many numbers a result may sum in another order on a GPU."""
    other = reduction_depth(both.original, both.translation, case)
    return longest_sum(both.original) if other is None else other


def _stored(both: Both, case: Case) -> dict[str, Array]:
    """The storage of each array, whole."""
    words = words_of(python_words(both.signature), case)
    return {word.name: word.array for word in words if isinstance(word, Storage)}


def _mask(expected: Array, others: Sequence[Array], summed: bool) -> Array:
    fixed = determined(expected, others)
    mask: Array = np.where(fixed, EXACT, OPEN).astype(np.uint8)
    if summed:
        mask[~fixed & near(expected, others)] = SUMMED
    return mask


def _write(folder: Path, name: str, data: Array) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(np.ascontiguousarray(data).tobytes())
    return name


def _array(argument: ArrayArgument, shape: Sequence[int], written: bool) -> BundleArray:
    size = numpy_dtype(argument.dtype).itemsize
    return BundleArray(argument.name, argument.dtype.name, size, tuple(shape), written)


def _launch(
    both: Both, case: Case, arrays: tuple[BundleArray, ...], depth: int | None, timed: bool, found: Prepared
) -> BundleLaunch | None:
    """None, and a reason in `found`, for what cannot be launched."""
    shapes = {name: array.shape for name, array in case.arrays.items()}
    grid = rust_grid(both.rust.parameters, shapes, own_grid(both.rust, case.sizes, case.grid))
    if 0 in (*case.grid, *grid):
        found.left_out.append(f"{describe(case)}: no blocks")
        return None
    failed = failed_checks(both.checks, both.rust.parameters, shapes, grid)
    if failed:
        found.left_out.append(f"{describe(case)}: the launcher refuses it: {'; '.join(failed)}")
        return None
    dtypes = {a.name: a.dtype for a in both.signature.arguments if isinstance(a, ScalarArgument)}
    copies = {f"{p.copy_of} before": p.copy_of for p in both.rust.parameters if p.copy_of is not None}
    tiles = {p.name: p.tile for p in both.rust.parameters if p.kind == "tensor_mut"}

    def side(words: Sequence[ParameterWord], blocks: Grid) -> BundleSide:
        return BundleSide("", "", blocks, tuple(_word(word, case, dtypes, tiles) for word in words))

    original = side(python_words(both.signature), case.grid)
    translation = side(rust_words(both.rust), grid)
    interpreted = inexact_depth(both.original, case)
    return BundleLaunch(describe(case), original, translation, arrays, copies, depth, interpreted, timed, found.racing)


def inexact_depth(entry: Entry, case: Case) -> int | None:
    """How many roundings the interpreter and a GPU may differ by in a result: None where every operation has one exact
    meaning. A sum may have as many terms as the longest axis; functions are approximate on a GPU."""
    names = {operation.name for operation in walk(entry.body)}
    if not names & INEXACT:
        return None
    longest = max((extent for array in case.arrays.values() for extent in array.shape), default=1)
    return FUNCTION_ROUNDINGS + (longest if names & SUMS else 0)


def _word(word: ParameterWord, case: Case, dtypes: Mapping[str, DType], tiles: Mapping[str, tuple[int, ...]]) -> str:
    if word.role is Role.SCALAR:
        return "=" + scalar_bytes(case.scalars[word.argument], dtypes[word.argument]).hex()
    if word.role is Role.NUMBER:
        return "=" + scalar_bytes(word.number, BY_NAME[word.dtype]).hex()
    array = case.arrays[word.argument]
    match word.role:
        case Role.POINTER:
            return f"{word.argument} before" if word.copy else word.argument
        case Role.EXTENT:
            number = merged(array.shape, word.rank)[word.axis]
        case Role.STRIDE:
            number = array.strides[max(array.ndim - word.rank, 0) + word.axis] // array.itemsize
        case Role.PARTITION:
            whole = merged(array.shape, word.rank)
            told = tiles.get(word.argument) or whole
            tile = [t if t > 0 else n for t, n in zip(told, whole, strict=True)]
            strides = [math.prod(tile[axis + 1 :]) for axis in range(word.rank)]
            number = (*tile, *strides)[word.axis]
    return "=" + (scalar_bytes(number, BY_NAME[word.dtype]) if word.dtype else struct.pack("<i", number)).hex()


def scalar_bytes(value: int | float | bool, dtype: DType) -> bytes:
    """A scalar parameter as the ABI passes it: at its own width, little-endian, a boolean as one byte."""
    if dtype.kind is Kind.BOOL:
        return bytes([bool(value)])
    if dtype.is_integer:
        return (int(value) % (1 << dtype.bits)).to_bytes(dtype.bits // 8, "little")
    return np.array(value, numpy_dtype(dtype)).tobytes()
