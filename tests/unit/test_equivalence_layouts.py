"""A tile that only the Rust loads is within its array only if the view is: extents and strides are the launch's."""

from __future__ import annotations

import pytest
from tileir_support import COMMON, kernel, load, proof_of, store

WORDS = "x:N y:N"
LOADED = """  %pz = make_partition_view %zv : {part}
  %z, %z_t = load_view_tko weak %pz[%bx] token = %t : {part}, tile<i32> -> tile<16xf32>, token"""


def seen_as(extent: str, stride: int) -> str:
    """A load of x that nothing takes, through a view of its own."""
    view = f"tensor_view<?xf32, strides=[{stride}]>"
    return f"""  %two = constant <i32: 2> : tile<i32>
  %twice = muli %n, %two : tile<i32>
  %zv = make_tensor_view %x, shape = [{extent}], strides = [{stride}] : tile<i32> -> {view}
""" + LOADED.format(part=f"partition_view<tile=(16), {view}>")


def copied(extra: str) -> str:
    """y[b] = x[b], in tiles; and a load that nothing takes."""
    return kernel("\n".join((load("a", "xv"), extra, store("%a", "yv", token="%a_t"))))


def test_a_load_that_nothing_takes_may_be_added_in_range() -> None:
    proof = proof_of(copied(""), copied(seen_as("%n", 1)), WORDS, *COMMON)
    assert proof.equal, proof.difference or proof.reason


@pytest.mark.parametrize(("extent", "stride"), [("%n", 2), ("%n", 0), ("%twice", 1)])
def test_not_where_its_view_may_leave_the_array(extent: str, stride: int) -> None:
    """Of stride 2 the tile reaches twice as far; an extent of 2 N lets tiles lie behind the array."""
    assert not proof_of(copied(""), copied(seen_as(extent, stride)), WORDS, *COMMON).equal
