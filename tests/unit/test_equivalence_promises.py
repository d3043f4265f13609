"""`check_bounds=False`: an unmasked gather is a view load when the Python's promise to stay inside is a hypothesis."""

from __future__ import annotations

from test_equivalence_memory import WORDS, by_views, lanes, pointers, text
from tileir_support import proof_of

PROMISES = tuple(f"{name} is accessed within its bounds" for name in "xy")
LAUNCH = ("extents >= 1", "index arithmetic does not overflow")
GATHERED = "  %g, %g_t = load_ptr_tko weak %px token=%t : tile<16xptr<f32>> -> tile<16xf32>, token"
SCATTERED = "  %st = store_ptr_tko weak %py, %g token=%t : tile<16xptr<f32>>, tile<16xf32> -> token"


def unchecked(size: int = 16) -> str:
    """y[i] = x[i] for 16 lanes a block, without bounds."""
    return text(lanes(size=size), pointers("x"), pointers("y"), GATHERED, SCATTERED)


def test_the_promise_is_needed_and_listed() -> None:
    proof = proof_of(unchecked(), by_views(), WORDS, *LAUNCH, *PROMISES)
    assert proof.equal, proof.difference or proof.reason
    assert set(PROMISES) <= set(proof.hypotheses_used)
    for missing in PROMISES:
        assert not proof_of(unchecked(), by_views(), WORDS, *LAUNCH, *(p for p in PROMISES if p != missing)).equal


def test_the_promise_says_nothing_of_other_addresses() -> None:
    assert not proof_of(unchecked(8), by_views(), WORDS, *LAUNCH, *PROMISES).equal
