"""Compares the arrays of the original and of the translation, and what they print."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ferrotile_runner.tileir.interpreter.elements import Array, is_float, limits


class Difference(Struct, frozen=True):
    """How two arrays differ. `bit_equal`: the same bits, any NaN being equal to any NaN. `worst` is the
    index of the largest error, `expected` and `actual` its elements as text; `error` is absolute, `bound`
    what was allowed there. `differing` elements are not within their bounds, the first of them at `first`."""

    equal: bool
    bit_equal: bool
    worst: tuple[int, ...] | None = None
    expected: str = ""
    actual: str = ""
    error: float = 0.0
    bound: float = 0.0
    differing: int = 0
    first: tuple[int, ...] | None = None

    @property
    def place(self) -> str:
        """The index of the worst element as text."""
        return _index(self.worst or ())

    def __str__(self) -> str:
        if self.worst is None:
            return "bit-equal"
        worst = f"{self.place}: {self.expected} and {self.actual} (error {self.error:.3g}, allowed {self.bound:.3g})"
        if self.first is None or self.differing == 1:
            return worst
        return f"{worst}, the worst of {self.differing} elements that differ from {_index(self.first)} on"


def _index(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]"


def _differing(outside: Array) -> tuple[int, tuple[int, ...] | None]:
    """How many elements are true, and where the first is."""
    count = int(outside.sum())
    if not count:
        return 0, None
    return count, tuple(int(i) for i in np.unravel_index(int(np.argmax(outside)), outside.shape))


def tolerance(dtype: np.dtype[np.generic], depth: int, scale: Array) -> Array:
    """Bound of the absolute error of each element: `depth` additions in any order, each rounded in `dtype`,
    of terms whose sum of magnitudes is about `scale` (Higham's bound n·u, doubled for the two sides)."""
    has = limits(dtype)
    return np.asarray(2.0 * max(depth, 1) * has.epsilon * np.maximum(scale, has.tiny))


def compare(expected: Array, actual: Array, depth: int | None = None, own: bool = False) -> Difference:
    """Bit-equal, or for floats within `tolerance` when `depth` is given, of the largest element's size, or of each
    element's `own`. NaN matches NaN, infinities must be the same. Raises ValueError for unlike shapes or types."""
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        raise ValueError(f"{expected.dtype}{expected.shape} against {actual.dtype}{actual.shape}")
    if expected.size == 0:
        return Difference(True, True)
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    same = np.ascontiguousarray(expected).view(bits) == np.ascontiguousarray(actual).view(bits)
    if not is_float(expected.dtype):
        return _integers(expected, actual, same)
    with np.errstate(all="ignore"):
        a, b = expected.astype(np.float64), actual.astype(np.float64)
        same |= np.isnan(a) & np.isnan(b)
        if bool(same.all()):
            return Difference(True, True)
        error = np.where(same, 0.0, np.abs(a - b))
        error = np.where(np.isnan(error) | (np.isinf(error)), np.where(same, 0.0, np.inf), error)
        bound = np.zeros_like(error)
        if depth is not None:
            # Terms that cancel are larger than their sum: what they were, other elements of the array show best.
            finite = np.where(np.isfinite(a), np.abs(a), 0.0)
            bound = tolerance(expected.dtype, depth, finite if own else np.full_like(a, finite.max()))
        excess = np.where(same, -1.0, np.where(np.isinf(error), np.inf, error / np.maximum(bound, 1e-300)))
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
    outside = ~same if depth is None else ~(same | (error <= bound))
    equal = depth is not None and not bool(outside.any())
    return Difference(
        equal,
        False,
        worst,
        str(expected[worst]),
        str(actual[worst]),
        float(error[worst]),
        float(bound[worst]),
        *_differing(outside),
    )


def _integers(expected: Array, actual: Array, same: Array) -> Difference:
    if bool(same.all()):
        return Difference(True, True)
    gap = np.abs(expected.astype(np.float64) - actual.astype(np.float64))
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.where(same, -1.0, gap))), gap.shape))
    values = str(expected[worst]), str(actual[worst])
    return Difference(False, False, worst, *values, float(gap[worst]), 0.0, *_differing(~same))


def _one_name(line: str) -> str:
    """`%i` and `%d` are one conversion; `%%` is a percent sign, whatever follows."""
    return re.sub("%%|%i", lambda found: found[0].replace("i", "d"), line)


class Prints(Struct, frozen=True):
    """What the original prints in its runs, block by block. `same_grid`: the blocks of both sides are the same ones;
    `exact`: numbers too must be the same."""

    first: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    same_grid: bool
    exact: bool

    def difference(self, printed: Sequence[str]) -> str:
        """What differs, in words: lines of a block, or their order; "" where nothing does. Lines that the original does
        not determine may be any."""
        if any(len(other) != len(self.first) for other in self.others):
            return ""
        if len(printed) != len(self.first):
            return f"{len(self.first)} lines are printed by the original, {len(printed)} by the translation"
        if not self.exact:
            return ""
        fixed = [all(line == other[place] for other in self.others) for place, line in enumerate(self.first)]
        if not self.same_grid and not all(fixed):
            return ""
        expected, actual = ([_one_name(line) for line in lines] for lines in (self.first, printed))
        if not self.same_grid:
            expected, actual = sorted(expected), sorted(actual)
        for kept, one, other in zip(fixed, expected, actual, strict=True):
            if kept and one != other:
                return f"prints `{one}` in the original, `{other}` in the translation"
        return ""
