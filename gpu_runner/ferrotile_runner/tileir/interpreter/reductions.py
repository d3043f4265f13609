"""Reduce and scan with any region.

A region's operations are element-wise on rank-0 tiles, so it is applied to whole slices at once. Tile IR
leaves the order open; here a reduction combines neighbours as a balanced tree, and a scan goes from one end
to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import Array

Combiner = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]
"""Left and right values of each operand to combined values."""


def _take(tile: Array, dim: int, part: slice) -> Array:
    return tile[tuple(part if d == dim else slice(None) for d in range(tile.ndim))]


def reduce(operands: Sequence[Array], identities: Sequence[Array], dim: int, combine: Combiner) -> tuple[Array, ...]:
    """Each operand loses axis `dim`."""
    values = list(operands)
    while values[0].shape[dim] > 1:
        extent = values[0].shape[dim]
        if extent % 2:
            pad = [np.full_like(_take(v, dim, slice(0, 1)), i) for v, i in zip(values, identities, strict=True)]
            values = [np.concatenate([v, p], axis=dim) for v, p in zip(values, pad, strict=True)]
        left = [_take(v, dim, slice(0, None, 2)) for v in values]
        right = [_take(v, dim, slice(1, None, 2)) for v in values]
        shape = left[0].shape
        values = [np.broadcast_to(v, shape) for v in combine(left, right)]
    return tuple(v.squeeze(dim) for v in values)


def with_identity(results: Sequence[Array], identities: Sequence[Array], combine: Combiner) -> tuple[Array, ...]:
    """What becomes of the results where the identities are combined too, as Tile IR allows: nothing new, if they are
    identities of what was combined."""
    left = [np.full_like(result, identity) for result, identity in zip(results, identities, strict=True)]
    combined = combine(left, results)
    return tuple(np.broadcast_to(c, r.shape) for c, r in zip(combined, results, strict=True))


def alike(one: Array, other: Array) -> bool:
    """Whether all bits are the same, any NaN being equal to any NaN."""
    bits = np.dtype(f"u{one.dtype.itemsize}")
    same = np.ascontiguousarray(one).view(bits) == np.ascontiguousarray(other).view(bits)
    return bool((same | ((one != one) & (other != other))).all())


def scan(operands: Sequence[Array], dim: int, reverse: bool, combine: Combiner) -> tuple[Array, ...]:
    """Inclusive, along `dim`, from its end when `reverse`."""
    extent = operands[0].shape[dim]
    results = [np.array(v) for v in operands]
    order = range(extent - 1, -1, -1) if reverse else range(extent)
    carried: Sequence[Array] | None = None
    for at in order:
        here = [_take(v, dim, slice(at, at + 1)) for v in operands]
        carried = here if carried is None else list(combine(carried, here))
        for result, value in zip(results, carried, strict=True):
            _take(result, dim, slice(at, at + 1))[...] = value
    return tuple(results)
