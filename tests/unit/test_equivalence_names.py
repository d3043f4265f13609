"""Loops at one depth have names in common, which stand for other rounds: what one loop shows is not said of another."""

from __future__ import annotations

import pytest
from tileir_support import COMMON, kernel, load, part, proof_of, store

WORDS = "x:N y:M"
HEAD = f"""  %c0 = constant <i32: 0> : tile<i32>
  %c1 = constant <i32: 1> : tile<i32>
  %c4 = constant <i32: 4> : tile<i32>
  %c9 = constant <i32: 9> : tile<i32>
  %false = constant <i1: false> : tile<i1>
  %true = constant <i1: true> : tile<i1>
  %q = make_partition_view %yv : {part("yv")}
{load("a", "xv", "%c0")}
  %b = addf %a, %a : tile<16xf32>"""


def rounds(result: str, start: str, body: str) -> str:
    return f"""  {result} = for %k in (%c0 to %n, step %c1) : tile<i32> iter_values(%w = {start}) -> (token) {{
{body}
  continue %done : token
  }}"""


def put(name: str, value: str, index: str) -> str:
    types = f"tile<16xf32>, {part('yv')}, tile<i32> -> token"
    return f"  %{name} = store_view_tko weak {value}, %q[{index}] token = %w : {types}"


def where_first(then: str, other: str) -> str:
    """An `if` on whether the round is the first."""
    return f"""  %e = cmpi equal %k, %c0, signed : tile<i32> -> tile<i1>
  %done = if %e -> (token) {{
{then}
  }} else {{
{other}
  }}"""


def two_loops(second: str, kind: str) -> str:
    """y[0] = a in round 0 of a loop, y[0] = b in the other rounds of a second; or y[k + 1] = a, then y[k] = b. The
    second loop's stores come behind `second`."""
    kept = "  yield %w : token"
    if kind == "if":
        one = where_first(f"{put('s', '%a', '%c0')}\n  yield %s : token", kept)
        two = where_first(kept, f"{put('s', '%b', '%c0')}\n  yield %s : token")
    else:
        one = f"  %k1 = addi %k, %c1 : tile<i32>\n{put('done', '%a', '%k1')}"
        two = put("done", "%b", "%k")
    return kernel("\n".join((HEAD, rounds("%first", "%t", one), rounds("%second", second, two))))


@pytest.mark.parametrize("kind", ["if", "index"])
def test_rounds_of_two_loops_are_not_on_two_sides_of_one_if_nor_at_two_tiles(kind: str) -> None:
    """With n = 2 both loops store y[0] (or y[1]), whatever each says of its own `k`."""
    python = two_loops("%first", kind)
    assert proof_of(python, python, WORDS, *COMMON).equal
    assert "orders the store before the store" in proof_of(python, two_loops("%t", kind), WORDS, *COMMON).reason


def one_loop(second: str) -> str:
    """y[k + 1] = a, then y[k] = b in each round of one loop, the second behind `second`."""
    types = f"tile<16xf32>, {part('yv')}, tile<i32> -> token"
    body = f"""  %k1 = addi %k, %c1 : tile<i32>
{put("s", "%a", "%k1")}
  %done = store_view_tko weak %b, %q[%k] token = {second} : {types}"""
    return kernel(f"{HEAD}\n{rounds('%first', '%t', body)}")


def test_in_one_round_of_one_loop_the_tiles_differ() -> None:
    assert proof_of(one_loop("%s"), one_loop("%s"), WORDS, *COMMON).equal
    assert proof_of(one_loop("%s"), one_loop("%w"), WORDS, *COMMON).reason.count("of a later round") == 1


def nested(inner: str, stops: str) -> str:
    """for i in 0..4: for j in 0..i: `inner`; with `stops` the loop is left after its first round."""
    return kernel(f"""{HEAD}
  %p = make_partition_view %xv : {part("xv")}
  %size = get_index_space_shape %p : {part("xv")} -> tile<i32>
  %flag = for %i in (%c0 to %c4, step %c1) : tile<i32> iter_values(%stop = %false) -> (tile<i1>) {{
  if %stop {{
  continue %stop : tile<i1>
  }}
  for %j in (%c0 to %i, step %c1) : tile<i32> {{
{inner}
  continue
  }}
  continue {stops} : tile<i1>
  }}
{store("%a", "yv", "%c0")}""")


ACCESS = f"  %f, %f_t = load_view_tko weak %p[%c9] token = %t : {part('xv')}, tile<i32> -> tile<16xf32>, token"
CHECK = '  %in = cmpi less_than %c9, %size, signed : tile<i32> -> tile<i1>\n  assert %in, "small" : tile<i1>'


@pytest.mark.parametrize(("stops", "implied"), [("%false", True), ("%true", False)])
def test_an_inner_loop_runs_in_the_rounds_that_are_made(stops: str, implied: bool) -> None:
    """Left after round 0, whose inner loop has no round, the Python accesses nothing; the Rust checks in round 1."""
    found = proof_of(nested(ACCESS, stops), nested(CHECK, "%false"), WORDS, *COMMON)
    assert found.equal is implied
    assert implied or "which the Python does not imply" in found.reason
