"""The checks that cuTile Rust moved to the launch: without them a raw launch is not safe."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ferrotile.translation import RustParameter

from ferrotile_runner.host import Atom, LaunchCheck
from ferrotile_runner.launch_grid import Grid, merged

_RELATIONS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {"==": operator.eq, "!=": operator.ne, ">": operator.gt}
)


def failed_checks(
    checks: Sequence[LaunchCheck],
    parameters: Sequence[RustParameter],
    shapes: Mapping[str, Sequence[int]],
    grid: Grid,
) -> tuple[str, ...]:
    """Predicates that do not hold for a launch. `shapes` has the arrays' extents under the original's names. Raises
    ValueError for a check that no launch is known to satisfy."""

    def value(atom: Atom) -> int:
        if atom.kind == "grid":
            return grid[atom.axis]
        if atom.parameter is None:
            raise ValueError(f"a launch check about {atom.kind}")
        parameter = parameters[atom.parameter]
        shape = merged(shapes[parameter.copy_of or parameter.name], parameter.rank)
        match atom.kind:
            case "shape":
                return shape[atom.axis]
            case "tiles" if atom.tile:
                return -(-shape[atom.axis] // atom.tile)
            case "view":
                tile = parameter.tile[atom.axis] if parameter.tile else 0
                return tile if tile > 0 else shape[atom.axis]
            case _:
                raise ValueError(f"a launch check about {atom.kind}")

    def holds(check: LaunchCheck) -> bool:
        total = check.constant + sum(coefficient * value(atom) for coefficient, atom in check.terms)
        if check.divisor is not None:
            return total % check.divisor == 0
        return _RELATIONS[check.relation](total, 0)

    return tuple(check.predicate for check in checks if not holds(check))
