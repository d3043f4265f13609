"""Loops of a few rounds whose number is in the text, written out round by round: their lanes can then be evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from edit import with_operands
from ferrotile_runner.tileir.model import Entry, Operation, Region, Value, walk
from msgspec.structs import replace

MOST = 8
"""Rounds that are written out."""
NEW = 3_000_000
"""Numbers of the values of rounds start here."""
_EXITS = frozenset({"break", "continue", "return"})

Numbers = dict[tuple[int, int, int], int]
"""Of a value of a loop's body, by the loop's and its own number and the round: the same in two entries that share
them."""


def unrolled(entry: Entry, numbers: Numbers) -> Entry:
    """The entry with every such loop of its outermost region written out."""
    made = {result.number: op for op in walk(entry.body) for result in op.results}
    operations: list[Operation] = []
    instead: dict[int, Value] = {}
    for operation in entry.body.operations:
        now = _renamed(operation, instead)
        rounds = _rounds(now, made)
        if rounds is None:
            operations.append(now)
            continue
        operations += _written_out(now, rounds, numbers, instead)
    return replace(entry, body=Region(entry.body.arguments, tuple(operations)))


def _rounds(loop: Operation, made: Mapping[int, Operation]) -> range | None:
    if loop.name != "for" or not loop.results:
        return None
    ends = [made.get(loop.one(role).number) for role in ("lower", "upper", "step")]
    if any(op is None or op.name != "constant" for op in ends):
        return None
    low, high, step = (int(op.word("value"), 0) for op in ends if op is not None)
    found = range(low, high, step) if step > 0 else range(0)
    body = loop.regions[0].operations
    left = [op for op in walk(loop.regions[0]) if op.name in _EXITS]
    return found if len(found) <= MOST and left == [body[-1]] else None


def _written_out(
    loop: Operation, rounds: Sequence[int], numbers: Numbers, instead: dict[int, Value]
) -> Iterator[Operation]:
    """`instead` then has what the loop results in."""
    region, carried = loop.regions[0], list(loop.named.get("initial", ()))
    at = loop.results[0].number
    for number, counter in enumerate(rounds):

        def fresh(value: Value, number: int = number) -> Value:
            key = at, value.number, number
            return replace(value, number=numbers.setdefault(key, NEW + len(numbers)))

        counts = fresh(region.arguments[0])
        yield Operation("constant", {}, (counts,), {"value": str(counter)}, (), loop.location, loop.text_line)
        here = dict(instead) | {region.arguments[0].number: counts}
        here |= {a.number: v for a, v in zip(region.arguments[1:], carried, strict=True)}
        for operation in region.operations[:-1]:
            now = _renamed(operation, here)
            results = tuple(map(fresh, now.results))
            here |= {old.number: new for old, new in zip(now.results, results, strict=True)}
            yield replace(now, results=results)
        carried = [here.get(v.number, v) for v in region.operations[-1].named.get("values", ())]
    instead |= {result.number: value for result, value in zip(loop.results, carried, strict=True)}


def _renamed(operation: Operation, instead: Mapping[int, Value]) -> Operation:
    if not instead:
        return operation
    regions = tuple(
        Region(region.arguments, tuple(_renamed(op, instead) for op in region.operations))
        for region in operation.regions
    )
    return replace(with_operands(operation, lambda v: instead.get(v.number, v)), regions=regions)
