"""One question, asked again while what fails may pass: with growing pauses, or those that the endpoint asks for, and
never beyond the budget."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ferrotile_server.drafting.budget import Clock, Stop
from ferrotile_server.drafting.model import Answer, Model, ModelError, Question, Say, Trouble, Usage

ATTEMPTS = 4
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 20.0

Note = Callable[[ModelError, float], None]
"""Hears of each attempt that failed, and after how many seconds the next one begins."""


def ask(model: Model, question: Question, stop: Stop, say: Say, clock: Clock, note: Note) -> Answer:
    """The answer, with what all attempts have cost. Raises the last attempt's `ModelError`, of the same cost."""
    spent = Usage()
    pause = FIRST_PAUSE_S
    for attempt in range(1, ATTEMPTS + 1):
        limited = replace(question, seconds=stop.left, tokens=question.tokens - spent.total)
        try:
            answer = model(limited, stop.event, say)
            return replace(answer, usage=answer.usage + spent)
        except ModelError as error:
            spent += error.usage
            failed = ModelError(error.trouble, error.message, error.wait, spent)
        if not failed.passing or attempt == ATTEMPTS or stop.over:
            raise failed
        wait = pause if failed.wait is None else failed.wait
        if wait >= stop.left:
            text = f"{failed.message}; the next attempt would be in {wait:.0f} s, after the draft's time"
            raise ModelError(failed.trouble, text, failed.wait, spent)
        if question.tokens - spent.total <= 0:
            raise ModelError(failed.trouble, f"{failed.message}; the draft's tokens are used up", None, spent)
        note(failed, wait)
        if clock.wait(stop.event, wait):
            raise ModelError(Trouble.CANCELLED, "cancelled", None, spent)
        pause = min(2 * pause, LONGEST_PAUSE_S)
    raise AssertionError("the last attempt returns or raises")
