"""Concrete extents and grids of a signature that satisfy the facts about a launch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from functools import partial
from operator import mul
from types import MappingProxyType

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, Signature

from ferrotile_runner.launch_facts import Facts

Shape = Callable[[int], int]
"""A tile's extent to an array's extent."""


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
    known = {**facts.tiles, **known}
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


def other_counts(signature: Signature, facts: Facts, tiles: Mapping[str, int]) -> dict[str, int]:
    """Extents of one, two or three tiles, the next one another number of them, so that a number of tiles along one axis
    is not that along another."""
    whole = [sizes_for(signature, facts, tiles, partial(mul, count)) for count in (2, 1, 3)]
    found = {name: whole[place % len(whole)][name] for place, name in enumerate(symbols(signature))}
    return found | {name: found[other] for name, other in facts.equal.items() if name in found and other in found}


def unlike(
    signature: Signature,
    facts: Facts,
    sizes: Mapping[str, int],
    backwards: bool = False,
    order: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, int] | None:
    """The sizes with those that are the same made different, as far as the facts let them; `backwards`: with all but
    the largest of `order`, by default of themselves, made larger than it, so that each two that were in one order are
    in the other. None where nothing is."""
    fixed = {*facts.sizes, *facts.equal, *facts.equal.values()}
    fixed |= {a.name for a in signature.arguments if isinstance(a, ConstantArgument)}
    found = dict(sizes)
    names = sorted(sizes, key=lambda name: -(order or sizes)[name])[1:] if backwards else list(sizes)
    for name in names:
        step, taken = facts.multiple_of.get(name, 1), {other for key, other in found.items() if key != name}
        size = -(-(max(found.values()) + 1) // step) * step if backwards else sizes[name]
        while size in taken:
            size += step
        if name not in fixed and size <= facts.at_most.get(name, size):
            found[name] = size
    return None if found == dict(sizes) else found


def free_axes(signature: Signature, facts: Facts) -> tuple[str, ...]:
    """Extents that may be 0 in a launch that does something: the grid does not depend on them, and nothing is said of
    them."""
    said = {*facts.sizes, *facts.at_least, *facts.equal, *facts.equal.values()}
    said |= {a.name for a in signature.arguments if isinstance(a, ConstantArgument)}
    axes = (*(signature.grid or ()), *(factors for _, factors in facts.grids))
    said |= {f.extent for factors in axes for f in factors if isinstance(f.extent, str)}
    return tuple(name for name in symbols(signature) if name not in said)


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
        axes = [math.prod(blocks_of(f, sizes) for f in facts.grid.get(axis, ())) for axis in range(3)]
    else:
        axes = [math.prod(blocks_of(f, sizes) for f in axis) for axis in signature.grid]
    filled = [*axes, 1, 1, 1][:3]
    return (filled[0], filled[1], filled[2])


def blocks_of(factor: GridFactor, sizes: Mapping[str, int]) -> int:
    extent = sizes.get(factor.extent, 1) if isinstance(factor.extent, str) else factor.extent
    return -(-extent // factor.tile)


def shapes_of(signature: Signature, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The extents of each array."""
    return {
        a.name: tuple(sizes[e] if isinstance(e, str) else e for e in a.extents)
        for a in signature.arguments
        if isinstance(a, ArrayArgument)
    }


def is_claimed(facts: Facts, sizes: Mapping[str, int], grid: tuple[int, int, int]) -> bool:
    """Whether what is said of the grid holds."""
    if any(grid[axis] != 1 for axis in facts.unit_axes):
        return False
    return all(math.prod(blocks_of(f, sizes) for f in factors) == grid[axis] for axis, factors in facts.grids)


def larger(
    signature: Signature,
    facts: Facts,
    sizes: Mapping[str, int],
    array: str,
    axis: int,
    extent: int,
    plenty: int = 0,
) -> dict[str, int] | None:
    """The sizes with at least `extent` elements along an axis of an array, and up to `plenty` where facts allow; None
    where facts, a constant or the signature fix them."""
    argument = next((a for a in signature.arguments if isinstance(a, ArrayArgument) and a.name == array), None)
    symbol = argument.extents[axis] if argument is not None and axis < len(argument.extents) else None
    constants = {a.name for a in signature.arguments if isinstance(a, ConstantArgument)}
    if not isinstance(symbol, str) or symbol in facts.sizes or symbol in constants:
        return None
    step = facts.multiple_of.get(symbol, 1)
    limit = facts.at_most.get(symbol)
    least = -(-extent // step) * step
    size = max(least, plenty if limit is None else min(plenty, limit) // step * step)
    if (limit is not None and size > limit) or size <= sizes[symbol]:
        return None
    peers = {**facts.equal, **{b: a for a, b in facts.equal.items()}}
    together = {symbol, peers.get(symbol, symbol)}
    return {name: size if name in together else n for name, n in sizes.items()}
