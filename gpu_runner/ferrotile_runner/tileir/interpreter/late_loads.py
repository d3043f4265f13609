"""An entry whose weak loads are made as late, and as often, as its tokens allow.

Tile IR orders weak accesses by tokens only, so a compiler may make a load again wherever its value is used, unless a
later access waits for the load's token: then it has been made before that one. Here each store, atomic, print, check,
branch and loop gets its own copies of all that it is computed from, loads included; a load that an access waits for is
made just before that access, once for all. Stores and atomics that follow each other may also be made in the opposite
order, as far as tokens, and what is done with an atomic's answer, allow. Run in program order, an access that lacks a
token then reads what it must not.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ferrotile_runner.tileir.model import Entry, Operation, Region, TokenType, Value, walk
from ferrotile_runner.tileir.operations import TABLE, Effect

_PUT = frozenset({Effect.STORE, Effect.ATOMIC})
_MOVED = frozenset({Effect.NONE, Effect.ASSUME})
_WRITES = frozenset({Effect.STORE, Effect.ATOMIC, Effect.GRID})


def late_loads(entry: Entry, backwards: bool = False) -> Entry:
    """`backwards`: stores in the opposite order. The interpreter follows the order of operations, not tokens; so the
    result's tokens are left as they are, and it need not be valid Tile IR."""
    return replace(entry, body=_Late(entry, backwards).region(entry.body, {}))


class _Late:
    """`waiting`: what has not been computed for good, by the numbers of its results; `behind`: the loads that a token
    stands behind."""

    def __init__(self, entry: Entry, backwards: bool) -> None:
        self.backwards = backwards
        self.waiting: dict[int, Operation] = {}
        self.behind: dict[int, frozenset[int]] = {}
        self.count = 1 + max(
            (v.number for op in walk(entry.body) for v in (*op.operands, *op.results)),
            default=max((p.number for p in entry.parameters), default=0),
        )
        self.count += 1_000_000

    def region(self, region: Region, fixed: dict[int, Value]) -> Region:
        """`fixed`: values that were computed for good under another number."""
        fixed = dict(fixed)
        copies: dict[int, Value] = {}
        made: list[Operation] = []
        for operation in self.turned(region.operations) if self.backwards else region.operations:
            effect = TABLE[operation.name].effect
            if effect in _MOVED or (effect is Effect.LOAD and operation.word("memory_ordering", "weak") == "weak"):
                self.put_off(operation)
            elif effect is Effect.TOKEN:
                self.behind[operation.results[0].number] = self.loads(operation)
            else:
                for number in sorted(self.loads(operation)):
                    self.computed(self.waiting[number].results[0], fixed, copies, made, keep=True)
                new = self.renamed(operation, fixed, copies, made)
                inner = tuple(self.region(nested, {**fixed}) for nested in operation.regions)
                made.append(replace(new, regions=inner))
                if effect in _WRITES or (effect is Effect.CONTROL and _writes(operation)):
                    copies.clear()
        return Region(region.arguments, tuple(made))

    def turned(self, operations: Sequence[Operation]) -> list[Operation]:
        """With the stores of each stretch that has no other effect than loads behind the stretch, the last one first;
        an access that waits for a store ends the stretch before it."""
        found: list[Operation] = []
        stores: list[Operation] = []
        waiting: set[int] = set()
        for operation in operations:
            effect = TABLE[operation.name].effect
            waits = any(v.number in waiting for v in operation.operands)
            if effect in _MOVED | {Effect.LOAD} and not waits:
                found.append(operation)
            elif effect in _PUT and not waits:
                stores.insert(0, operation)
                waiting |= {v.number for v in operation.results}
            elif effect is Effect.TOKEN and waits:
                waiting |= {v.number for v in operation.results}
                stores.append(operation)
            elif effect is Effect.TOKEN:
                found.append(operation)
            else:
                found += stores
                stores, waiting = [], set()
                if effect in _PUT:
                    stores, waiting = [operation], {v.number for v in operation.results}
                else:
                    found.append(operation)
        return found + stores

    def put_off(self, operation: Operation) -> None:
        for result in operation.results:
            self.waiting[result.number] = operation
            if isinstance(result.type, TokenType):
                self.behind[result.number] = self.loads(operation) | {operation.results[0].number}

    def loads(self, operation: Operation) -> frozenset[int]:
        """The loads that an operation, or one inside it, waits for."""
        inner = (other for region in operation.regions for other in walk(region))
        tokens = (v for op in (operation, *inner) for v in op.operands if isinstance(v.type, TokenType))
        return frozenset[int]().union(*(self.behind.get(token.number, frozenset()) for token in tokens))

    def renamed(
        self, operation: Operation, fixed: dict[int, Value], copies: dict[int, Value], made: list[Operation]
    ) -> Operation:
        named = {
            role: tuple(self.computed(value, fixed, copies, made) for value in values)
            for role, values in operation.named.items()
        }
        return replace(operation, named=named)

    def computed(
        self,
        value: Value,
        fixed: dict[int, Value],
        copies: dict[int, Value],
        made: list[Operation],
        keep: bool = False,
    ) -> Value:
        """The value, computed here where it has not been since the last write. `keep`: once for all."""
        if isinstance(value.type, TokenType):
            return value
        known = fixed.get(value.number)
        if known is None:
            known = copies.get(value.number)
        operation = self.waiting.get(value.number)
        if operation is None:
            return value
        if known is None:
            new = self.renamed(operation, fixed, copies, made)
            results = tuple(self.fresh(result) for result in operation.results)
            made.append(replace(new, results=results))
            copies.update((old.number, now) for old, now in zip(operation.results, results, strict=True))
            known = copies[value.number]
        if keep:
            fixed[value.number] = known
        return known

    def fresh(self, value: Value) -> Value:
        self.count += 1
        return Value(self.count, value.type, value.name)


def _writes(operation: Operation) -> bool:
    inner: Sequence[Operation] = [op for region in operation.regions for op in walk(region)]
    return any(TABLE[op.name].effect in _WRITES for op in inner)
