"""The launch that is large enough for a clock: of as many blocks as keep a GPU busy, where the extents allow it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.fillings import numpy_dtype
from ferrotile_runner.inputs import Case, Grids
from ferrotile_runner.launch_facts import Facts, broken_facts
from ferrotile_runner.launch_grid import Grid
from ferrotile_runner.sizes import grid_for, is_claimed, shapes_of
from ferrotile_runner.tileir.model import Entry, walk

ELEMENTS = 1 << 25
"""Of the largest array, at most."""
BLOCKS = 1 << 20
MOST_ACROSS = 65535
"""Blocks along y and along z, at most, on any GPU."""
MOST_DOUBLINGS = 24
PROCESSORS = 128
"""About what a large GPU has: a kernel whose blocks take turns at its tiles is launched with so many."""
BUSY = 8 * PROCESSORS
"""Blocks that keep a large GPU busy: with few of them a launch tells how long one takes, and little of the kernel."""


class _Made(Struct, frozen=True):
    """Extents, and the grid for them."""

    sizes: Mapping[str, int]
    grid: Grid

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)


class _Sizes:
    """Grows the extents of a case within what its facts allow."""

    def __init__(self, case: Case, signature: Signature, facts: Facts, grids: Grids) -> None:
        self._signature, self._facts, self._grids = signature, facts, grids
        self._first = case.sizes
        fixed = {*facts.sizes, *(a.name for a in signature.arguments if isinstance(a, ConstantArgument))}
        self._free = [name for name in case.sizes if name not in fixed]

    def made(self, sizes: Mapping[str, int]) -> _Made | None:
        """A launch with these extents; None where it is too large, or breaks a fact."""
        shapes = shapes_of(self._signature, sizes)
        grid = grid_for(self._signature, sizes, self._facts) or self._grids(shapes)
        elements = max((math.prod(shape) for shape in shapes.values()), default=0)
        claimed = is_claimed(self._facts, sizes, grid) and not broken_facts(self._facts, sizes, grid)
        fits = elements <= ELEMENTS and math.prod(grid) <= BLOCKS and max(grid[1:]) <= MOST_ACROSS
        return _Made(sizes, grid) if fits and claimed else None

    def together(self) -> _Made | None:
        """Every free extent larger by one power of two, the largest that is allowed; None where nothing may grow."""
        best: _Made | None = None
        for power in range(1, MOST_DOUBLINGS):
            sizes = {name: self._times(name, size, power) for name, size in self._first.items()}
            found = self.made(sizes)
            if found is None or sizes == (self._first if best is None else best.sizes):
                break
            best = found
        return best

    def _times(self, name: str, size: int, power: int) -> int:
        larger = size << power
        return larger if name in self._free and larger <= self._facts.at_most.get(name, larger) else size

    def _groups(self) -> list[tuple[str, ...]]:
        """Extents that are the same in the case mostly are the same everywhere, and grow together."""
        by_size: dict[int, list[str]] = {}
        for name in self._free:
            by_size.setdefault(self._first[name], []).append(name)
        return [tuple(names) for names in by_size.values()]

    def busy(self, best: _Made) -> _Made:
        """`best` with more of the extents that make blocks, and less of the others where there is no room."""
        groups = self._groups()
        while best.blocks < BUSY:
            found = next((one for one in self._steps(best, groups) if one.blocks > best.blocks), None)
            if found is None:
                return best
            best = found
        return best

    def _steps(self, best: _Made, groups: Sequence[tuple[str, ...]]) -> Iterator[_Made]:
        """Twice as much of one group, and as much less of others as it takes, the largest first."""
        for group in groups:
            sizes = {name: size * 2 if name in group else size for name, size in best.sizes.items()}
            found = self.made(sizes)
            others = sorted((n for n in self._free if n not in group), key=lambda n: -sizes[n])
            for other in others:
                while found is None and sizes[other] > self._first[other]:
                    sizes[other] //= 2
                    found = self.made(sizes)
            if found is not None:
                yield found


def large_case(
    case: Case, signature: Signature, facts: Facts, grids: Grids, original: Entry | None = None
) -> Case | None:
    """`case` with every free extent larger, those most that make blocks; None where nothing may grow. Its arrays have
    extents and strides, and no values. `original` tells which blocks take turns."""
    sizes = _Sizes(case, signature, facts, grids)
    best = sizes.together()
    if best is None:
        return None
    best = sizes.busy(best)
    grid = best.grid
    if original is not None and grid_for(signature, best.sizes, facts) is None:
        x, y, z = (max(n, PROCESSORS) if axis in turns(original) else n for axis, n in zip("xyz", grid, strict=True))
        grid = x, y, z
    types = {a.name: numpy_dtype(a.dtype) for a in signature.arguments if isinstance(a, ArrayArgument)}
    arrays = {name: np.empty(shape, types[name]) for name, shape in shapes_of(signature, best.sizes).items()}
    scalars = dict(case.scalars)
    for argument in signature.arguments:
        if isinstance(argument, ScalarArgument):
            extent = argument.name if argument.extent is None else argument.extent
            scalars[argument.name] = best.sizes.get(extent, scalars[argument.name])
    return replace(case, name="large", sizes=best.sizes, arrays=arrays, scalars=scalars, grid=grid, tentative=False)


def turns(original: Entry) -> str:
    """The axes of the grid along which blocks take turns, whatever their number: the id is where a loop starts whose
    step is the number of blocks, and nothing else."""
    ids: dict[int, str] = {}
    numbers: dict[int, str] = {}
    found: set[str] = set()
    other: set[str] = set()
    for operation in walk(original.body):
        results = operation.results
        if operation.name == "get_tile_block_id":
            ids.update((value.number, axis) for value, axis in zip(results, "xyz", strict=True))
        elif operation.name == "get_num_tile_blocks":
            numbers.update((value.number, axis) for value, axis in zip(results, "xyz", strict=True))
        elif operation.name == "assume":
            source = operation.operands[0].number
            for known in (ids, numbers):
                if source in known:
                    known[results[0].number] = known[source]
        else:
            starts = operation.named["lower"] if operation.name == "for" else ()
            for value in operation.operands:
                axis = ids.get(value.number)
                if axis is None:
                    continue
                step = operation.named["step"] if operation.name == "for" else ()
                turned = value in starts and any(numbers.get(one.number) == axis for one in step)
                (found if turned else other).add(axis)
    return "".join(sorted(found - other))
