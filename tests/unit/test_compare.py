"""Comparing arrays: bits, NaN, tolerance, the worst element."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ferrotile_runner.compare import Prints, compare


def test_equal_bits_and_any_nan() -> None:
    a = np.array([1, np.nan, np.inf], np.float32)
    b = a.copy()
    b.view(np.uint32)[1] ^= 1
    assert compare(a, b).bit_equal
    assert str(compare(a, b)) == "bit-equal"
    assert compare(np.zeros((0, 3)), np.zeros((0, 3))).equal


def test_a_last_bit_is_a_difference_without_a_depth() -> None:
    a = np.array([[1, 2], [3, 4]], np.float32)
    b = a.copy()
    b[1, 0] = np.nextafter(np.float32(3), np.float32(4))
    found = compare(a, b)
    assert not found.equal and found.worst == (1, 0)
    within = compare(a, b, depth=4)
    assert within.equal and not within.bit_equal


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_tolerance_grows_with_depth(dtype: type) -> None:
    a, b = np.array([1.0]).astype(dtype), np.array([1.0]).astype(dtype)
    epsilon = float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
    b[0] = dtype(1 + 16 * epsilon)
    assert not compare(a, b, depth=4).equal
    assert compare(a, b, depth=16).equal


def test_infinities_and_nan_are_never_within_tolerance() -> None:
    a = np.array([np.inf, 1], np.float32)
    assert not compare(a, np.array([1e38, 1], np.float32), depth=10**6).equal
    assert not compare(a, np.array([-np.inf, 1], np.float32), depth=10**6).equal
    assert not compare(a, np.array([np.nan, 1], np.float32), depth=10**6).equal


def test_signed_zeros_differ_in_bits_and_agree_in_value() -> None:
    a, b = np.array([0.0], np.float32), np.array([-0.0], np.float32)
    assert not compare(a, b).equal
    assert compare(a, b, depth=1).equal


def test_integers_are_exact_and_the_worst_is_named() -> None:
    found = compare(np.array([1, 2, 300]), np.array([1, 3, 100]))
    assert found.worst == (2,) and found.expected == "300" and found.actual == "100"
    assert "[2]: 300 and 100" in str(found)


def test_unlike_arrays_are_refused() -> None:
    with pytest.raises(ValueError):
        compare(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError):
        compare(np.zeros(2), np.zeros(2, np.float32))


def test_printed_lines_are_compared_in_the_order_of_each_block() -> None:
    lines = ("a %i 1", "b 2.0")
    same = Prints(lines, (), True, True)
    assert same.difference(("a %d 1", "b 2.0")) == "", "both are one conversion"
    assert Prints(("%%i %i 1",), (), True, True).difference(("%%d %d 1",)), "the first is no conversion"
    assert same.difference(("b 2.0", "a %d 1")) == "prints `a %d 1` in the original, `b 2.0` in the translation"
    assert same.difference(lines[:1]) == "2 lines are printed by the original, 1 by the translation"
    assert Prints(lines, (), False, True).difference(lines[::-1]) == "", "other blocks have other numbers"
    assert Prints(lines, (), False, True).difference(("a %i 1", "b 3.0"))
    assert Prints(lines, (), True, False).difference(("a %i 1", "b 2.1")) == "", "numbers may be rounded otherwise"
    loose = Prints(lines, (("a %i 7", "b 2.0"),), True, True)
    assert loose.difference(("a %i 5", "b 2.0")) == "" and loose.difference(("a %i 1", "b 3.0"))
    assert Prints((), (), True, True).difference(("a",))


def test_elements_that_differ_are_counted_and_the_first_is_named() -> None:
    a = np.zeros((2, 3), np.float32)
    b = a.copy()
    b[0, 2], b[1, 1] = 0.5, 2.0
    found = compare(a, b)
    assert (found.differing, found.first, found.worst) == (2, (0, 2), (1, 1))
    assert str(found).endswith("the worst of 2 elements that differ from [0, 2] on")
    close = compare(np.array([1000, 1], np.float32), np.array([1000, 1.00001], np.float32), depth=4)
    assert (close.equal, close.differing, close.first) == (True, 0, None)
    whole = compare(np.array([1, 2, 3]), np.array([1, 0, 9]))
    assert (whole.differing, whole.first) == (2, (1,))
