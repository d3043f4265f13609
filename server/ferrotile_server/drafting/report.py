"""A draft in words: for the command line's stderr, and for messages of the editor."""

from __future__ import annotations

from ferrotile_server.drafting.loop import Drafted, End
from ferrotile_server.drafting.prices import Prices


def summary(done: Drafted, prices: Prices | None = None) -> str:
    """One line: how it ended, at which rung, and what it cost."""
    tries = "1 try" if done.tries == 1 else f"{done.tries} tries"
    about = "about " if done.usage.estimated else ""
    cost = f"{tries}, {done.seconds:.0f} s, {about}{done.usage.total} tokens"
    if prices is not None:
        cost += f", {prices.of(done.usage):.4f} by your prices"
    if done.verified and done.candidate is not None:
        return f"verified: {done.candidate.judgement.verified} ({cost})"
    reason = done.reason if done.end in (End.MODEL, End.TRIES, End.CANCELLED) else f"{done.end.value}: {done.reason}"
    return f"no verified draft: {reason} ({cost})"


def best_words(done: Drafted) -> str:
    """What the draft that came furthest lacks; empty where there is none."""
    if done.candidate is None or done.verified:
        return ""
    return f"the best of them, try {done.candidate.attempt}: {done.candidate.judgement.failure}"
