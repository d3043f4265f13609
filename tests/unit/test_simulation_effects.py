"""What a simulation sees besides arrays' elements: identities of reductions, printed lines, asserts."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import numpy as np
import pytest
from ferrotile.program.dtypes import F32
from ferrotile.signatures.model import ArrayArgument, GridFactor, Signature, Source
from ferrotile.translation import Entry, RustParameter
from ferrotile_runner.inputs import Case
from ferrotile_runner.simulation import Simulation, Verdict, simulate
from ferrotile_runner.tileir.reader import read

U = Source.DIRECTIVE
OF = Signature("k", (ArrayArgument("x", F32, ("N",), U), ArrayArgument("y", F32, ("N",), U)), ((GridFactor("N", 4),),))
RUST = Entry("k", "kernels", tuple(RustParameter(n, "tensor", 1, (1,)) for n in ("x", "y")), ())
VIEW = "tensor_view<?xf32, strides=[1]>"
PART = f"partition_view<tile=(4), padding_value = zero, {VIEW}>"


def entry(body: str) -> str:
    """Stores %r, a tile of 4, made of %a."""
    return f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %ps: tile<i32>, %q: tile<ptr<f32>>, %m: tile<i32>, %qs: tile<i32>) {{
  %t = make_token : token
  %bx, %by, %bz = get_tile_block_id : tile<i32>
  %xv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %yv = make_tensor_view %q, shape = [%m], strides = [1] : tile<i32> -> {VIEW}
  %xp = make_partition_view %xv : {PART}
  %yp = make_partition_view %yv : {PART}
  %a, %at = load_view_tko weak %xp[%bx] token = %t : {PART}, tile<i32> -> tile<4xf32>, token
{body}
  %s = store_view_tko weak %r, %yp[%bx] token = %at : tile<4xf32>, {PART}, tile<i32> -> token
  return
}}"""


def compared(one: str, other: str, x: list[float] | None = None) -> Simulation:
    values = np.array(x or [1, 2, 3, 4, 5, 6, 7, 8], np.float32)
    case = Case("given", {"N": 8}, {"x": values, "y": np.zeros(8, np.float32)}, {}, (2, 1, 1))
    original, translation = (read(entry(body)).entry() for body in (one, other))
    return simulate(original, translation, OF, RUST, 60, launches=[case])


def reduction(identity: str, operation: str = "addf") -> str:
    return f"""  %v = reduce %a dim=0 identities=[{identity} : f32] : tile<4xf32> -> tile<f32>
  (%e: tile<f32>, %f: tile<f32>) {{
    %g = {operation} %e, %f : tile<f32>
    yield %g : tile<f32>
  }}
  %w = reshape %v : tile<f32> -> tile<1xf32>
  %r = broadcast %w : tile<1xf32> -> tile<4xf32>"""


ZERO, ONE, MINUS_ZERO = "0.000000e+00", "1.000000e+00", "-0.000000e+00"


@pytest.mark.parametrize(
    ("operation", "right", "wrong"),
    [("addf", ZERO, ONE), ("mulf", ONE, "2.000000e+00"), ("maxf", "0xFF800000", "6.000000e+00")],
)
def test_another_identity_is_another_program(operation: str, right: str, wrong: str) -> None:
    """1 + 2 + 3 + 4 is 10, and 11 where a 1 is added; the largest of 1 to 4 is less than 6."""
    assert compared(reduction(right, operation), reduction(right, operation)).verdict is Verdict.AGREED
    assert compared(reduction(right, operation), reduction(wrong, operation)).verdict is Verdict.DIFFERS


def test_the_sign_of_a_zero_sum_is_open_where_the_original_leaves_it_open() -> None:
    """-0.0 is the identity of a sum; 0.0 is that of all sums but -0.0's."""
    zeros, open_, fixed = [-0.0] * 8, reduction(ZERO), reduction(MINUS_ZERO)
    assert compared(open_, fixed, zeros).verdict is Verdict.AGREED, "nobody can tell"
    assert compared(fixed, open_, zeros).verdict is Verdict.DIFFERS
    assert compared(fixed, open_).verdict is Verdict.AGREED, "other sums are the same"


def printed(text: str, value: str = "%bx") -> str:
    return f"""  %pt = print_tko "{text}", {value} token=%t : tile<i32> -> token
  %r = negf %a : tile<4xf32>"""


def test_printed_lines_are_compared() -> None:
    assert compared(printed("block %i"), printed("block %d")).verdict is Verdict.AGREED
    other = compared(printed("block %i"), printed("tile %i"))
    assert other.verdict is Verdict.DIFFERS and "prints `block %d 0` in the original" in other.text
    assert compared(printed("block %i"), printed("block %i", "%by")).verdict is Verdict.DIFFERS
    assert compared(printed("block %i"), "  %r = negf %a : tile<4xf32>").verdict is Verdict.DIFFERS


def checked(limit: int) -> str:
    return f"""  %c = constant <i32: {limit}> : tile<i32>
  %ok = cmpi less_than %bx, %c, signed : tile<i32> -> tile<i1>
  assert %ok, "few blocks" : tile<i1>
  %r = negf %a : tile<4xf32>"""


def test_an_assert_that_fails_fails_on_both_sides() -> None:
    """Of two blocks the second one is not less than 1."""
    assert compared(checked(1), checked(1)).verdict is Verdict.AGREED
    assert "in the original only" in compared(checked(1), checked(2)).text
    assert "in the translation only" in compared(checked(2), checked(1)).text
