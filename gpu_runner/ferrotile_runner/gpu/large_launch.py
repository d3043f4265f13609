"""The launch that is large enough for a clock."""

from __future__ import annotations

import math

import numpy as np
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from msgspec.structs import replace

from ferrotile_runner.fillings import numpy_dtype
from ferrotile_runner.inputs import Case, Grids
from ferrotile_runner.launch_facts import Facts
from ferrotile_runner.launch_grid import Grid
from ferrotile_runner.sizes import grid_for, is_claimed, shapes_of

ELEMENTS = 1 << 25
"""Of the largest array, at most."""
BLOCKS = 1 << 20
MOST_DOUBLINGS = 24


def large_case(case: Case, signature: Signature, facts: Facts, grids: Grids) -> Case | None:
    """`case` with every free extent larger by one power of two, the largest that `ELEMENTS`, `BLOCKS` and the facts
    allow; None where nothing may grow. Its arrays have extents and strides, and no values."""
    fixed = {*facts.sizes, *(a.name for a in signature.arguments if isinstance(a, ConstantArgument))}
    best: tuple[dict[str, int], Grid] | None = None
    for power in range(1, MOST_DOUBLINGS):
        sizes = {
            name: size if name in fixed or size << power > facts.at_most.get(name, size << power) else size << power
            for name, size in case.sizes.items()
        }
        shapes = shapes_of(signature, sizes)
        grid = grid_for(signature, sizes, facts) or grids(shapes)
        elements = max((math.prod(shape) for shape in shapes.values()), default=0)
        if elements > ELEMENTS or math.prod(grid) > BLOCKS or not is_claimed(facts, sizes, grid):
            break
        if sizes == (case.sizes if best is None else best[0]):
            break
        best = sizes, grid
    if best is None:
        return None
    sizes, grid = best
    types = {a.name: numpy_dtype(a.dtype) for a in signature.arguments if isinstance(a, ArrayArgument)}
    arrays = {name: np.empty(shape, types[name]) for name, shape in shapes_of(signature, sizes).items()}
    scalars = dict(case.scalars)
    for argument in signature.arguments:
        if isinstance(argument, ScalarArgument):
            extent = argument.name if argument.extent is None else argument.extent
            scalars[argument.name] = sizes.get(extent, scalars[argument.name])
    return replace(case, name="large", sizes=sizes, arrays=arrays, scalars=scalars, grid=grid, tentative=False)
