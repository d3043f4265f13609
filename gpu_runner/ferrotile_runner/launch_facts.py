"""What the hypotheses of a translation say about the sizes and the grid of a launch."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ferrotile.signatures.model import GridFactor
from msgspec import Struct


class Facts(Struct, frozen=True):
    """What hypotheses say about sizes. `open` are those that no size was chosen by; `grids` has all that is said of
    grid axes, `grid` the last of it for each."""

    sizes: Mapping[str, int]
    at_most: Mapping[str, int]
    at_least: Mapping[str, int]
    multiple_of: Mapping[str, int]
    equal: Mapping[str, str]
    unit_axes: frozenset[int]
    grid: Mapping[int, tuple[GridFactor, ...]]
    contiguous: bool
    open: tuple[str, ...]
    grids: tuple[tuple[int, tuple[GridFactor, ...]], ...] = ()
    tiles: Mapping[str, int] = MappingProxyType({})
    """The tile along an extent of which the number of tiles is known."""


_NAME = r"([A-Za-z_]\w*)"
_FACTOR = r"(?:cdiv\(\w+, *\d+\)|\w+)"
_PATTERNS: tuple[tuple[str, str], ...] = (
    (rf"(?:cdiv|ceil)\({_NAME}, *(\d+)\) *={{1,2}} *(\d+)", "tiles"),
    (rf"{_NAME} *={{1,2}} *(\d+)", "size"),
    (rf"{_NAME} *<= *(\d+)", "most"),
    (rf"{_NAME} *< *(\d+)", "below"),
    (rf"{_NAME} *>= *(\d+)", "least"),
    (rf"{_NAME} *% *(\d+) *={{1,2}} *0", "multiple"),
    (rf"{_NAME} *={{1,2}} *{_NAME}", "equal"),
    (r"bid\.([xyz]) *={1,2} *0", "axis"),
    (rf"(?:python )?grid\.([xyz]) *={{1,2}} *({_FACTOR}(?: *\* *{_FACTOR})*)", "grid"),
    (r"grid\.[xyz] is Rust grid\.[xyz]", "renamed"),
    (r"extents >= 1|index arithmetic does not overflow", "always"),
    (r".*contiguous.*", "contiguous"),
)


def facts_of(hypotheses: Sequence[str]) -> Facts:
    """Reads launch facts such as `cdiv(N, 1024) = 1`, `N = 1000`, `N % 64 = 0`, `bid.y = 0`."""
    sizes: dict[str, int] = {}
    most: dict[str, int] = {}
    least: dict[str, int] = {}
    multiple: dict[str, int] = {}
    equal: dict[str, str] = {}
    axes: set[int] = set()
    grid: dict[int, tuple[GridFactor, ...]] = {}
    grids: list[tuple[int, tuple[GridFactor, ...]]] = []
    tiles: dict[str, int] = {}
    contiguous, unread = False, list[str]()
    for hypothesis in hypotheses:
        kind, words = next(
            ((k, m.groups()) for p, k in _PATTERNS if (m := re.fullmatch(p, hypothesis.strip()))), ("", ())
        )
        match kind:
            case "tiles":
                name, tile, count = words[0], int(words[1]), int(words[2])
                tiles[name] = tile
                most[name] = min(most.get(name, tile * count), tile * count)
                least[name] = max(least.get(name, 1), tile * (count - 1) + 1)
            case "size":
                sizes[words[0]] = int(words[1])
            case "most" | "below":
                bound = int(words[1]) - (kind == "below")
                most[words[0]] = min(most.get(words[0], bound), bound)
            case "least":
                least[words[0]] = max(least.get(words[0], 1), int(words[1]))
            case "multiple":
                multiple[words[0]] = math.lcm(multiple.get(words[0], 1), int(words[1]))
            case "equal":
                equal[words[1]] = words[0]
            case "axis":
                axes.add("xyz".index(words[0]))
            case "grid":
                axis, factors = "xyz".index(words[0]), tuple(_grid_factor(part.strip()) for part in words[1].split("*"))
                grid[axis] = factors
                grids.append((axis, factors))
            case "renamed" | "always":
                pass
            case "contiguous":
                contiguous = True
            case _:
                unread.append(hypothesis)
    for one, other in _same_axis(grids):
        free = next((name for name in (other, one) if name not in sizes), None)
        if free is not None:
            equal.setdefault(free, one if free is other else other)
    read = (sizes, most, least, multiple, equal, frozenset(axes), grid, contiguous)
    return Facts(*read, open=tuple(unread), grids=tuple(grids), tiles=tiles)


def broken_facts(facts: Facts, sizes: Mapping[str, int], grid: Sequence[int]) -> tuple[str, ...]:
    """The facts that a launch with these extents and this grid does not satisfy, in words. Names that have no size say
    nothing."""
    found = [f"{name} = {n}" for name, n in facts.sizes.items() if sizes.get(name, n) != n]
    found += [f"{name} <= {n}" for name, n in facts.at_most.items() if sizes.get(name, n) > n]
    found += [f"{name} >= {n}" for name, n in facts.at_least.items() if sizes.get(name, n) < n]
    found += [f"{name} % {n} = 0" for name, n in facts.multiple_of.items() if sizes.get(name, 0) % n]
    for name, other in facts.equal.items():
        if name in sizes and other in sizes and sizes[name] != sizes[other]:
            found.append(f"{name} = {other}")
    found += [f"one block along {'xyz'[axis]}" for axis in sorted(facts.unit_axes) if grid[axis] != 1]
    for axis, factors in facts.grids:
        if all(isinstance(f.extent, int) or f.extent in sizes for f in factors):
            extents = [f.extent if isinstance(f.extent, int) else sizes[f.extent] for f in factors]
            blocks = math.prod(-(-n // f.tile) for n, f in zip(extents, factors, strict=True))
            if blocks != grid[axis]:
                found.append(f"{blocks} blocks along {'xyz'[axis]}, not {grid[axis]}")
    return tuple(found)


def _same_axis(grids: Sequence[tuple[int, tuple[GridFactor, ...]]]) -> Iterator[tuple[str, str]]:
    """Extents that one axis of the grid covers in equal tiles: equal ones satisfy both facts."""
    first: dict[tuple[int, int], str] = {}
    for axis, factors in grids:
        extent = factors[0].extent
        if len(factors) == 1 and isinstance(extent, str):
            known = first.setdefault((axis, factors[0].tile), extent)
            if known != extent:
                yield known, extent


def _grid_factor(text: str) -> GridFactor:
    """Of `cdiv(M, 64)`, `M` or `8`."""
    divided = re.fullmatch(r"cdiv\((\w+), *(\d+)\)", text)
    name, tile = (divided[1], int(divided[2])) if divided else (text, 1)
    return GridFactor(int(name) if name.isdigit() else name, tile)
