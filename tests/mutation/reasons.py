"""Why a mutant that no run tells from the original is the same program, or why no run can tell it.

A table written by hand: each row names kinds of mutations, gives the reason in words, and checks on the very mutant
that the reason applies. Rows of `BEYOND` are no reasons: those mutants are other programs, in what only other blocks
or undefined behaviour would show; the proof must reject them.
"""

from __future__ import annotations

import math

import reasons_counting
import reasons_floats
import reasons_lanes
import reasons_order
import reasons_padding
import reasons_views
from edit import Edit
from ferrotile_runner.tileir.model import (
    Entry,
    Operation,
    TileType,
    TokenType,
    Value,
    walk,
)
from ferrotile_runner.tileir.operations import TABLE, Effect
from given import Given, Reason, kinds
from judging import Fate
from known import LAUNCH, WRITES, Known, Sides, holds
from reasons_order import TOKENS, looped, of_tokens, touched

ASKED = frozenset({Fate.EQUAL, Fate.UNSEEN, Fate.PROVED_ONLY})
REJECTED = frozenset({Fate.CAUGHT, Fate.UNSEEN, Fate.NOT_RUN})
PROVED = frozenset({Fate.EQUAL, Fate.PROVED_ONLY, Fate.FAULT})
_COMMUTE = frozenset(["addi", "muli", "andi", "ori", "xori", "maxi", "mini", "mulhii", "addf", "mulf", "fma"])


def _commutes(given: Given) -> bool:
    symmetric = given.at.name in {"cmpi", "cmpf"} and given.at.word("predicate") in {"equal", "not_equal"}
    return symmetric or given.at.name in _COMMUTE


def _nothing_to_order(given: Given) -> bool:
    """Every array whose accesses' tokens changed has no two accesses of which one writes."""
    return all(_alone(given, op) for op in touched(given))


def _alone(given: Given, access: Operation) -> bool:
    others = given.known.of_array(access)
    written = any(TABLE[op.name].effect in WRITES for op in others)
    return not written or (len(others) == 1 and not looped(given.known, access))


def _nothing_lost(given: Given) -> bool:
    """No access waits for less of its own array than it did."""
    before, after = given.known.accesses, given.changed.accesses
    if len(before) != len(after):
        return False
    names = {id(op): place for place, op in enumerate(before)}
    now = {id(op): place for place, op in enumerate(after)}
    for old, new in zip(before, after, strict=True):
        own = {id(op) for op in given.known.of_array(old)}
        was = {names[i] for i in given.known.behind(old.optional("token")) if i in own}
        is_now = {now[i] for i in given.changed.behind(new.optional("token")) if i in now}
        if was - is_now:
            return False
    return True


_COMMUTING = frozenset({"add", "and", "or", "xor", "max", "min", "umax", "umin"})


def _atomics_commute(given: Given) -> bool:
    """Every array whose accesses' tokens changed has only relaxed atomics of one kind, whose answers nobody uses."""
    for access in touched(given):
        others = given.known.of_array(access)
        relaxed = all(op.word("memory_ordering") == "relaxed" for op in others)
        modes = {op.word("mode") for op in others}
        if not relaxed or len(modes) != 1 or not modes <= _COMMUTING or any(_answers(given, op) for op in others):
            return False
    return True


def _answers(given: Given, atomic: Operation) -> bool:
    return any(r.number in given.known.users for r in atomic.results if not isinstance(r.type, TokenType))


def _of_orders(given: Given) -> bool:
    """Every access whose token changed is an atomic in a loop that waits for other blocks."""
    strong = {"acquire", "release", "acq_rel"}
    moved = touched(given)
    return bool(moved) and all(
        TABLE[op.name].effect is Effect.ATOMIC and op.word("memory_ordering") in strong and looped(given.known, op)
        for op in moved
    )


def _zero_of_a_product(given: Given) -> bool:
    """A zero of the other sign, of which only products that begin with it are made."""
    made = given.new
    number = given.at.results[0].number
    zero = made is not None and made.word("value").lstrip("-").startswith("0.0")
    return zero and _into_products(given, number)


def _into_products(given: Given, number: int) -> bool:
    for op in given.known.users.get(number, []):
        if op.name == "for":
            arguments = op.regions[0].arguments[1:]
            place = [v.number for v in op.named["initial"]].index(number)
            if not _into_products(given, arguments[place].number):
                return False
        elif op.name != "mmaf" or op.one("acc").number != number:
            return False
    return True


def _sizes_only(given: Given) -> bool:
    """An operation on block ids, extents, counters, lanes and constants: index arithmetic, which by H6 does not
    overflow."""
    return all(_is_index(given, operand) for operand in given.at.operands)


def _is_index(given: Given, value: Value, depth: int = 0) -> bool:
    known = given.known
    if depth > 40 or value.number in known.sizes or value.number in known.loops:
        return depth <= 40
    made = known.definitions.get(value.number)
    if made is None:
        return False
    if made.name in LAUNCH:
        return True
    pure = TABLE[made.name].effect in {Effect.NONE, Effect.ASSUME} and not made.regions and bool(made.operands)
    return pure and all(_is_index(given, operand, depth + 1) for operand in made.operands)


def _never_negative(given: Given) -> bool:
    return all(given.known.never_negative(v) for v in given.at.operands if isinstance(v.type, TileType))


def _exact(given: Given) -> bool:
    if given.at.name not in {"itof", "ftof"}:
        return False
    kind = given.at.results[0].type
    return isinstance(kind, TileType) and holds(str(kind.element), given.known.digits(given.at.operands[0]))


def _fits(given: Given) -> bool:
    narrow = given.edit.becomes[-1].operands[0].type
    assert isinstance(narrow, TileType)
    value = given.at.results[0]
    if holds(str(narrow.element), given.known.digits(value)):
        return True
    users = given.known.users.get(value.number, [])
    return bool(users) and all(
        op.name == "ftof" and op.results[0].type == narrow for op in users
    )  # rounded to that type anyway


def _one_block(given: Given) -> bool:
    axes = given.sides.facts.unit_axes
    numbers = [k for k, r in enumerate(given.at.results) if r.number in given.edit.instead]
    return given.at.name == "get_tile_block_id" and all("xyz"[k] in axes for k in numbers)


def _alike(given: Given) -> bool:
    """What the operation takes now is computed as what it took."""
    new = given.new
    known = given.changed if given.edit.becomes else given.known
    if new is not None and new.operands != given.at.operands:
        pairs = [(a, b) for a, b in zip(given.at.operands, new.operands, strict=False) if a != b]
        return bool(pairs) and all(known.alike(a, b) for a, b in pairs)
    numbers = {r.number: r for r in given.at.results}
    swaps = [(numbers[k], v) for k, v in given.edit.instead.items() if k in numbers and v.number != k]
    return bool(swaps) and all(known.alike(a, b) for a, b in swaps)


def _no_lane_masked(given: Given) -> bool:
    mask = given.at.optional("mask")
    return mask is not None and given.known.is_true(mask)


def _of_constants(given: Given) -> bool:
    """Two constants, none of them NaN, are ordered."""
    return all(map(given.known.is_constant, given.at.operands))


def _unused(given: Given) -> bool:
    """Nothing takes the results but assumptions that nothing takes."""
    return all(_ends(given, number) for number in given.edit.instead)


def _ends(given: Given, number: int) -> bool:
    users = given.known.users.get(number, [])
    return all(op.name == "assume" and _ends(given, op.results[0].number) for op in users)


def _tests_equality(given: Given) -> bool:
    return given.at.word("predicate") in {"equal", "not_equal"}


def _above_zero(given: Given) -> bool:
    """Unsigned `x > 0` and `x != 0`."""
    new = given.new
    words = {given.at.word("predicate"), new.word("predicate") if new is not None else ""}
    zero = given.known.is_zero(given.at.operands[1])
    return words == {"not_equal", "greater_than"} and zero and given.at.word("signedness") == "unsigned"


def _only_the_rusts(given: Given) -> bool:
    return not any(op.name == "assert" for op in walk(given.sides.python.body))


def _assumption_holds(given: Given) -> bool:
    """What `kinds_control` assumes, of an extent that is a number."""
    size = given.known.size_name(given.at.operands[0]) or ""
    return "bounded<1, 7>" in given.edit.what and size.isdigit() and 1 <= int(size) <= 7


def _times_zero(given: Given) -> bool:
    """The constant is a factor of 0, a block id of an axis that has one block."""
    users = given.known.users.get(given.at.results[0].number, [])
    return bool(users) and all(op.name == "muli" and any(map(given.known.is_zero, op.operands)) for op in users)


def _power_of_two(given: Given) -> bool:
    """The dividend is a power of two: the quotient is rounded once either way, but for overflow of the reciprocal."""
    made = given.known.definitions.get(given.at.one("lhs").number)
    if made is None or made.name != "constant" or made.word("value").startswith(("[", "0x")):
        return False
    return math.frexp(float(made.word("value")))[0] in {0.5, -0.5}


def _first_block(given: Given) -> bool:
    return "x" in given.sides.facts.unit_axes


_IDEMPOTENT = frozenset({"max", "min", "umax", "umin", "and", "or", "xchg"})


def _idempotent(given: Given) -> bool:
    unused = not any(r.number in given.known.users for r in given.at.results if not isinstance(r.type, TokenType))
    return unused and (given.at.name == "atomic_cas_tko" or given.at.word("mode") in _IDEMPOTENT)


def _no_common_bits(given: Given) -> bool:
    names = {given.at.name, given.new.name if given.new is not None else given.edit.becomes[-1].name}
    if names != {"addi", "ori"} and names != {"ori", "xori"} and names != {"addi", "xori"}:
        return False
    (low_a, all_a), (low_b, all_b) = (given.known.bits(v) for v in given.at.operands)
    return low_a >= all_b or low_b >= all_a


def _plain_store(given: Given) -> bool:
    return TABLE[given.at.name].effect is Effect.STORE


def _rounded_size(given: Given) -> bool:
    return given.at.name == "itof" and str(_element(given.at.results[0])) in {"f32", "f64"} and _sizes_only(given)


def _only_measured(given: Given) -> bool:
    """The view, and the views of tiles of it, are only asked how large they are: its extents say that, not its
    array."""
    return _measured(given.known, given.at.results[0].number)


def _measured(known: Known, number: int) -> bool:
    users = known.users.get(number, [])
    return all(
        op.name in {"get_index_space_shape", "get_tensor_shape"}
        or (op.name.startswith("make_") and _measured(known, op.results[0].number))
        for op in users
    )


def _of_a_row_with_nan(given: Given) -> bool:
    """The change shows for NaN alone, in the search for the place of an extreme; the original reduces numbers and
    places together, so that with NaN the order of its comparisons, which Tile IR leaves open, says which place it
    finds."""
    reductions = [[op for op in walk(e.body) if op.name == "reduce"] for e in (given.sides.python, given.mutant)]
    pairs = [op for op in reductions[0] if len(op.results) == 2 and str(_element(op.operands[0]))[0] in "fb"]
    searched = any(len(op.results) == 1 and str(_element(op.operands[0])) == "i32" for op in reductions[1])
    equality = given.at.name != "cmpf" or given.at.word("predicate") == "equal"
    return bool(pairs) and searched and equality and _leads_to_places(given, given.at)


def _element(value: Value) -> object:
    return value.type.element if isinstance(value.type, TileType) else ""


def _leads_to_places(given: Given, op: Operation) -> bool:
    """All that takes the result is the comparison with an extreme and the choice among places."""
    around = next((r for r in walk(given.known.entry.body) if any(o is op for x in r.regions for o in walk(x))), None)
    results = (around if around is not None and around.name == "reduce" else op).results
    for user in given.known.users.get(results[0].number, []):
        match user.name:
            case "reshape" | "broadcast":
                if not _leads_to_places(given, user):
                    return False
            case "cmpf" if user.word("predicate") == "equal":
                if not _leads_to_places(given, user):
                    return False
            case "select" if _element(user.results[0]) == "i32":
                pass
            case "reduce":
                if not _leads_to_places(given, user):
                    return False
            case _:
                return False
    return True


def _always(given: Given) -> bool:
    return True


REASONS = (
    Reason("an assumption that an extent of the signature satisfies", kinds("other assumption"), _assumption_holds),
    Reason("a check that the original does not have", kinds("dropped check"), _only_the_rusts),
    Reason("the array of a view that is only asked for its extents", kinds("other array"), _only_measured),
    Reason("the place of an extreme among NaN: the original leaves open which it finds",
           kinds("ordered or unordered", "NaN of extremes"), _of_a_row_with_nan),
    Reason("a factor of a number that is 0", kinds("integer constant"), _times_zero),
    Reason("a mask that is true in every lane", kinds("dropped mask"), _no_lane_masked),
    Reason("a comparison of two constants", kinds("ordered or unordered"), _of_constants),
    Reason("operands of an operation that is commutative bit for bit (but for the payload of NaN)",
           kinds("swapped operands"), _commutes),
    Reason("a plain store made twice in a row", kinds("doubled store"), _plain_store),
    Reason("tokens of an array that nothing writes, or that has one access", TOKENS, of_tokens(_nothing_to_order)),
    Reason("no access waits for less of its own array than before", TOKENS, of_tokens(_nothing_lost)),
    Reason("the sign of values that are never negative", kinds("other sign"), _never_negative),
    Reason("the direction of rounding of quotients that are never negative", kinds("rounding of a division"),
           _never_negative),
    Reason("the rounding of an exact conversion", kinds("other rounding"), _exact),
    Reason("a rounding to a type that has the value, or that it is rounded to next", kinds("narrowed value"), _fits),
    Reason("block ids of axes that have one block", kinds("exchanged axes"), _one_block),
    Reason("another value that is computed alike, or a size of the same name in the signature", frozenset(), _alike),
    Reason("block ids that nothing uses", kinds("exchanged axes"), _unused),
    Reason("the sign of numbers that are tested for equality", kinds("other sign"), _tests_equality),
    Reason("unsigned numbers are above 0 where they are not 0", kinds("other predicate"), _above_zero),
    Reason("a power of two times the reciprocal", kinds("reciprocal"), _power_of_two),
    Reason("a check that the launch satisfies: its grid has one block along x", kinds("added check"), _first_block),
    Reason("an atomic made twice that changes nothing the second time, its result unused", kinds("doubled store"),
           _idempotent),
    Reason("a sum of numbers without common bits is their `or`", kinds("other integer operation"), _no_common_bits),
    Reason("relaxed atomics that commute, and whose answers nobody uses", TOKENS, of_tokens(_atomics_commute)),
    Reason("a promise that index arithmetic does not overflow (H6)", kinds("promise of no overflow"), _sizes_only),
    *reasons_padding.ROWS,
    *reasons_views.ROWS,
    *reasons_floats.ROWS,
    *reasons_order.ROWS,
    *reasons_counting.ROWS,
    Reason("no lane shows it: what depends on it comes out the same for all special numbers and for drawn ones",
           frozenset(), reasons_lanes.no_lane_shows_it),
)  # fmt: skip
BEYOND = (
    Reason("memory order and scope: only blocks that run at once show them",
           kinds("other memory order", "other scope"), _always),
    Reason("a promise of no overflow: undefined where it is broken, else nothing",
           kinds("promise of no overflow", "other assumption"), _always),
    Reason("numbers too large for `ftoi` are undefined without `saturating`: the interpreter clamps them",
           kinds("saturation"), _always),
    Reason("the order of atomics that other blocks wait for: only blocks that run at once show it", TOKENS,
           of_tokens(_of_orders)),
    Reason("the sign of a zero that a matrix product begins with: how its unit adds zeros is not specified",
           kinds("float constant"), _zero_of_a_product),
    Reason("approximations: the interpreter computes the best result for each",
           kinds("approximation", "accumulation of a product"), _always),
    Reason("the rounding of a number of elements or tiles, exact below 2^24: no array of a run is as large",
           kinds("other rounding"), _rounded_size),
    *reasons_order.BEYOND,
    *reasons_counting.BEYOND,
)  # fmt: skip


def of_tile_ir(sides: Sides, kind: str, edit: Edit, mutant: Entry, proved: bool) -> str:
    """The words of the first row that applies; empty where none does. Of a proved mutant only rows of `REASONS` do."""
    given = Given(sides, sides.known, Known(mutant, sides.pair), kind, edit, mutant)
    for row in REASONS:
        if (not row.kinds or kind in row.kinds) and row.applies(given):
            return row.words
    for row in () if proved else BEYOND:
        if (not row.kinds or kind in row.kinds) and row.applies(given):
            return f"beyond: {row.words}"
    return ""
