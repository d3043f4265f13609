"""What a model is to the loop: something that answers messages with text. Who it is, and how it is reached, is the
caller's: an endpoint (`endpoint.py`), the editor (`lsp/features/draft_model.py`), a log (`replay.py`), or a test."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from threading import Event

from msgspec import Struct

CHARACTERS_A_TOKEN = 3
"""An estimate on the safe side: tokenizers of today take between 3 and 4.5 characters of such text for one token."""


class Role(StrEnum):
    """Who says a message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class Message(Struct, frozen=True):
    """One turn of the conversation."""

    role: Role
    content: str


class Usage(Struct, frozen=True):
    """Tokens of one request. `estimated`: counted by their length here, since nobody else counted."""

    prompt: int = 0
    answer: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.prompt + self.answer

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.answer + other.answer, self.estimated or other.estimated)


class Question(Struct, frozen=True):
    """What the loop wants answered: with at most `tokens` tokens, within `seconds`."""

    messages: tuple[Message, ...]
    tokens: int
    seconds: float

    @property
    def estimate(self) -> int:
        """Tokens of the messages, about."""
        return tokens_of("".join(m.content for m in self.messages))


class Answer(Struct, frozen=True):
    """A model's text, and what it cost. `cut`: it ended at the limit of tokens."""

    text: str
    usage: Usage
    cut: bool = False


Say = Callable[[str], None]
Model = Callable[[Question, Event, Say], Answer]
"""Answers a question; raises `ModelError`, also (`Trouble.CANCELLED`) soon after the event is set."""


class Trouble(StrEnum):
    """Why there is no answer."""

    RATE = "rate limit"
    TIMEOUT = "time-out"
    BROKEN = "broken connection"
    SERVER = "fault of the endpoint"
    MALFORMED = "malformed answer"
    REFUSED = "refused"
    CANCELLED = "cancelled"


PASSING = frozenset({Trouble.RATE, Trouble.TIMEOUT, Trouble.BROKEN, Trouble.SERVER, Trouble.MALFORMED})
"""What may be over when it is tried again."""


class ModelError(Exception):
    """There is no answer, for a reason in plain words. `wait`: seconds that the endpoint asks for; `usage`: what it has
    cost all the same."""

    def __init__(self, trouble: Trouble, message: str, wait: float | None = None, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.trouble, self.message, self.wait = trouble, message, wait
        self.usage = Usage() if usage is None else usage

    @property
    def passing(self) -> bool:
        return self.trouble in PASSING


def tokens_of(text: str) -> int:
    """About how many tokens a text has, rather too many."""
    return -(-len(text.encode("utf-8", "replace")) // CHARACTERS_A_TOKEN)
