"""The lemma of `argmax` and `argmin` (L1): a reduction of (value, index) pairs is two plain reductions.

Both are brought to one term, `arg`, of the values alone: the smallest index of an extreme lane. NaN never wins, or
always with `propagate_nan`; where all lanes are NaN it is 0.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.literals import special
from ferrotile_runner.tileir.terms import Term, is_integer, squeeze, value_of

if TYPE_CHECKING:
    from ferrotile_runner.tileir.simplify import Rewriter

LAST = (1 << 31) - 1
LEMMA = "L1: the index of an extreme by two reductions; rows of only NaN and the identity are left open"


def of_pair(rewriter: Rewriter, made: Term) -> Term | None:
    """The index that cuTile Python's two-operand reduction gives; None for any other reduction."""
    if made.op != "reduce" or not isinstance(made.data, tuple):
        return None
    place, _, identities, count, number = made.data
    if count != 2 or number != 1:
        return None
    values, ranks, best, index = made.args
    if place < 0:
        return rewriter.store.const(0, made.shape, "i32") if _only_lane(ranks, identities[1], index) else None
    if ranks is not _ranks(rewriter, values, place) or identities[1] != 0:
        return None
    for function, sign, propagate in product(("max", "min"), _signs(values.element), (False, True)):
        wanted = _pair_body(rewriter, values.element, function, sign, propagate)
        if (best, index) == wanted and identities[0] == _identity(values.element, function, sign):
            rewriter.store.lemma(LEMMA)
            plain, order = _plain(values, sign)
            return rewriter.store.term("arg", (function, order, propagate, place), (plain,), made.shape, "i32")
    return None


def _only_lane(rank: Term, identity: int | None, index: Term) -> bool:
    """Whether lane and identity both have number 0 and the region chooses between the two."""
    chosen = index.op == "select" and all(arg.op == "bound" and arg.data in (2, 3) for arg in index.args[1:])
    return chosen and identity == 0 and value_of(rank) == 0


def _signs(element: str) -> tuple[str, ...]:
    """How values are compared; floats in one way only."""
    return ("signed", "unsigned") if is_integer(element) else ("",)


def _identity(element: str, function: str, sign: str) -> int | None:
    """The number that no lane is behind, as a signed one; the bits of a float."""
    if not is_integer(element):
        return special("neg_inf" if function == "max" else "pos_inf", element)
    half = 1 << (int(element[1:]) - 1)
    if sign == "unsigned":
        return 0 if function == "max" else -1
    return -half if function == "max" else half - 1


def _ranks(rewriter: Rewriter, values: Term, place: int) -> Term:
    """The lane's number along an axis."""
    iota = rewriter.store.term("iota", (), (), (values.shape[place],), "i32")
    axes = tuple(0 if axis == place else -1 for axis in range(len(values.shape)))
    return shapes.sink(rewriter, iota, values.shape, axes)


def _pair_body(rewriter: Rewriter, element: str, function: str, sign: str, propagate: bool) -> tuple[Term, Term]:
    """The region of the two-operand reduction, as cuTile Python writes it, over its bound variables."""
    store = rewriter.store
    a, b = (store.term("bound", place, (), (), element) for place in (0, 1))
    i, j = (store.term("bound", place, (), (), "i32") for place in (2, 3))

    def make(op: str, data: str, *args: Term) -> Term:
        return rewriter.make(op, data, args, (), "i1")

    first = make("cmpi", "less_than signed", i, j)
    if is_integer(element):
        order = f"greater_than {sign}" if function == "max" else f"less_than {sign}"
        better, same = make("cmpi", order, a, b), make("cmpi", "equal signed", a, b)
    else:
        order = "greater_than ordered" if function == "max" else "less_than ordered"
        nan_a, nan_b = (make("cmpf", "not_equal unordered", x, x) for x in (a, b))
        number = make("cmpf", "equal ordered", b, b) if propagate else make("cmpf", "equal ordered", a, a)
        wins = make("andi", "", nan_a, number) if propagate else make("andi", "", number, nan_b)
        better = make("ori", "", make("cmpf", order, a, b), wins)
        same = make("ori", "", make("cmpf", "equal ordered", a, b), make("andi", "", nan_a, nan_b))
    pick = make("ori", "", better, make("andi", "", same, first))
    return rewriter.select((pick, a, b), (), element), rewriter.select((pick, i, j), (), "i32")


def of_select(rewriter: Rewriter, args: tuple[Term, ...]) -> Term | None:
    """`select(least == LAST, 0, least)` over the least index of an extreme lane; None for any other."""
    condition, missing, least = args
    if not condition.is_op("cmpi", "equal") or not any(value_of(arg) == LAST for arg in condition.args):
        return None
    other = next((arg for arg in condition.args if value_of(arg) is None), None)
    if other is least and value_of(missing) == 0:
        return _of_least(rewriter, least, False)
    if other is least and _bare(missing).op == "arg":
        return _with_nan(rewriter, _bare(missing), least)
    return None


def _bare(term: Term) -> Term:
    """Without the unit axes that a map adds."""
    inner = term.args[0] if term.op == "map" else term
    return inner if term.data == tuple(range(len(squeeze(inner.shape)))) else term


def _flags(rewriter: Rewriter, least: Term) -> tuple[Term, int] | None:
    """The flags of which `least` is the first index, and their axis."""
    least = _bare(least)
    if least.op != "reduce" or not isinstance(least.data, tuple):
        return None
    place, _, identities, count, _ = least.data
    body = least.args[-1]
    bound = [rewriter.store.term("bound", n, (), (), "i32") for n in (0, 1)]
    if count != 1 or place < 0 or identities != (LAST,):
        return None
    if body is not rewriter.make("mini", "signed", (bound[0], bound[1]), (), "i32"):
        return None
    chosen = least.args[0]
    if chosen.op != "select" or value_of(chosen.args[2]) != LAST:
        return None
    if chosen.args[1] is not _ranks(rewriter, chosen, place):
        return None
    return chosen.args[0], place


def _of_least(rewriter: Rewriter, least: Term, propagate: bool) -> Term | None:
    found = _flags(rewriter, least)
    if found is None:
        return None
    flags, place = found
    wanted = "equal" if flags.op == "cmpi" else "equal ordered"
    if not (flags.is_op("cmpi", wanted) or flags.is_op("cmpf", wanted)):
        return None
    for values, extreme in (flags.args, (flags.args[1], flags.args[0])):
        extremity = _extreme_of(rewriter, values, extreme, place)
        if extremity is not None:
            rewriter.store.lemma(LEMMA)
            plain, sign = _plain(values, extremity[1])
            data = (extremity[0], sign, propagate, place)
            made = rewriter.store.term("arg", data, (plain,), squeeze(least.shape), "i32")
            return shapes.reshape(rewriter, made, least.shape)
    return None


def _plain(values: Term, sign: str) -> tuple[Term, str]:
    """Extensions keep order and ties; numbers that an unsigned one makes are not negative."""
    if values.is_op("exti", "unsigned"):
        return values.args[0], "unsigned"
    return (values.args[0], sign) if values.is_op("exti", sign) else (values, sign)


def _extreme_of(rewriter: Rewriter, values: Term, extreme: Term, place: int) -> tuple[str, str] | None:
    """Whether `extreme` is the largest or least of `values` along an axis, on every lane of it; by which order."""
    if extreme.op != "map" or not isinstance(extreme.data, tuple):
        return None
    wanted = iter(range(len(values.shape)))
    if extreme.data != tuple(-1 if axis == place else next(wanted) for axis in range(len(values.shape))):
        return None
    reduced = extreme.args[0]
    if reduced.op != "reduce" or not isinstance(reduced.data, tuple) or reduced.args[0] is not values:
        return None
    where, _, identities, count, _ = reduced.data
    element = values.element
    a, b = (rewriter.store.term("bound", n, (), (), element) for n in (0, 1))
    if count != 1 or where != place:
        return None
    for function, sign in product(("max", "min"), _signs(element)):
        op = f"{function}i" if is_integer(element) else f"{function}f"
        body = rewriter.make(op, sign, (a, b), (), element)
        if reduced.args[-1] is body and identities[0] == _identity(element, function, sign):
            return function, sign
    return None


def _with_nan(rewriter: Rewriter, plain: Term, least: Term) -> Term | None:
    """The first NaN, if there is one."""
    found = _flags(rewriter, least)
    if found is None or not isinstance(plain.data, tuple):
        return None
    flags, place = found
    function, sign, _, axis = plain.data
    values = plain.args[0]
    if place != axis or flags.op != "cmpf" or flags.args != (values, values):
        return None
    if flags.data not in {"not_equal unordered"}:
        return None
    made = rewriter.store.term("arg", (function, sign, True, axis), (values,), squeeze(least.shape), "i32")
    return shapes.reshape(rewriter, made, least.shape)
