"""Why mutants of the Rust that no run tells from the original are the same program, or why no run can tell them.

By what the compiler made of them (`rust_difference.py`): each change of an operation must have a reason of its own, as
mutants of Tile IR have; or what is stored, in which order and behind what, must be the same in all.
"""

from __future__ import annotations

import reasons
import reasons_lanes
from edit import Edit
from ferrotile_runner.tileir.model import Entry, Operation, TokenType, Value, walk
from ferrotile_runner.tileir.operations import TABLE, Effect
from given import Given
from known import ACCESSES, Known, Sides
from reasons_order import apart
from rust_difference import Difference, difference


def of_rust(sides: Sides, mutant: Entry, proved: bool) -> str:
    """The words of the reason; empty where there is none."""
    try:
        found = difference(sides.rust, mutant)
    except (ValueError, KeyError, RecursionError):
        return ""
    effects = [op for op in (*found.gone, *found.added) if TABLE[op.name].effect not in {Effect.NONE, Effect.ASSUME}]
    if found.edits and not effects and (words := _of_each(sides, found, proved)):
        return words
    given = _given(sides, found)
    if reasons_lanes.no_lane_shows_it(given):
        return "no lane shows it: what depends on it comes out the same for all special numbers and for drawn ones"
    checks = bool(effects) and all(op.name == "assert" for op in effects)
    python = any(op.name == "assert" for op in walk(sides.python.body))
    if checks and not python and _same_accesses(given):
        if not any(op.name == "assert" for op in found.added):
            return "a check that the original does not have"
        return "a check that the proof shows to follow from the original's own accesses" if proved else ""
    if _same_accesses(given):
        return "the same accesses of each array, those of one element in the same order"
    if _doubled(given, found):
        return "a plain store made twice in a row"
    return ""


def _given(sides: Sides, found: Difference, kind: str = "", edit: Edit | None = None) -> Given:
    at = next(iter(walk(sides.rust.body)))
    nothing = Edit("", at, (at,)) if edit is None else edit
    return Given(sides, sides.known, Known(found.mutant, sides.pair), kind, nothing, found.mutant)


def _of_each(sides: Sides, found: Difference, proved: bool) -> str:
    """That of the first change; a reason of the kind `beyond` where one is."""
    try:
        words = [reasons.of_tile_ir(sides, kind, edit, found.mutant, proved) for kind, edit in found.edits]
    except (IndexError, KeyError, ValueError, AssertionError):  # no change that a mutation of Tile IR makes
        return ""
    if not all(words):
        return ""
    return next((w for w in words if w.startswith("beyond")), words[0])


def _computed(given: Given, one: Value, other: Value, depth: int = 0) -> bool:
    """Whether two values, one of each side, are computed by the same operations."""
    if one.number == other.number and depth > 60:
        return False
    a, b = given.known.definitions.get(one.number), given.changed.definitions.get(other.number)
    if a is None or b is None:
        return a is b and one.number == other.number
    data = [[v for v in op.operands if not isinstance(v.type, TokenType)] for op in (a, b)]
    same = a.name == b.name and dict(a.attributes) == dict(b.attributes) and one.type == other.type
    same = same and not a.regions and not b.regions and len(data[0]) == len(data[1])
    return (same and all(_computed(given, x, y, depth + 1) for x, y in zip(*data, strict=True))) or (
        a.name == b.name and bool(a.regions) and one.number == other.number and _regions(given, a, b)
    )


def _regions(given: Given, a: Operation, b: Operation) -> bool:
    """Whether a loop, branch or reduction is the same text."""
    old, new = list(walk(a.regions[0])), list(walk(b.regions[0]))
    alike = all(
        x.name == y.name and [v.number for v in x.operands] == [v.number for v in y.operands]
        and dict(x.attributes) == dict(y.attributes)
        for x, y in zip(old, new, strict=False)
    )  # fmt: skip
    return len(old) == len(new) and alike and [v.number for v in a.operands] == [v.number for v in b.operands]


def _same_accesses(given: Given) -> bool:
    """Whether each array has the same accesses in the same order, none of which waits for less of its array; and the
    rest is the same loops and branches."""
    if _control(given.known.entry) != _control(given.mutant):
        return False
    sides: list[dict[int, list[Operation]]] = []
    for known in (given.known, given.changed):
        found: dict[int, list[Operation]] = {}
        for op in known.accesses:
            found.setdefault(known.array(op), []).append(op)
        sides.append(found)
    before, after = sides
    if before.keys() != after.keys() or -1 in before:
        return False
    for array, accesses in before.items():
        others = after[array]
        if len(accesses) != len(others):
            return False
        order = _matched(given, accesses, others)
        if order is None:
            return False
        # Numbered as in the original.
        places = {id(op): n for n, op in enumerate(accesses)}, {id(others[m]): n for n, m in enumerate(order)}
        writes = any(TABLE[op.name].effect is not Effect.LOAD for op in accesses)
        for n, old in enumerate(accesses):
            was = {places[0][i] for i in given.known.behind(old.optional("token")) if i in places[0]}
            now = {places[1][i] for i in given.changed.behind(others[order[n]].optional("token")) if i in places[1]}
            lost = {m for m in was - now if not apart(given.known, accesses[m], old)}
            turned = (m for m in range(n) if order[m] > order[n] and not apart(given.known, accesses[m], old))
            if writes and (lost or any(True for _ in turned)):
                return False
    return True


def _matched(given: Given, before: list[Operation], after: list[Operation]) -> list[int] | None:
    """For each access of the original the place of the mutant's that does the same, where there is one for each."""
    left, order = list(range(len(after))), list[int]()
    for old in before:
        found = next((n for n in left if _does_the_same(given, old, after[n])), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found)
    return order


def _does_the_same(given: Given, old: Operation, new: Operation) -> bool:
    if old.name != new.name or dict(old.attributes) != dict(new.attributes):
        return False
    data = [[v for v in op.operands if not isinstance(v.type, TokenType)] for op in (old, new)]
    return len(data[0]) == len(data[1]) and all(_computed(given, x, y) for x, y in zip(*data, strict=True))


def _control(entry: Entry) -> list[str]:
    return [op.name for op in walk(entry.body) if op.regions or op.name in _ENDS]


_ENDS = frozenset({"break", "continue", "return", "yield", "print_tko"})


def _doubled(given: Given, found: Difference) -> bool:
    """All that the mutant has more is plain stores next to one of the same, and what these are computed from."""
    if found.gone or any(kind != "other token" for kind, _ in found.edits):
        return False
    accesses = given.changed.accesses
    added = [op for op in found.added if TABLE[op.name].effect in ACCESSES]
    for op in added:
        place = next(n for n, other in enumerate(accesses) if other is op)
        near = [accesses[n] for n in (place - 1, place + 1) if 0 <= n < len(accesses)]
        if TABLE[op.name].effect is not Effect.STORE or not any(_twins(given.changed, op, other) for other in near):
            return False
    return bool(added) and not any(op.regions or op.name in _ENDS for op in found.added)


def _twins(known: Known, one: Operation, other: Operation) -> bool:
    data = [[v for v in op.operands if not isinstance(v.type, TokenType)] for op in (one, other)]
    same = one.name == other.name and dict(one.attributes) == dict(other.attributes) and len(data[0]) == len(data[1])
    return same and all(map(known.alike, *data))
