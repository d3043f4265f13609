"""Which values a loop's variable can hold: what it starts as, what it becomes, and until when it must stand."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.program.ir import End, For, Loop, Operation, Value
from ferrotile.rust.values import Values


class Carry(Struct, frozen=True):
    """A variable that a loop carries."""

    loop: For | Loop
    argument: Value


class Carries:
    """Facts of the values that loops carry, as the other values are written now."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def starting_as(self, value: Value) -> Carry | None:
        """The loop variable that starts as this value and is its only use, if the value has a local of its own."""
        if self._values.counts[value.id] != 1 or self._values.is_inline(value):
            return None
        (consumer,) = self._values.consumers(value)
        source = self._values.defined.get(value.id)
        if not isinstance(consumer, (For, Loop)) or not isinstance(source, Operation):
            return None
        if not self._values.stand_together(source, consumer):
            return None
        at = next((k for k, v in enumerate(consumer.initial) if v.id == value.id), None)
        return None if at is None else Carry(consumer, consumer.arguments[at])

    def yielded_to(self, loop: For | Loop, k: int) -> Value | None:
        """The value that becomes argument k, if it can be assigned where it is computed."""
        values, end = self._values, loop.body.terminator
        if end.kind not in (End.YIELD, End.CONTINUE):
            return None
        value, argument = end.values[k], loop.arguments[k]
        if sum(v.id == value.id for v in end.values) != 1 or values.is_inline(value):
            return None
        source = values.defined.get(value.id)
        if source is None or (isinstance(source, (For, Loop)) and value.id not in {r.id for r in source.results}):
            return None
        if not values.made_in(value, loop.body):
            return None
        # The branches of an `if` read the argument until their ends, where they assign.
        where = values.position[id(source)] if isinstance(source, Operation) else values.end[id(source)]
        held = [v for v in self.shares(argument) if v.id != value.id]
        return value if all(values.lifetimes.last_use(v) <= where for v in held) else None

    def shares(self, argument: Value) -> list[Value]:
        """A carried value, and those of loops inside that may go on in its variable."""
        found = [argument]
        for value in found:
            for consumer in self._values.consumers(value):
                if isinstance(consumer, (For, Loop)):
                    for k, initial in enumerate(consumer.initial):
                        if initial.id == value.id:
                            found += [consumer.arguments[k], consumer.results[k]]
        return found

    def last(self, loop: For | Loop, k: int) -> int:
        """Until when the variable of carry k must stand."""
        last_use = self._values.lifetimes.last_use
        return max(self._values.end[id(loop)], last_use(loop.arguments[k]), last_use(loop.results[k]))
