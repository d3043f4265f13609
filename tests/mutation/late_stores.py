"""Runs an entry with its weak stores as late as its tokens allow.

A store takes effect when an access that waits for its token is made, or at the end of its block; stores that are left
then take effect in reverse. So a load, or another store, that lacks a token sees what was there before. The ordinary
interpreter does the rest: here tokens are given values, and stores are put off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from unittest.mock import patch

import numpy as np
from ferrotile_runner.tileir.interpreter import RunResult, Word, control, run
from ferrotile_runner.tileir.interpreter.effects import EFFECTS
from ferrotile_runner.tileir.interpreter.frame import Decoder, Frame, Step
from ferrotile_runner.tileir.model import Entry, Operation, TokenType, Value, walk
from ferrotile_runner.tileir.operations import TABLE, Effect
from msgspec.structs import replace

Put = Callable[[], object]


class _Queue:
    """The stores of a block that have not taken effect, by number, with what each waits for."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[frozenset[int], Put]] = {}
        self.count = 0

    def flush(self, numbers: frozenset[int]) -> None:
        for number in sorted(numbers & self.waiting.keys()):
            if number in self.waiting:
                before, put = self.waiting.pop(number)
                self.flush(before)
                put()

    def finish(self) -> None:
        for number in sorted(self.waiting, reverse=True):
            self.flush(frozenset({number}))

    def put_off(self, before: frozenset[int], put: Put) -> frozenset[int]:
        """The token of the store."""
        self.count += 1
        self.waiting[self.count] = before, put
        return before | {self.count}


def late_stores(entry: Entry, words: Sequence[Word], grid: Sequence[int]) -> RunResult:
    """As `interpreter.run`, block by block. Relaxed atomics whose results nobody uses are put off as stores are."""
    queue = _Queue()
    used = frozenset(value.number for operation in walk(entry.body) for value in operation.operands)
    effects = {name: _ordered(decoder, queue, used) for name, decoder in EFFECTS.items()}
    regions = {**control.REGIONS, "return": _finishing(control.REGIONS["return"], queue)}
    with (
        patch.object(control, "EFFECTS", effects),
        patch.object(control, "REGIONS", regions),
        patch.object(control, "_data", _data),
        patch.object(control, "_last_uses", _nothing_ends),
    ):
        return run(entry, words, grid, at_once=1)


def _nothing_ends(region: object) -> list[tuple[int, ...]]:
    operations: Sequence[Operation] = getattr(region, "operations", ())
    return [() for _ in operations]


def _data(frame: Frame, values: Sequence[Value]) -> tuple[object, ...]:
    """What is passed on, tokens among it."""
    return tuple(frame.values.get(value.number) for value in values)


def _tokens(frame: Frame, operation: Operation) -> frozenset[int]:
    """The stores that an operation waits for."""
    known: Mapping[int, object] = frame.values
    found = (known.get(v.number) for v in operation.operands if isinstance(v.type, TokenType))
    return frozenset[int]().union(*(token for token in found if isinstance(token, frozenset)))


def _is_late(operation: Operation, used: frozenset[int]) -> bool:
    order = operation.word("memory_ordering", "weak")
    match TABLE[operation.name].effect:
        case Effect.STORE:
            return order == "weak"
        case Effect.ATOMIC:
            data = (v for v in operation.results if not isinstance(v.type, TokenType))
            return order in {"weak", "relaxed"} and not any(v.number in used for v in data)
        case _:
            return False


def _ordered(decoder: Decoder, queue: _Queue, used: frozenset[int]) -> Decoder:
    def decode(operation: Operation) -> Step:
        step, effect, late = decoder(operation), TABLE[operation.name].effect, _is_late(operation, used)
        tokens = [v.number for v in operation.results if isinstance(v.type, TokenType)]

        def ordered(frame: Frame) -> None:
            before = _tokens(frame, operation)
            if late:
                then = _snapshot(frame, operation)
                before = queue.put_off(before, lambda: step(then))
            else:
                if effect is not Effect.TOKEN:
                    queue.flush(before)
                step(frame)
            values: dict[int, object] = frame.values  # type: ignore[assignment]
            values.update((number, before) for number in tokens)

        return ordered

    return decode


def _snapshot(frame: Frame, operation: Operation) -> Frame:
    """What the operation takes, as it is now: a later round gives its values other data."""
    taken = {v.number: frame.values[v.number] for v in operation.operands if v.number in frame.values}
    kept = {n: datum.copy() if isinstance(datum, np.ndarray) else datum for n, datum in taken.items()}
    return replace(frame, values=kept)


def _finishing(decoder: Decoder, queue: _Queue) -> Decoder:
    def decode(operation: Operation) -> Step:
        step = decoder(operation)

        def finish(frame: Frame) -> object:
            queue.finish()
            return step(frame)

        return finish  # type: ignore[return-value]

    return decode
