"""Tiles of views as strided windows of their array: no element is addressed one by one.

The tiles of neighbouring blocks mostly lie at equal distances. Such blocks are a run, whose tiles are one window with
an axis of blocks in front.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ferrotile_runner.tileir.interpreter.elements import Array

SMALL = 512
"""Tiles of fewer elements are gathered where runs are short."""
FEW = 16
"""Runs are worth their overhead, for small tiles, where there are at most so many."""

Number = int | Array
"""An integer that all blocks have, or one a block."""


class Run(Struct, frozen=True):
    """Tiles of `count` blocks, from place `start` of the batch: `origin` is the first one's first element, `step` how
    far apart they lie, `size` what of each lies inside the array, `strides` those of the tile's axes, in elements."""

    start: int
    count: int
    origin: int
    step: int
    size: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def apart(self) -> bool:
        """Whether all its lanes are different elements, as far as sorting the axes by stride shows."""
        axes = sorted((abs(s), n) for s, n in zip((self.step, *self.strides), (self.count, *self.size), strict=True))
        reach = 0
        for stride, extent in axes:
            if extent > 1:
                if stride <= reach:
                    return False
                reach += stride * (extent - 1)
        return True

    @property
    def ends(self) -> tuple[int, int]:
        """The lowest and the highest element."""
        steps = zip((self.step, *self.strides), (self.count, *self.size), strict=True)
        far = [stride * (extent - 1) for stride, extent in steps]
        return self.origin + sum(x for x in far if x < 0), self.origin + sum(x for x in far if x > 0)

    def of(self, flat: Array) -> Array:
        """The window of an array of one axis, (count, *size). Writing to it writes to the array."""
        bytes_ = tuple(step * flat.itemsize for step in (self.step, *self.strides))
        shape = (self.count, *self.size)
        if flat.dtype.isbuiltin == 1:
            return np.ndarray(shape, flat.dtype, flat, self.origin * flat.itemsize, bytes_)
        # NumPy describes some types of ml_dtypes by a name that it cannot read itself (float8_e5m2: `<f1`).
        plain = flat.view(f"u{flat.itemsize}")
        window: Array = np.ndarray(shape, plain.dtype, plain, self.origin * flat.itemsize, bytes_).view(flat.dtype)
        return window

    @property
    def blocks(self) -> slice:
        """Its places in the batch."""
        return slice(self.start, self.start + self.count)

    @property
    def part(self) -> tuple[slice, ...]:
        """Of a batch of tiles, the lanes that lie inside the array."""
        return (self.blocks, *(slice(0, n) for n in self.size))


def number(word: Array) -> Number:
    """A scalar of a frame."""
    flat = word.reshape(-1)
    return int(flat[0]) if flat.size == 1 else flat


def place(
    tile: Sequence[int],
    steps: Sequence[int],
    dim_map: Sequence[int],
    offset: Number,
    shape: Sequence[Number],
    strides: Sequence[Number],
    index: Sequence[Number],
) -> tuple[Run, ...] | None:
    """Where the tiles lie; one run of one tile where all blocks have the same. None where a tile lies wholly outside,
    or tiles are better gathered. Does not look at the array's end."""
    origin = offset
    sizes: list[Number] = []
    along: list[Number] = []
    for extent, step, axis, at in zip(tile, steps, dim_map, index, strict=True):
        first = at * step
        room = shape[axis] - first
        if isinstance(first, int) and isinstance(room, int):
            if first < 0 or room <= 0:
                return None
            sizes.append(min(extent, room))
        else:
            if bool(np.any(np.less(first, 0))) or bool(np.any(np.less_equal(room, 0))):
                return None
            sizes.append(_one(np.minimum(room, extent)))
        origin = origin + first * strides[axis]
        along.append(_one(strides[axis]))
    words = (_one(origin), *sizes, *along)
    rank = len(tile)
    varying = [word for word in words if not isinstance(word, int)]
    if not varying:
        whole = tuple(word for word in words if isinstance(word, int))
        return (Run(0, 1, whole[0], 0, whole[1 : rank + 1], whole[rank + 1 :]),)
    rows = list(zip(*(_each(word, varying[0].size) for word in words), strict=True))
    return _runs(rows, rank, FEW if math.prod(tile) < SMALL else len(rows))


def _one(word: Number) -> Number:
    """As one integer, where all blocks have the same."""
    if isinstance(word, int):
        return word
    return int(word[0]) if bool((word == word[0]).all()) else word


def _each(word: Number, count: int) -> list[int]:
    found: list[int] = [word] * count if isinstance(word, int) else word.tolist()
    return found


def _runs(rows: Sequence[tuple[int, ...]], rank: int, most: int) -> tuple[Run, ...] | None:
    """`rows`: origin, sizes and strides of each block's tile. None for more than `most` runs."""
    found: list[Run] = []
    at = 0
    while at < len(rows):
        if len(found) == most:
            return None
        first, *rest = rows[at]
        end = at + 1
        step = rows[end][0] - first if end < len(rows) and rows[end][1:] == rows[at][1:] else 0
        while end < len(rows) and rows[end][0] == first + step * (end - at) and rows[end][1:] == rows[at][1:]:
            end += 1
        found.append(Run(at, end - at, first, step, tuple(rest[:rank]), tuple(rest[rank:])))
        at = end
    return tuple(found)
