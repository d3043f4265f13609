"""Which arrays an entry writes, reads and updates, as far as its text shows."""

from __future__ import annotations

from msgspec import Struct

from ferrotile_runner.tileir.model import Entry, Value, walk
from ferrotile_runner.tileir.operations import TABLE, Effect


class Origins(Struct, frozen=True):
    """Numbers of parameters. `answers`: an atomic's old value is used, so that blocks may wait for each other."""

    loaded: frozenset[int]
    written: frozenset[int]
    updated: frozenset[int]
    answers: bool

    @property
    def in_turn(self) -> bool:
        """Whether blocks may talk to each other, and are to run one after the other."""
        return self.answers or bool(self.updated & (self.loaded | self.written))


def origins(entry: Entry) -> Origins:
    """By following pointers and views back to parameters; through loops and branches to all of them."""
    sources = sources_of(entry)
    everything = frozenset(value.number for value in entry.parameters)
    found: dict[Effect, set[int]] = {Effect.LOAD: set(), Effect.STORE: set(), Effect.ATOMIC: set()}
    used: set[int] = set()
    results: set[int] = set()
    for operation in walk(entry.body):
        used.update(value.number for values in operation.named.values() for value in values)
        effect = TABLE[operation.name].effect
        if effect in found:
            role = "view" if "view" in operation.named else "pointer"
            found[effect] |= sources.get(operation.one(role).number, everything)
            if effect is Effect.ATOMIC and operation.name != "atomic_red_view_tko":
                results.add(operation.results[0].number)
    loaded, written, updated = (frozenset(found[effect]) for effect in (Effect.LOAD, Effect.STORE, Effect.ATOMIC))
    return Origins(loaded, written, updated, bool(results & used))


def sources_of(entry: Entry) -> dict[int, frozenset[int]]:
    """For values the parameters that they may be computed from, as far as these are one array: all for what a loop or
    branch gives, and for what is loaded."""
    sources: dict[int, frozenset[int]] = {value.number: frozenset({value.number}) for value in entry.parameters}
    everything = frozenset(sources)

    def of(values: tuple[Value, ...]) -> frozenset[int]:
        return frozenset[int]().union(*(sources.get(value.number, everything) for value in values))

    for operation in walk(entry.body):
        if TABLE[operation.name].effect in _ACCESSES:
            continue
        if operation.name in {"make_tensor_view", "offset"}:
            role = "base" if operation.name == "make_tensor_view" else "pointer"
            origin = of(operation.named[role])
        else:
            operands = operation.operands
            origin = of(operands) if operands and not operation.regions else everything
        for result in operation.results:
            sources[result.number] = origin
    return sources


_ACCESSES = frozenset({Effect.LOAD, Effect.STORE, Effect.ATOMIC})
