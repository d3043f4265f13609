"""Launch facts as the prover gets them."""

from __future__ import annotations

from ferrotile.signatures.model import Signature
from ferrotile.translation import Entry
from ferrotile_runner.rungs.proved import hypotheses_of
from ferrotile_runner.tileir.hypotheses import parse

SWAPPED = ("grid.x is Rust grid.y", "grid.y is Rust grid.x")


def test_facts_of_the_grid_follow_renamed_axes() -> None:
    """The translator speaks of the original's axes, the prover of the Rust's block ids."""
    entry = Entry("k", "k", (), (), ("grid.x = cdiv(N, 8)", "grid.y = cdiv(M, 4)", *SWAPPED))
    facts, unread = hypotheses_of(Signature("k", (), None), entry)
    assert unread == ()
    assert facts.grid == parse(["grid.y = cdiv(N, 8)", "grid.x = cdiv(M, 4)"]).grid


def test_facts_without_renaming_stay() -> None:
    entry = Entry("k", "k", (), (), ("grid.x = cdiv(N, 8)",))
    assert hypotheses_of(Signature("k", (), None), entry)[0].grid == parse(["grid.x = cdiv(N, 8)"]).grid
