"""Other orders of accesses than that of the program, which only tokens rule out.

Tile IR orders weak accesses of a block by tokens alone, so a compiler may move what no token orders. The original is
taken at its word too: what it does otherwise in such an order counts for nothing in the translation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from ferrotile_runner.tileir.interpreter import Order
from ferrotile_runner.tileir.interpreter.late_loads import late_loads
from ferrotile_runner.tileir.interpreter.origins import origins, sources_of
from ferrotile_runner.tileir.model import Entry, Operation, Region
from ferrotile_runner.tileir.operations import TABLE, Effect

_WRITES = frozenset({Effect.STORE, Effect.ATOMIC})


class Ordering(Struct, frozen=True):
    """How both sides are run; `words`: what is otherwise."""

    words: str
    original: Entry
    translation: Entry
    order: Order = Order.FORWARD


def orderings(original: Entry, translation: Entry) -> tuple[Ordering, ...]:
    """None where the translation has no two accesses whose order could matter."""
    if not _has_order(translation):
        return ()
    backwards = late_loads(original, backwards=True), late_loads(translation, backwards=True)
    return (
        Ordering("loads as late as tokens allow", late_loads(original), late_loads(translation)),
        Ordering("loads as late as tokens allow, stores in the opposite order", *backwards),
        Ordering("stores as late as tokens allow", original, translation, Order.LATE),
    )


def _has_order(entry: Entry) -> bool:
    """Whether an array is read and written, or written by several operations, or in a loop."""
    found = origins(entry)
    if found.loaded & (found.written | found.updated):
        return True
    sources = sources_of(entry)
    writes: Counter[int] = Counter()
    for operation, looped in _writes(entry.body, False):
        role = "view" if "view" in operation.named else "pointer"
        for number in sources.get(operation.one(role).number, frozenset()):
            writes[number] += 2 if looped else 1
    return any(count > 1 for count in writes.values())


def _writes(region: Region, looped: bool) -> Iterator[tuple[Operation, bool]]:
    for operation in region.operations:
        if TABLE[operation.name].effect in _WRITES:
            yield operation, looped
        for inner in operation.regions:
            yield from _writes(inner, looped or operation.name in ("for", "loop"))
