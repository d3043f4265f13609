"""What the ladder says of a candidate, and when that is enough."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from msgspec import Struct

from ferrotile_server.drafting.model import Say


class Judgement(Struct, frozen=True):
    """`verified`: the rung that makes the candidate verified, `proved` or `simulated`; empty where it is not.
    `outcomes`: (rung, status), lowest first. `failure`: what failed first, in one line; `feedback`: the same at length,
    at the places of both sources, for the model's next try. `score`: how far it came, to compare candidates; `unsafe`:
    blocks whose promises nobody has checked."""

    verified: str
    outcomes: tuple[tuple[str, str], ...] = ()
    failure: str = ""
    feedback: str = ""
    score: int = 0
    unsafe: int = 0

    @property
    def words(self) -> str:
        """All rungs in one line."""
        return ", ".join(f"{rung} {status}" for rung, status in self.outcomes if status != "skipped")


Ladder = Callable[[str, Say, Event], Judgement]
"""Judges the text of a candidate; ends soon after the event is set. Raises `NoLadder`."""


class NoLadder(Exception):
    """Candidates cannot be judged on this machine; the message says what to do about it."""


def verified_rung(status: dict[str, str]) -> str:
    """The rung that verifies, by the status of each; empty where none does.

    A candidate is verified where nothing speaks against it (no rung `failed` or `crashed`), it was assembled, and it is
    either proved, or simulated while the proof says nothing: it was skipped, or ran out of time. A proof that found a
    difference outweighs every simulation."""
    if any(s in ("failed", "crashed") for s in status.values()) or status.get("assembled") != "passed":
        return ""
    if status.get("proved") == "passed":
        return "proved"
    silent = status.get("proved", "skipped") in ("skipped", "timeout")
    return "simulated" if silent and status.get("simulated") == "passed" else ""
