"""Inputs for a kernel under a signature: concrete sizes, arrays, scalars, grids."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from ferrotile.program.dtypes import DType, Kind
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.fillings import Fill, hard, numpy_dtype, ordinary, special, tiny, wide, wild
from ferrotile_runner.launch_facts import Facts, facts_of
from ferrotile_runner.sizes import Shape, free_axes, grid_for, is_claimed, larger, shapes_of, sizes_for, unlike
from ferrotile_runner.tileir.interpreter.elements import Array, limits

MAX_ELEMENTS = 1 << 21
"""No array of a case is larger."""
MAX_BLOCKS = 1 << 16
"""No grid that is made has more."""


class Values(Struct, frozen=True):
    """How arrays are filled; what integers, large ones where that makes no loop longer, floats and booleans are that
    say no size (None: small random ones)."""

    fill: Fill
    integer: int | None = None
    large: int | None = None
    floats: tuple[float, ...] = ()
    boolean: bool = True


class Plan(Struct, frozen=True):
    """How the arrays of a case are made: from which values, with gaps after every row or none."""

    values: Values
    strided: bool
    seed: int
    large: bool = False
    """Whether integers may be large."""


class Case(Struct, frozen=True):
    """One launch. `arrays` may be strided (their last axis is not); scalars by name; `grid` has three extents.
    `against`: what every proof takes for granted and this launch does not satisfy, so that a difference is no fault.
    `blank`: arrays that hold no values before the kernel writes them. `tentative`: the values were not chosen with the
    kernel in mind; where it is undefined for them that says nothing about it."""

    name: str
    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]
    scalars: Mapping[str, int | float | bool]
    grid: tuple[int, int, int]
    against: str = ""
    blank: frozenset[str] = frozenset()
    plan: Plan | None = None
    tentative: bool = False


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
WHOLE = "two whole tiles"
SEVERAL = 2
"""So many sizes have ordinary values before others have tiny ones."""


ORDINARY = Values(ordinary)
HARD = Values(hard, floats=(0.0, -2.5, 1e-30), boolean=False)
"""Floats are finite, so that not every result is NaN."""
TINY = Values(tiny, floats=(0.3,))
WIDE = Values(wide, floats=(3e5,))
TENTATIVE: tuple[tuple[str, Values], ...] = (
    ("tiny values", TINY),
    ("special values and ties", Values(special, -3, floats=(-1.5,), boolean=False)),
    ("integers and floats of every size", Values(wild, 37, (1 << 25) + 3, (16777217.0,))),
)
"""Further launches, small ones: few elements are enough where all of them are chosen."""
FEW = 24
"""Elements that the largest array of such a launch has at least, where sizes are free."""
MANY = 2051
"""An extent that neither f16 nor bf16 has as a number. Arrays of small tiles have fewer elements, which are blocks."""


def cases(
    signature: Signature,
    hypotheses: Sequence[str] = (),
    tiles: Mapping[str, int] = MappingProxyType({}),
    seed: int = 0,
    grid: Grids | None = None,
    large: bool = False,
) -> Iterator[Case]:
    """Launches that satisfy the hypotheses that `facts_of` can read. `grid` is used where the signature and the
    hypotheses do not know the grid; without it there are none then. `tiles` gives the tile extent along a symbol. Of
    the cases of one size there are as many as sizes that the facts tell apart; one has axes without elements; then come
    one of hard values, one of strided arrays (of many elements, where arrays have no rows) and those of `TENTATIVE`.
    `large`: scalars may be large integers there, because no loop ends at them."""
    facts = facts_of(hypotheses)
    seen: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}
    tiny_are_tried = False

    def made(name: str, sizes: Mapping[str, int], plan: Plan, tentative: bool = False) -> Iterator[Case]:
        case = _case(name, signature, sizes, facts, plan, grid)
        if case is not None:
            yield replace(case, tentative=True) if tentative else case

    for name, shape in _SHAPES:
        sizes = sizes_for(signature, facts, tiles, shape)
        key = tuple(sorted(sizes.items()))
        if key not in seen:
            seen[key] = sizes
            of_tiny = name == WHOLE and len(seen) > SEVERAL
            values = TINY if of_tiny else ORDINARY
            yield from made(f"{name} of tiny values" if of_tiny else name, sizes, Plan(values, False, seed))
            tiny_are_tried |= of_tiny
    sizes = sizes_for(signature, facts, tiles, _SHAPES[-1][1])
    free = free_axes(signature, facts)
    if free and (grid is None or signature.grid is not None):
        yield from made("axes without elements", sizes | dict.fromkeys(free, 0), Plan(ORDINARY, False, seed))
    yield from made("hard values", sizes, Plan(HARD, False, seed + 1))
    rows = any(len(shape) > 1 for shape in shapes_of(signature, sizes).values())
    if rows and not facts.contiguous:
        indexed = any(isinstance(a, ArrayArgument) and a.dtype.is_integer for a in signature.arguments)
        yield from made("strided arrays", sizes, Plan(WIDE if indexed else ORDINARY, True, seed + 2))
    elif not rows:
        many = sizes_for(signature, facts, tiles, lambda tile: max(min(MANY, 20 * tile + 3), tile + 1))
        yield from made("many elements", many, Plan(WIDE, False, seed + 2))
    few = [some for some in seen.values() if _most(signature, some) >= FEW]
    least = min(few, key=lambda some: _most(signature, some), default=sizes)
    for number, (name, values) in enumerate(TENTATIVE, 3):
        if values is TINY and tiny_are_tried:
            continue
        yield from made(name, least, Plan(values, False, seed + number, large), tentative=True)
    other = unlike(signature, facts, least)
    if other is not None:
        yield from made("extents that all differ", other, Plan(ORDINARY, False, seed), tentative=True)


def _most(signature: Signature, sizes: Mapping[str, int]) -> int:
    """Elements of the largest array."""
    return max((math.prod(shape) for shape in shapes_of(signature, sizes).values()), default=1)


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
    made = None if sizes is None else _case(case.name, signature, sizes, facts, case.plan, grid)
    return None if made is None else replace(made, tentative=case.tentative)


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
    arrays: dict[str, Array] = {}
    scalars: dict[str, int | float | bool] = {}
    for argument in signature.arguments:
        rng = np.random.default_rng([plan.seed, zlib.crc32(argument.name.encode())])
        match argument:
            case ArrayArgument(name=key, dtype=dtype):
                values = plan.values.fill(rng, shapes[key], dtype, below)
                arrays[key] = _strided(values) if plan.strided else values
            case ScalarArgument(name=key, dtype=dtype, extent=extent):
                same = key if extent is None else extent
                scalars[key] = sizes[same] if same in sizes else _scalar(rng, dtype, plan)
            case ConstantArgument():
                pass
    against = "extents >= 1" if 0 in sizes.values() else ""
    return Case(name, dict(sizes), arrays, scalars, grid, against, plan=plan)


def _scalar(rng: np.random.Generator, dtype: DType, plan: Plan) -> int | float | bool:
    values = plan.values
    if dtype.kind is Kind.BOOL:
        return values.boolean
    if dtype.is_integer:
        chosen = values.large if plan.large and values.large is not None else values.integer
        if chosen is None:
            return int(rng.integers(1, 4))
        signed = dtype.kind is Kind.SIGNED
        return chosen if chosen < 0 and signed else abs(chosen) % (1 << (dtype.bits - signed))
    if not values.floats:
        return float(np.float32(rng.uniform(0.05, 0.95)))
    return min(float(rng.choice(values.floats)), limits(numpy_dtype(dtype)).largest / 7)


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
