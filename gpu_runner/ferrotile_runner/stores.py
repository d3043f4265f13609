"""Where a program writes an array."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile_runner.parameter_words import ParameterWord, Role
from ferrotile_runner.tileir.model import Entry, Operation, TileType, TokenType, walk

_WRITES = ("store", "atomic")


def stores_to(entry: Entry, words: Sequence[ParameterWord], array: str) -> tuple[Operation, ...]:
    """The operations that write an array, as far as they are reached from its pointer by views and offsets. `words`: of
    the entry's parameters."""
    mine = {
        value.number
        for value, word in zip(entry.parameters, words, strict=False)
        if word.role is Role.POINTER and word.argument == array and not word.copy
    }
    found: list[Operation] = []
    for operation in walk(entry.body):
        if not any(value.number in mine for value in operation.operands):
            continue
        if operation.name.startswith(_WRITES):
            found.append(operation)
        mine |= {r.number for r in operation.results if _leads_on(operation, r.type)}
    return tuple(found)


def _leads_on(operation: Operation, kind: object) -> bool:
    """Whether a result is a pointer into the array, or a view of it."""
    if isinstance(kind, TokenType) or operation.name.startswith((*_WRITES, "load")):
        return False
    return not isinstance(kind, TileType) or not isinstance(kind.element, str)
