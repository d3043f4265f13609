"""Which elements of a result the original determines, and how sums of another order are compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ferrotile_runner.compare import Difference, compare, tolerance
from ferrotile_runner.inputs import Case
from ferrotile_runner.tileir.interpreter import SHUFFLED
from ferrotile_runner.tileir.interpreter.elements import Array, element_dtype, is_float
from ferrotile_runner.tileir.interpreter.frame import element_of
from ferrotile_runner.tileir.model import Entry, Operation, TileType, walk
from ferrotile_runner.workers.array_verdict import TERMS

MORE_SEEDS = (-1, -2, 5, 6, 7, 8)
"""Fillings of undetermined lanes with which the original is run again before a difference counts; the first two are
zero, which the translation often has there. Even ones combine the identities of reductions."""
ORDERS = (SHUFFLED + 1, SHUFFLED + 2, SHUFFLED + 3)
MORE_ORDERS = tuple(range(SHUFFLED + 4, SHUFFLED + 12))
"""Other orders of the original's reductions, for hard values, of which these show most; the latter before a difference
counts."""


def determined(expected: Array, others: Sequence[Array]) -> Array:
    """The elements that are the same bits, or NaN, in all runs."""
    fixed: Array = np.ones(expected.shape, np.bool_)
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    for other in others:
        same = expected.view(bits) == other.view(bits)
        with np.errstate(all="ignore"):
            fixed &= same | ((expected != expected) & (other != other))
    return fixed


def near(expected: Array, others: Sequence[Array]) -> Array:
    """The elements that the order of the blocks changes by no more than the rounding of a sum."""
    near: Array = np.full(expected.shape, is_float(expected.dtype))
    if is_float(expected.dtype):
        with np.errstate(all="ignore"):
            wide = expected.astype(np.float64)
            allowed = tolerance(expected.dtype, TERMS, np.abs(wide))
            for other in others:
                near &= np.abs(wide - other.astype(np.float64)) <= allowed
    return near


def worse(one: Difference, other: Difference) -> Difference:
    """The one that counts."""
    return one if not one.equal or (other.equal and not one.bit_equal) else other


def difference(expected: Array, actual: Array, fixed: Array, depth: int | None, own: bool = False) -> Difference:
    """Of the elements that are `fixed`; within the tolerance of `depth` terms in another order, where there is one."""
    return compare(expected, np.where(fixed, actual, expected).astype(expected.dtype), depth, own)


def reduction_depth(original: Entry, translation: Entry, case: Case) -> int | None:
    """None when both sides reduce floats in the same shapes, so that bits must be equal; else how many values a
    result may sum."""
    return None if _reductions(original) == _reductions(translation) else terms_of(case)


SUMS = frozenset({"reduce", "scan", "mmaf", "mmaf_scaled"})
"""Operations that combine many numbers."""


def longest_sum(entry: Entry) -> int | None:
    """How many floats one operation combines at most; None where none does. The assembler chooses their order together
    with the layout of tiles, which hints change: one load without TMA changed the last bit of a mean on sm_90."""
    found: list[int] = []
    for op in walk(entry.body):
        first = op.operands[0].type if op.operands else None
        if op.name in SUMS and isinstance(first, TileType) and _is_of_floats(op):
            dim = op.attributes.get("dim")
            found.append(first.shape[dim if isinstance(dim, int) else -1])
    return max(found, default=None)


def terms_of(case: Case) -> int:
    """How many values a result may sum."""
    return max((math.prod(a.shape) for a in case.arrays.values()), default=1)


def _reductions(entry: Entry) -> list[str]:
    return sorted(
        f"{op.name} {op.attributes.get('dim')} {[getattr(v.type, 'shape', ()) for v in op.operands]}"
        for op in walk(entry.body)
        if op.name in ("reduce", "scan", "mmaf") and _is_of_floats(op)
    )


def orders(entry: Entry, *names: str) -> list[str]:
    """What the order of sums in the interpreter depends on: how many elements are combined, of how many."""
    found: list[str] = []
    for op in walk(entry.body):
        if op.name in names and _is_of_floats(op):
            shapes = [v.type.shape for v in op.operands if isinstance(v.type, TileType)]
            dim = op.attributes.get("dim")
            along = shapes if not isinstance(dim, int) else [(shape[dim], math.prod(shape)) for shape in shapes]
            found.append(f"{op.name} {along}")
    return sorted(found)


def _is_of_floats(operation: Operation) -> bool:
    """Whether its order may show: it, or the function that it combines by, has floats."""
    inner = (value for region in operation.regions for op in walk(region) for value in op.results)
    values = (*operation.operands, *inner)
    return any(isinstance(v.type, TileType) and is_float(element_dtype(element_of(v))) for v in values)
