"""Launches beyond those of the rung `simulated`, with the values that tell one mutant from another."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from ferrotile.program.dtypes import DType, Kind
from ferrotile.signatures.model import ArrayArgument, ScalarArgument, Signature
from ferrotile_runner.fillings import numpy_dtype, special_values
from ferrotile_runner.inputs import Case, cases
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.sizes import grid_for, sizes_for
from ferrotile_runner.tileir.interpreter.elements import Array, limits
from msgspec import Struct
from msgspec.structs import replace

Fill = Callable[[np.random.Generator, tuple[int, ...], DType], Array]


def denormals(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Floats around the smallest normal number: sums and products of them are denormal, or are not."""
    numpy = numpy_dtype(dtype)
    has = limits(numpy)
    raw: Array = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 3, shape) * float(has.tiny)
    with np.errstate(all="ignore"):
        small: Array = raw.astype(np.float64 if numpy.itemsize > 4 else np.float32).astype(numpy)
    return small


def specials(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """NaN, infinities, zeros, extremes and numbers near 1, in equal parts: every pair of them meets."""
    numpy = numpy_dtype(dtype)
    picks = special_values(dtype)
    values = rng.standard_normal(shape).astype(np.float32).astype(numpy)
    if dtype.is_integer:
        low = 0 if dtype.kind is Kind.UNSIGNED else -9
        values = rng.integers(low, 10, shape).astype(numpy)
    sown = rng.random(shape) < 0.6
    values[sown] = picks[rng.integers(0, picks.size, int(sown.sum()))]
    return values


def wide(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Numbers of every size and both signs that the type has, most with all their bits in use."""
    numpy = numpy_dtype(dtype)
    if dtype.is_integer:
        bits = dtype.bits - (dtype.kind is Kind.SIGNED)
        raw = rng.integers(0, 2**63, shape, dtype=np.uint64) >> rng.integers(64 - bits, 64, shape).astype(np.uint64)
        with np.errstate(all="ignore"):
            signs = np.where(rng.random(shape) < 0.5, -1, 1) if dtype.kind is Kind.SIGNED else 1
            return (raw.astype(np.int64) * signs).astype(numpy)
    reach = np.log2(float(limits(numpy).largest)) * rng.choice([0.05, 0.45, 0.95], shape)
    with np.errstate(all="ignore"):
        floats = rng.standard_normal(shape) * 2.0 ** rng.uniform(-reach, reach, shape)
        made: Array = floats.astype(np.float64 if numpy.itemsize > 4 else np.float32).astype(numpy)
    return made


def ties(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Small whole numbers, halves and both zeros: many are equal, and rounding has to choose."""
    numpy = numpy_dtype(dtype)
    if dtype.is_integer:
        low = 0 if dtype.kind is Kind.UNSIGNED else -2
        return rng.integers(low, 3, shape).astype(numpy)
    halves: Array = (rng.integers(-2, 3, shape) * 0.5 * rng.choice([1.0, -1.0], shape)).astype(np.float32)
    return halves.astype(numpy)


class Filling(Struct, frozen=True):
    """How arrays are filled, and the integer and the float that scalars are."""

    name: str
    fill: Fill
    integer: int
    float: float


FILLINGS = (
    Filling("denormals", denormals, 0, 1e-39),
    Filling("special values", specials, -3, -1.7),
    Filling("wide values", wide, 37, 3e5),
    Filling("ties", ties, 5, 0.5),
)
LARGE = Filling("large scalars", wide, (1 << 25) + 3, 16777217.0)
"""Where scalars are the ends of loops a run takes too long: then it says nothing."""
MANY = 2051
"""An extent that neither f16 nor bf16 has."""
MANY_ELEMENTS = 1 << 15


def more_cases(signature: Signature, hypotheses: Sequence[str], tiles: Mapping[str, int]) -> list[Case]:
    """The largest launch with each filling; and one of larger extents, where arrays are of one axis. Integers that the
    original takes for indices may lead it out of its arrays; then the case says nothing, so each filling is there for
    floats alone too."""
    base = _base(signature, hypotheses, tiles)
    if base is None:
        return []
    whole = (*(a.dtype for a in _arrays(signature).values()), *(s.dtype for s in _scalars(signature, base).values()))
    parts = (True, False) if any(dtype.is_integer for dtype in whole) else (True,)
    found = [_filled(signature, base, filling, part) for filling in FILLINGS for part in parts]
    facts = facts_of(hypotheses)
    sizes = sizes_for(signature, facts, tiles, lambda tile: MANY)
    grid = grid_for(signature, sizes, facts)
    shapes = {n: tuple(sizes[e] if isinstance(e, str) else e for e in a.extents) for n, a in _arrays(signature).items()}
    if sizes != dict(base.sizes) and grid is not None and all(math.prod(s) <= MANY_ELEMENTS for s in shapes.values()):
        arrays = {name: np.resize(base.arrays[name], shape) for name, shape in shapes.items()}
        scalars = {name: sizes.get(name, word) for name, word in base.scalars.items()}
        found.append(replace(base, name="many elements", sizes=sizes, arrays=arrays, scalars=scalars, grid=grid))
    return found


def large_scalars(signature: Signature, hypotheses: Sequence[str], tiles: Mapping[str, int]) -> list[Case]:
    base = _base(signature, hypotheses, tiles)
    if base is None or not any(s.dtype.is_integer for s in _scalars(signature, base).values()):
        return []
    return [_filled(signature, base, LARGE, True)]


def _base(signature: Signature, hypotheses: Sequence[str], tiles: Mapping[str, int]) -> Case | None:
    known = [case for case in cases(signature, hypotheses, tiles, 11) if not case.against and not case.tentative]
    other = {"hard values", "strided arrays", "many elements"}
    return next((case for case in reversed(known) if case.name not in other), None)


def _arrays(signature: Signature) -> dict[str, ArrayArgument]:
    return {a.name: a for a in signature.arguments if isinstance(a, ArrayArgument)}


def _scalars(signature: Signature, base: Case) -> dict[str, ScalarArgument]:
    """Those that say no size."""
    found = {a.name: a for a in signature.arguments if isinstance(a, ScalarArgument) and a.extent is None}
    return {n: a for n, a in found.items() if n not in base.sizes and a.dtype.kind is not Kind.BOOL}


def _filled(signature: Signature, base: Case, filling: Filling, integers: bool) -> Case:
    """`integers`: whether they are filled too, or the floats alone."""
    arrays: dict[str, Array] = {}
    for place, (name, argument) in enumerate(_arrays(signature).items()):
        dtype = argument.dtype
        taken = dtype.kind is not Kind.BOOL and (integers or not dtype.is_integer)
        taken = taken and not (filling.fill is denormals and dtype.is_integer)
        rng = np.random.default_rng([place, len(filling.name), filling.integer + 9])
        arrays[name] = filling.fill(rng, base.arrays[name].shape, dtype) if taken else base.arrays[name]
    scalars: dict[str, int | float | bool] = dict(base.scalars)
    for name, scalar in _scalars(signature, base).items():
        if scalar.dtype.is_integer and integers:
            bits = scalar.dtype.bits - (scalar.dtype.kind is Kind.SIGNED)
            number = filling.integer if scalar.dtype.kind is Kind.SIGNED else abs(filling.integer)
            scalars[name] = number % (1 << bits) if number >= 0 else number
        elif not scalar.dtype.is_integer:
            scalars[name] = filling.float
    part = "all" if integers else "floats"
    return replace(base, name=f"{filling.name}, {part}", arrays=arrays, scalars=scalars, tentative=True)
