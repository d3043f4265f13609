"""The grid of a signature: of a launch or a directive, in the signature's own symbols."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ferrotile.signatures.model import Argument, ArrayArgument, GridFactor
from ferrotile.signatures.symbols import Symbols
from ferrotile.signatures.tensors import identity
from ferrotile.signatures.values import Constant, Grid, Int, Sequence, Term, Value

Factors = tuple[tuple[GridFactor, ...], ...]


class LaunchedGrid(Struct, frozen=True):
    """`multiples`: extents that are multiples of a number, since host code divides them without rounding up."""

    factors: Factors
    multiples: tuple[tuple[str, int], ...] = ()
    divided: tuple[tuple[str | None, ...], ...] = ()


def launched_grid(
    grid: Value, symbols: Symbols, constants: Mapping[str, Constant], arguments: tuple[Argument, ...]
) -> LaunchedGrid | None:
    """The grid of a launch; None where an axis is no product of `ceil(extent / tile)` of known extents and tiles."""
    axes = grid.items if isinstance(grid, Sequence) else (grid,)
    found: list[tuple[Term, ...]] = []
    names: list[tuple[str | None, ...]] = []
    for axis in axes:
        terms = axis.as_terms() if isinstance(axis, Int) else None
        if terms is None:
            return None
        resolved = [symbols.term(t, constants) for t in terms]
        named = [symbols.constant(t.tile) for t in terms]
        if any(t is None for t in resolved):
            # Its factors are no extents: it may be one itself, or a number.
            whole = identity(axis) if isinstance(axis, Int) else None
            if whole is not None and symbols.known(whole):
                resolved, named = [symbols.term(Term(whole), constants)], [None]
            elif isinstance(axis, Int) and axis.value is not None and not axis.derived:
                resolved, named = [Term(axis.value)], [None]
            else:
                return None
        both = [(t, n) for t, n in zip(resolved, named, strict=True) if t is not None]
        kept = [(t, n) for t, n in both if (t.extent, t.tile) != (1, 1)]
        found.append(tuple(t for t, _ in kept))
        names.append(tuple(n for _, n in kept))
    while found and not found[-1]:
        found.pop()
    made = factors(tuple(found), constants, arguments)
    if made is None:
        return None
    pairs = [(t, f) for axis, row in zip(found, made, strict=True) for t, f in zip(axis, row, strict=True)]
    multiples = [(f.extent, f.tile) for t, f in pairs if t.whole and f.tile > 1 and isinstance(f.extent, str)]
    return LaunchedGrid(made, tuple(dict.fromkeys(multiples)), tuple(names[: len(made)]))


def factors(grid: Grid, constants: Mapping[str, Constant], arguments: tuple[Argument, ...]) -> Factors | None:
    """Grid terms as factors; None where a term names what is no extent and no known constant."""
    extents = {e for a in arguments if isinstance(a, ArrayArgument) for e in a.extents}
    axes: list[tuple[GridFactor, ...]] = []
    for axis in grid:
        made: list[GridFactor] = []
        for term in axis:
            extent: Constant = term.extent
            tile: Constant = term.tile
            if isinstance(extent, str) and extent not in extents:
                extent = constants.get(extent)
            if isinstance(tile, str):
                tile = constants.get(tile)
            if not isinstance(extent, str | int) or not isinstance(tile, int) or tile < 1:
                return None
            made.append(GridFactor(extent, tile))
        axes.append(tuple(made))
    return tuple(axes)
