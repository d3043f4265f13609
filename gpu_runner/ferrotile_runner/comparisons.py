"""Which numbers scalars are compared with in an original's entry: there its conditions turn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from ferrotile.signatures.model import Signature

from ferrotile_runner.parameter_words import Role, python_words
from ferrotile_runner.tileir.model import Entry, Operation, TileType, Value, walk

MOST = 4
"""Numbers that are kept of a scalar."""
_INVERSE: Mapping[str, Callable[[float, float], float]] = MappingProxyType(
    {
        "mulf": lambda turn, other: turn / other if other else math.nan,
        "divf": lambda turn, other: turn * other,
        "addf": lambda turn, other: turn - other,
        "subf": lambda turn, other: turn + other,
        "addi": lambda turn, other: turn - other,
        "subi": lambda turn, other: turn + other,
    }
)
"""What the first operand is where the result is `turn` and the second operand is `other`."""
_COMMUTE = frozenset({"mulf", "addf", "addi"})
_PASSED = frozenset({"broadcast", "reshape", "assume", "exti"})


def constant_of(operation: Operation) -> int | float | None:
    """The number of a `constant`; None for a list, bits, or a truth value."""
    kind, text = operation.results[0].type, operation.word("value")
    if not isinstance(kind, TileType) or not isinstance(kind.element, str) or kind.element == "i1":
        return None
    try:
        return int(text, 0) if kind.element.startswith("i") else float(text)
    except ValueError:  # a list, or bits
        return None


def turns_of(entry: Entry, signature: Signature) -> dict[str, tuple[float, ...]]:
    """Of scalars of the signature the numbers at which comparisons of them, or of their sums, products and quotients
    with constants, with constants turn."""
    made = {result.number: operation for operation in walk(entry.body) for result in operation.results}
    words = zip(entry.parameters, python_words(signature), strict=False)
    scalars = {value.number: word.argument for value, word in words if word.role is Role.SCALAR}
    found: dict[str, dict[float, None]] = {}
    for operation in walk(entry.body):
        if operation.name in ("cmpf", "cmpi"):
            for name, turn in _solved(operation, made, scalars):
                found.setdefault(name, {})[turn] = None
    return {name: tuple(turns)[:MOST] for name, turns in found.items()}


def _solved(
    comparison: Operation, made: Mapping[int, Operation], scalars: Mapping[int, str]
) -> Iterator[tuple[str, float]]:
    for one, other in (comparison.operands[:2], comparison.operands[1::-1]):
        turn = _number(other, made)
        value = _plain(one, made)
        while turn is not None and value.number not in scalars:
            op = made.get(value.number)
            if op is None or op.name not in _INVERSE:
                break
            left, right = op.one("lhs"), op.one("rhs")
            constant = _number(right, made)
            if constant is None and op.name in _COMMUTE:
                left, constant = right, _number(left, made)
            if constant is None:
                break
            turn, value = _INVERSE[op.name](turn, constant), _plain(left, made)
        if turn is not None and math.isfinite(turn) and value.number in scalars:
            yield scalars[value.number], turn


def _plain(value: Value, made: Mapping[int, Operation]) -> Value:
    while (op := made.get(value.number)) is not None and op.name in _PASSED:
        value = op.operands[0]
    return value


def _number(value: Value, made: Mapping[int, Operation]) -> float | None:
    op = made.get(_plain(value, made).number)
    found = constant_of(op) if op is not None and op.name == "constant" else None
    return None if found is None else float(found)
