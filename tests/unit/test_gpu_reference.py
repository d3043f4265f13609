"""What a kernel computes in f64, beside results that differ in rounding."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import numpy as np
import pytest
from ferrotile_runner.gpu.reference import NoReference, double_case, in_double
from ferrotile_runner.inputs import Case
from ferrotile_runner.tileir.interpreter import Storage, run
from ferrotile_runner.tileir.reader import read

VIEW = "tensor_view<?xf16, strides=[1]>"
THIRD = "0x3555"
"""1/3 as an f16: 1365 / 4096."""
SUM = f"""entry @k(%p: tile<ptr<f16>>, %n: tile<i32>, %q: tile<ptr<f16>>) {{
  %t = make_token : token
  %x = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %xv = make_partition_view %x : partition_view<tile=(4), padding_value = zero, {VIEW}>
  %zero = constant <i32: 0> : tile<i32>
  %v, %t1 = load_view_tko weak %xv[%zero] token = %t : partition_view<tile=(4), padding_value = zero, {VIEW}>, tile<i32> -> tile<4xf16>, token
  %c = constant <f16: {THIRD}> : tile<4xf16>
  %s = mulf %v, %c rounding<nearest_even> : tile<4xf16>
  %sum = reduce %s dim=0 identities=[0.000000e+00 : f16] : tile<4xf16> -> tile<f16>
    (%a: tile<f16>, %b: tile<f16>) {{
    %d = addf %a, %b rounding<nearest_even> : tile<f16>
    yield %d : tile<f16>
  }}
  %t2 = store_ptr_tko weak %q, %sum : tile<ptr<f16>>, tile<f16> -> token
  return
}}"""
BITS = """entry @k(%p: tile<ptr<f32>>) {
  %v, %t1 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %b = bitcast %v : tile<f32> -> tile<i32>
  return
}"""


def test_nothing_is_rounded_before_f64() -> None:
    x = np.array([0.1, 0.2, 0.3, 1000.0], np.float16)
    case = Case("one", {"N": 4}, {"x": x, "y": np.zeros(1, np.float16)}, {}, (1, 1, 1))
    wide = double_case(case)
    words = (Storage("x", wide.arrays["x"]), 4, Storage("y", wide.arrays["y"]))
    found = run(in_double(read(SUM).entry("k")), words, wide.grid).arrays["y"]
    assert found.dtype == np.float64
    # The inputs and the constant are f16 numbers; the products and their sum are not rounded to f16.
    assert found[0] == pytest.approx(float(np.sum(x.astype(np.float64)) * 1365 / 4096), rel=1e-15)
    assert float(np.float16(found[0])) != found[0]


def test_the_bits_of_a_float_have_no_meaning_in_f64() -> None:
    with pytest.raises(NoReference, match="`bitcast` uses the bits"):
        in_double(read(BITS).entry("k"))


def test_arrays_with_gaps_have_other_places() -> None:
    case = Case("one", {}, {"x": np.zeros((4, 4), np.float32)[:, :3]}, {}, (1, 1, 1))
    with pytest.raises(NoReference, match="gaps"):
        double_case(case)
