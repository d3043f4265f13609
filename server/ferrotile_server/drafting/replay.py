"""A model out of a log: gives the answers that were given, as long as the questions are the ones that were asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Event

from ferrotile_server.drafting.budget import Budget
from ferrotile_server.drafting.log import LogError, Record
from ferrotile_server.drafting.model import Answer, Message, ModelError, Question, Say, Trouble, Usage


class Replay:
    """The model of a draft that is run again. `name`: the model's at that time; `date`: when that was."""

    def __init__(self, records: Sequence[Record]) -> None:
        head = records[0]
        self.name = _text(head, "model")
        self.date = _text(head, "date")
        self.kernel = _text(head, "kernel")
        self.python = _text(head, "python")
        self.budget = Budget(_whole(head, "tries"), _number(head, "seconds"), _whole(head, "tokens"))
        self._records: Iterator[Record] = iter(records[1:])
        self._asked = 0

    def __call__(self, question: Question, cancel: Event, say: Say) -> Answer:
        """The logged answer. Raises `LogError` where the question is another one, and `ModelError` where there was no
        answer or the log ends."""
        self._asked += 1
        prompt = self._next("prompt")
        if prompt is None:
            raise ModelError(Trouble.REFUSED, f"the log has no answer to question {self._asked}")
        if prompt.get("messages") != plain(question.messages):
            which = f"question {self._asked} is not the one in the log"
            raise LogError(f"{which}: the kernel, ferrotile or a compiler has changed since")
        found = self._next("answer", "no answer")
        if found is None:
            raise ModelError(Trouble.REFUSED, f"the log has no answer to question {self._asked}")
        usage = Usage(_whole(found, "prompt_tokens"), _whole(found, "answer_tokens"), found.get("estimated") is True)
        if found["kind"] == "no answer":
            raise ModelError(Trouble.REFUSED, _text(found, "message"), usage=usage)
        return Answer(_text(found, "text"), usage, found.get("cut") is True)

    def _next(self, *kinds: str) -> Record | None:
        return next((record for record in self._records if record["kind"] in kinds), None)


def plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as JSON has them."""
    return [{"role": m.role.value, "content": m.content} for m in messages]


def _text(record: Record, key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise LogError(f"the log's `{record['kind']}` has no text `{key}`")
    return value


def _number(record: Record, key: str) -> float:
    value = record.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise LogError(f"the log's `{record['kind']}` has no number `{key}`")
    return float(value)


def _whole(record: Record, key: str) -> int:
    value = record.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise LogError(f"the log's `{record['kind']}` has no count `{key}`")
    return value
