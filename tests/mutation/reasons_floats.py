"""Why a flush of denormals, an order of operands or a rounding of floats changes nothing."""

from __future__ import annotations

import math

from ferrotile_runner.tileir.model import Operation, TileType, Value, walk
from given import Given, Reason, kinds
from known import Known

TINY = -126
"""Numbers that are multiples of this power of two, or 0, are no denormals of f32."""
_OWN = {"f16": -24, "bf16": -133, "f32": -149, "f8E4M3FN": -9, "f8E5M2": -16, "tf32": -136}
_KEEPS = frozenset(["broadcast", "reshape", "permute", "negf", "absf", "select", "maxf", "minf", "addf", "subf", "cat",
                    "extract", "ftof"])  # fmt: skip
_FAR = 1 << 20
_ROUNDED = kinds("flush to zero")


_NONE: frozenset[int] = frozenset()


def grain(known: Known, value: Value, seen: frozenset[int] = _NONE, factors: frozenset[int] = _NONE) -> int:
    """The value is a multiple of two to this power, infinite or NaN, by what it is made from. `seen`: what it is a
    summand of; `factors`: what it is a factor of."""
    kind = value.type if isinstance(value.type, TileType) else TileType((), "i64")
    own = _OWN.get(str(kind.element), -1100)
    if str(kind.element).startswith("i"):
        return 0
    if value.number in factors:
        return own  # a product that is carried on becomes finer with every round
    if value.number in seen:
        return _FAR  # a sum that is carried on has no finer grain than what is added
    seen |= {value.number}
    if value.number in known.sources:
        return max(own, min(grain(known, source, seen, factors) for source in known.sources[value.number]))
    made = known.definitions.get(value.number)
    if made is None:
        return own
    floats = [v for v in made.operands if isinstance(v.type, TileType) and str(v.type.element)[0] in "fbt"]
    match made.name:
        case "constant":
            return max(own, _grain_of(made.word("value"), own))
        case "itof":
            return max(own, 0)
        case "mulf":
            return _product(known, floats, own, seen | factors)
        case "fma" | "mmaf":
            product = _product(known, floats[:2], own, seen | factors)
            return max(own, min(product, grain(known, floats[2], seen, factors)))
        case "for" | "loop":
            place = [r.number for r in made.results].index(value.number)
            arguments = made.regions[0].arguments[made.name == "for" :]
            return grain(known, arguments[place], seen, factors) if made.name == "for" else own
        case name if name in _KEEPS:
            return max(own, min(grain(known, v, seen, factors) for v in floats))
        case _:
            return own


def _product(known: Known, values: list[Value], own: int, factors: frozenset[int]) -> int:
    return max(own, sum(min(0, grain(known, value, _NONE, factors)) for value in values))


def _grain_of(text: str, own: int) -> int:
    if text.startswith(("[", "0x")):
        return own
    number = float(text)
    if number == 0 or not math.isfinite(number):
        return _FAR
    return 1 - number.as_integer_ratio()[1].bit_length()


def _no_denormals(given: Given) -> bool:
    """Neither what it takes nor what it gives is ever one."""
    floats = [v for v in given.at.operands if isinstance(v.type, TileType) and str(v.type.element)[0] in "fbt"]
    taken = [v for v in floats if isinstance(v.type, TileType) and v.type.element == "f32"]
    given_value = given.at.results[0]
    return all(grain(given.known, v) >= TINY for v in (*taken, given_value))


def _absorbed(given: Given) -> bool:
    """A summand is a constant of ordinary size, to nearest: nothing next to it changes by a denormal, and no sum with
    it is one."""
    return _absorbing(given.known, given.at)


def _absorbing(known: Known, op: Operation) -> bool:
    if op.word("rounding", "nearest_even") != "nearest_even":
        return False
    match op.name:
        case "addf" | "subf":
            return any(_ordinary(known, operand) for operand in op.operands)
        case "fma":
            factors = (op.one("lhs"), op.one("rhs"))
            small = any(_ordinary(known, factor) for factor in factors) or known.alike(*factors)  # a square
            return _ordinary(known, op.one("acc")) and small
        case _:
            return False


def _ordinary(known: Known, value: Value) -> bool:
    made = known.definitions.get(value.number)
    if made is None:
        return False
    if made.name in {"broadcast", "reshape"}:
        return _ordinary(known, made.operands[0])
    if made.name == "itof":
        return known.least(made.operands[0]) >= 1
    if made.name == "loop":
        return _is_left_above(known, made, [r.number for r in made.results].index(value.number))
    text = made.word("value")
    if made.name != "constant" or text.startswith(("[", "0x")):
        return False
    return 2.0**-20 <= abs(float(text)) <= 2.0**20


def _is_left_above(known: Known, loop: Operation, place: int) -> bool:
    """Whether a loop is left only where what it carries is not below a positive constant of ordinary size."""
    carried = loop.regions[0].arguments[place]
    breaks = [op for op in walk(loop.regions[0]) if op.name == "break"]
    left = [
        op
        for branch in loop.regions[0].operations
        if branch.name == "if" and _is_below(known, branch.one("condition"), carried)
        for op in branch.regions[1].operations
        if op.name == "break" and op.named["values"][place] == carried
    ]
    return bool(breaks) and len(breaks) == len(left)


def _is_below(known: Known, condition: Value, carried: Value) -> bool:
    made = known.definitions.get(condition.number)
    if made is None or made.name != "cmpf" or not made.word("predicate").startswith("less_than"):
        return False
    limit = known.definitions.get(made.one("rhs").number)
    positive = limit is not None and limit.name == "constant" and float(limit.word("value")) > 0
    return made.one("lhs") == carried and positive and _ordinary(known, made.one("rhs"))


def _absorbed_next(given: Given) -> bool:
    """All that takes the result adds a constant of ordinary size: a denormal, or 0 in its place, is nothing next to
    it."""
    users = given.known.users.get(given.at.results[0].number, [])
    sums = bool(users) and all(op.name in {"addf", "subf"} and _absorbing(given.known, op) for op in users)
    inputs = (v for v in given.at.operands if isinstance(v.type, TileType))
    return sums and given.at.name in {"addf", "subf"} and all(map(bool, inputs))


def _divides_by_a_power(given: Given) -> bool:
    """The reciprocal of the divisor is exact."""
    return _is_power(given.known, given.at.one("rhs"))


def _multiplies_by_a_power(given: Given) -> bool:
    """The product is exact, or too large in either way."""
    factors = (given.at.one("lhs"), given.at.one("rhs")) if given.at.name == "fma" else ()
    return any(_is_power(given.known, factor, 1.0) for factor in factors)


def _is_power(known: Known, value: Value, least: float = 2.0**-100) -> bool:
    """Whether it is a constant power of two, or such a negative one."""
    made: Operation | None = known.definitions.get(value.number)
    while made is not None and made.name in {"broadcast", "reshape"}:
        made = known.definitions.get(made.operands[0].number)
    if made is None or made.name != "constant" or made.word("value").startswith(("[", "0x")):
        return False
    number = float(made.word("value"))
    return math.frexp(number)[0] in {0.5, -0.5} and least <= abs(number) < 2.0**100


def _never_nan(known: Known, value: Value) -> bool:
    made = known.definitions.get(value.number)
    if made is None:
        return False
    if made.name == "constant":
        return not made.word("value").startswith(("[", "0x"))
    passed = {"broadcast", "reshape", "negf", "absf"}
    return made.name == "itof" or (made.name in passed and _never_nan(known, made.operands[0]))


def _ordered(given: Given) -> bool:
    return all(_never_nan(given.known, operand) for operand in given.at.operands)


def _extremes_commute(given: Given) -> bool:
    return given.at.name in {"maxf", "minf"}


ROWS = (
    Reason("a flush where no number is denormal: all are multiples of a larger power of two", _ROUNDED, _no_denormals),
    Reason("a flush of what is added to a constant, which absorbs it", _ROUNDED, _absorbed),
    Reason("a flush of what is added to a constant next, which absorbs it", _ROUNDED, _absorbed_next),
    Reason("operands of an extreme, which is the same either way (-0 being below 0) but for the payload of NaN",
           kinds("swapped operands"), _extremes_commute),
    Reason("a comparison of numbers that are never NaN", kinds("ordered or unordered"), _ordered),
    Reason("a product with a power of two, which is exact", kinds("split fma"), _multiplies_by_a_power),
    Reason("a division by a power of two, whose reciprocal is exact", kinds("reciprocal"), _divides_by_a_power),
)  # fmt: skip
