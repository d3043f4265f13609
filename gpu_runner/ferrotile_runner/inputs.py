"""Inputs for a kernel under a signature: concrete sizes, arrays, scalars, grids."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType

import ml_dtypes
import numpy as np
from ferrotile.program.dtypes import DType, Kind
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, ScalarArgument, Signature
from msgspec import Struct

from ferrotile_runner.launch_facts import Facts, facts_of
from ferrotile_runner.tileir.interpreter import Unsupported
from ferrotile_runner.tileir.interpreter.elements import Array, is_float, limits

MAX_ELEMENTS = 1 << 21
"""No array of a case is larger."""

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


class Case(Struct, frozen=True):
    """One launch. `arrays` may be strided (their last axis is not); scalars by name; `grid` has three
    extents."""

    name: str
    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]
    scalars: Mapping[str, int | float | bool]
    grid: tuple[int, int, int]


Shape = Callable[[int], int]
"""A tile's extent to an array's extent."""

_SHAPES: tuple[tuple[str, Shape], ...] = (
    ("one tile and one element", lambda tile: tile + 1),
    ("two whole tiles", lambda tile: 2 * tile),
    ("less than a tile", lambda tile: max(1, tile - max(1, tile // 4))),
    ("tiles and a tail", lambda tile: 2 * tile + max(1, tile // 2 - 1)),
)


def symbols(signature: Signature) -> tuple[str, ...]:
    """Extent symbols, in order of first use."""
    found: dict[str, None] = {}
    for argument in signature.arguments:
        if isinstance(argument, ArrayArgument):
            found.update((e, None) for e in argument.extents if isinstance(e, str))
    for axis in signature.grid or ():
        found.update((f.extent, None) for f in axis if isinstance(f.extent, str))
    return tuple(found)


def sizes_for(signature: Signature, facts: Facts, tiles: Mapping[str, int], shape: Shape) -> dict[str, int]:
    """An extent for every symbol: fixed by a constant or a fact, else made from its tile by `shape`."""
    constants = {
        a.name: a.value
        for a in signature.arguments
        if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
    }
    factors = [f for axis in (*(signature.grid or ()), *facts.grid.values()) for f in axis]
    known = {f.extent: f.tile for f in factors if isinstance(f.extent, str) and f.tile > 1}
    # A tile of one element says nothing about an extent.
    told = {*facts.sizes, *constants, *known, *(name for name, tile in tiles.items() if tile > 1)}
    peers = _peers(signature, told)
    sizes: dict[str, int] = {}
    for name in symbols(signature):
        if name in facts.sizes or name in constants:
            sizes[name] = facts.sizes.get(name, constants.get(name, 1))
            continue
        size = shape(known.get(name, tiles.get(name, 2)))
        size = max(min(size, facts.at_most.get(name, size)), facts.at_least.get(name, 1))
        step = facts.multiple_of.get(name, 1)
        sizes[name] = max(step, size - size % step)
    for name, other in peers.items():
        if facts.at_least.get(name, 1) <= sizes[other] <= facts.at_most.get(name, sizes[other]):
            sizes[name] = sizes[other] if sizes[other] % facts.multiple_of.get(name, 1) == 0 else sizes[name]
    for name, other in facts.equal.items():
        if other in sizes and name in sizes:
            sizes[name] = sizes[other]
    return sizes


def _peers(signature: Signature, known: Set[str]) -> dict[str, str]:
    """For extents of which nothing is known, the known extent on the same axis of another array of the same rank:
    such arrays mostly have one shape, and a launch with others leaves an array soon."""
    shapes = [a.extents for a in signature.arguments if isinstance(a, ArrayArgument)]
    at: dict[tuple[int, int], str] = {}
    for shape in shapes:
        for axis, extent in enumerate(shape):
            if isinstance(extent, str) and extent in known:
                at.setdefault((len(shape), axis), extent)
    places = [(extent, (len(shape), axis)) for shape in shapes for axis, extent in enumerate(shape)]
    return {e: at[place] for e, place in places if isinstance(e, str) and e not in known and place in at}


def grid_for(signature: Signature, sizes: Mapping[str, int], facts: Facts) -> tuple[int, int, int] | None:
    """The number of blocks along x, y, z; None where the signature does not say."""
    if signature.grid is None and not facts.grid:
        return None

    if signature.grid is None:
        axes = [math.prod(_blocks(f, sizes) for f in facts.grid.get(axis, ())) for axis in range(3)]
    else:
        axes = [math.prod(_blocks(f, sizes) for f in axis) for axis in signature.grid]
    filled = [*axes, 1, 1, 1][:3]
    return (filled[0], filled[1], filled[2])


def _blocks(factor: GridFactor, sizes: Mapping[str, int]) -> int:
    extent = sizes.get(factor.extent, 1) if isinstance(factor.extent, str) else factor.extent
    return -(-extent // factor.tile)


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
) -> Iterator[Case]:
    """Launches that satisfy the hypotheses that `facts_of` can read; none where the grid is unknown.
    `tiles` gives the tile extent along a symbol. The last case but one has hard values, the last strided
    arrays."""
    facts = facts_of(hypotheses)
    seen: set[tuple[tuple[str, int], ...]] = set()
    for name, shape in _SHAPES:
        sizes = sizes_for(signature, facts, tiles, shape)
        key = tuple(sorted(sizes.items()))
        if key not in seen:
            seen.add(key)
            yield from _case(name, signature, sizes, facts, ordinary, False, seed)
    sizes = sizes_for(signature, facts, tiles, _SHAPES[-1][1])
    yield from _case("hard values", signature, sizes, facts, hard, False, seed + 1)
    if not facts.contiguous:
        yield from _case("strided arrays", signature, sizes, facts, ordinary, True, seed + 2)


Fill = Callable[[np.random.Generator, tuple[int, ...], DType, int], Array]


def _case(
    name: str,
    signature: Signature,
    sizes: Mapping[str, int],
    facts: Facts,
    fill: Fill,
    strided: bool,
    seed: int,
) -> Iterator[Case]:
    grid = grid_for(signature, sizes, facts)
    if grid is None or any(grid[axis] != 1 for axis in facts.unit_axes):
        return
    if any(math.prod(_blocks(f, sizes) for f in factors) != grid[axis] for axis, factors in facts.grids):
        return
    shapes = {
        a.name: tuple(sizes[e] if isinstance(e, str) else e for e in a.extents)
        for a in signature.arguments
        if isinstance(a, ArrayArgument)
    }
    if any(math.prod(s) > MAX_ELEMENTS for s in shapes.values()):
        return
    below = min((e for s in shapes.values() for e in s if e > 1), default=1)
    arrays: dict[str, Array] = {}
    scalars: dict[str, int | float | bool] = {}
    for argument in signature.arguments:
        rng = np.random.default_rng([seed, zlib.crc32(argument.name.encode())])
        match argument:
            case ArrayArgument(name=key, dtype=dtype):
                values = fill(rng, shapes[key], dtype, below)
                arrays[key] = _strided(values) if strided else values
            case ScalarArgument(name=key, dtype=dtype, extent=extent):
                same = key if extent is None else extent
                scalars[key] = sizes[same] if same in sizes else _scalar(rng, dtype)
            case ConstantArgument():
                pass
    yield Case(name, dict(sizes), arrays, scalars, grid)


def _scalar(rng: np.random.Generator, dtype: DType) -> int | float | bool:
    if dtype.kind is Kind.BOOL:
        return True
    return int(rng.integers(1, 4)) if dtype.is_integer else float(np.float32(rng.uniform(0.05, 0.95)))


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
