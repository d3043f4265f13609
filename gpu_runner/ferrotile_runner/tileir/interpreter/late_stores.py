"""Stores that take effect as late as tokens allow.

A store takes effect when an access that waits for its token is made, or at the end of its block; stores that are left
then take effect in reverse. So a load, or another store, that lacks a token sees what was there before. Atomics whose
answers nobody uses are put off as stores are: their memory order is about other blocks. Where a run has a queue, tokens
have values: the numbers of what they stand behind.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from ferrotile_runner.tileir.interpreter.frame import Datum, Frame, Step
from ferrotile_runner.tileir.model import Entry, Operation, TokenType, walk
from ferrotile_runner.tileir.operations import TABLE, Effect

ORDERED = frozenset({Effect.LOAD, Effect.STORE, Effect.ATOMIC, Effect.TOKEN, Effect.PRINT, Effect.GRID})
Put = Callable[[], object]


class Queue:
    """The stores of a block that have not taken effect, by number, with what each waits for."""

    def __init__(self, entry: Entry) -> None:
        self._waiting: dict[int, tuple[frozenset[int], Put]] = {}
        self._count = 0
        self._used = frozenset(value.number for operation in walk(entry.body) for value in operation.operands)

    def is_late(self, operation: Operation) -> bool:
        match TABLE[operation.name].effect:
            case Effect.STORE:
                return operation.word("memory_ordering", "weak") == "weak"
            case Effect.ATOMIC:
                data = (v for v in operation.results if not isinstance(v.type, TokenType))
                return not any(v.number in self._used for v in data)
            case _:
                return False

    def flush(self, numbers: frozenset[int]) -> None:
        for number in sorted(numbers & self._waiting.keys()):
            if number in self._waiting:
                before, put = self._waiting.pop(number)
                self.flush(before)
                put()

    def finish(self) -> None:
        for number in sorted(self._waiting, reverse=True):
            self.flush(frozenset({number}))

    def put_off(self, before: frozenset[int], put: Put) -> frozenset[int]:
        """The token of the store."""
        self._count += 1
        self._waiting[self._count] = before, put
        return before | {self._count}


def ordered(operation: Operation, step: Step) -> Step:
    """The step of an operation that takes or gives tokens; in a run with a queue it is put off, or first makes what it
    waits for."""
    tokens = [v.number for v in operation.results if isinstance(v.type, TokenType)]
    taken = [v.number for v in operation.operands if isinstance(v.type, TokenType)]
    is_token = TABLE[operation.name].effect is Effect.TOKEN

    def run(frame: Frame) -> None:
        queue = frame.memory.queue
        if not isinstance(queue, Queue):
            step(frame)
            return
        found = (frame.values.get(number) for number in taken)
        before = frozenset[int]().union(*(token for token in found if isinstance(token, frozenset)))
        if queue.is_late(operation):
            then = _snapshot(frame, operation)
            before = queue.put_off(before, lambda: step(then))
        else:
            if not is_token:
                queue.flush(before)
            step(frame)
        frame.values.update((number, before) for number in tokens)

    return run


def _snapshot(frame: Frame, operation: Operation) -> Frame:
    """What the operation takes, as it is now: a later round gives its values other data."""
    taken = {v.number: frame.values[v.number] for v in operation.operands if v.number in frame.values}
    kept: dict[int, Datum] = {n: d.copy() if isinstance(d, np.ndarray) else d for n, d in taken.items()}
    return replace(frame, values=kept)
