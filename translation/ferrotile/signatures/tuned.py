"""What the other configurations of a tuner tell of a launch: values of constants, and which of them its grid divides
by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ferrotile.signatures.grids import LaunchedGrid
from ferrotile.signatures.model import ConstantValue

Tuned = tuple[tuple[str, ConstantValue], ...]
"""The constants of one configuration, in the order of the parameters."""


def divided_by(
    launched: LaunchedGrid, constants: Mapping[str, object], others: Sequence[tuple[LaunchedGrid | None, Tuned]]
) -> tuple[tuple[str | None, ...], ...]:
    """`LaunchedGrid.divided`, where the grid divides by a number also the constant that has this number in every
    configuration, if there is one and it is not the same in all."""

    def name(axis: int, place: int) -> str | None:
        known = launched.divided[axis][place]
        tile = launched.factors[axis][place].tile
        found = [n for n, v in constants.items() if type(v) is int and v == tile]
        varies = False
        for grid, values in others:
            factor = _factor(grid, axis, place)
            if factor is None:
                return known
            varies = varies or factor != tile
            found = [n for n in found if dict(values).get(n) == factor]
        return found[0] if known is None and varies and len(found) == 1 else known

    return tuple(tuple(name(axis, place) for place in range(len(row))) for axis, row in enumerate(launched.divided))


def _factor(grid: LaunchedGrid | None, axis: int, place: int) -> int | None:
    if grid is None or axis >= len(grid.factors) or place >= len(grid.factors[axis]):
        return None
    return grid.factors[axis][place].tile
