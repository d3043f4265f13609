"""The two orders of accesses that tokens alone rule out, on kernels whose results are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from ferrotile_runner.tileir.interpreter import Order, Storage, run
from ferrotile_runner.tileir.interpreter.late_loads import late_loads
from ferrotile_runner.tileir.model import Entry
from ferrotile_runner.tileir.reader import read

PART = "partition_view<tile=(4), tensor_view<?xf32, strides=[1]>>"
HEAD = """entry @k(%x: tile<ptr<f32>>, %n: tile<i32>, %y: tile<ptr<f32>>) {
  %t = make_token : token
  %b, %by, %bz = get_tile_block_id : tile<i32>
  %one = constant <f32: 1.000000e+00> : tile<4xf32>
  %xv = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %yv = make_tensor_view %y, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
"""
HEAD += f"  %px = make_partition_view %xv : {PART}\n  %py = make_partition_view %yv : {PART}\n"
X, Y = np.array([1, 2, 3, 4], np.float32), np.array([5, 6, 7, 8], np.float32)


def load(name: str, view: str, token: str = "%t") -> str:
    return (
        f"  %{name}, %{name}_t = load_view_tko weak %{view}[%b] token = {token} : {PART}, "
        "tile<i32> -> tile<4xf32>, token\n"
    )


def store(name: str, value: str, view: str, token: str) -> str:
    return (
        f"  %{name} = store_view_tko weak %{value}, %{view}[%b] token = {token} : tile<4xf32>, {PART}, "
        "tile<i32> -> token\n"
    )


def entry(*lines: str) -> Entry:
    return read(HEAD + "".join(lines) + "  return\n}\n").entry()


def results(order: str, program: Entry) -> tuple[list[float], list[float]]:
    words = (Storage("x", X), 4, Storage("y", Y))
    match order:
        case "late loads":
            found = run(late_loads(program), words, (1,))
        case "backwards":
            found = run(late_loads(program, backwards=True), words, (1,))
        case "late stores":
            found = run(program, words, (1,), order=Order.LATE)
        case _:
            found = run(program, words, (1,))
    return found.arrays["x"].tolist(), found.arrays["y"].tolist()


def swap(token: str) -> Entry:
    """x and y exchanged; the store to x waits for `token`."""
    loads = load("a", "px"), load("c", "py")
    return entry(*loads, store("s", "c", "px", token), store("u", "a", "py", "%c_t"))


def test_a_load_is_made_again_unless_a_store_waits_for_it() -> None:
    assert results("program", swap("%t")) == (Y.tolist(), X.tolist())
    assert results("late loads", swap("%a_t")) == (Y.tolist(), X.tolist())
    assert results("late loads", swap("%t")) == (Y.tolist(), Y.tolist())


def read_back(token: str) -> Entry:
    """x becomes 1, then y what is in x."""
    return entry(store("s", "one", "px", "%t"), load("a", "px", token), store("u", "a", "py", "%a_t"))


def test_a_store_takes_effect_when_a_load_waits_for_it() -> None:
    assert results("program", read_back("%t")) == ([1.0] * 4, [1.0] * 4)
    assert results("late stores", read_back("%s")) == ([1.0] * 4, [1.0] * 4)
    assert results("late stores", read_back("%t")) == ([1.0] * 4, X.tolist())


def twice(token: str) -> Entry:
    """x becomes 1, then what is in y."""
    return entry(load("c", "py"), store("s", "one", "px", "%t"), store("u", "c", "px", token))


@pytest.mark.parametrize("order", ["late stores", "backwards"])
def test_two_stores_keep_their_order_by_a_token_only(order: str) -> None:
    assert results(order, twice("%s")) == (Y.tolist(), Y.tolist())
    assert results(order, twice("%t")) == ([1.0] * 4, Y.tolist())


def test_what_each_round_stores_is_late_too() -> None:
    """x + 1 three times: without the carried token each round reads what was there before."""

    def loop(carried: str) -> Entry:
        return entry(
            "  %c0 = constant <i32: 0> : tile<i32>\n  %c1 = constant <i32: 1> : tile<i32>\n",
            "  %c3 = constant <i32: 3> : tile<i32>\n",
            "  %f = for %k in (%c0 to %c3, step %c1) : tile<i32> iter_values(%w = %t) -> (token) {\n",
            load("a", "px", "%w"),
            "  %r = addf %a, %one : tile<4xf32>\n",
            store("s", "r", "px", "%a_t"),
            f"  continue {carried} : token\n  }}\n",
        )

    assert results("late stores", loop("%s"))[0] == (X + 3).tolist()
    assert results("late stores", loop("%w"))[0] == (X + 1).tolist()


@pytest.mark.parametrize("order", ["acq_rel", "relaxed"])
def test_an_atomic_without_a_token_takes_effect_late(order: str) -> None:
    """y becomes 2, then 3, unless nothing says so; what the first one's memory order says, it says of other blocks."""

    def twice(token: str) -> Entry:
        types = "tile<4xptr<f32>>, tile<4xf32> -> tile<4xf32>, token"
        return entry(
            "  %i = iota : tile<4xi32>\n",
            "  %q = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>\n",
            "  %r = broadcast %q : tile<1xptr<f32>> -> tile<4xptr<f32>>\n",
            "  %p = offset %r, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>\n",
            "  %two = addf %one, %one : tile<4xf32>\n  %three = addf %two, %one : tile<4xf32>\n",
            f"  %a, %a_t = atomic_rmw_tko {order} device %p, xchg, %two token=%t : {types}\n",
            f"  %c, %c_t = atomic_rmw_tko relaxed device %p, xchg, %three token={token} : {types}\n",
        )

    assert results("late stores", twice("%a_t"))[1] == [3.0] * 4
    assert results("late stores", twice("%t"))[1] == [2.0] * 4
