"""Which constants of a kernel its Rust leaves open: those become arguments of the host function.

Emission says of a constant that no decision looked at its value; decisions about ownership and the launch compare
values all the same. So the kernel is translated again for other values, larger and smaller ones, all different: where
the Rust is the same text, and what is said of the launch the same but for numbers, the numbers tell which constant
stands where. Where a number cannot be told, constants stay what they were at the launch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.crate.facts import Atom
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, Signature
from ferrotile.translation import Entry

Grid = tuple[tuple[tuple[Atom, Atom], ...], ...]
"""For each axis its factors: extent and tile."""
Factors = tuple[tuple[GridFactor, ...], ...]


class Claims(Struct, frozen=True):
    """What a translation says of its launch, with numbers. `text`: its Rust; `reach`: what may leave its array."""

    text: tuple[str, ...]
    entry: Entry
    grid: Factors | None
    facts: tuple[str, ...]
    reach: tuple[object, ...]


class Template(Struct, frozen=True):
    """The same with names of constants for the numbers that are theirs. `open`: the constants, in the order of the
    kernel's parameters; `tiles`: the partition of each owned parameter."""

    open: tuple[str, ...]
    facts: tuple[str, ...]
    grid: Grid | None
    tiles: Mapping[str, tuple[Atom, ...]]


Probe = Callable[[Signature], Claims | None]
"""Translates for other constants; None where that is refused."""

_NUMBER = re.compile(r"(?<![\w.\[])\d+\b")


def template(signature: Signature, claims: Claims, candidates: Sequence[str], probe: Probe) -> Template:
    """What is said of the launch, in as many of the `candidates` as can be told."""
    found = _told(signature, claims, candidates, probe) if candidates else None
    if found is None and len(candidates) > 1:
        alone = [c for c in candidates if _told(signature, claims, (c,), probe) is not None]
        found = _told(signature, claims, alone, probe) if alone else None
    return found or _fixed(claims)


def _fixed(claims: Claims) -> Template:
    tiles = {p.name: p.tile for p in claims.entry.parameters if p.tile}
    grid = None if claims.grid is None else tuple(tuple((f.extent, f.tile) for f in axis) for axis in claims.grid)
    return Template((), claims.facts, grid, tiles)


def _told(signature: Signature, claims: Claims, names: Sequence[str], probe: Probe) -> Template | None:
    if any(isinstance(e, int) for a in signature.arguments if isinstance(a, ArrayArgument) for e in a.extents):
        return None
    values = {a.name: a.value for a in signature.arguments if isinstance(a, ConstantArgument) and a.name in names}
    numbers = {n: v for n, v in values.items() if type(v) is int and v > 0}
    if len(numbers) != len(values):
        return None
    grid = _named(signature, numbers)
    templates: list[Template] = []
    for chosen in _others(numbers):
        other = probe(_with(signature, chosen, grid))
        if other is None or other.text != claims.text or other.reach != claims.reach:
            return None
        made = _compared(claims, other, numbers, chosen, grid)
        if made is None:
            return None
        templates.append(made)
    return templates[0] if all(t == templates[0] for t in templates) else None


def _named(signature: Signature, values: Mapping[str, int]) -> Grid | None:
    """The grid as the launch says it: with the names of the constants that it divides by."""
    if signature.grid is None:
        return None
    made: list[tuple[tuple[Atom, Atom], ...]] = []
    for number, axis in enumerate(signature.grid):
        names = signature.divided[number] if number < len(signature.divided) else ()
        each = [*names, *[None] * (len(axis) - len(names))]
        made.append(
            tuple((f.extent, f.tile if n is None or n not in values else n) for f, n in zip(axis, each, strict=True))
        )
    return tuple(made)


def _others(values: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Other values, powers of two like these, each once: larger ones, then smaller ones as far as there are."""
    largest = max(values.values())
    start = 1 << largest.bit_length()
    yield {n: start << k for k, n in enumerate(values)}
    order = sorted(values, key=lambda n: -values[n])
    used: set[int] = set()
    smaller: dict[str, int] = {}
    for name in order:
        size = 1 << max(values[name].bit_length() - 2, 0)
        while size in used and size > 1:
            size //= 2
        while size in used:
            size *= 2
        used.add(size)
        smaller[name] = size
    yield {n: smaller[n] for n in values}


def _with(signature: Signature, values: Mapping[str, int], grid: Grid | None) -> Signature:
    def number(atom: Atom) -> Atom:
        return values.get(atom, atom) if isinstance(atom, str) else atom

    factors = None if grid is None else tuple(tuple(GridFactor(number(e), int(number(t))) for e, t in a) for a in grid)
    arguments = tuple(
        replace(a, value=values[a.name]) if isinstance(a, ConstantArgument) and a.name in values else a
        for a in signature.arguments
    )
    return replace(signature, arguments=arguments, grid=factors)


class _Untold(Exception):
    """A number that no constant is known for."""


def _compared(
    first: Claims, second: Claims, before: Mapping[str, int], after: Mapping[str, int], grid: Grid | None
) -> Template | None:
    def number(a: int, b: int) -> Atom:
        if a == b:
            return a
        found = [n for n in before if before[n] == a and after[n] == b]
        if len(found) != 1:
            raise _Untold
        return found[0]

    try:
        facts = _facts(first.facts, second.facts, number)
        tiles = {
            p.name: tuple(number(a, b) for a, b in zip(p.tile, q.tile, strict=True))
            for p, q in zip(first.entry.parameters, second.entry.parameters, strict=True)
            if p.tile or q.tile
        }
    except (_Untold, ValueError):
        return None
    return Template(tuple(before), facts, grid, tiles)


def _facts(first: Sequence[str], second: Sequence[str], number: Callable[[int, int], Atom]) -> tuple[str, ...]:
    made: list[str] = []
    for one, other in zip(first, second, strict=True):
        if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
            raise _Untold
        numbers = iter([number(int(a), int(b)) for a, b in zip(_found(one), _found(other), strict=True)])
        made.append(_NUMBER.sub(lambda _, rest=numbers: str(next(rest)), one))  # type: ignore[misc]
    return tuple(made)


def _found(text: str) -> list[str]:
    return _NUMBER.findall(text)
