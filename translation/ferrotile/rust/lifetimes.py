"""How long the values of a kernel live: where the text of each is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from ferrotile.passes.facts import Facts
from ferrotile.program.ir import Operation, Value


class Lifetimes:
    """Positions at which values are read. What is inlined is read where the statement that it ends up in stands, so
    these change when a value gets a local of its own."""

    def __init__(self, facts: Facts, is_inline: Callable[[Value], bool]) -> None:
        self._consumers, self._position = facts.consumers, facts.position
        self._is_inline = is_inline
        self._last: dict[int, int] = {}

    def last_use(self, value: Value) -> int:
        """The last position at which the value's text is evaluated."""
        found = self._last.get(value.id)
        if found is None:
            found = self._last[value.id] = self._find_last(value)
        return found

    def lasting(self, value: Value) -> Callable[[], int]:
        """`last_use` as it is whenever it is asked for."""
        return partial(self.last_use, value)

    def _find_last(self, value: Value) -> int:
        last = 0
        for consumer in self._consumers.get(value.id, ()):
            if isinstance(consumer, int):
                last = max(last, consumer)
                continue
            last = max(last, self._position[id(consumer)])
            if isinstance(consumer, Operation) and len(consumer.results) == 1 and self._is_inline(consumer.result):
                last = max(last, self.last_use(consumer.result))
        return last

    def uses(self, value: Value) -> list[int]:
        """Every position at which the value's text is evaluated."""
        found: list[int] = []
        for consumer in self._consumers.get(value.id, ()):
            if isinstance(consumer, int):
                found.append(consumer)
                continue
            found.append(self._position[id(consumer)])
            if isinstance(consumer, Operation) and len(consumer.results) == 1 and self._is_inline(consumer.result):
                found.extend(self.uses(consumer.result))
        return found

    def forget(self, values: Iterable[int]) -> None:
        """Lets the last uses of these values be found anew."""
        for value in values:
            self._last.pop(value, None)

    def forget_all(self) -> None:
        """Lets every last use be found anew."""
        self._last.clear()
