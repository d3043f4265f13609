"""A mutant of the Rust as changes of Tile IR: what the compiler made of it, next to what it made of the original.

Operations of both are paired in order, as far as they are alike; values of the mutant get the numbers of those that
they are paired with. What is left are pairs that differ, and operations of one side only.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from edit import Edit
from ferrotile_runner.tileir.model import (
    Entry,
    Operation,
    PartitionViewType,
    Region,
    StridedViewType,
    TokenType,
    Value,
    walk,
)
from msgspec import Struct
from msgspec.structs import replace

NEW = 2_000_000
"""Numbers of the mutant's own values start here."""
_KINDS = {
    "overflow": "promise of no overflow",
    "memory_ordering": "other memory order",
    "memory_scope": "other scope",
    "predicate": "other predicate",
    "signedness": "other sign",
    "rounding": "other rounding",
    "flush_to_zero": "flush to zero",
    "propagate_nan": "NaN of extremes",
    "ordering": "ordered or unordered",
    "saturating": "saturation",
    "mode": "other atomic",
}


class Difference(Struct, frozen=True):
    """The mutant with the original's numbers; what each changed operation became, with the kind of mutation of Tile IR
    that this is; operations that one side alone has."""

    mutant: Entry
    edits: tuple[tuple[str, Edit], ...]
    gone: tuple[Operation, ...]
    added: tuple[Operation, ...]


def difference(original: Entry, mutant: Entry) -> Difference:
    before, after = list(walk(original.body)), list(walk(mutant.body))
    pairs = list(_pairs(before, after))
    numbers = {m.number: o for o, m in zip(original.parameters, mutant.parameters, strict=True)}
    for old, new in pairs:
        numbers |= {m.number: o for o, m in zip(old.results, new.results, strict=False)}
        for one, other in zip(old.regions, new.regions, strict=False):
            numbers |= {m.number: o for o, m in zip(one.arguments, other.arguments, strict=False)}
    renamed = _renamed(mutant, numbers)
    now = dict(zip(map(id, after), walk(renamed.body), strict=True))
    edits = []
    for old, new in pairs:
        changed = now[id(new)]
        if not _same(old, changed):
            instead = {r.number: r for r in changed.results}
            edits.append((_kind(old, changed), Edit(f"{old.name}: another", old, (changed,), instead, True)))
    known = {id(op) for pair in pairs for op in pair}
    gone = tuple(op for op in before if id(op) not in known)
    added = tuple(now[id(op)] for op in after if id(op) not in known)
    return Difference(renamed, tuple(edits), gone, added)


def _key(operation: Operation) -> tuple[str, str, str, int]:
    words = sorted((name, str(word)) for name, word in operation.attributes.items())
    return operation.name, str(words), str([r.type for r in operation.results]), len(operation.operands)


def _pairs(before: list[Operation], after: list[Operation]) -> Iterator[tuple[Operation, Operation]]:
    matcher = SequenceMatcher(None, [*map(_key, before)], [*map(_key, after)], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and b - a == d - c):
            for old, new in zip(before[a:b], after[c:d], strict=True):
                if len(old.results) == len(new.results):
                    yield old, new
        elif tag == "replace":
            left = list(after[c:d])
            for old in before[a:b]:
                same = next((n for n, new in enumerate(left) if new.name == old.name), None)
                if same is not None:
                    yield old, left[same]
                    del left[: same + 1]


def _renamed(mutant: Entry, numbers: dict[int, Value]) -> Entry:
    def value(old: Value) -> Value:
        known = numbers.get(old.number)
        return replace(old, number=old.number + NEW if known is None else known.number)

    def operation(old: Operation) -> Operation:
        named = {role: tuple(map(value, values)) for role, values in old.named.items()}
        regions = tuple(region(inner) for inner in old.regions)
        return replace(old, named=named, results=tuple(map(value, old.results)), regions=regions)

    def region(old: Region) -> Region:
        return Region(tuple(map(value, old.arguments)), tuple(map(operation, old.operations)))

    return replace(mutant, parameters=tuple(map(value, mutant.parameters)), body=region(mutant.body))


def _same(old: Operation, new: Operation) -> bool:
    types = [r.type for r in old.results] == [r.type for r in new.results]
    operands = [v.number for v in old.operands] == [v.number for v in new.operands]
    return old.name == new.name and types and operands and dict(old.attributes) == dict(new.attributes)


def _kind(old: Operation, new: Operation) -> str:
    """The mutation of Tile IR that a change is."""
    if old.name != new.name:
        return "other float operation" if old.name.endswith("f") else "other integer operation"
    for word, kind in _KINDS.items():
        if old.attributes.get(word) != new.attributes.get(word):
            return kind
    if old.name == "constant":
        return "float constant" if "." in old.word("value") or "0x" in old.word("value") else "integer constant"
    types = [(a.type, b.type) for a, b in zip(old.results, new.results, strict=False) if a.type != b.type]
    for a, b in types:
        views = PartitionViewType | StridedViewType
        if isinstance(a, views) and isinstance(b, views) and a.padding != b.padding:
            return "other padding"
    changed = [
        (x, y) for role in old.named for x, y in zip(old.named[role], new.named.get(role, ()), strict=False) if x != y
    ]
    if sorted(v.number for v in old.operands) == sorted(v.number for v in new.operands):
        return "swapped index" if "index" in old.named else "swapped operands"
    if len(old.named.get("token", ())) > len(new.named.get("token", ())):
        return "dropped token"
    if changed and all(isinstance(x.type, TokenType) for x, _ in changed):
        return "other token"
    if len(old.named.get("mask", ())) > len(new.named.get("mask", ())):
        return "dropped mask"
    return "other operand"
