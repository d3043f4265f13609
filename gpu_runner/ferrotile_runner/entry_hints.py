"""What an original's entry says of the values that show most of it: the numbers it compares and computes with, and the
scalars that say how often something is done."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ferrotile.signatures.model import ArrayArgument, Signature
from msgspec import Struct

from ferrotile_runner.comparisons import constant_of, turns_of
from ferrotile_runner.parameter_words import Role, python_words
from ferrotile_runner.tileir.interpreter.origins import origins
from ferrotile_runner.tileir.model import Entry, Operation, walk
from ferrotile_runner.tileir.operations import TABLE, Effect

MOST = 12
"""Numbers of a kernel that are kept."""


class Hints(Struct, frozen=True):
    """`integers`, `floats`: constants, the first ones first. `turns`: of scalars that are compared with constants the
    numbers at which these comparisons turn. `counting`: scalars that a loop's bounds or exits depend
    on; `ending`: those of them that are nothing but where loops end that go up. `in_turn`: blocks run one after the
    other. `loops`: there are any. `measured`, `counted`: extents, strides or numbers of tiles, and counters of loops,
    are converted to floats, which have only some of them."""

    integers: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    counting: frozenset[str] = frozenset()
    in_turn: bool = False
    ending: frozenset[str] = frozenset()
    loops: bool = False
    turns: Mapping[str, tuple[float, ...]] = MappingProxyType({})
    measured: bool = False
    counted: bool = False


def hints_of(entry: Entry, signature: Signature) -> Hints:
    """Read from the entry of the original, whose parameters are those of the signature."""
    integers: dict[int, None] = {}
    floats: dict[float, None] = {}
    for operation in walk(entry.body):
        number = constant_of(operation) if operation.name == "constant" else None
        if isinstance(number, int):
            integers[number] = None
        elif number is not None and math.isfinite(number):
            floats[number] = None
    found = origins(entry)
    kept = tuple(n for n in integers if abs(n) < 1 << 31)[:MOST], tuple(floats)[:MOST]
    ending, counting = _ending(entry, signature), _counting(entry, signature)
    turns = turns_of(entry, signature)
    converted = _converted(entry)
    words = zip(entry.parameters, python_words(signature), strict=False)
    sizes = {value.number for value, word in words if word.role in (Role.EXTENT, Role.STRIDE)}
    shapes = {r.number for op in walk(entry.body) if op.name == "get_index_space_shape" for r in op.results}
    counters = {op.regions[0].arguments[0].number for op in walk(entry.body) if op.name == "for"}
    return Hints(
        *kept,
        counting,
        found.in_turn,
        ending & counting,
        has_loops(entry),
        turns,
        measured=bool(converted & (sizes | shapes)),
        counted=bool(converted & counters),
    )


def _converted(entry: Entry) -> set[int]:
    """All values that integers which become floats are computed from, without a load between; coarsely through
    loops."""
    made: dict[int, set[int]] = {}
    ends: set[int] = set()
    for operation in walk(entry.body):
        if TABLE[operation.name].effect is Effect.LOAD:
            continue
        sources = {value.number for value in operation.operands}
        for region in operation.regions:
            passed = [op for op in walk(region) if op.name in ("continue", "break", "yield")]
            sources |= {value.number for op in passed for value in op.operands}
        arguments = (a for region in operation.regions for a in region.arguments[operation.name == "for" :])
        for value in (*operation.results, *arguments):
            made.setdefault(value.number, set()).update(sources)
        if operation.name == "itof":
            ends |= sources
    return _reached(made, ends)


def _reached(made: Mapping[int, set[int]], ends: set[int]) -> set[int]:
    """What some values are computed from, themselves included."""
    left, seen = set(ends), set[int]()
    while left:
        number = left.pop()
        if number not in seen:
            seen.add(number)
            left |= made.get(number, set())
    return seen


def _ending(entry: Entry, signature: Signature) -> frozenset[str]:
    """Scalars that are the ends of loops in steps of a positive constant from something else, and no condition."""
    made = {result.number: operation for operation in walk(entry.body) for result in operation.results}
    uppers: set[int] = set()
    for operation in walk(entry.body):
        step = made.get(operation.one("step").number) if operation.name == "for" else None
        if step is not None and step.name == "constant" and (constant_of(step) or 0) > 0:
            uppers.add(operation.one("upper").number)
    otherwise = _counting(entry, signature, frozenset(uppers))
    words = zip(entry.parameters, python_words(signature), strict=False)
    return frozenset(w.argument for v, w in words if w.role is Role.SCALAR and v.number in uppers) - otherwise


def _counting(entry: Entry, signature: Signature, but: frozenset[int] = frozenset()) -> frozenset[str]:
    """By following values to what they are computed from; what a loop carries is taken for computed from all that it
    starts from and passes on. `but`: values that may be the ends of loops."""
    made: dict[int, set[int]] = {}
    ends: set[int] = set()
    for operation, conditions in _within(entry):
        sources = {value.number for value in operation.operands}
        for region in operation.regions:
            sources |= {v.number for inner in walk(region) for v in inner.operands}
            for argument in region.arguments:
                made.setdefault(argument.number, set()).update(sources)
        for result in operation.results:
            made.setdefault(result.number, set()).update(sources)
        if operation.name == "for":
            ends |= {operation.one(role).number for role in ("lower", "upper", "step")} - but
        if operation.name in ("break", "continue", "return"):
            ends |= conditions
    seen = _reached(made, ends)
    words = zip(entry.parameters, python_words(signature), strict=False)
    return frozenset(word.argument for value, word in words if word.role is Role.SCALAR and value.number in seen)


def _within(entry: Entry) -> Iterator[tuple[Operation, set[int]]]:
    """Every operation, and the conditions that it is under in a loop."""

    def of(
        operations: tuple[Operation, ...], conditions: set[int], looped: bool
    ) -> Iterator[tuple[Operation, set[int]]]:
        for operation in operations:
            yield operation, conditions
            inner, within = conditions, looped or operation.name in ("for", "loop")
            if operation.name == "if" and looped:
                inner = conditions | {operation.one("condition").number}
            for region in operation.regions:
                yield from of(region.operations, inner, within)

    return of(entry.body.operations, set(), False)


def has_indices(signature: Signature) -> bool:
    """Whether an array may hold indices."""
    return any(isinstance(a, ArrayArgument) and a.dtype.is_integer for a in signature.arguments)


def has_loops(entry: Entry) -> bool:
    """Whether integers of the launch may be how often something is done."""
    return any(operation.name in ("for", "loop") for operation in walk(entry.body))
