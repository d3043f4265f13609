"""What the Rust assumes must follow from what a number is, or be what the Python assumes as well (T1)."""

from __future__ import annotations

import pytest
from tileir_support import kernel, load, proof_of, store

WORDS = "x:N y:N"
LAUNCH = ("extents >= 1", "index arithmetic does not overflow")


def copied(said: str = "", of: str = "%bx") -> str:
    """y[b] = x[b]; `said` of `of` is assumed before."""
    assumed = f"  %q = assume {said}, {of} : tile<i32>\n" if said else ""
    return kernel(assumed + "\n".join((load("a", "xv"), store("%a", "yv", token="%a_t"))))


@pytest.mark.parametrize(("said", "of"), [("bounded<0, ?>", "%bx"), ("bounded<0, ?>", "%n"), ("bounded<?, ?>", "%bx")])
def test_what_follows_may_be_assumed(said: str, of: str) -> None:
    proof = proof_of(copied(), copied(said, of), WORDS, *LAUNCH)
    assert proof.equal, proof.difference or proof.reason


@pytest.mark.parametrize("said", ["bounded<1, ?>", "bounded<0, 7>", "bounded<?, -1>", "div_by<2>"])
def test_what_nothing_shows_may_not(said: str) -> None:
    """Block 0 is there, block 8 may be, and odd ones are: to assume otherwise is undefined."""
    assert not proof_of(copied(), copied(said), WORDS, *LAUNCH).equal


@pytest.mark.parametrize("said", ["bounded<1, ?>", "div_by<2>"])
def test_the_python_may_assume_what_it_likes(said: str) -> None:
    assert proof_of(copied(said), copied(said), WORDS, *LAUNCH).equal
    assert proof_of(copied(said), copied(), WORDS, *LAUNCH).equal


def test_the_same_must_be_assumed_of_the_same() -> None:
    assert not proof_of(copied("div_by<2>", "%n"), copied("div_by<2>", "%bx"), WORDS, *LAUNCH).equal
    assert not proof_of(copied("div_by<2>"), copied("div_by<4>"), WORDS, *LAUNCH).equal


def counted(last: int) -> str:
    """A loop from 0 to 4 whose variable is assumed to be at most `last`."""
    body = (
        "  %c0 = constant <i32: 0> : tile<i32>",
        "  %c1 = constant <i32: 1> : tile<i32>",
        "  %c4 = constant <i32: 4> : tile<i32>",
        "  %f = for %k in (%c0 to %c4, step %c1) : tile<i32> iter_values(%w = %t) -> (token) {",
        f"  %q = assume bounded<0, {last}>, %k : tile<i32>",
        load("a", "xv", index="%k", token="%w"),
        store("%a", "yv", index="%k", token="%a_t"),
        "  continue %s : token",
        "  }",
    )
    return kernel("\n".join(body))


def test_a_loops_variable_is_within_its_bounds() -> None:
    assert proof_of(counted(9), counted(3), WORDS, *LAUNCH).equal
    assert not proof_of(counted(9), counted(2), WORDS, *LAUNCH).equal
