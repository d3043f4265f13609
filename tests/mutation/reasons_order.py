"""Why another order of accesses, or another atomic, comes out the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

import numpy as np
from ferrotile_runner.tileir.model import Operation, PartitionViewType, TokenType, Value, walk
from ferrotile_runner.tileir.operations import TABLE, Effect
from given import Given, Reason
from known import WRITES, Known
from lanes import Samples, Unknown, drawn, is_lanewise, leaves

TOKENS = frozenset({"dropped token", "other token", "ignored token", "lost carry", "swapped carries",
                    "other passed value", "result of a loop"})  # fmt: skip
ORDER = TOKENS | {"reordered stores"}
_BITS = 4
_MOST = 7
"""Accesses of which all orders are tried."""


def only_tokens(given: Given) -> bool:
    """Whether nothing but tokens is another."""
    old = given.at
    new = next((op for op in reversed(given.edit.becomes) if op.name == old.name), None)
    results = {r.number: r for r in old.results}
    pairs = [(results[k], v) for k, v in given.edit.instead.items() if k in results and v.number != k]
    if new is not None:
        if [*map(len, new.named.values())] != [*map(len, old.named.values())] and "token" not in old.named:
            return False
        for role, values in old.named.items():
            pairs += [(a, b) for a, b in zip(values, new.named.get(role, ()), strict=False) if a.number != b.number]
    return all(isinstance(a.type, TokenType) for a, _ in pairs)


def of_tokens(applies: Callable[[Given], bool]) -> Callable[[Given], bool]:
    """A check of a mutant in which no more than tokens are others."""
    return lambda given: (given.kind not in TOKENS or only_tokens(given)) and applies(given)


def touched(given: Given) -> list[Operation]:
    """The accesses that stand behind others than before, by the order of the program: an edit keeps it."""
    before, after = given.known.accesses, given.changed.accesses
    if len(before) != len(after):
        return before
    names = {id(op): place for place, op in enumerate(before)}
    now = {id(op): place for place, op in enumerate(after)}
    found = []
    for old, new in zip(before, after, strict=True):
        was = frozenset(names[i] for i in given.known.behind(old.optional("token")) if i in names)
        is_now = frozenset(now[i] for i in given.changed.behind(new.optional("token")) if i in now)
        if was - is_now:
            found.append(old)
    return found


def looped(known: Known, access: Operation) -> bool:
    loops = (op for op in walk(known.entry.body) if op.name in {"for", "loop"})
    return any(inner is access for loop in loops for region in loop.regions for inner in walk(region))


def _same_value(given: Given) -> bool:
    """Every array whose accesses' order changed is only stored to, always the same constant."""
    for access in _moved(given):
        others = given.known.of_array(access)
        if not all(TABLE[op.name].effect is Effect.STORE for op in others):
            return False
        first = others[0].one("value")
        if not given.known.is_constant(first) or not all(given.known.alike(first, op.one("value")) for op in others):
            return False
    return True


def _moved(given: Given) -> list[Operation]:
    return [given.at, *touched(given)] if given.kind == "reordered stores" else touched(given)


def _never_meet(given: Given) -> bool:
    """Of the accesses whose order changed none is of an element of another one that it has to do with: along some axis
    of the same tiles their indices differ, whatever the block and the launch."""
    return all(
        not looped(given.known, access)
        and all(apart(given.known, access, other) for other in _partners(given.known, access))
        for access in _moved(given)
    )


def _partners(known: Known, access: Operation) -> Iterator[Operation]:
    for other in known.of_array(access):
        if other is not access and WRITES & {TABLE[op.name].effect for op in (access, other)}:
            yield other


def apart(known: Known, one: Operation, other: Operation) -> bool:
    """Whether two accesses are of other tiles of one partition, whatever the block."""
    if "view" not in one.named or "view" not in other.named:
        return False
    a, b = one.one("view"), other.one("view")
    if not isinstance(a.type, PartitionViewType) or a.type.tile != getattr(b.type, "tile", None):
        return False
    if a.type.dim_map != getattr(b.type, "dim_map", None) or not known.alike(_base(known, a), _base(known, b)):
        return False
    return any(_unlike(known, x, y) for x, y in zip(one.named["index"], other.named["index"], strict=True))


def _base(known: Known, view: Value) -> Value:
    made = known.definitions.get(view.number)
    return view if made is None else made.one("view")


def _unlike(known: Known, a: Value, b: Value) -> bool:
    found: dict[int, Value] = {}
    try:
        leaves(known, a, found)
        leaves(known, b, found)
        samples = Samples(known, drawn(known, list(found.values()), (), 1))
        differ = samples.of(a) != samples.of(b)
    except Unknown:
        return False
    return bool(differ[samples.valid].all())


def _in_its_place(given: Given) -> bool:
    """Each array whose accesses' order changed is loaded once, and stored to once at the same place, and what is loaded
    goes, lane by lane, into what is stored and nowhere else."""
    return all(_is_updated(given.known, access) for access in touched(given))


def _is_updated(known: Known, access: Operation) -> bool:
    others = known.of_array(access)
    effects = [TABLE[op.name].effect for op in others]
    if effects != [Effect.LOAD, Effect.STORE] or any(looped(known, op) for op in others):
        return False
    load, store = others
    if "view" not in load.named or "view" not in store.named:
        return False
    same = all(known.alike(a, b) for a, b in zip(load.named["index"], store.named["index"], strict=True))
    tiles = [getattr(op.one("view").type, "tile", None) for op in others]
    return same and tiles[0] == tiles[1] and _goes_only(known, load.results[0], store)


def _goes_only(known: Known, value: Value, store: Operation) -> bool:
    return all(
        (op is store and value not in op.named["index"])
        or (is_lanewise(op) and op.results[0].type == value.type and _goes_only(known, op.results[0], store))
        for op in known.users.get(value.number, [])
    )


# Atomics of one place


_UPDATES = {
    "add": lambda y, t: y + t,
    "addf": lambda y, t: 5 * y + 3 * t + 7 * y * t,
    "and": lambda y, t: y & t,
    "or": lambda y, t: y | t,
    "xor": lambda y, t: y ^ t,
    "xchg": lambda y, t: t + 0 * y,
    "max": lambda y, t: np.maximum(_signed(y), _signed(t)),
    "min": lambda y, t: np.minimum(_signed(y), _signed(t)),
    "umax": lambda y, t: np.maximum(y % (1 << _BITS), t % (1 << _BITS)),
    "umin": lambda y, t: np.minimum(y % (1 << _BITS), t % (1 << _BITS)),
}


def _signed(y: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    half = 1 << (_BITS - 1)
    return (y + half) % (2 * half) - half


def _updates_alike(given: Given) -> bool:
    """All accesses of the array are atomics, whose answers nobody uses, of one place: what they make of it together is
    worked out for all numbers of four bits, in every order that the mutant's tokens leave. A sum of floats stands for
    any function: it may depend on the order."""
    arrays = (
        {given.known.array(op) for op in _moved(given)}
        if given.kind in TOKENS and only_tokens(given)
        else _updated(given)
    )
    return bool(arrays) and all(_alike_on(given, array) for array in arrays)


def _updated(given: Given) -> set[int]:
    """The arrays whose atomics are others, or are computed otherwise."""
    before, after = given.known.accesses, given.changed.accesses
    if len(before) != len(after):
        return {given.known.array(given.at)} if given.at in before else set()
    found = set()
    for old, new in zip(before, after, strict=True):
        if TABLE[old.name].effect in WRITES and not _alike(given, old, new):
            found.add(given.known.array(old))
    return found


def _alike(given: Given, old: Operation, new: Operation) -> bool:
    same = old.name == new.name and dict(old.attributes) == dict(new.attributes)
    data = [[v for v in op.operands if not isinstance(v.type, TokenType)] for op in (old, new)]
    return same and data[0] == data[1] and not any(_computed_anew(given, v) for v in data[0])


def _computed_anew(given: Given, value: Value, depth: int = 0) -> bool:
    a, b = given.known.definitions.get(value.number), given.changed.definitions.get(value.number)
    if a is None or b is None or depth > 40:
        return a is not b
    if a.name != b.name or dict(a.attributes) != dict(b.attributes) or a.operands != b.operands:
        return True
    if [r.type for r in a.results] != [r.type for r in b.results]:
        return True
    return any(_computed_anew(given, operand, depth + 1) for operand in a.operands)


def _alike_on(given: Given, array: int) -> bool:
    before = [op for op in given.known.accesses if given.known.array(op) == array]
    after = [op for op in given.changed.accesses if given.changed.array(op) == array]
    if array < 0 or not before or max(len(before), len(after)) > _MOST:
        return False
    for known, some in ((given.known, before), (given.changed, after)):
        if any(TABLE[op.name].effect is not Effect.ATOMIC or looped(known, op) or _answers(known, op) for op in some):
            return False
        if any(op.word("mode") not in _UPDATES for op in some) or not _one_place(known, some):
            return False
    letters: list[tuple[bool, Value]] = []
    one, other = _program(given, before, letters, False), _program(given, after, letters, True)
    same_place = not after or not before or _same_place(given, before[0], after[0])
    wanted = _outcome(one, letters)
    if not same_place and not _is_identity(wanted, letters):
        return False
    orders = list(_orders(given.changed, after))
    masked = [n for n, op in enumerate(after) if len(before) == len(after) and _masked_anew(given, before[n], op)]
    return all(  # in lanes that another mask leaves out, or does not
        np.array_equal(_outcome([other[k] for k in order if k not in left], letters), wanted)
        for order in orders
        for left in ((), masked)
    )


def _masked_anew(given: Given, old: Operation, new: Operation) -> bool:
    masks = [op.optional("mask") for op in (old, new)]
    return None not in masks and (masks[0] != masks[1] or _computed_anew(given, masks[0]))


def _answers(known: Known, atomic: Operation) -> bool:
    return any(r.number in known.users for r in atomic.results if not isinstance(r.type, TokenType))


def _place_of(op: Operation) -> list[Value]:
    return [v for role, values in op.named.items() if role not in {"value", "token", "mask"} for v in values]


def _one_place(known: Known, some: Sequence[Operation]) -> bool:
    first = _place_of(some[0]) if some else []
    places = [_place_of(op) for op in some]
    return all(len(p) == len(first) and all(map(known.alike, p, first)) for p in places)


def _same_place(given: Given, one: Operation, other: Operation) -> bool:
    a, b = _place_of(one), _place_of(other)
    return [v.number for v in a] == [v.number for v in b] and not any(_computed_anew(given, v) for v in a)


_Program = list[tuple[str, int]]


def _program(given: Given, some: Sequence[Operation], letters: list[tuple[bool, Value]], mutant: bool) -> _Program:
    """Of each atomic what it does, with the how-manieth value; one that the mutant computes otherwise is its own."""
    found: _Program = []
    known = given.changed if mutant else given.known
    for op in some:
        value = op.one("value")
        own = mutant and _computed_anew(given, value)
        alike = (n for n, (whose, letter) in enumerate(letters) if whose == own and known.alike(letter, value))
        place = next(alike, len(letters))
        if place == len(letters):
            letters.append((own, value))
        found.append((op.word("mode"), place))
    return found


def _outcome(
    program: _Program, letters: Sequence[tuple[bool, Value]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """For every number that the place holds and every value, by axis."""
    axes = np.meshgrid(*[np.arange(1 << _BITS)] * (1 + max(len(letters), 1)), indexing="ij")
    held = axes[0].astype(np.int64)
    for mode, place in program:
        held = _UPDATES[mode](held, axes[1 + place]) % (1 << _BITS)
    return held


def _is_identity(
    outcome: np.ndarray[tuple[int, ...], np.dtype[np.int64]], letters: Sequence[tuple[bool, Value]]
) -> bool:
    return np.array_equal(outcome, _outcome([], letters))


def _orders(known: Known, some: Sequence[Operation]) -> Iterator[tuple[int, ...]]:
    names = {id(op): place for place, op in enumerate(some)}
    behind = [{names[i] for i in known.behind(op.optional("token")) if i in names} for op in some]
    for order in permutations(range(len(some))):
        at = {place: n for n, place in enumerate(order)}
        if all(at[before] < at[place] for place in order for before in behind[place]):
            yield order


def _relaxed(given: Given) -> bool:
    accesses = (*given.known.accesses, *given.changed.accesses)
    atomics = [op for op in accesses if TABLE[op.name].effect is Effect.ATOMIC]
    return all(op.word("memory_ordering") == "relaxed" for op in atomics) and _updates_alike(given)


_ANY: frozenset[str] = frozenset()
ROWS = (
    Reason("stores of one constant, in any order", ORDER, of_tokens(_same_value)),
    Reason("accesses of other tiles of a partition, in any order", ORDER, of_tokens(_never_meet)),
    Reason("what is loaded is stored in its own place, and used for nothing else", TOKENS, of_tokens(_in_its_place)),
    Reason("relaxed atomics of one place that make the same of every number, in any order left", _ANY, _relaxed),
)
BEYOND = (
    Reason("atomics of one place that make the same of every number, in any order left: only blocks that run at once"
           " could see what is between them", _ANY, _updates_alike),
)  # fmt: skip
