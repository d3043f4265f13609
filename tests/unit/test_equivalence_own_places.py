"""A load in a loop of what only its own round writes sees the array as before the loop, so a copy will do (M11)."""

from __future__ import annotations

import pytest
from ferrotile_runner.tileir.equivalence import Proof, prove
from ferrotile_runner.tileir.hypotheses import Array, ParameterMap, parse
from ferrotile_runner.tileir.reader import read
from tileir_support import COMMON

VIEW = "tensor_view<160xf32, strides=[1]>"
PART = f"partition_view<tile=(16), {VIEW}>"
STORED = f"tile<16xf32>, {PART}, tile<i32> -> token"
TILE = "tile<i32> -> tile<16xf32>, token"


def arrays(text: str, copies: bool) -> str:
    """Parameters: two arrays of 160 elements; in the Rust a copy behind each."""
    names = ("x", "xb", "y", "yb") if copies else ("x", "y")
    words = ", ".join(f"%{n}: tile<ptr<f32>>, %{n}n: tile<i32>, %{n}s: tile<i32>" for n in names)
    views = "\n".join(
        f"  %{n}v = make_tensor_view %{n}, shape = [160], strides = [1] : {VIEW}\n"
        f"  %{n}p = make_partition_view %{n}v : {PART}"
        for n in names
    )
    constants = "\n".join(f"  %c{k} = constant <i32: {k}> : tile<i32>" for k in (0, 1, 2, 5, 8, 9))
    return f"""entry @k({words}) {{
  %t = make_token : token
{constants}
  %one = constant <f32: 1.000000e+00> : tile<16xf32>
{views}
{text}
  return
}}
"""


def proof(python: str, rust: str) -> Proof:
    words = ParameterMap((Array("x", (160,), copy="xb"), Array("y", (160,), copy="yb")))
    return prove(read(python).entry(), read(rust).entry(), words, parse(COMMON))


def update(name: str, source: str, loaded: str, stored: str, token: str) -> str:
    """name[stored] = source[loaded] + 1, in tiles, behind and with a token."""
    return f"""  %{name}a, %{name}at = load_view_tko weak %{source}p[{loaded}] token = {token} : {PART}, {TILE}
  %{name}r = addf %{name}a, %one : tile<16xf32>
  %{name}j = join_tokens {token}, %{name}at : token
  %{name}w = store_view_tko weak %{name}r, %{name}p[{stored}] token = %{name}j : {STORED}
"""


def looping(body: str, last: str, upper: str = "%c9", step: str = "%c1") -> str:
    return f"""  %done = for %k in (%c0 to {upper}, step {step}) : tile<i32> iter_values(%w = %t) -> (token) {{
  %k1 = addi %k, %c1 : tile<i32>
  %zero = muli %k, %c0 : tile<i32>
{body}
  continue {last} : token
  }}"""


def one(source: str, loaded: str, stored: str) -> str:
    return arrays(looping(update("y", source, loaded, stored, "%w"), "%yw"), source == "yb")


def both(source: str, loaded: tuple[str, str]) -> str:
    """x[k] and y[k + 1] are written."""
    body = update("x", f"x{source}", loaded[0], "%k", "%w") + update("y", f"y{source}", loaded[1], "%k1", "%xw")
    return arrays(looping(body, "%yw"), bool(source))


PLACES = [("%k", "%k", True), ("%k1", "%k1", True), ("%k", "%k1", False), ("%zero", "%zero", False)]


@pytest.mark.parametrize(("loaded", "stored", "same"), PLACES)
def test_a_tile_that_only_its_round_writes_is_as_before_the_loop(loaded: str, stored: str, same: bool) -> None:
    """y[k + 1] = y[k] + 1 reads what the round before wrote."""
    python = one("y", loaded, stored)
    assert proof(python, one("yb", loaded, stored)).equal is same
    assert proof(python, arrays(python[python.index("  %done") : python.index("  return")].rstrip(), True)).equal


def test_each_array_has_its_own_places() -> None:
    """x[k + 1] is written by no earlier round, but not by this one either; y[k] is by the round before."""
    assert proof(both("", ("%k", "%k1")), both("b", ("%k", "%k1"))).equal
    assert not proof(both("", ("%k", "%k")), both("b", ("%k", "%k"))).equal


def twice(source: str) -> str:
    """The tile is loaded again behind the round's own store."""
    first = update("y", "y" if source == "y" else "yb", "%k", "%k", "%w")
    again = update("y", source, "%k", "%k", "%yw").replace("%y", "%z").replace("%zp", "%yp").replace("%zbp", "%ybp")
    return arrays(
        looping(first + again.replace("%zw,", "%yw,").replace("token = %zw", "token = %yw"), "%zw"), source != "y"
    )


def test_behind_the_rounds_own_store_it_is_not() -> None:
    assert not proof(twice("y"), twice("yb")).equal


def through_pointers(factor: int) -> str:
    """y[factor * k + lane] += 1 for k = 0, 1, ... 8."""
    return arrays(
        looping(
            f"""  %f = constant <i32: {factor}> : tile<i32>
  %m = muli %k, %f : tile<i32>
  %m1 = reshape %m : tile<i32> -> tile<1xi32>
  %m16 = broadcast %m1 : tile<1xi32> -> tile<16xi32>
  %lane = iota : tile<16xi32>
  %at = addi %m16, %lane : tile<16xi32>
  %p1 = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p16 = broadcast %p1 : tile<1xptr<f32>> -> tile<16xptr<f32>>
  %p = offset %p16, %at : tile<16xptr<f32>>, tile<16xi32> -> tile<16xptr<f32>>
  %a, %at_t = load_ptr_tko weak %p token=%w : tile<16xptr<f32>> -> tile<16xf32>, token
  %r = addf %a, %one : tile<16xf32>
  %j = join_tokens %w, %at_t : token
  %s = store_ptr_tko weak %p, %r token=%j : tile<16xptr<f32>>, tile<16xf32> -> token""",
            "%s",
        ),
        False,
    )


def of_copy(factor: int) -> str:
    """The same by views, of which the load is one of the copy."""
    strided = f"strided_view<tile=(16), traversal_strides=[{factor}], {VIEW}>"
    views = "\n".join(f"  %{n}q = make_strided_view %{n}v : {strided}" for n in ("y", "yb"))
    body = update("y", "yb", "%k", "%k", "%w").replace("%yp", "%yq").replace("%ybp", "%ybq").replace(PART, strided)
    return arrays(f"{views}\n{looping(body, '%yw')}", True)


@pytest.mark.parametrize(("factor", "apart"), [(16, True), (17, True), (8, False), (15, False)])
def test_lanes_behind_pointers_that_reach_less_far_than_a_step(factor: int, apart: bool) -> None:
    """In steps of 15 the last lane of a round is the first of the next."""
    found = proof(through_pointers(factor), of_copy(factor))
    assert ("does not come behind the same writes" in found.reason) is not apart
    assert found.equal is (factor == 16)  # tiles in other steps are not known to be in range
