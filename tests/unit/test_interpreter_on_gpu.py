"""Where an H200 said otherwise than the interpreter once did (docs/evidence/gpu_runs.md): each value is the GPU's."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter.arithmetic import ELEMENTWISE, elementwise
from ferrotile_runner.tileir.interpreter.elements import Array
from ferrotile_runner.tileir.interpreter.modes import Modes
from ferrotile_runner.tileir.literals import convert_float

INF, NAN = float("inf"), float("nan")


def one(opcode: str, *args: Array, **modes: object) -> Array:
    assert opcode in ELEMENTWISE
    return elementwise(opcode, args, Modes(**modes))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_a_float_is_true_where_it_is_not_zero(dtype: type[np.generic]) -> None:
    values = np.array([0.0, -0.0, 0.5, -0.25, 2.0, 1e-7, INF, NAN]).astype(dtype)
    found = one("ftoi", values, element="i1", signed=False)
    assert found.tolist() == [False, False, True, True, True, True, True, True]


@pytest.mark.parametrize(("element", "largest"), [("f8E4M3FN", 448.0), ("f8E5M2", 57344.0)])
def test_what_f8_cannot_hold_becomes_its_largest_number(element: str, largest: float) -> None:
    values = np.array([1e6, -1e6, INF, -INF, 3e38, 1.5, NAN], np.float32)
    found = one("ftof", values, element=element, rounding="nearest_even").astype(np.float64)
    expected = [largest, -largest, largest, -largest, largest, 1.5, NAN]
    assert np.array_equal(found, expected, equal_nan=True)
    whole = one("itof", np.array([100_000, -100_000, 3], np.int32), element=element, signed=True)
    assert whole.astype(np.float64).tolist() == [largest, -largest, 3.0]


def test_a_product_too_large_for_f64_is_nothing_beside_an_infinite_summand() -> None:
    a, b, c = (np.array([x]) for x in (1e200, 1e200, -INF))
    assert one("fma", a, b, c, rounding="nearest_even")[0] == -INF
    assert np.isnan(one("fma", np.array([INF]), np.array([1.0]), c, rounding="nearest_even")[0])


@pytest.mark.parametrize("element", ["f8E4M3FN", "f8E5M2"])
def test_the_proof_folds_no_infinity_into_f8(element: str) -> None:
    infinite = int(np.array([INF], np.float32).view(np.uint32)[0])
    assert convert_float(infinite, "f32", element) is None
    assert convert_float(int(np.array([1.5], np.float32).view(np.uint32)[0]), "f32", element) is not None
