"""What launches show besides ordinary values: conditions that turn, extremes, gaps, loops without an end."""

# ruff: noqa: E501  (one Tile IR operation is one line)

from __future__ import annotations

import numpy as np
import pytest
from ferrotile.program.dtypes import F16, F32, I8, I32, U8
from ferrotile.signatures.model import ArrayArgument, GridFactor, ScalarArgument, Signature, Source
from ferrotile.translation import Entry, RustParameter
from ferrotile_runner.comparisons import turns_of
from ferrotile_runner.entry_hints import Hints, hints_of
from ferrotile_runner.fillings import around, far, largest, lowest, placed
from ferrotile_runner.inputs import Case, cases
from ferrotile_runner.launch_clock import is_endless
from ferrotile_runner.launch_facts import facts_of
from ferrotile_runner.launch_words import words_of
from ferrotile_runner.parameter_words import python_words
from ferrotile_runner.simulation import Verdict, simulate
from ferrotile_runner.sizes import other_counts
from ferrotile_runner.tileir.interpreter import Storage, UndefinedBehaviour, run
from ferrotile_runner.tileir.model import Entry as ModelEntry
from ferrotile_runner.tileir.reader import read

U = Source.DIRECTIVE
SCALED = Signature(
    "k",
    (ArrayArgument("x", F32, ("N",), U), ScalarArgument("n", I32, U), ScalarArgument("f", F32, U)),
    ((GridFactor("N", 4),),),
)
HEAD = "entry @k(%x: tile<ptr<f32>>, %e: tile<i32>, %s: tile<i32>, %n: tile<i32>, %f: tile<f32>) {\n"
RNG = np.random.default_rng(1)


def entry(*lines: str) -> ModelEntry:
    return read(HEAD + "\n".join(lines) + "\n  return\n}\n").entry()


def test_a_condition_turns_where_its_scalar_solves_it() -> None:
    """-0.5 f < -2 turns at 4, n + 3 == 5 at 2; a comparison of two scalars nowhere."""
    found = entry(
        "  %h = constant <f32: -5.000000e-01> : tile<f32>",
        "  %w = constant <f32: -2.000000e+00> : tile<f32>",
        "  %a = mulf %h, %f : tile<f32>",
        "  %b = cmpf less_than ordered %a, %w : tile<f32> -> tile<i1>",
        "  %c3 = constant <i32: 3> : tile<i32>",
        "  %c5 = constant <i32: 5> : tile<i32>",
        "  %c = addi %n, %c3 : tile<i32>",
        "  %d = cmpi equal %c5, %c, signed : tile<i32> -> tile<i1>",
        "  %g = cmpi less_than %n, %e, signed : tile<i32> -> tile<i1>",
    )
    assert turns_of(found, SCALED) == {"f": (4.0,), "n": (2.0,)}


def test_scalars_are_what_conditions_turn_at_and_next_to_it() -> None:
    made = cases(SCALED, hints=Hints(turns={"n": (2.0,), "f": (4.0, -1.5)}), large=True)
    found = [(c.scalars["n"], c.scalars["f"]) for c in made if c.name.startswith("scalars that conditions turn at")]
    assert found == [(2, 4.0), (3, 5.0), (1, 3.0), (2, -1.5), (3, -0.5), (1, -2.5)]


LOOP = (
    "  %z = constant <i32: 0> : tile<i32>",
    "  %o = constant <i32: 1> : tile<i32>",
    "  for %k in (%z to %n, step %o) : tile<i32> {\n    continue\n  }",
)


def test_the_end_of_a_loop_may_be_the_least_integer() -> None:
    hints = hints_of(entry(*LOOP), SCALED)
    assert hints.counting == hints.ending == {"n"} and hints.loops
    lower = entry(*LOOP[:2], "  for %k in (%n to %z, step %o) : tile<i32> {\n    continue\n  }")
    assert hints_of(lower, SCALED).counting == {"n"} and not hints_of(lower, SCALED).ending
    case = next(c for c in cases(SCALED, hints=hints, large=True) if c.name == "negative numbers")
    assert case.scalars["n"] == -(2**31)


@pytest.mark.parametrize(("dtype", "low", "high"), [(I8, -128, 127), (U8, 0, 255), (F16, -65504, 65504)])
def test_extremes_are_extremes(dtype: object, low: int, high: int) -> None:
    assert dtype in (I8, U8, F16)
    kind = I8 if dtype is I8 else U8 if dtype is U8 else F16
    top, bottom = largest(RNG, (40,), kind, 9), lowest(RNG, (40,), kind, 9)
    assert top[0] == top.max() == high and bottom[0] == bottom.min() == low
    assert 1 < len(np.unique(top)) <= 3 and 1 < len(np.unique(bottom)) <= 3


def test_extremes_of_two_axes_have_a_row_and_a_column_of_nan() -> None:
    top, bottom = largest(RNG, (4, 8), F32, 9), lowest(RNG, (4, 8), F32, 9)
    assert np.isnan(top[1]).all() and np.isnan(top).sum() == 8
    assert np.isnan(bottom[:, 0]).all() and np.isnan(bottom).sum() == 4


def test_fillings_of_indices() -> None:
    assert placed(RNG, (2, 3), I32, 5).tolist() == [[0, 1, 2], [3, 4, 0]]
    assert placed(RNG, (3,), F32, 2).tolist() == [0.0, 1.0, 2.0]
    near = around(RNG, (200,), I32, 7)
    assert 0 not in near and near[0] < 0 and near.min() == -6 and near.max() == 6
    assert around(RNG, (50,), U8, 7).min() == 1
    assert far(RNG, (4000,), I32, 5000).max() > 4000


ROWS = Signature("k", (ArrayArgument("x", F32, ("M", "N"), U),), ((GridFactor("M", 4),),))


def strided() -> Case:
    return next(case for case in cases(ROWS) if case.name == "strided arrays")


def test_what_is_behind_the_last_row_of_a_strided_array_is_not_its_own() -> None:
    case = strided()
    storage, rows, columns, step, _ = words_of(python_words(ROWS), case)
    assert isinstance(storage, Storage) and isinstance(rows, int) and isinstance(columns, int) and isinstance(step, int)
    assert storage.size == (rows - 1) * step + columns < storage.array.size
    whole = storage.array.reshape(rows, step)
    assert (whole[:, columns:] != 0).all(), "a zero that is written there would not show"
    view = "tensor_view<?x?xf32, strides=[?,1]>"
    head = "entry @k(%x: tile<ptr<f32>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>, %o: tile<i32>) {\n  %t = make_token : token\n"
    read_row = f"""  %z = constant <i32: 0> : tile<i32>
  %l = constant <i32: {rows - 1}> : tile<i32>
  %v = make_tensor_view %x, shape = [%m, %width], strides = [%s, 1] : tile<i32> -> {view}
  %p = make_partition_view %v : partition_view<tile=(1x64), padding_value = zero, {view}>
  %a, %b = load_view_tko weak %p[%l, %z] token = %t : partition_view<tile=(1x64), padding_value = zero, {view}>, tile<i32> -> tile<1x64xf32>, token
  return
}}
"""
    words = storage, rows, columns, step, 0
    run(read(head + read_row.replace("%width", "%n")).entry(), words, (1,))
    with pytest.raises(UndefinedBehaviour):
        run(read(head + read_row.replace("%width", "%s")).entry(), words, (1,))


def test_numbers_of_tiles_differ_along_axes_that_may() -> None:
    facts = facts_of(("K = M",))
    arrays = (ArrayArgument("a", F32, ("M", "K"), U), ArrayArgument("b", F32, ("K", "N"), U))
    product = Signature("k", arrays, ((GridFactor("M", 4),), (GridFactor("N", 8),)))
    assert other_counts(product, facts_of(()), {"K": 2}) == {"M": 8, "K": 2, "N": 24}
    tied = other_counts(product, facts, {"K": 2})
    assert tied["M"] == tied["K"] and tied["N"] == 24
    made = next(c for c in cases(product, (), {"K": 2}) if c.name == "other numbers of tiles")
    assert made.tentative and made.grid == (2, 3, 1)


def test_a_translation_without_an_end_differs() -> None:
    """`n` rounds, and rounds until `k` is `n`, which it never is where `n` is negative."""
    until = entry(
        *LOOP[:2],
        """  %r = loop iter_values(%k = %z) : tile<i32> -> tile<i32> {
    %d = cmpi equal %k, %n, signed : tile<i32> -> tile<i1>
    if %d {
      break %k : tile<i32>
    } else {
    }
    %k1 = addi %k, %o : tile<i32>
    continue %k1 : tile<i32>
  }""",
    )
    rust = Entry("k", "k", (RustParameter("x", "tensor", 1, (1,)), RustParameter("n", "scalar"), RustParameter("f", "scalar")), ())  # fmt: skip
    of = entry(*LOOP)
    few = [
        c
        for c in cases(SCALED, hints=hints_of(of, SCALED))
        if c.name in ("less than a tile", "special values and ties")
    ]
    assert [c.scalars["n"] > 0 for c in few] == [True, False]
    assert simulate(of, until, SCALED, rust, 60, launches=few[:1]).verdict is Verdict.AGREED
    found = simulate(of, until, SCALED, rust, 60, launches=few)
    assert found.verdict is Verdict.DIFFERS and "comes to no end" in found.text


def test_slow_is_not_endless() -> None:
    assert not is_endless(0.4, 0.0) and not is_endless(4.0, 0.1) and is_endless(0.6, 0.001) and is_endless(6.0, 0.1)
