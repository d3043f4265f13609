"""Results of a GPU are compared bit by bit, or within the rounding of a sum; numbers against those of ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ferrotile_runner.workers.array_verdict import EXACT, OPEN, SUMMED, bound_of, compare_bits
from ferrotile_runner.workers.element_bits import FLOATS, numbers, shown

TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
}


@pytest.mark.parametrize("name", [name for name in TYPES if name[:2] not in ("f6", "f3")])
def test_every_bit_pattern_is_the_number_that_ml_dtypes_says(name: str) -> None:
    size = np.dtype(TYPES[name]).itemsize
    patterns = np.arange(1 << 8 * size, dtype=f"u{size}")
    expected = patterns.view(TYPES[name]).astype(np.float64)
    assert np.array_equal(numbers(patterns, name), expected, equal_nan=True)


@pytest.mark.parametrize("name", TYPES)
def test_units_and_smallest_numbers(name: str) -> None:
    has = ml_dtypes.finfo(TYPES[name])
    assert (FLOATS[name].epsilon, FLOATS[name].tiny) == (float(has.eps), float(has.smallest_normal))


def bits(values: list[float], name: str = "f32") -> np.ndarray:
    size = np.dtype(TYPES[name]).itemsize
    return np.array(values, TYPES[name]).view(f"u{size}")


def test_nan_is_nan_whatever_its_bits() -> None:
    other = np.array([0x7FC00001, 0x3F800000], np.uint32)
    found = compare_bits(bits([np.nan, 1.0]), other, "f32", None, None)
    assert (found.equal, found.bit_equal, found.compared) == (True, True, 2)


def test_zeros_of_both_signs_are_not_the_same_bits() -> None:
    found = compare_bits(bits([0.0, 1.0]), bits([-0.0, 1.0]), "f32", 10, None)
    assert (found.equal, found.bit_equal, found.worst, found.error) == (True, False, (0,), 0.0)
    assert not compare_bits(np.zeros(1, np.int32), np.ones(1, np.int32), "i32", 10, None).equal


def test_a_sum_in_another_order_may_differ_by_its_rounding() -> None:
    # 2 * 8 * 2**-23 * 4: eight terms, the largest number is 4.
    bound = 2 * 8 * 2.0**-23 * 4
    assert bound_of("f32", 8, 4.0) == bound
    near = compare_bits(bits([4.0, 1.0]), bits([4.0, 1.0 + bound]), "f32", 8, None)
    assert near.equal and not near.bit_equal and near.error == near.bound == bound
    far = compare_bits(bits([4.0, 1.0]), bits([4.0, 1.0 + 2 * bound]), "f32", 8, None)
    assert (far.equal, far.differing, far.worst) == (False, 1, (1,))
    assert not compare_bits(bits([4.0, 1.0]), bits([4.0, 1.0 + bound]), "f32", None, None).equal


@pytest.mark.parametrize("values", [(1.0, np.inf), (np.inf, -np.inf), (np.nan, 1.0)])
def test_no_tolerance_makes_infinities_or_nan_equal(values: tuple[float, float]) -> None:
    found = compare_bits(bits([values[0]]), bits([values[1]]), "f32", 1 << 20, None)
    assert not found.equal and found.error == np.inf


def test_masks_say_what_is_expected_of_each_element() -> None:
    one, other = bits([1.0, 1.0, 1.0]), bits([2.0, 1.0 + 2.0**-20, 1.0 + 2.0**-20])
    found = compare_bits(one, other, "f32", None, np.array([OPEN, SUMMED, EXACT], np.uint8))
    assert (found.compared, found.differing, found.worst) == (2, 1, (2,))


def test_elements_are_shown_as_their_type_has_them() -> None:
    assert shown(0xC000, "f16", 2) == "-2 (0xc000)"
    assert shown(0xFF, "i8", 1) == "-1" and shown(0xFF, "u8", 1) == "255"
    assert shown(1, "bool", 1) == "True"
    found = compare_bits(np.array([1, 2], np.uint8), np.array([1, 255], np.uint8), "i8", None, None)
    assert str(found) == "1 of 2 elements differ, [1]: 2 and -1"
