"""Slices go to the leaves: of lanes, gathers, broadcasts and element-wise operations they are those of one part."""

from __future__ import annotations

import pytest
from tileir_support import COMMON, kernel, load, part, proof_of

WORDS = "x:N y:M"
LAUNCH = (*COMMON, "grid.x = cdiv(N, 16)")
HALF = "partition_view<tile=(8), tensor_view<?xf32, strides=[1]>>"
STORE = f"""  %q = make_partition_view %yv : {HALF}
  %s = store_view_tko weak %v, %q[%bx] token = %t : tile<8xf32>, {HALF}, tile<i32> -> token"""
LANES = """  %c16 = constant <i32: 16> : tile<i32>
  %first = muli %bx, %c16 : tile<i32>
  %f1 = reshape %first : tile<i32> -> tile<1xi32>
  %f16 = broadcast %f1 : tile<1xi32> -> tile<16xi32>
  %lane = iota : tile<16xi32>
  %place = addi %f16, %lane : tile<16xi32>"""
GATHER = f"""{LANES}
  %at = exti %place signed : tile<16xi32> -> tile<16xi64>
  %w = exti %n signed : tile<i32> -> tile<i64>
  %w1 = reshape %w : tile<i64> -> tile<1xi64>
  %w16 = broadcast %w1 : tile<1xi64> -> tile<16xi64>
  %in = cmpi less_than %at, %w16, unsigned : tile<16xi64> -> tile<16xi1>
  %p1 = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p16 = broadcast %p1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %px = offset %p16, %at : tile<16xptr<f32>>, tile<16xi64> -> tile<16xptr<f32>>
  %zero = constant <f32: 0.000000e+00> : tile<16xf32>
  %a, %a_t = load_ptr_tko weak %px, %in, %zero token=%t : tile<16xptr<f32>>, tile<16xi1>, tile<16xf32> """
GATHER += "-> tile<16xf32>, token"


def halved(tile: str, place: int, change: str = "%b = negf %a : tile<16xf32>") -> str:
    return kernel(f"""  %k = constant <i32: {place}> : tile<i32>
{tile}
  {change}
  %v = extract %b[%k] : tile<16xf32> -> tile<8xf32>
{STORE}""")


@pytest.mark.parametrize("place", [0, 1])
def test_a_slice_of_a_gather_is_one_of_the_view(place: int) -> None:
    python, rust = halved(GATHER, place), halved(load("a", "xv", padding="zero"), place)
    assert proof_of(python, rust, WORDS, *LAUNCH).equal
    assert not proof_of(python, halved(load("a", "xv", padding="zero"), 1 - place), WORDS, *LAUNCH).equal
    assert not proof_of(python, halved(load("a", "xv", padding="neg_inf"), place), WORDS, *LAUNCH).equal


def numbers(place: int) -> str:
    """f32 of the elements' numbers, in part `place` of two."""
    return halved(LANES, place, "%b = itof %place signed : tile<16xi32> -> tile<16xf32>")


def from_element(first: int, size: int = 8) -> str:
    """f32 of 16 * bid + first + lane."""
    return kernel(f"""  %c16 = constant <i32: 16> : tile<i32>
  %k = constant <i32: {first}> : tile<i32>
  %f = muli %bx, %c16 : tile<i32>
  %g = addi %f, %k : tile<i32>
  %f1 = reshape %g : tile<i32> -> tile<1xi32>
  %f8 = broadcast %f1 : tile<1xi32> -> tile<{size}xi32>
  %lane = iota : tile<{size}xi32>
  %place = addi %f8, %lane : tile<{size}xi32>
  %v = itof %place signed : tile<{size}xi32> -> tile<{size}xf32>
{STORE}""")


@pytest.mark.parametrize("place", [0, 1])
def test_a_slice_of_lanes_starts_at_its_first_element(place: int) -> None:
    assert proof_of(numbers(place), from_element(8 * place), WORDS, *LAUNCH).equal
    assert not proof_of(numbers(place), from_element(8 - 8 * place), WORDS, *LAUNCH).equal
    assert not proof_of(numbers(place), from_element(8 * place + 1), WORDS, *LAUNCH).equal


def outer(axis: int, place: tuple[int, int]) -> str:
    """A row or column of 4 lanes, broadcast to 4 x 4, of which a part of 2 x 4 is stored."""
    shape = "4x1" if axis == 0 else "1x4"
    return kernel(f"""  %k0 = constant <i32: {place[0]}> : tile<i32>
  %k1 = constant <i32: {place[1]}> : tile<i32>
  %lane = iota : tile<4xi32>
  %l = itof %lane signed : tile<4xi32> -> tile<4xf32>
  %r = reshape %l : tile<4xf32> -> tile<{shape}xf32>
  %b = broadcast %r : tile<{shape}xf32> -> tile<4x4xf32>
  %e = extract %b[%k0, %k1] : tile<4x4xf32> -> tile<2x4xf32>
  %v = reshape %e : tile<2x4xf32> -> tile<8xf32>
{STORE}""")


def test_a_slice_of_a_broadcast_is_one_along_its_own_axes() -> None:
    """The parts along an axis that is broadcast are all the same."""
    assert proof_of(outer(1, (0, 0)), outer(1, (1, 0)), WORDS, *LAUNCH).equal
    assert not proof_of(outer(0, (0, 0)), outer(0, (1, 0)), WORDS, *LAUNCH).equal


def single(place: int) -> str:
    """One lane of a tile of two lanes of numbers."""
    half = part("yv").replace("(16)", "(1)")
    return kernel(f"""  %k = constant <i32: {place}> : tile<i32>
  %lane = iota : tile<2xi32>
  %l = itof %lane signed : tile<2xi32> -> tile<2xf32>
  %v = extract %l[%k] : tile<2xf32> -> tile<1xf32>
  %q = make_partition_view %yv : {half}
  %s = store_view_tko weak %v, %q[%bx] token = %t : tile<1xf32>, {half}, tile<i32> -> token""")


def test_a_slice_of_one_lane_is_its_number() -> None:
    number = kernel(f"""  %v = constant <f32: 1.000000e+00> : tile<1xf32>
  %q = make_partition_view %yv : {part("yv").replace("(16)", "(1)")}
  %s = store_view_tko weak %v, %q[%bx] token = %t : tile<1xf32>, {part("yv").replace("(16)", "(1)")}, """
        """tile<i32> -> token""")  # fmt: skip
    assert proof_of(single(1), number, WORDS, *LAUNCH).equal
    assert not proof_of(single(0), number, WORDS, *LAUNCH).equal
