"""Inputs for a kernel under a signature: concrete sizes, arrays, scalars, grids."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import ml_dtypes
import numpy as np
from ferrotile.program.dtypes import DType, Kind
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from msgspec import Struct

from ferrotile_runner.launch_facts import Facts, facts_of
from ferrotile_runner.sizes import Shape, free_axes, grid_for, is_claimed, larger, shapes_of, sizes_for
from ferrotile_runner.tileir.interpreter import Unsupported
from ferrotile_runner.tileir.interpreter.elements import Array, is_float, limits

MAX_ELEMENTS = 1 << 21
"""No array of a case is larger."""
MAX_BLOCKS = 1 << 16
"""No grid that is made has more."""

_NUMPY: Mapping[str, np.dtype[np.generic]] = MappingProxyType(
    {
        "bool": np.dtype(np.bool_),
        **{f"{k}{b}": np.dtype(f"{k}{b // 8}") for k in "iu" for b in (8, 16, 32, 64)},
        **{f"f{b}": np.dtype(f"f{b // 8}") for b in (16, 32, 64)},
        "bf16": np.dtype(ml_dtypes.bfloat16),
        "tf32": np.dtype(np.float32),
        "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
        "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
        "f8e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    }
)


def numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    """The NumPy type that stores elements of `dtype`. Raises Unsupported where none does: elements of 4 bits are
    packed in memory."""
    if dtype.name not in _NUMPY:
        raise Unsupported(f"arrays of {dtype.name}")
    return _NUMPY[dtype.name]


class Plan(Struct, frozen=True):
    """How the arrays of a case are made: with hard values or ordinary ones, with gaps after every row or none."""

    hard: bool
    strided: bool
    seed: int


class Case(Struct, frozen=True):
    """One launch. `arrays` may be strided (their last axis is not); scalars by name; `grid` has three extents.
    `against`: what every proof takes for granted and this launch does not satisfy, so that a difference is no fault.
    `blank`: arrays that hold no values before the kernel writes them."""

    name: str
    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]
    scalars: Mapping[str, int | float | bool]
    grid: tuple[int, int, int]
    against: str = ""
    blank: frozenset[str] = frozenset()
    plan: Plan | None = None


Grids = Callable[[Mapping[str, tuple[int, ...]]], tuple[int, int, int]]
"""From the extents of the arrays to the numbers of blocks."""

_SHAPES: tuple[tuple[str, Shape], ...] = (
    ("less than a tile", lambda tile: max(1, tile - max(1, tile // 4))),
    ("one element", lambda tile: 1),
    ("one tile and one element", lambda tile: tile + 1),
    ("two whole tiles", lambda tile: 2 * tile),
    ("tiles and a tail", lambda tile: 2 * tile + max(1, tile // 2 - 1)),
)
"""Small ones first: where time is short, something was compared."""


def ordinary(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Normally distributed floats; integers that are indices of any array of the case."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_integer:
        return rng.integers(0, max(1, min(below, 100)), shape).astype(numpy)
    return rng.standard_normal(shape).astype(np.float32).astype(numpy)


def hard(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """As `ordinary`, with NaN, infinities, denormals, extremes and both zeros (integers: extremes) sown
    in."""
    values = ordinary(rng, shape, dtype, below)
    sown = rng.random(shape) < 0.05
    picks = special_values(dtype)
    if picks.size:
        values[sown] = picks[rng.integers(0, picks.size, int(sown.sum()))]
    return values


def special_values(dtype: DType) -> Array:
    """Elements that kernels get wrong first."""
    numpy = numpy_dtype(dtype)
    if numpy == np.bool_:
        return np.zeros(0, np.bool_)
    if not is_float(numpy):
        bits = dtype.bits
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.kind is Kind.SIGNED else (0, 2**bits - 1)
        return np.array([low, high, high - 1, 0, 1], numpy)
    has = limits(numpy)
    with np.errstate(all="ignore"):
        wide = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, has.largest, has.lowest]
        wide += [has.tiny, has.denormal, -has.denormal]
        return np.array(wide, np.float64).astype(np.float32 if numpy.itemsize < 4 else numpy).astype(numpy)


def cases(
    signature: Signature,
    hypotheses: Sequence[str] = (),
    tiles: Mapping[str, int] = MappingProxyType({}),
    seed: int = 0,
    grid: Grids | None = None,
) -> Iterator[Case]:
    """Launches that satisfy the hypotheses that `facts_of` can read. `grid` is used where the signature and the
    hypotheses do not know the grid; without it there are none then. `tiles` gives the tile extent along a symbol. Of
    the cases of one size there are as many as sizes that the facts tell apart; one has axes without elements; the last
    case but one has hard values, the last strided arrays."""
    facts = facts_of(hypotheses)
    seen: set[tuple[tuple[str, int], ...]] = set()
    plain = Plan(False, False, seed)

    def made(name: str, sizes: Mapping[str, int], plan: Plan) -> Iterator[Case]:
        case = _case(name, signature, sizes, facts, plan, grid)
        if case is not None:
            yield case

    for name, shape in _SHAPES:
        sizes = sizes_for(signature, facts, tiles, shape)
        key = tuple(sorted(sizes.items()))
        if key not in seen:
            seen.add(key)
            yield from made(name, sizes, plain)
    sizes = sizes_for(signature, facts, tiles, _SHAPES[-1][1])
    free = free_axes(signature, facts)
    if free and (grid is None or signature.grid is not None):
        yield from made("axes without elements", sizes | dict.fromkeys(free, 0), plain)
    yield from made("hard values", sizes, Plan(True, False, seed + 1))
    if not facts.contiguous:
        yield from made("strided arrays", sizes, Plan(False, True, seed + 2))


def with_room(
    case: Case,
    signature: Signature,
    hypotheses: Sequence[str],
    grid: Grids | None,
    array: str,
    axis: int,
    extent: int,
    plenty: int = 0,
) -> Case | None:
    """The case again with at least `extent` elements along an axis of an array, and up to `plenty` where facts allow;
    None where that cannot be."""
    if case.plan is None:
        return None
    facts = facts_of(hypotheses)
    sizes = larger(signature, facts, case.sizes, array, axis, extent, plenty)
    return None if sizes is None else _case(case.name, signature, sizes, facts, case.plan, grid)


Fill = Callable[[np.random.Generator, tuple[int, ...], DType, int], Array]


def _case(
    name: str, signature: Signature, sizes: Mapping[str, int], facts: Facts, plan: Plan, grids: Grids | None
) -> Case | None:
    shapes = shapes_of(signature, sizes)
    if any(math.prod(s) > MAX_ELEMENTS for s in shapes.values()):
        return None
    grid = grid_for(signature, sizes, facts) or (None if grids is None else grids(shapes))
    if grid is None or math.prod(grid) > MAX_BLOCKS or not is_claimed(facts, sizes, grid):
        return None
    below = min((e for s in shapes.values() for e in s if e > 1), default=1)
    fill: Fill = hard if plan.hard else ordinary
    arrays: dict[str, Array] = {}
    scalars: dict[str, int | float | bool] = {}
    for argument in signature.arguments:
        rng = np.random.default_rng([plan.seed, zlib.crc32(argument.name.encode())])
        match argument:
            case ArrayArgument(name=key, dtype=dtype):
                values = fill(rng, shapes[key], dtype, below)
                arrays[key] = _strided(values) if plan.strided else values
            case ScalarArgument(name=key, dtype=dtype, extent=extent):
                same = key if extent is None else extent
                scalars[key] = sizes[same] if same in sizes else _scalar(rng, dtype, plan.hard)
            case ConstantArgument():
                pass
    against = "extents >= 1" if 0 in sizes.values() else ""
    return Case(name, dict(sizes), arrays, scalars, grid, against, plan=plan)


HARD_SCALARS = (0.0, -2.5, 1e-30)
"""Finite, so that not every result is NaN."""


def _scalar(rng: np.random.Generator, dtype: DType, difficult: bool) -> int | float | bool:
    if dtype.kind is Kind.BOOL:
        return not difficult
    if dtype.is_integer:
        return int(rng.integers(1, 4))
    return float(rng.choice(HARD_SCALARS)) if difficult else float(np.float32(rng.uniform(0.05, 0.95)))


def _strided(values: Array) -> Array:
    """The same elements with gaps after every row."""
    if values.ndim < 2:
        return values
    room = np.zeros((*values.shape[:-1], values.shape[-1] + 8), values.dtype)
    room[..., : values.shape[-1]] = values
    return room[..., : values.shape[-1]]


def describe(case: Case) -> str:
    """`M=129, N=256, grid (2, 2, 1)`."""
    sizes = ", ".join(f"{k}={v}" for k, v in case.sizes.items())
    return f"{case.name}: {sizes or 'fixed sizes'}, grid {case.grid}"
