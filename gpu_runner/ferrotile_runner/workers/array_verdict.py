"""Two results of one array, compared: bit by bit, or within the rounding of a sum. Needs NumPy alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ferrotile_runner.workers.element_bits import FLOATS, Bits, Numbers, numbers, shown

OPEN, EXACT, SUMMED = 0, 1, 2
"""What is expected of an element: anything, the same bits, the same up to the order of a sum of atomics."""

TERMS = 4096
"""How many terms an element that atomics add to may have."""


class ArrayVerdict(NamedTuple):
    """How two arrays compare. `bit_equal`: the same bits, any NaN being equal to any NaN. `differing` elements are not
    within `bound`; `worst` is the place of the worst of them, else of those that are not bit-equal; `error` and `bound`
    are absolute. `reference`: what the original makes there in f64, or why that is not known. Elements that the
    original leaves open are not compared."""

    equal: bool
    bit_equal: bool
    compared: int
    differing: int = 0
    worst: tuple[int, ...] = ()
    original: str = ""
    translation: str = ""
    error: float = 0.0
    bound: float = 0.0
    reference: str = ""

    def __str__(self) -> str:
        if self.bit_equal:
            return "bit-equal"
        place = ", ".join(map(str, self.worst))
        between = f"{self.original} and {self.translation}"
        if self.reference:
            between += f"; in f64: {self.reference}"
        if self.equal:
            return f"equal within rounding, worst [{place}]: {between} (error {self.error:.3g} of {self.bound:.3g})"
        return f"{self.differing} of {self.compared} elements differ, [{place}]: {between}"


def bound_of(name: str, terms: int, scale: float) -> float:
    """Bound of the absolute error between two sums of `terms` numbers in any order, each rounded to the type: Higham's
    n·u for terms whose magnitudes sum to about `scale`, for both sides."""
    return float(2.0 * max(terms, 1) * FLOATS[name].epsilon * max(scale, FLOATS[name].tiny))


def compare_bits(original: Bits, translation: Bits, name: str, depth: int | None, mask: Bits | None) -> ArrayVerdict:
    """Compares elements of type `name`, given as bits, of two arrays of one shape. `depth`: how many numbers a result
    may sum in another order (None: the order is the same). `mask` has `OPEN`, `EXACT` or `SUMMED` for each element
    (None: `EXACT` all)."""
    wanted = np.full(original.shape, EXACT, np.uint8) if mask is None else mask
    same = (original == translation) | (wanted == OPEN)
    compared = int((wanted != OPEN).sum())
    if bool(same.all()):
        return ArrayVerdict(True, True, compared)
    if name not in FLOATS:
        return _exact(original, translation, name, same, compared)
    with np.errstate(all="ignore"):
        a, b = numbers(original, name), numbers(translation, name)
        same |= np.isnan(a) & np.isnan(b)
        if bool(same.all()):
            return ArrayVerdict(True, True, compared)
        error = np.where(same, 0.0, np.abs(a - b))
        error = np.where(np.isfinite(error), error, np.inf)
        bound = _bounds(a, name, depth, wanted)
        excess = np.where(same, -1.0, error - bound)
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), excess.shape))
    differing = int((np.logical_not(same) & (error > bound)).sum())
    ours, theirs = (shown(int(x[worst]), name, x.dtype.itemsize) for x in (original, translation))
    found = float(error[worst]), float(bound[worst])
    return ArrayVerdict(differing == 0, False, compared, differing, worst, ours, theirs, *found)


def _bounds(values: Numbers, name: str, depth: int | None, wanted: Bits) -> Numbers:
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    # Terms that cancel are larger than their sum: what they were, other elements of the array show best.
    exact = 0.0 if depth is None else bound_of(name, depth, float(finite.max(initial=0.0)))
    summed = 2.0 * TERMS * FLOATS[name].epsilon * np.maximum(finite, FLOATS[name].tiny)
    bounds: Numbers = np.where(wanted == SUMMED, np.maximum(summed, exact), exact)
    return bounds


def _exact(original: Bits, translation: Bits, name: str, same: Bits, compared: int) -> ArrayVerdict:
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmin(same)), same.shape))
    ours, theirs = (shown(int(x[worst]), name, x.dtype.itemsize) for x in (original, translation))
    return ArrayVerdict(False, False, compared, int(np.logical_not(same).sum()), worst, ours, theirs)
