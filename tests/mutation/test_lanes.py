"""Lanes that come out the same, and lanes that do not, on entries whose meaning is worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from ferrotile_runner.tileir.model import Entry, Value
from ferrotile_runner.tileir.reader import read
from fixtures import fixture_pairs
from known import Known
from lanes import Samples, drawn, leaves
from subjects import Pair

HEAD = "entry @k(%f: tile<f32>, %n: tile<i32>, %m: tile<i32>) {\n"
NUMBERS = (2.0, 3.0)


@pytest.fixture(scope="module")
def pair() -> Pair:
    """Its parameters are not those of the entries here: nothing is known of those."""
    return next(iter(fixture_pairs("vector_add")))


def value(entry: Entry, name: str) -> Value:
    found = (v for op in entry.body.operations for v in op.results if v.name == name)
    return next(found)


def same(pair: Pair, lines: str, one: str, other: str) -> bool:
    entry = read(HEAD + lines + "  return\n}\n").entry()
    known = Known(entry, pair)
    known.sizes = frozenset()
    a, b = value(entry, one), value(entry, other)
    found: dict[int, Value] = {}
    leaves(known, a, found)
    leaves(known, b, found)
    samples = Samples(known, drawn(known, list(found.values()), NUMBERS, 1))
    x, y = samples.of(a), samples.of(b)
    bits = np.dtype(f"u{x.dtype.itemsize}")
    equal = (x.view(bits) == y.view(bits)) | ((x != x) & (y != y))
    return bool(equal[samples.valid].all())


ZERO = "  %z = constant <f32: 0.000000e+00> : tile<f32>\n  %w = constant <f32: -0.000000e+00> : tile<f32>\n"


def test_a_comparison_does_not_tell_one_zero_from_the_other_but_a_sum_does(pair: Pair) -> None:
    compared = "".join(
        f"  %{n} = cmpf less_than ordered %f, %{zero} : tile<f32> -> tile<i1>\n" for n, zero in (("a", "z"), ("b", "w"))
    )
    added = "".join(f"  %{n} = addf %f, %{zero} : tile<f32>\n" for n, zero in (("a", "z"), ("b", "w")))
    assert same(pair, ZERO + compared, "%a", "%b")
    assert not same(pair, ZERO + added, "%a", "%b")


def test_a_dividend_of_0_or_1_and_an_integer_divisor_have_an_exact_reciprocal(pair: Pair) -> None:
    """1 / n is rounded once either way; 3 / n is not, nor is a flag by a float: 0 times an infinite reciprocal."""
    lines = """  %g = cmpi less_than %n, %m, signed : tile<i32> -> tile<i1>
  %o = constant <f32: 1.000000e+00> : tile<f32>
  %t = constant <f32: 3.000000e+00> : tile<f32>
  %i = itof %g unsigned : tile<i1> -> tile<f32>
  %d = itof %n signed : tile<i32> -> tile<f32>
  %r = divf %o, %d : tile<f32>
  %a = divf %i, %d : tile<f32>
  %b = mulf %i, %r : tile<f32>
  %c = divf %t, %d : tile<f32>
  %e = mulf %t, %r : tile<f32>
  %s = divf %o, %f : tile<f32>
  %u = divf %i, %f : tile<f32>
  %v = mulf %i, %s : tile<f32>
"""
    assert same(pair, lines, "%a", "%b")
    assert not same(pair, lines, "%c", "%e")
    assert not same(pair, lines, "%u", "%v")


def test_a_branch_is_a_choice(pair: Pair) -> None:
    lines = """  %c2 = constant <i32: 2> : tile<i32>
  %c3 = constant <i32: 3> : tile<i32>
  %e = cmpi equal %n, %c2, signed : tile<i32> -> tile<i1>
  %g = cmpi equal %n, %c3, signed : tile<i32> -> tile<i1>
  %both = andi %e, %g : tile<i1>
  %a = if %both -> (tile<i32>) {
    yield %m : tile<i32>
  } else {
    yield %n : tile<i32>
  }
  %b = if %e -> (tile<i32>) {
    yield %c3 : tile<i32>
  } else {
    yield %n : tile<i32>
  }
"""
    assert (
        same(pair, lines, "%a", "%n2")
        if False
        else same(
            pair,
            lines + "  %n2 = addi %n, %z : tile<i32>\n".join(["  %z = constant <i32: 0> : tile<i32>\n", ""]),
            "%a",
            "%n2",
        )
    )  # never 2 and 3
    assert not same(pair, lines, "%a", "%b")


def test_what_has_no_meaning_does_not_count(pair: Pair) -> None:
    """n / n is 1, but for 0."""
    lines = """  %q = divi %n, %n signed : tile<i32>
  %o = constant <i32: 1> : tile<i32>
  %a = muli %o, %o : tile<i32>
"""
    assert same(pair, lines, "%q", "%a")
