"""z3 for what the rules leave: true facts, false ones, the limit, a missing solver; and what a proof makes of each."""

from __future__ import annotations

import sys

import pytest
from ferrotile_runner.tileir.integers import Arithmetic, Facts
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.solver import Answer, Solver
from ferrotile_runner.tileir.terms import Store, Term
from tileir_support import COMMON, kernel, load, proof_of, store

WORDS = "x:N y:M"


class Terms:
    """Terms of one proof: extents, block ids, comparisons."""

    def __init__(self, no_overflow: bool = True) -> None:
        self.store = Store()
        self.integers = Arithmetic(self.store, Facts(no_overflow, positive_extents=True))
        self.rewriter = Rewriter(self.store, self.integers)
        self.solver = Solver(self.integers)
        self.n, self.m = (self.store.term("param", ("dim", name)) for name in "NM")
        self.i, self.j = (self.store.term("bid", axis) for axis in "xy")

    def const(self, value: int) -> Term:
        return self.store.const(value)

    def plus(self, a: Term, b: Term) -> Term:
        return self.integers.add(a, b)

    def times(self, a: Term, b: Term) -> Term:
        return self.integers.multiply(a, b)

    def div(self, a: Term, b: Term, op: str = "div") -> Term:
        return self.store.term(op, "", (a, b))

    def below(self, a: Term, b: Term, predicate: str = "less_than") -> Term:
        """Not simplified, so that the rules have no say."""
        return self.store.term("cmpi", predicate, (a, b), (), "i1")


@pytest.fixture
def t() -> Terms:
    pytest.importorskip("z3")
    return Terms()


def test_products_of_extents(t: Terms) -> None:
    """i < M and j < N give i*N + j < M*N: i*N + j <= (M-1)*N + N - 1. With j <= N it is not so: i = M-1, j = N."""
    place, whole = t.plus(t.times(t.i, t.n), t.j), t.times(t.m, t.n)
    assert t.solver.implied(t.below(place, whole), [t.below(t.i, t.m), t.below(t.j, t.n)]) is Answer.HOLDS
    wide = t.below(t.j, t.n, "less_than_or_equal")
    assert t.solver.implied(t.below(place, whole), [t.below(t.i, t.m), wide]) is not Answer.HOLDS
    assert t.solver.implied(t.below(place, whole), [t.below(t.i, t.m)]) is not Answer.HOLDS


def test_tiles_and_elements(t: Terms) -> None:
    """i < cdiv(N, 64) gives 64*i < N, but not 64*i + 1 < N (N = 65, i = 1)."""
    facts = [t.below(t.i, t.div(t.n, t.const(64), "cdiv"))]
    first = t.times(t.i, t.const(64))
    assert t.solver.implied(t.below(first, t.n), facts) is Answer.HOLDS
    assert t.solver.implied(t.below(t.plus(first, t.const(1)), t.n), facts) is Answer.FAILS


def test_quotients_of_quotients(t: Terms) -> None:
    """(N/8)/4 is N/32; rounded up twice it is so too; mixed it is not (N = 1: 0/4 = 0 and cdiv(1, 32) = 1)."""
    eight, four, all_ = t.const(8), t.const(4), t.const(32)
    assert t.solver.equal(t.div(t.div(t.n, eight), four), t.div(t.n, all_)) is Answer.HOLDS
    twice = t.div(t.div(t.n, eight, "cdiv"), four, "cdiv")
    assert t.solver.equal(twice, t.div(t.n, all_, "cdiv")) is Answer.HOLDS
    assert t.solver.equal(t.div(t.div(t.n, eight), four, "cdiv"), t.div(t.n, all_, "cdiv")) is Answer.FAILS


def test_rounds_of_a_loop_in_steps(t: Terms) -> None:
    """k = 0, 4, 8, ... below N: k mod 4 is 0, k < N; k + 4 <= N is not known."""
    zero, four = t.const(0), t.const(4)
    k = t.store.term("iv", 1, (zero, t.n, four))
    quotient = t.div(k, four)
    assert t.solver.implied(t.below(t.times(quotient, four), k, "equal"), []) is Answer.HOLDS
    assert t.solver.implied(t.below(k, t.n), []) is Answer.HOLDS
    assert t.solver.implied(t.below(t.plus(k, four), t.n, "less_than_or_equal"), []) is Answer.FAILS


def test_what_arrays_hold_may_wrap(t: Terms) -> None:
    """x - 1 < x is false of the least number; of a block id it is true."""
    loaded = t.store.term("load", (), (), (), "i32")
    assert t.solver.implied(t.below(t.plus(loaded, t.const(-1)), loaded), []) is Answer.FAILS
    assert t.solver.implied(t.below(t.plus(t.i, t.const(-1)), t.i), []) is Answer.HOLDS


def test_without_the_hypothesis_sums_may_wrap() -> None:
    pytest.importorskip("z3")
    t = Terms(no_overflow=False)
    assert t.solver.implied(t.below(t.i, t.plus(t.i, t.const(1))), []) is Answer.FAILS


def test_hypotheses_are_noted_for_proofs_alone(t: Terms) -> None:
    t.solver.implied(t.below(t.plus(t.i, t.const(1)), t.n), [])
    assert t.store.used == {} and t.store.lemmas == {}
    t.solver.implied(t.below(t.i, t.plus(t.i, t.const(1))), [])
    assert "index arithmetic does not overflow" in t.store.used
    assert any(lemma.startswith("Z1") for lemma in t.store.lemmas)


def test_facts_of_other_lanes_are_not_taken(t: Terms) -> None:
    """A fact about the lanes of a tile says nothing about a scalar."""
    lanes = t.store.term("iota", (), (), (16,))
    fact = t.store.term("cmpi", "less_than", (lanes, t.store.const(0, (16,))), (16,), "i1")  # never true
    assert t.solver.implied(t.below(t.n, t.m), [fact]) is Answer.FAILS


def test_the_limit_is_no_proof(t: Terms) -> None:
    """The same question as in `test_products_of_extents`, with almost no steps."""
    t.solver.steps = 10
    place, whole = t.plus(t.times(t.i, t.n), t.j), t.times(t.m, t.n)
    assert t.solver.implied(t.below(place, whole), [t.below(t.i, t.m), t.below(t.j, t.n)]) is Answer.LIMIT


def test_without_the_solver_there_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    t = Terms()
    assert t.solver.implied(t.below(t.i, t.plus(t.i, t.const(1))), []) is Answer.ABSENT


def checked(*lines: str) -> str:
    """The load of tile `bid.x` and its store; before them a check `%ok`."""
    return kernel("\n".join((*lines, '  assert %ok, "out of bounds" : tile<i1>', load("a", "xv"), store("%a", "yv"))))


PLAIN = kernel("\n".join((load("a", "xv"), store("%a", "yv"))))
ELEMENT = (
    "  %c16 = constant <i32: 16> : tile<i32>",
    "  %c1 = constant <i32: 1> : tile<i32>",
    "  %first = muli %bx, %c16 : tile<i32>",
)


def test_a_check_of_elements_follows_from_a_tile_in_range() -> None:
    """The tile is in range: bid.x < cdiv(n, 16), so 16*bid.x < n. Its second element need not be."""
    pytest.importorskip("z3")
    good = checked(*ELEMENT, "  %ok = cmpi less_than %first, %n, signed : tile<i32> -> tile<i1>")
    proof = proof_of(PLAIN, good, WORDS, *COMMON)
    assert proof.equal, proof.reason
    assert any(lemma.startswith("Z1") for lemma in proof.lemmas)
    second = (
        "  %next = addi %first, %c1 : tile<i32>",
        "  %ok = cmpi less_than %next, %n, signed : tile<i32> -> tile<i1>",
    )
    refused = proof_of(PLAIN, checked(*ELEMENT, *second), WORDS, *COMMON)
    assert not refused.equal and Answer.FAILS.value in refused.reason


def test_the_reason_says_that_the_solver_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    good = checked(*ELEMENT, "  %ok = cmpi less_than %first, %n, signed : tile<i32> -> tile<i1>")
    refused = proof_of(PLAIN, good, WORDS, *COMMON)
    assert not refused.equal and "z3-solver is not installed" in refused.reason


def test_an_index_that_is_another_quotient() -> None:
    """Tile (bid.y/8)/4 is tile bid.y/32, and not bid.y/16."""
    pytest.importorskip("z3")

    def at(*steps: str) -> str:
        constants = [f"  %c{n} = constant <i32: {n}> : tile<i32>" for n in (4, 8, 16, 32)]
        return kernel("\n".join((*constants, *steps, load("a", "xv", "%i"), store("%a", "yv"))))

    python = at("  %h = divi %by, %c8 signed : tile<i32>", "  %i = divi %h, %c4 signed : tile<i32>")
    assert proof_of(python, at("  %i = divi %by, %c32 signed : tile<i32>"), WORDS, *COMMON).equal
    assert not proof_of(python, at("  %i = divi %by, %c16 signed : tile<i32>"), WORDS, *COMMON).equal


def test_what_the_rules_know_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    assert proof_of(PLAIN, PLAIN, WORDS, *COMMON).equal
