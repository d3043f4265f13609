"""Divisors that both dispatchers find, and of tensors with merged axes."""

from __future__ import annotations

from ferrotile.program.dtypes import F16
from ferrotile.signatures.model import ArrayArgument, Signature, Source
from ferrotile_runner.gpu.specialization import merged_divisors, specialization
from ferrotile_runner.host import Specialization


def test_extents_and_outer_strides_divide_by_at_most_sixteen() -> None:
    array = ArrayArgument("x", F16, ("B", "M", 24), Source.DIRECTIVE)
    found = specialization(Signature("k", (array,), None), {"B": 3, "M": 40})
    assert found == {"x": Specialization((1, 8, 8), (16, 8, 1), 16)}  # strides 960, 24, 1


def test_merged_axes_divide_by_the_product() -> None:
    of = Specialization((2, 8, 16), (16, 16, 1), 16)
    assert merged_divisors(of, 2) == Specialization((16, 16), (16, 1), 16)
    assert merged_divisors(of, 3) == of
    assert merged_divisors(Specialization((2, 4, 1), (4, 1, 1), 16), 2) == Specialization((8, 1), (1, 1), 16)
