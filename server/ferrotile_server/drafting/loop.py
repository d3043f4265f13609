"""The loop: a candidate, the ladder, what failed first, the next candidate; until one is verified, the budget is used
up, or the user cancels. One state machine for the command line, the editors and replays: the model, the ladder, the log
and the clock are given."""

from __future__ import annotations

import time
from enum import StrEnum
from threading import Event

from ferrotile.translation import Origin
from msgspec import Struct

from ferrotile_server.drafting.answer import NoRust, rust_of
from ferrotile_server.drafting.asking import ask
from ferrotile_server.drafting.budget import LEAST_ANSWER, Budget, Clock, Stop
from ferrotile_server.drafting.judgement import Judgement, Ladder
from ferrotile_server.drafting.log import VERSION, Write, silent
from ferrotile_server.drafting.model import Message, Model, ModelError, Question, Role, Say, Usage
from ferrotile_server.drafting.prompt import Task, again, first, shortened
from ferrotile_server.drafting.replay import plain

REMEMBERED = 3
"""So many of the last candidates, with what failed, are in a prompt."""


class End(StrEnum):
    """Why the loop ended."""

    VERIFIED = "verified"
    TRIES = "all tries are used"
    SECONDS = "the time is over"
    TOKENS = "the tokens are used up"
    CANCELLED = "cancelled"
    MODEL = "the model gives no answer"


class Candidate(Struct, frozen=True):
    """Rust that a model proposed, and what the ladder says of it."""

    rust: str
    judgement: Judgement
    attempt: int


class Drafted(Struct, frozen=True):
    """`candidate`: the verified one; else the one that came furthest, None where there was no Rust at all. `reason`:
    in plain words, beside `end`."""

    end: End
    reason: str
    candidate: Candidate | None
    tries: int
    seconds: float
    usage: Usage
    model: str
    date: str

    @property
    def verified(self) -> bool:
        return self.end is End.VERIFIED


class Attempted(Struct, frozen=True):
    """A try that is over: what came back, shortened for the next prompt, and what to tell the model of it."""

    answer: str
    feedback: str


def draft(
    task: Task,
    model: Model,
    ladder: Ladder,
    budget: Budget,
    *,
    name: str,
    log: Write = silent,
    say: Say = lambda _: None,
    hint: Say | None = None,
    cancel: Event | None = None,
    clock: Clock | None = None,
    date: str = "",
) -> Drafted:
    """Run the loop. `name`: the model's, for the marks; `say` hears each step, `hint` what goes on meanwhile (default:
    `say`); `date`: of a draft that is run again. Raises `NoLadder` and `LogError`; all else is in the result."""
    clock = clock or Clock()
    started = clock.now()
    date = date or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    limits = {"tries": budget.tries, "seconds": budget.seconds, "tokens": budget.tokens}
    head = {"kind": "draft", "version": VERSION, "date": date, "model": name}
    log({**head, "kernel": task.node, "python": task.digest, "signature": task.signature, **limits})
    with Stop(cancel or Event(), started + budget.seconds, clock) as stop:
        run = _Run(task, model, ladder, budget, log, say, hint or say, clock, stop)
        end, reason = run.all_tries()
    log({"kind": "end", "end": end.value, "reason": reason, "tries": run.tries, **_counts(run.usage)})
    return Drafted(end, reason, run.best, run.tries, clock.now() - started, run.usage, name, date)


class _Run:
    """The state of one draft."""

    def __init__(
        self,
        task: Task,
        model: Model,
        ladder: Ladder,
        budget: Budget,
        log: Write,
        say: Say,
        hint: Say,
        clock: Clock,
        stop: Stop,
    ) -> None:
        self._task, self._model, self._ladder, self._budget = task, model, ladder, budget
        self._log, self._say, self._hint, self._clock, self._stop = log, say, hint, clock, stop
        self._past: tuple[Attempted, ...] = ()
        self.usage = Usage()
        self.tries = 0
        self.best: Candidate | None = None

    def all_tries(self) -> tuple[End, str]:
        """Try until there is an end: which, and why in words."""
        while True:
            if (over := self._over()) is not None:
                return over
            if self.tries == self._budget.tries:
                return End.TRIES, f"{self.tries} tries, none verified"
            question = self._question()
            if question.tokens < LEAST_ANSWER:
                left = self._budget.tokens - self.usage.total
                return End.TOKENS, f"{left} tokens are left, and the next prompt alone has about {question.estimate}"
            self.tries += 1
            try:
                text = self._ask(question)
            except ModelError as error:
                self._log({"kind": "no answer", "message": error.message, **_counts(error.usage)})
                return self._over() or (End.MODEL, error.message)
            found = self._judge(text)
            if found.verified:
                return End.VERIFIED, f"{found.verified} at try {self.tries}"

    def _over(self) -> tuple[End, str] | None:
        if self._stop.cancelled:
            return End.CANCELLED, "cancelled"
        if self._stop.over:
            return End.SECONDS, f"the {self._budget.seconds:.0f} s of the draft are over"
        return None

    def _question(self) -> Question:
        """The conversation so far, and what the budget leaves for an answer."""
        messages = list(first(self._task))
        for past in self._past[-REMEMBERED:]:
            messages += [Message(Role.ASSISTANT, past.answer), Message(Role.USER, past.feedback)]
        question = Question(tuple(messages), 0, self._stop.left)
        left = self._budget.tokens - self.usage.total - question.estimate
        return Question(question.messages, max(left, 0), question.seconds)

    def _ask(self, question: Question) -> str:
        self._say(f"try {self.tries} of {self._budget.tries}: asking, a prompt of about {question.estimate} tokens")
        self._log({"kind": "prompt", "try": self.tries, "messages": plain(question.messages)})
        since = self._clock.now()
        try:
            answer = ask(self._model, question, self._stop, self._hint, self._clock, self._note)
        except ModelError as error:
            self.usage += error.usage
            raise
        self.usage += answer.usage
        self._log(
            {"kind": "answer", "try": self.tries, "text": answer.text, "cut": answer.cut, **_counts(answer.usage)}
        )
        took, tokens = self._clock.now() - since, answer.usage.answer
        self._say(f"try {self.tries}: answered in {took:.1f} s with {tokens} tokens; {self._cost()}")
        if answer.cut:
            self._say(f"try {self.tries}: the answer was cut at its limit of tokens")
        return answer.text

    def _note(self, error: ModelError, wait: float) -> None:
        self._say(f"{error.message}; again in {wait:.0f} s")
        self._log({"kind": "again", "trouble": error.trouble.value, "message": error.message, "wait": wait})

    def _judge(self, text: str) -> Judgement:
        """What the ladder says of an answer; one without Rust does not get that far."""
        try:
            rust = rust_of(text)
        except NoRust as error:
            judgement = Judgement("", failure=str(error), feedback=f"Your answer was not taken: {error}.")
        else:
            hint, attempt = self._hint, self.tries
            judgement = self._ladder(rust, lambda step: hint(f"try {attempt}: {step}"), self._stop.event)
            if self.best is None or judgement.verified or judgement.score > self.best.judgement.score:
                self.best = Candidate(rust, judgement, attempt)
        verdict = {"verified": judgement.verified, "rungs": dict(judgement.outcomes), "failure": judgement.failure}
        self._log({"kind": "verdict", "try": self.tries, "origin": Origin.AI.value, **verdict})
        self._past = (*self._past, Attempted(shortened(text), again(judgement)))
        self._say(f"try {self.tries}: {judgement.verified or judgement.failure}")
        return judgement

    def _cost(self) -> str:
        """What the draft has cost so far."""
        about = "about " if self.usage.estimated else ""
        text = f"{about}{self.usage.total} of {self._budget.tokens} tokens"
        prices = self._budget.prices
        return text if prices is None else f"{text}, {prices.of(self.usage):.4f} by your prices"


def _counts(usage: Usage) -> dict[str, object]:
    return {"prompt_tokens": usage.prompt, "answer_tokens": usage.answer, "estimated": usage.estimated}
