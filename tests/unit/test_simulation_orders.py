"""What a simulation sees of tokens, promises and the order of reductions: worked out by hand on kernels of a few lines."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import numpy as np
import pytest
from ferrotile.program.dtypes import F32, I32
from ferrotile.signatures.model import ArrayArgument, GridFactor, ScalarArgument, Signature, Source
from ferrotile.translation import Entry, RustParameter
from ferrotile_runner.determined import longest_sum
from ferrotile_runner.entry_hints import hints_of
from ferrotile_runner.other_orders import orderings
from ferrotile_runner.simulation import Simulation, Verdict, simulate
from ferrotile_runner.tileir.interpreter import SHUFFLED, Order, Storage, UndefinedBehaviour, run
from ferrotile_runner.tileir.model import Entry as TileEntry
from ferrotile_runner.tileir.reader import read

U = Source.DIRECTIVE
OF = Signature("k", (ArrayArgument("x", F32, ("N",), U), ArrayArgument("y", F32, ("N",), U)), ((GridFactor("N", 4),),))
RUST = Entry("k", "kernels", tuple(RustParameter(n, "tensor", 1, (1,)) for n in ("x", "y")), ())
VIEW = "tensor_view<?xf32, strides=[1]>"
PART = f"partition_view<tile=(4), padding_value = zero, {VIEW}>"
HEAD = f"""entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %ps: tile<i32>, %q: tile<ptr<f32>>, %m: tile<i32>, %qs: tile<i32>) {{
  %t = make_token : token
  %b, %by, %bz = get_tile_block_id : tile<i32>
  %xv = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> {VIEW}
  %yv = make_tensor_view %q, shape = [%m], strides = [1] : tile<i32> -> {VIEW}
  %px = make_partition_view %xv : {PART}
  %py = make_partition_view %yv : {PART}
"""


def load(name: str, view: str, token: str = "%t") -> str:
    return f"  %{name}, %{name}_t = load_view_tko weak %{view}[%b] token = {token} : {PART}, tile<i32> -> tile<4xf32>, token\n"


def store(name: str, value: str, view: str, token: str) -> str:
    return f"  %{name} = store_view_tko weak %{value}, %{view}[%b] token = {token} : tile<4xf32>, {PART}, tile<i32> -> token\n"


def entry(*lines: str) -> TileEntry:
    return read(HEAD + "".join(lines) + "  return\n}\n").entry()


def compared(original: TileEntry, translation: TileEntry) -> Simulation:
    return simulate(original, translation, OF, RUST, 60)


def swap(token: str) -> TileEntry:
    """x and y exchanged; the store to x waits for `token`."""
    return entry(load("a", "px"), load("c", "py"), store("s", "c", "px", token), store("u", "a", "py", "%c_t"))


def read_back(token: str) -> TileEntry:
    """x is doubled, then y is what is in x."""
    double = "  %d = addf %a, %a : tile<4xf32>\n"
    return entry(
        load("a", "px"), double, store("s", "d", "px", "%a_t"), load("c", "px", token), store("u", "c", "py", "%c_t")
    )


@pytest.mark.parametrize(
    ("make", "right", "wrong", "words"),
    [(swap, "%a_t", "%t", "loads as late"), (read_back, "%s", "%a_t", "as late as tokens allow")],
)
def test_an_access_that_lacks_its_token_is_another_program(make: object, right: str, wrong: str, words: str) -> None:
    assert callable(make)
    assert compared(make(right), make(right)).verdict is Verdict.AGREED
    found = compared(make(right), make(wrong))
    assert found.verdict is Verdict.DIFFERS and words in found.text


def test_what_the_original_does_not_order_need_not_be_ordered() -> None:
    assert compared(swap("%t"), swap("%a_t")).verdict is Verdict.AGREED
    assert compared(swap("%t"), swap("%t")).verdict is Verdict.AGREED


def test_only_arrays_that_are_read_and_written_or_written_twice_have_orders() -> None:
    copy = entry(load("a", "px"), store("s", "a", "py", "%t"))
    assert orderings(copy, copy) == () and len(orderings(swap("%t"), swap("%t"))) == 3
    twice = entry(load("a", "px"), store("s", "a", "py", "%t"), store("u", "a", "py", "%s"))
    assert len(orderings(twice, twice)) == 3


NUMBERS = Signature(
    "k",
    (ArrayArgument("x", I32, ("N",), U), ScalarArgument("a", I32, U), ArrayArgument("y", I32, ("N",), U)),
    ((GridFactor("N", 4),),),
)
TWO = Entry(
    "k",
    "kernels",
    (RustParameter("x", "tensor", 1, (1,)), RustParameter("a", "scalar"), RustParameter("y", "tensor", 1, (1,))),
    (),
)


def of_integers(body: str) -> TileEntry:
    """Stores %r, made of %a, a tile of 4, and %k, a scalar."""
    head = HEAD.replace("f32", "i32").replace("%q:", "%k: tile<i32>, %q:")
    wait = load("a", "px").replace("f32", "i32")
    return read(head + wait + body + store("s", "r", "py", "%t").replace("f32", "i32") + "  return\n}\n").entry()


def integers(one: str, other: str) -> Simulation:
    return simulate(of_integers(one), of_integers(other), NUMBERS, TWO, 60)


def test_a_promise_that_is_not_kept_is_another_program() -> None:
    plain, kept = "  %r = muli %a, %a : tile<4xi32>\n", "  %r = muli %a, %a overflow<no_signed_wrap> : tile<4xi32>\n"
    assert integers(plain, plain).verdict is Verdict.AGREED
    assert integers(plain, kept).verdict is Verdict.DIFFERS
    assert integers(kept, plain).verdict is Verdict.AGREED, "where it is broken, anything may come out"


def test_an_assumption_that_does_not_hold_is_another_program() -> None:
    body = "  %j = assume {}, %k : tile<i32>\n  %w = reshape %j : tile<i32> -> tile<1xi32>\n  %v = broadcast %w : tile<1xi32> -> tile<4xi32>\n  %r = addi %a, %v : tile<4xi32>\n"
    fair, unfair = body.format("div_by<1>"), body.format("bounded<0, 2>")
    assert integers(fair, fair).verdict is Verdict.AGREED
    found = integers(fair, unfair)
    assert found.verdict is Verdict.DIFFERS and "assume bounded<0, 2> does not hold" in found.text
    assert integers(unfair, fair).verdict is Verdict.AGREED


def test_a_part_outside_its_tile_has_no_meaning() -> None:
    program = of_integers(
        "  %e = extract %a[%k] : tile<4xi32> -> tile<2xi32>\n  %r = cat %e, %e dim = 0 : tile<2xi32>, tile<2xi32> -> tile<4xi32>\n"
    )
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    assert run(program, (Storage("x", x), 4, 1, 1, Storage("y", y), 4, 1), (1,)).arrays["y"].tolist() == [2, 3, 2, 3]
    with pytest.raises(UndefinedBehaviour, match="outside"):
        run(program, (Storage("x", x), 4, 1, 2, Storage("y", y), 4, 1), (1,))


SUM = """  %v = reduce %a dim=0 identities=[0.000000e+00 : f32] : tile<4xf32> -> tile<f32>
  (%e: tile<f32>, %f: tile<f32>) {
    %g = addf %e, %f : tile<f32>
    yield %g : tile<f32>
  }
  %w = reshape %v : tile<f32> -> tile<1xf32>
  %r = broadcast %w : tile<1xf32> -> tile<4xf32>
"""


def test_other_seeds_reduce_in_another_order() -> None:
    """1e30 - 1e30 + 1 + 1 is 2 or less, by the order."""
    program = entry(load("a", "px"), SUM, store("s", "r", "py", "%t"))
    words = (Storage("x", np.array([1e30, -1e30, 1, 1], np.float32)), 4, 1, Storage("y", np.zeros(4, np.float32)), 4, 1)
    assert run(program, words, (1,)).arrays["y"][0] == 2
    sums = {float(run(program, words, (1,), seed=SHUFFLED + n).arrays["y"][0]) for n in range(20)}
    assert sums == {0.0, 2.0} or sums == {0.0, 1.0, 2.0}


def test_stores_that_are_put_off_take_effect_at_the_end() -> None:
    words = (Storage("x", np.ones(4, np.float32)), 4, 1, Storage("y", np.zeros(4, np.float32)), 4, 1)
    late = run(read_back("%a_t"), words, (1,), order=Order.LATE).arrays
    assert late["x"].tolist() == [2] * 4 and late["y"].tolist() == [1] * 4
    assert run(read_back("%s"), words, (1,), order=Order.LATE).arrays["y"].tolist() == [2] * 4


def test_hints_are_constants_and_the_scalars_that_loops_end_at() -> None:
    loop = """  %c0 = constant <i32: 0> : tile<i32>
  %c7 = constant <i32: 7> : tile<i32>
  %r = for %i in (%c0 to %k, step %c7) : tile<i32> iter_values(%z = %a) -> (tile<4xi32>) {
    %d = addi %z, %z : tile<4xi32>
    continue %d : tile<4xi32>
  }
"""
    hints = hints_of(of_integers(loop), NUMBERS)
    assert hints.counting == {"a"} and {0, 7} <= set(hints.integers) and not hints.in_turn
    plain = "  %w = reshape %k : tile<i32> -> tile<1xi32>\n  %v = broadcast %w : tile<1xi32> -> tile<4xi32>\n  %r = addi %a, %v : tile<4xi32>\n"
    assert hints_of(of_integers(plain), NUMBERS).counting == frozenset()


REDUCED = """  %x0, %x0_t = load_view_tko weak %px[%b] token = %t : PART, tile<i32> -> tile<4xf32>, token
  %r = reduce %x0 dim=0 identities=[0.0 : f32] : tile<4xf32> -> tile<f32>
  (%l: tile<f32>, %k: tile<f32>) {
    %add = addf %l, %k : tile<f32>
    yield %add : tile<f32>
  }
""".replace("PART", PART)


def test_the_longest_sum_is_that_of_one_operation() -> None:
    """What an assembler may order anew: 4 terms here, although the array has more; none where nothing is summed."""
    assert longest_sum(entry(REDUCED)) == 4
    assert longest_sum(entry(load("a", "px"), store("s", "a", "py", "%t"))) is None


def test_a_product_sums_its_inner_axis() -> None:
    body = """  %a = constant <f16: 1.0> : tile<16x32xf16>
  %c = constant <f16: 1.0> : tile<32x8xf16>
  %z = constant <f32: 0.0> : tile<16x8xf32>
  %m1 = mmaf %a, %c, %z : tile<16x32xf16>, tile<32x8xf16>, tile<16x8xf32>
"""
    assert longest_sum(entry(body)) == 32
