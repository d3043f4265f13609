"""Operations that move elements and compute none, and matrix multiplication."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import (
    Array,
    as_signed,
    as_unsigned,
    narrow_to_odd,
)
from ferrotile_runner.tileir.interpreter.memory import OutOfBounds


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


def extract(tile: Array, index: Sequence[int], shape: tuple[int, ...], text_line: int = 0) -> Array:
    """The sub-tile of `shape` at `index`, counted in sub-tiles. Raises OutOfBounds outside the tile, where Tile IR
    gives no meaning; `text_line`: of the operation in the disassembly."""
    starts = [i * s for i, s in zip(index, shape, strict=True)]
    if any(a < 0 or a + s > n for a, s, n in zip(starts, shape, tile.shape, strict=True)):
        raise OutOfBounds(f"a part at {tuple(index)}, outside {tile.shape}", text_line, None)
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


def scaled(tile: Array, scale: Array, axis: int) -> Array:
    """`tile` times scales that each stand for a run of elements along `axis`, in f64, where every product is exact."""
    run = tile.shape[axis] // scale.shape[axis]
    return tile.astype(np.float64) * np.repeat(scale.astype(np.float64), run, axis=axis)


def pack(tile: Array) -> Array:
    """The bytes of the last axis, in memory order; two 4-bit elements share a byte, the first one its low half."""
    raw = np.ascontiguousarray(tile)
    if tile.dtype.name == "float4_e2m1fn":
        codes = raw.view(np.uint8) & 15
        return (codes[..., 0::2] | (codes[..., 1::2] << 4)).astype(np.uint8).view(np.int8)
    return raw.view(np.int8).reshape((*tile.shape[:-1], -1))


def unpack(tile: Array, dtype: np.dtype[np.generic]) -> Array:
    """The elements that bytes hold."""
    raw = np.ascontiguousarray(tile)
    if dtype.name == "float4_e2m1fn":
        codes = np.stack([raw.view(np.uint8) & 15, raw.view(np.uint8) >> 4], axis=-1)
        return np.ascontiguousarray(codes.reshape((*tile.shape[:-1], -1))).view(dtype)
    return raw.view(dtype).reshape((*tile.shape[:-1], -1))
