"""The grid that a translated kernel is launched with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ferrotile.translation import Entry, RustParameter

Grid = tuple[int, int, int]


def grid_owner(parameters: Sequence[RustParameter]) -> RustParameter | None:
    """The parameter whose partition is the launch's grid: the first `&mut` tensor; None = the original's grid."""
    return next((p for p in parameters if p.kind == "tensor_mut" and p.tile), None)


def merged(extents: Sequence[int], rank: int) -> tuple[int, ...]:
    """An array's extents as a tensor of lower `rank` sees them: its leading axes are one."""
    count = len(extents) - rank
    if count <= 0:
        return tuple(extents)
    return (math.prod(extents[: count + 1]), *extents[count + 1 :])


def own_grid(rust: Entry, sizes: Mapping[str, int], otherwise: Sequence[int]) -> Sequence[int]:
    """The number of blocks where no output says it: of the Rust's own grid, for these extents, else `otherwise`."""
    if rust.grid is None:
        return otherwise
    axes = [[(f.extent if isinstance(f.extent, int) else sizes[f.extent], f.tile) for f in axis] for axis in rust.grid]
    return [math.prod(-(-extent // tile) for extent, tile in axis) for axis in axes]


def rust_grid(
    parameters: Sequence[RustParameter], shapes: Mapping[str, Sequence[int]], otherwise: Sequence[int]
) -> Grid:
    """The number of blocks along x, y, z: those of the partition of the grid's owner, else `otherwise`. `shapes` has
    the arrays' extents under the original's names; a tile extent below 1 stands for a whole axis."""
    owner = grid_owner(parameters)
    if owner is None:
        blocks = list(otherwise)
    else:
        shape = merged(shapes[owner.name], len(owner.tile))
        blocks = [-(-n // t) if t > 0 else 1 for n, t in zip(shape, owner.tile, strict=True)]
    filled = [*blocks, 1, 1, 1][:3]
    return (filled[0], filled[1], filled[2])
