"""Changes to a Tile IR entry: one operation for others, one value for another; the result verified anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ferrotile_runner.tileir.model import (
    Attribute,
    Entry,
    Operation,
    Region,
    Type,
    Value,
    walk,
)
from ferrotile_runner.tileir.operations import TABLE, TERMINATORS, Effect
from ferrotile_runner.tileir.text import ReadError
from ferrotile_runner.tileir.verifier import verify
from msgspec import Struct, field
from msgspec.structs import replace


class Refused(Exception):
    """The changed entry is no Tile IR."""


class Site(Struct, frozen=True):
    """An operation that may be changed. `scope`: the values that it sees; `behind`: the operations after it in its
    region; `around`: the operations whose regions it is in, the innermost last."""

    operation: Operation
    scope: tuple[Value, ...]
    behind: tuple[Operation, ...]
    around: tuple[Operation, ...]
    entry: Entry

    def fresh(self, type_: Type, number: int = 0) -> Value:
        """The number-th new value of a change."""
        return Value(1_000_000 + number, type_, f"%new{number}")

    def peers(self, value: Value) -> Iterator[Value]:
        """Other values of its type that the operation sees, the nearest first."""
        return (other for other in reversed(self.scope) if other.type == value.type and other != value)


class Edit(Struct, frozen=True):
    """`at` becomes `becomes`; from then on uses of a value, by number, are uses of another. `what` says so."""

    what: str
    at: Operation
    becomes: tuple[Operation, ...]
    instead: Mapping[int, Value] = field(default_factory=dict)
    behind: bool = False
    """Only uses after `at` are changed; else also those in `becomes`."""
    also: tuple[Edit, ...] = ()
    """Changes that belong to it."""


def sites(entry: Entry) -> Iterator[Site]:
    """Every operation that something depends on, outer before inner."""
    living = alive(entry)

    def of(region: Region, scope: tuple[Value, ...], around: tuple[Operation, ...]) -> Iterator[Site]:
        scope = (*scope, *region.arguments)
        for place, operation in enumerate(region.operations):
            if id(operation) in living:
                yield Site(operation, scope, region.operations[place + 1 :], around, entry)
            for inner in operation.regions:
                yield from of(inner, scope, (*around, operation))
            scope = (*scope, *operation.results)

    return of(entry.body, entry.parameters, ())


def with_operands(operation: Operation, change: Callable[[Value], Value]) -> Operation:
    named = {role: tuple(map(change, values)) for role, values in operation.named.items()}
    return replace(operation, named=named)


def with_role(operation: Operation, role: str, *values: Value) -> Operation:
    return replace(operation, named={**operation.named, role: values})


def with_attributes(operation: Operation, **attributes: Attribute | None) -> Operation:
    """None takes an attribute away."""
    made = {**operation.attributes, **{k: v for k, v in attributes.items() if v is not None}}
    return replace(operation, attributes={k: v for k, v in made.items() if attributes.get(k, v) is not None})


def applied(entry: Entry, edit: Edit) -> Entry:
    """Raises Refused for an entry that is no Tile IR."""
    edits = (edit, *edit.also)
    changes = {id(part.at): part for part in edits}
    instead: dict[int, Value] = {}
    for part in edits:
        if not part.behind:
            instead.update(part.instead)
    done: list[Edit] = []

    def changed(value: Value) -> Value:
        return instead.get(value.number, value)

    def operation(old: Operation) -> Operation:
        regions = tuple(region(inner) for inner in old.regions)
        return replace(with_operands(old, changed), regions=regions)

    def region(old: Region) -> Region:
        made: list[Operation] = []
        for item in old.operations:
            part = changes.get(id(item))
            if part is None:
                made.append(operation(item))
                continue
            done.append(part)
            made += [operation(new) for new in part.becomes]
            if part.behind:
                instead.update(part.instead)
        return Region(old.arguments, tuple(made))

    found = replace(entry, body=region(entry.body))
    assert len(done) == len(edits), "an edit of another entry"
    _check_scopes(found.body, frozenset(p.number for p in found.parameters))
    try:
        verify(found)
    except ReadError as error:
        raise Refused(str(error)) from error
    except (ValueError, KeyError, IndexError) as error:
        raise Refused(f"malformed: {error}") from error
    return found


def _check_scopes(region: Region, scope: frozenset[int]) -> None:
    seen = set(scope) | {a.number for a in region.arguments}
    for operation in region.operations:
        if any(value.number not in seen for value in operation.operands):
            raise Refused(f"{operation.name} takes a value that is not defined yet")
        for inner in operation.regions:
            _check_scopes(inner, frozenset(seen))
        if any(result.number in seen for result in operation.results):
            raise Refused(f"{operation.name} defines a value again")
        seen.update(result.number for result in operation.results)


# What something depends on

_EFFECTS = frozenset({Effect.STORE, Effect.ATOMIC, Effect.PRINT, Effect.ASSERT, Effect.GRID})


def alive(entry: Entry) -> frozenset[int]:
    """The `id`s of operations that a store, an atomic, a print, an assert or the way through the program depends on."""
    living: set[int] = set()
    values: set[int] = set()
    while True:
        before = len(living), len(values)
        _mark(entry.body, (), (), living, values)
        if (len(living), len(values)) == before:
            return frozenset(living)


def _mark(region: Region, given: Sequence[Value], passed: Sequence[Value], living: set[int], values: set[int]) -> None:
    """`given`: results of the operation around; `passed`: what a loop carries."""
    for operation in reversed(region.operations):
        if operation.name in TERMINATORS:
            living.add(id(operation))
            _mark_passed(operation, given, passed, values)
            continue
        inner = [op for r in operation.regions for op in walk(r)]
        if operation.regions:
            _mark_inner(operation, given, passed, living, values)
        lives = TABLE[operation.name].effect in _EFFECTS or any(r.number in values for r in operation.results)
        lives |= any(TABLE[op.name].effect in _EFFECTS or op.name in {"break", "return"} for op in inner)
        if not lives:
            continue
        living.add(id(operation))
        carried = operation.named.get("initial", ()) if operation.name in {"for", "loop"} else ()
        arguments = operation.regions[0].arguments[operation.name == "for" :] if carried else ()
        for argument, value, result in zip(arguments, carried, operation.results, strict=False):
            if argument.number in values or result.number in values:
                values.add(value.number)
        values.update(v.number for role, vs in operation.named.items() if role != "initial" for v in vs)


def _mark_inner(
    operation: Operation, given: Sequence[Value], passed: Sequence[Value], living: set[int], values: set[int]
) -> None:
    if operation.name == "if":
        for inner in operation.regions:
            last = inner.operations[-1].name if inner.operations else ""
            results = operation.results if last == "yield" else given
            _mark(inner, results, passed, living, values)
        return
    inner = operation.regions[0]
    arguments = inner.arguments[operation.name == "for" :]
    if operation.name in {"for", "loop"}:
        _mark(inner, operation.results, arguments, living, values)
    else:
        _mark(inner, operation.results, (), living, values)


def _mark_passed(operation: Operation, given: Sequence[Value], passed: Sequence[Value], values: set[int]) -> None:
    found = operation.named.get("values", ())
    if operation.name == "return":
        return
    for k, value in enumerate(found):
        wanted = k < len(given) and given[k].number in values
        if operation.name == "continue":
            wanted |= k < len(passed) and passed[k].number in values
        if wanted:
            values.add(value.number)
