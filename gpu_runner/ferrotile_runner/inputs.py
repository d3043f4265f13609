"""Inputs for a kernel under a signature: concrete sizes, arrays, scalars, grids."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from ferrotile.signatures.model import ArrayArgument, ScalarArgument, Signature
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.entry_hints import Hints, has_indices
from ferrotile_runner.fillings import ends, equal, sown
from ferrotile_runner.launch_facts import Facts, facts_of
from ferrotile_runner.launch_values import (
    AGAIN,
    FAR,
    FIRST,
    HARD,
    ORDINARY,
    ROUNDS,
    TENTATIVE,
    UNIFORM,
    WIDE,
    Plan,
    about,
    by_chance,
    scalar,
    turning,
)
from ferrotile_runner.sizes import (
    Shape,
    free_axes,
    grid_for,
    is_claimed,
    larger,
    other_counts,
    shapes_of,
    sizes_for,
    unlike,
)
from ferrotile_runner.tileir.interpreter.elements import Array

MAX_ELEMENTS = 1 << 21
"""No array of a case is larger."""
MAX_BLOCKS = 1 << 16
"""No grid that is made has more."""


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


NOTHING_KNOWN = Hints()
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
FEW = 24
"""Elements that the largest array of such a launch has at least, where sizes are free."""
SMALL = 256
"""Fewer elements than this say little about their values: they are filled several times."""
SEVERAL = 3
STEP = 100
"""From the seed of a launch of ordinary values to that of the next."""
PLENTY = 1 << 15
"""Of more elements than this there need not be several whole tiles with gaps in between."""
CHANCES = 10
"""So many launches have scalars of all bits."""
SWEEPS = 5
"""So many launches more than scalars have scalars about the numbers of the kernel."""
BLOCKS, FEW_BLOCKS = 600, 20
"""Tiles that an array of many elements has; where blocks run one after the other."""
MANY_BLOCKS = 2052
"""The same where numbers of tiles become floats: f16 has not one more."""
FREE = 64
"""The largest number of the kernel that is tried as an extent that no grid depends on."""
MANY = 40961
"""An extent that neither f16 nor bf16 has as a number, nor a fourth of it. Arrays of small tiles have fewer elements,
which are blocks."""


def cases(
    signature: Signature,
    hypotheses: Sequence[str] = (),
    tiles: Mapping[str, int] = MappingProxyType({}),
    seed: int = 0,
    grid: Grids | None = None,
    large: bool = False,
    hints: Hints = NOTHING_KNOWN,
) -> Iterator[Case]:
    """Launches that satisfy the hypotheses that `facts_of` can read. `grid` is used where the signature and the
    hypotheses do not know the grid; without it there are none then. `tiles` gives the tile extent along a symbol. Of
    the cases of one size there are as many as sizes that the facts tell apart, a few where there is one; one has axes
    without elements; then come one of hard values, one of strided arrays (of many elements, where arrays have no rows)
    and those of `TENTATIVE`. `large`: scalars may be large integers there, but for those of `hints` that loops end at;
    the numbers of `hints` are among the values."""
    facts = facts_of(hypotheses)
    seen: dict[tuple[tuple[str, int], ...], dict[str, int]] = {}

    def made(name: str, sizes: Mapping[str, int], plan: Plan, tentative: bool = False) -> Iterator[Case]:
        case = _case(name, signature, sizes, facts, plan, grid)
        if case is not None:
            yield replace(case, tentative=True) if tentative else case

    for name, shape in _SHAPES:
        sizes = sizes_for(signature, facts, tiles, shape)
        key = tuple(sorted(sizes.items()))
        if key not in seen:
            yield from made(name, sizes, Plan(ORDINARY, False, seed + STEP * len(seen)))
            seen[key] = sizes
    sizes = sizes_for(signature, facts, tiles, _SHAPES[-1][1])
    if _most(signature, sizes) < SMALL:
        for number in range(len(seen), SEVERAL):
            yield from made("other values", sizes, Plan(ORDINARY, False, seed + STEP * number))
    free = free_axes(signature, facts)
    if free and (grid is None or signature.grid is not None):
        yield from made("axes without elements", sizes | dict.fromkeys(free, 0), Plan(ORDINARY, False, seed))
    yield from made("hard values", sizes, Plan(HARD, False, seed + 1))
    rows = any(len(shape) > 1 for shape in shapes_of(signature, sizes).values())
    if rows and not facts.contiguous:
        fewer = sizes_for(signature, facts, tiles, _SHAPES[2][1]) if _most(signature, sizes) > PLENTY else sizes
        yield from made("strided arrays", fewer, Plan(WIDE if has_indices(signature) else ORDINARY, True, seed + 2))
        less = sizes_for(signature, facts, tiles, _SHAPES[0][1])
        if less != fewer:  # what lies behind the end of a row that one tile has room for
            yield from made("strided arrays of short rows", less, Plan(ORDINARY, True, seed + 9), tentative=True)
        past = tuple(sorted({extent + 1 for extent in fewer.values()}))
        if has_indices(signature):
            outside = Plan(replace(ORDINARY, integers=past), True, seed + 5, beyond=True)
            yield from made("strided arrays, numbers beyond", fewer, outside, tentative=True)
        if hints.measured:
            long = sizes_for(signature, facts, tiles, lambda tile: max(tile, MANY_BLOCKS + 1) if tile > 1 else 2)
            if _most(signature, long) <= MAX_ELEMENTS >> 2:
                yield from made("strided arrays of long rows", long, Plan(ORDINARY, True, seed + 7), tentative=True)
    elif not rows:
        blocks = FEW_BLOCKS if hints.in_turn else MANY_BLOCKS if hints.measured else BLOCKS
        many = sizes_for(signature, facts, tiles, lambda tile: max(min(MANY, blocks * tile + 3), tile + 1))
        values = FAR if has_indices(signature) and not hints.loops else WIDE
        yield from made("many elements", many, Plan(values, False, seed + 2))
    if free and (grid is None or signature.grid is not None):
        loose = [name for name in free if name not in facts.at_most and name not in facts.multiple_of]
        roomy = sizes_for(signature, facts, tiles, _SHAPES[2][1]) | dict.fromkeys(loose, MANY)
        values = FAR if has_indices(signature) and not hints.loops else ORDINARY
        plan = Plan(values, False, seed + 2, beyond=True)
        yield from made("free axes of many elements", roomy, plan, tentative=True)
        for number in [n for n in dict.fromkeys(hints.integers) if 0 < n <= FREE][:SEVERAL]:
            tight = sizes_for(signature, facts, tiles, _SHAPES[0][1]) | dict.fromkeys(loose, number)
            plan = Plan(ORDINARY, rows and not facts.contiguous, seed + 2, beyond=True)
            yield from made(f"free axes of {number}", tight, plan, tentative=True)
    few = [some for some in seen.values() if _most(signature, some) >= FEW]
    least = min(few, key=lambda some: _most(signature, some), default=sizes)
    if not rows and _most(signature, least) < SMALL and not hints.in_turn:
        least = sizes_for(signature, facts, tiles, lambda tile: min(SMALL, FEW_BLOCKS * tile) + 3)
    scalars = [a for a in signature.arguments if isinstance(a, ScalarArgument) and (a.extent or a.name) not in least]
    further = TENTATIVE + AGAIN if scalars or _most(signature, least) < SMALL else TENTATIVE
    if any(a.dtype.is_integer for a in scalars) or (scalars and len(hints.floats) > 1):
        further += tuple((f"scalars about {n}", about(hints, least, n)) for n in range(len(scalars) + SWEEPS))
    for number, (name, values) in enumerate(further + turning(hints), 3):
        among = () if values.fill is equal else _numbers(hints)
        said = Plan(values, False, seed + number, large, hints.counting, constants=among)
        plan = replace(said, ending=hints.ending, turns=hints.turns)
        few_blocks = values.fill in FIRST or (values.fill is ends and number > len(TENTATIVE) + 2)
        yield from made(name, next(iter(seen.values())) if few_blocks else least, plan, tentative=True)
    if hints.floats or hints.integers:
        own = Plan(ORDINARY, False, seed + 49, large, hints.counting, constants=_numbers(hints), share=1.0)
        yield from made("nothing but the kernel's numbers", least, own, tentative=True)
    if scalars and _most(signature, sizes) <= PLENTY:
        for number in range(CHANCES):
            name, values = by_chance(seed, number)
            said = Plan(values, False, seed + 60 + number, large, hints.counting)
            yield from made(name, sizes, replace(said, ending=hints.ending), tentative=True)
    if hints.counted and hints.counting:
        for number, (name, values) in enumerate(ROUNDS, 8):
            plan = Plan(values, False, seed + number, large, hints.counting)
            yield from made(name, next(iter(seen.values())), plan, tentative=True)
    whole = sizes_for(signature, facts, tiles, lambda tile: tile)
    for number, (name, values) in enumerate(UNIFORM, 30):
        if _most(signature, whole) <= PLENTY:
            yield from made(name, whole, Plan(values, False, seed + number, large, hints.counting), tentative=True)
    counts = other_counts(signature, facts, tiles)
    if rows and _most(signature, counts) <= max(PLENTY, _most(signature, sizes)):
        yield from made("other numbers of tiles", counts, Plan(ORDINARY, False, seed + 6), tentative=True)
    single = sizes_for(signature, facts, tiles, lambda tile: 1)
    for number, (backwards, beyond) in enumerate(((False, False), (True, True), (False, True)), 40):
        other = unlike(signature, facts, least, backwards)
        if other is not None and _most(signature, other) > PLENTY:
            other = unlike(signature, facts, single, backwards, least)
        name = "extents that all differ, the other way" if backwards else "extents that all differ"
        if other is not None and (not beyond or backwards or has_indices(signature)):
            between = tuple(sorted(set(other.values())))
            values = replace(TENTATIVE[-1][1], integers=(1, 2), large=between)
            plan = Plan(values, False, seed + number, large, hints.counting, beyond)
            yield from made(f"{name}, indices beyond" if beyond else name, other, plan, tentative=True)


def _numbers(hints: Hints) -> tuple[float, ...]:
    return (*hints.floats, *hints.integers)


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
    if any(math.prod(map(int, s)) > MAX_ELEMENTS for s in shapes.values()):
        return None
    grid = grid_for(signature, sizes, facts) or (None if grids is None else grids(shapes))
    if grid is None or math.prod(grid) > MAX_BLOCKS or not is_claimed(facts, sizes, grid):
        return None
    extents = [e for s in shapes.values() for e in s if e > 1]
    below = max(extents, default=1) + 2 if plan.beyond else min(extents, default=1)
    arrays: dict[str, Array] = {}
    scalars: dict[str, int | float | bool] = {}
    for place, word in enumerate(a for a in signature.arguments if isinstance(a, ScalarArgument)):
        same = word.name if word.extent is None else word.extent
        scalars[word.name] = sizes[same] if same in sizes else scalar(word, place, plan)
    # As often among the elements as the constants are together: a comparison with a scalar is to hold for some.
    own = list(scalars.values()) * max(1, len(plan.constants) // max(len(scalars), 1))
    picks = (*plan.constants, *own) if plan.constants else ()
    for argument in signature.arguments:
        if isinstance(argument, ArrayArgument):
            rng = np.random.default_rng([plan.seed, zlib.crc32(argument.name.encode())])
            filled = plan.values.fill(rng, shapes[argument.name], argument.dtype, below)
            values = sown(rng, filled, argument.dtype, picks, plan.share)
            arrays[argument.name] = _strided(values, len(arrays)) if plan.strided else values
    against = "extents >= 1" if 0 in sizes.values() else ""
    return Case(name, dict(sizes), arrays, scalars, grid, against, plan=plan)


def _strided(values: Array, place: int) -> Array:
    """The same elements with gaps after every row, in each array another; more of them in the gaps, where nothing may
    be written."""
    if values.ndim < 2:
        return values
    room = np.array(np.resize(values, (*values.shape[:-1], values.shape[-1] + 8 * (1 + place % 4))))
    room[..., : values.shape[-1]] = values
    return room[..., : values.shape[-1]]


def describe(case: Case) -> str:
    """`M=129, N=256, grid (2, 2, 1)`."""
    sizes = ", ".join(f"{k}={v}" for k, v in case.sizes.items())
    return f"{case.name}: {sizes or 'fixed sizes'}, grid {case.grid}"
