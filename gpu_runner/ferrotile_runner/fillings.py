"""What the elements of arrays are: values in which kernels that differ, differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import ml_dtypes
import numpy as np
from ferrotile.program.dtypes import DType, Kind

from ferrotile_runner.tileir.interpreter import Unsupported
from ferrotile_runner.tileir.interpreter.elements import Array, is_float, limits

_NUMPY: Mapping[str, np.dtype[np.generic]] = MappingProxyType(
    {
        "bool": np.dtype(np.bool_),
        **{f"{k}{b}": np.dtype(f"{k}{b // 8}") for k in "iu" for b in (8, 16, 32, 64)},
        **{f"f{b}": np.dtype(f"f{b // 8}") for b in (16, 32, 64)},
        "bf16": np.dtype(ml_dtypes.bfloat16),
        "tf32": np.dtype(np.float32),
        "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
        "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
        "f8e8m0fnu": np.dtype(ml_dtypes.float8_e8m0fnu),
    }
)


def numpy_dtype(dtype: DType) -> np.dtype[np.generic]:
    """The NumPy type that stores elements of `dtype`. Raises Unsupported where none does: elements of 4 bits are
    packed in memory."""
    if dtype.name not in _NUMPY:
        raise Unsupported(f"arrays of {dtype.name}")
    return _NUMPY[dtype.name]


Fill = Callable[[np.random.Generator, tuple[int, ...], DType, int], Array]
"""Elements of a shape and type; the last argument is an extent that no array of the case is smaller than."""


def ordinary(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Normally distributed floats; integers that are indices of any array of the case."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype.is_integer:
        return rng.integers(0, max(1, min(below, 100)), shape).astype(numpy)
    return rng.standard_normal(shape).astype(np.float32).astype(numpy)


def hard(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """As `ordinary`, with NaN, infinities, denormals, extremes and both zeros (integers: extremes) sown
    in."""
    return _sown(rng, ordinary(rng, shape, dtype, below), special_values(dtype), 0.05)


def special_values(dtype: DType) -> Array:
    """Elements that kernels get wrong first."""
    numpy = numpy_dtype(dtype)
    if numpy == np.bool_:
        return np.zeros(0, np.bool_)
    if not is_float(numpy):
        bits = dtype.bits
        half = 2 ** (bits - 1)
        if dtype.kind is Kind.SIGNED:
            return np.array([-half, half - 1, half - 2, 0, 1], numpy)
        return np.array([0, 2 * half - 1, 2 * half - 2, half, half - 1, 1], numpy)
    has = limits(numpy)
    with np.errstate(all="ignore"):
        wide = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, has.largest, has.lowest]
        wide += [has.tiny, has.denormal, -has.denormal]
        return np.array(wide, np.float64).astype(np.float32 if numpy.itemsize < 4 else numpy).astype(numpy)


def tiny(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Floats about the smallest normal number, so that sums of them, and they themselves, are denormal or are not;
    along the first axis of more than one element the last third is about its root, so that products are, but for some
    about 1, which leave the others in a product what they are. Others as `ordinary`."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL or dtype.is_integer:
        return ordinary(rng, shape, dtype, below)
    if math.log2(float(limits(numpy).denormal)) > -126:  # no product or sum is denormal in f32, but what 0 is added to
        return np.where(_late(shape, 1 / 2), ordinary(rng, shape, dtype, below), numpy.type(0)).astype(numpy)
    least = math.log2(float(limits(numpy).tiny))
    late = least / 2 * (rng.random(shape) < 0.8)
    exponent = np.where(_late(shape, 2 / 3), late, least) + rng.integers(-4, 3, shape)
    return _float(rng.standard_normal(shape) * 2.0**exponent, numpy)


def roots(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Floats about 1, and some about the root of the smallest normal number: where two of these are in a product it is
    about the smallest. Others as `ordinary`."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL or dtype.is_integer:
        return ordinary(rng, shape, dtype, below)
    least = math.log2(float(limits(numpy).tiny))
    exponent = np.where(rng.random(shape) < 0.3, least / 2, 0) + rng.integers(-2, 2, shape)
    return _float(rng.standard_normal(shape) * 2.0**exponent, numpy)


def wide(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Floats of every size; as `ordinary` where they are none."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL or dtype.is_integer:
        return ordinary(rng, shape, dtype, below)
    reach = np.log2(float(limits(numpy).largest)) * rng.choice([0.05, 0.45, 0.95], shape)
    return _float(rng.standard_normal(shape) * 2.0 ** rng.uniform(-reach, reach), numpy)


def far(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """As `wide`, with integers among which every index of any array may be."""
    values = wide(rng, shape, dtype, below)
    if dtype.kind is Kind.BOOL or not dtype.is_integer:
        return values
    whole = rng.integers(0, max(1, min(below, 1 << (dtype.bits - 1))), shape).astype(values.dtype)
    return np.where(rng.random(shape) < 0.5, whole, values)


def wild(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Numbers of every size that the type has and of both signs, integers among them: no indices."""
    if dtype.kind is Kind.BOOL or not dtype.is_integer:
        return wide(rng, shape, dtype, below)
    bits = dtype.bits - (dtype.kind is Kind.SIGNED)
    raw = rng.integers(0, 2**64, shape, dtype=np.uint64) >> rng.integers(64 - bits, 64, shape).astype(np.uint64)
    signs = np.where(rng.random(shape) < 0.5, -1, 1) if dtype.kind is Kind.SIGNED else 1
    with np.errstate(all="ignore"):
        return np.asarray(raw.astype(np.int64) * signs).astype(numpy_dtype(dtype))


def special(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Small whole numbers, halves and both zeros, of which many are equal or ties; in the second half of the first axis
    of more than one element most are special values, so that every two of them meet. Integers: a few about 0 and about
    the smallest extent, and extremes."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL:
        return ordinary(rng, shape, dtype, below)
    if dtype.is_integer:
        values = rng.integers(0 if dtype.kind is Kind.UNSIGNED else -2, 3, shape).astype(numpy)
        ends = np.array([below - 1, below, below + 1]).astype(numpy)
        picks = np.concatenate([special_values(dtype), ends])
    else:
        values = _float(rng.integers(-3, 4, shape) * 0.5 * rng.choice([1.0, -1.0], shape), numpy)
        picks = special_values(dtype)
    return _sown(rng, values, picks, np.where(_late(shape, 1 / 2), 0.6, 0.0))


def ends(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Floats whose powers of two and of e are about the smallest and the largest of the type, in the second half of the
    first axis of more than one element only the smallest, so that no sum overflows; in every fourth place numbers of
    few bits, which lie halfway between those of narrower types. Integers are indices, each once as long as there are
    others."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL:
        return ordinary(rng, shape, dtype, below)
    if dtype.is_integer:
        most = max(1, min(below, 1 << (dtype.bits - 1)))
        return np.asarray(rng.permutation(math.prod(shape)) % most).astype(numpy).reshape(shape)
    reach = -math.log2(float(limits(numpy).denormal)) * 1.1
    bits = rng.choice(_HALVES, shape)
    fraction = (2 * np.floor(rng.random(shape) * 2.0 ** (bits - 1)) + 1) * 2.0**-bits
    halves = (1 + fraction) * 2.0 ** rng.integers(-3, 4, shape) * rng.choice([1.0, -1.0], shape)
    exponents = rng.uniform(-reach, np.where(_late(shape, 1 / 2), 2, reach), shape)
    return _float(np.where(rng.random(shape) < 0.25, halves, exponents), numpy)


def placed(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Each element the number of its place, as far as indices go: so what is found at an index is that index."""
    numpy = numpy_dtype(dtype)
    if dtype.kind is Kind.BOOL:
        return ordinary(rng, shape, dtype, below)
    places = np.arange(math.prod(shape)).reshape(shape)
    most = min(below, 1 << (dtype.bits - 1)) if dtype.is_integer else MANY_PLACES
    return (places % max(1, most)).astype(numpy) if dtype.is_integer else _float(places % most, numpy)


def around(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """Indices of all elements but the first, and as many negative numbers, the first among them; floats as `ordinary`.
    What is done where an index is missing, and 0 stands for it, shows in the first element."""
    values = ordinary(rng, shape, dtype, below)
    if not dtype.is_integer:
        return values
    most = max(2, min(below, 1 << (dtype.bits - 1)))
    places = rng.integers(1, most, shape)
    signs = np.where(rng.random(shape) < 0.5, -1, 1)
    signs.reshape(-1)[:1] = -1
    return np.asarray(places * signs if dtype.kind is Kind.SIGNED else places).astype(values.dtype)


def positive(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """As `wild` without negative numbers, integers at least 2: none is what a sum, product or extreme of none is."""
    values = wild(rng, shape, dtype, below)
    if dtype.kind is Kind.BOOL:
        return values
    found = _magnitudes(values, dtype)
    return np.maximum(found, found.dtype.type(2)) if dtype.is_integer else found


def negative(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """As `wild` without positive numbers, where the type has others."""
    values = wild(rng, shape, dtype, below)
    if dtype.kind is Kind.BOOL or dtype.kind is Kind.UNSIGNED or dtype.name == "f8e8m0fnu":
        return values
    return np.asarray(-_magnitudes(values, dtype))


def _magnitudes(values: Array, dtype: DType) -> Array:
    if not dtype.is_integer:
        sizes = np.asarray(np.abs(values))
        return np.where(sizes == 0, sizes.dtype.type(1), sizes).astype(sizes.dtype)
    return values if dtype.kind is Kind.UNSIGNED else np.asarray(values & np.iinfo(values.dtype).max)


def equal(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """0 everywhere: every comparison is a tie, every extreme is all elements. Floats are -0.0, which 0.0 shows next to
    it: a padding, what a sum begins with."""
    if dtype.kind is Kind.BOOL:
        return np.full(shape, rng.random() < 0.5)
    zero = 0.0 if dtype.name == "f8e8m0fnu" else -0.0  # which has no signs
    return np.full(shape, zero, np.float32).astype(numpy_dtype(dtype))


def largest(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """The largest finite numbers: they show from what a minimum starts, and how what is too large is rounded. A row of
    floats is NaN."""
    return _extreme(rng, shape, dtype, lowest=False)


def lowest(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, below: int) -> Array:
    """The lowest finite numbers. The first column of floats is NaN."""
    return _extreme(rng, shape, dtype, lowest=True)


def _extreme(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType, lowest: bool) -> Array:
    values: Array = np.zeros(shape, numpy_dtype(dtype))
    near = rng.integers(0, 3, shape)
    near.reshape(-1)[:1] = 0
    if dtype.kind is Kind.BOOL:
        values[...] = not lowest
    elif dtype.is_integer:
        bits = dtype.bits - (dtype.kind is Kind.SIGNED)
        least = -(1 << bits) if dtype.kind is Kind.SIGNED else 0
        ends = [least, least + 1, least + 2] if lowest else [(1 << bits) - 1, (1 << bits) - 2, (1 << bits) - 3]
        values[...] = np.array(ends, values.dtype)[near]
    else:
        has = limits(values.dtype)
        values[...] = _float(np.array([1.0, 0.5, 0.25])[near] * (has.lowest if lowest else has.largest), values.dtype)
        axis = len(shape) - 1 if lowest else 0
        if len(shape) > 1 and shape[axis] > 2:  # what is reduced along the other axis is NaN alone
            values[(slice(None),) * axis + (slice(0, 1) if lowest else slice(1, 2),)] = np.nan
    return values


MANY_PLACES = 251
"""Whole numbers that are written into arrays of floats."""
_HALVES = np.array([3, 4, 8, 11])
"""One bit of fraction more than f8e5m2, f8e4m3fn, bf16 and f16 have."""


def _late(shape: tuple[int, ...], share: float) -> Array:
    """The lanes behind this share of the first axis of more than one element, as an array that broadcasts."""
    axis = next((number for number, extent in enumerate(shape) if extent > 1), 0)
    if not shape:
        return np.zeros((), np.bool_)
    late: Array = np.arange(shape[axis]) >= share * shape[axis]
    return late.reshape([-1 if number == axis else 1 for number in range(len(shape))])


def sown(rng: np.random.Generator, values: Array, dtype: DType, picks: Sequence[float], share: float) -> Array:
    """The elements with some of these numbers among them, as far as the type has them."""
    if dtype.kind is Kind.BOOL or not len(picks):
        return values
    if not dtype.is_integer:
        return _sown(rng, values, _float(np.asarray(picks, np.float64), values.dtype), share)
    low, high = (0, 2**dtype.bits) if dtype.kind is Kind.UNSIGNED else (-(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1))
    fitting = [int(pick) for pick in picks if low <= pick < high]
    return _sown(rng, values, np.array(fitting, values.dtype), share)


def _sown(rng: np.random.Generator, values: Array, picks: Array, share: Array | float) -> Array:
    sown = rng.random(values.shape) < share
    if picks.size:
        values[sown] = picks[rng.integers(0, picks.size, int(sown.sum()))]
    return values


def _float(values: Array, numpy: np.dtype[np.generic]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(np.float64 if numpy.itemsize > 4 else np.float32).astype(numpy)
