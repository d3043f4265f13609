"""Operations that move elements and compute none, and matrix multiplication."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    UnsupportedOperation,
    as_signed,
    as_unsigned,
    convert,
    narrow_to_odd,
)


def reshape(tile: Array, shape: tuple[int, ...]) -> Array:
    """Row-major."""
    return tile.reshape(shape)


def broadcast(tile: Array, shape: tuple[int, ...]) -> Array:
    """Unit axes stretch; ranks are equal."""
    return np.broadcast_to(tile, shape)


def permute(tile: Array, permutation: Sequence[int]) -> Array:
    """Result axis d is operand axis `permutation[d]`."""
    return np.transpose(tile, tuple(permutation))


def concatenate(tiles: Sequence[Array], dim: int) -> Array:
    return np.concatenate(list(tiles), axis=dim)


def extract(tile: Array, index: Sequence[int], shape: tuple[int, ...]) -> Array:
    """The sub-tile of `shape` at `index`, counted in sub-tiles. Raises UnsupportedOperation outside the
    tile."""
    starts = [i * s for i, s in zip(index, shape, strict=True)]
    if any(a < 0 or a + s > n for a, s, n in zip(starts, shape, tile.shape, strict=True)):
        raise UnsupportedOperation(f"extract at {tuple(index)} is outside {tile.shape}")
    return tile[tuple(slice(a, a + s) for a, s in zip(starts, shape, strict=True))]


def mmaf(a: Array, b: Array, accumulator: Array) -> Array:
    """a @ b + accumulator. Products and sums in f64, rounded once: for f16, bf16 and f8 operands the
    nearest to the exact value but for ties, so that no order of summation has to be chosen."""
    with np.errstate(all="ignore"):
        wide = [np.ascontiguousarray(x.astype(np.float64)) for x in (a, b)]
        total = np.matmul(*wide) + accumulator.astype(np.float64)
        if accumulator.dtype == np.float64:
            return np.asarray(total)
        if accumulator.dtype == np.float32:
            return total.astype(np.float32)
        return narrow_to_odd(np.asarray(total)).astype(accumulator.dtype)


def mmai(a: Array, b: Array, accumulator: Array, signed_a: bool, signed_b: bool) -> Array:
    """a @ b + accumulator in wrapping i32; 8-bit products and their sums are exact in f64."""
    left = (as_signed(a) if signed_a else as_unsigned(a)).astype(np.float64)
    right = (as_signed(b) if signed_b else as_unsigned(b)).astype(np.float64)
    total: Array = np.matmul(left, right).astype(np.int64) + accumulator
    return total.astype(accumulator.dtype)


def to_element(tile: Array, element: str) -> Array:
    """Float conversion, for constants."""
    return convert(tile, element)
