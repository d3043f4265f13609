"""Mutants of which no lane shows anything: what depends on the change comes out the same wherever it goes.

Both entries are walked side by side. What has no lanes of its own, an access, a check, a loop, a reduction, must be
the same operation in both; what it takes must be the same on samples (`lanes.py`), in the lanes that count: those that
its mask lets through, under the conditions of the branches that it is in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation
from ferrotile_runner.tileir.model import Operation, Region, TileType, TokenType, Value
from ferrotile_runner.tileir.operations import TABLE, Effect
from given import Given
from known import Known
from lanes import Samples, Unknown, constants, drawn, is_lanewise, leaves, taken
from msgspec import Struct
from msgspec.structs import replace
from unrolling import Numbers, unrolled

ENOUGH = 1000
"""Samples that must count."""


class Anchor(Struct, frozen=True):
    """An operation that has no lanes of its own, and the conditions of the branches that it is in: their values, and
    whether they hold there."""

    operation: Operation
    under: tuple[tuple[Value, bool], ...]


def anchors(region: Region, under: tuple[tuple[Value, bool], ...] = ()) -> Iterator[Anchor]:
    for operation in region.operations:
        if is_lanewise(operation):
            continue
        yield Anchor(operation, under)
        for place, inner in enumerate(operation.regions):
            condition = ((operation.one("condition"), place == 0),) if operation.name == "if" else ()
            yield from anchors(inner, (*under, *condition))


def no_lane_shows_it(given: Given) -> bool:
    """Whether everything in the mutant gets what it gets in the original; loops of few rounds may be written out."""
    if _nothing_shows(given):
        return True
    numbers: Numbers = {}
    before, after = unrolled(given.known.entry, numbers), unrolled(given.mutant, numbers)
    if not numbers:
        return False
    pair = given.sides.pair
    return _nothing_shows(replace(given, known=Known(before, pair), changed=Known(after, pair), mutant=after))


def _nothing_shows(given: Given) -> bool:
    pairs = _pairs(given)
    try:
        return pairs is not None and all(_same(given, before, after) for before, after in pairs)
    except (Unknown, UnsupportedOperation, RecursionError, KeyError, ValueError):
        return False


def _pairs(given: Given) -> list[tuple[Anchor, Anchor]] | None:
    before, after = list(anchors(given.known.entry.body)), list(anchors(given.mutant.body))
    if len(before) != len(after):
        return None
    pairs = list(zip(before, after, strict=True))
    return pairs if all(_alike(a.operation, b.operation) for a, b in pairs) else None


def _alike(a: Operation, b: Operation) -> bool:
    types = [r.type for r in a.results] == [r.type for r in b.results]
    words = dict(a.attributes) == dict(b.attributes) and len(a.regions) == len(b.regions)
    return a.name == b.name and types and words and [*map(len, a.named.values())] == [*map(len, b.named.values())]


def _same(given: Given, before: Anchor, after: Anchor) -> bool:
    old, new = before.operation, after.operation
    mask = old.optional("mask")
    taken = _taken_where(given, old)
    for role, values in old.named.items():
        for one, other in zip(values, new.named[role], strict=True):
            if not _changed(given, one, other):
                continue
            if isinstance(one.type, TokenType) or not isinstance(one.type, TileType):
                return False
            counts = before.under
            if mask is not None and role != "mask":
                counts = (*counts, (mask, role != "padding"))
            if taken is not None and _may_load_more(given, role, one, other):
                counts = (*counts, (taken, True))
            implied = old.name == "assert" and not _is_pythons(given)
            if not _never(given, counts) and not _equal(given, one, other, counts, implied):
                return False
    return True


def _taken_where(given: Given, load: Operation) -> Value | None:
    """The condition under which alone anything takes what is loaded: lane by lane a selection by it, or a store of the
    lanes for which it holds."""
    if TABLE[load.name].effect is not Effect.LOAD:
        return None
    conditions = _conditions(given.known, load.results[0])
    first = conditions[0] if conditions else None
    return (
        first if first is not None and all(c is not None and given.known.alike(first, c) for c in conditions) else None
    )


def _conditions(known: Known, value: Value) -> list[Value | None]:
    """Of all that takes a value; None where it is taken whatever holds."""
    found: list[Value | None] = []
    for user in known.users.get(value.number, []):
        if user.name == "reshape":
            found += _conditions(known, user.results[0])
        elif user.name == "select" and user.one("lhs") == value != user.one("rhs"):
            found.append(user.one("condition"))
        elif user.name == "store_ptr_tko" and user.optional("mask") is not None:
            found.append(user.one("mask"))
        else:
            found.append(None)
    return found


def _may_load_more(given: Given, role: str, one: Value, other: Value) -> bool:
    """Whether lanes that nothing takes may be loaded otherwise: with another padding, of a tile that is not before the
    first one, or of the array's own elements: the mask is still the comparison with its extent."""
    match role:
        case "padding":
            return True
        case "mask":
            part = given.known.definitions.get(one.number)
            bounds = given.changed.definitions.get(other.number)
            conjunct = part is not None and part.name == "andi" and other.number in {v.number for v in part.operands}
            below = bounds is not None and bounds.name == "cmpi" and bounds.word("predicate") == "less_than"
            return conjunct and below and bounds is not None and bounds.word("signedness") == "unsigned"
        case "index":
            return given.changed.least(other) >= 0
        case _:
            return False


def _is_pythons(given: Given) -> bool:
    return any(anchor.operation.name == "assert" for anchor in anchors(given.sides.python.body))


def _changed(given: Given, one: Value, other: Value) -> bool:
    """Whether the values are computed in another way."""
    if one.number != other.number or one.type != other.type:
        return True
    return _differs(given.known, given.changed, one, {})


def _differs(known: Known, changed: Known, value: Value, seen: dict[int, bool]) -> bool:
    if value.number in seen:
        return seen[value.number]
    a, b = known.definitions.get(value.number), changed.definitions.get(value.number)
    seen[value.number] = False
    if a is None or b is None:
        found = (a is None) != (b is None)
    elif not is_lanewise(a) and not is_lanewise(b):
        found = False  # a leaf: compared at its own place
    else:
        same = a.name == b.name and dict(a.attributes) == dict(b.attributes)
        same = same and [v.number for v in taken(a, value)] == [v.number for v in taken(b, value)]
        found = not same or any(_differs(known, changed, operand, seen) for operand in taken(a, value))
    seen[value.number] = found
    return found


def _never(given: Given, counts: tuple[tuple[Value, bool], ...]) -> bool:
    """Whether there are no such lanes: the conditions do not hold together in any combination of special numbers."""
    found: dict[int, Value] = {}
    for condition, _ in counts:
        leaves(given.known, condition, found)
    if not found:
        return False
    made = drawn(given.known, list(found.values()), tuple(dict.fromkeys(constants(given.known))), 0)
    samples = Samples(given.known, made)
    holds: Array = np.ones(samples.valid.shape, np.bool_)
    for condition, wanted in counts:
        holds = holds & (samples.of(condition) == wanted)
    return not bool((holds & samples.valid).any())


def _equal(given: Given, one: Value, other: Value, counts: tuple[tuple[Value, bool], ...], implied: bool) -> bool:
    """Whether they are the same bits (any NaN being any NaN) on the samples that count; `implied`: or the second holds
    wherever the first does."""
    found: dict[int, Value] = {}
    leaves(given.known, one, found)
    leaves(given.changed, other, found)
    for condition, _ in counts:
        leaves(given.known, condition, found)
    made = drawn(given.known, list(found.values()), tuple(dict.fromkeys(constants(given.known))), given.at.text_line)
    before, after = Samples(given.known, made), Samples(given.changed, made)
    a, b = before.of(one), after.of(other)
    valid: Array = np.ones(before.valid.shape, np.bool_)
    for condition, holds in counts:
        valid = valid & (before.of(condition) == holds)
    valid = valid & before.valid
    if a.dtype != b.dtype:
        return False
    bits = np.dtype(f"u{a.dtype.itemsize}")
    with np.errstate(all="ignore"):
        equal = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
        equal = equal | ((a != a) & (b != b)) | (b if implied and a.dtype == np.bool_ else False)
    return int(valid.sum()) >= min(ENOUGH, valid.size) and bool((equal & after.valid)[valid].all())
