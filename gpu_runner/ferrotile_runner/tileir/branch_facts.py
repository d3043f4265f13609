"""What holds in a branch of a `select`, because its condition does (rules I11, I18, I19)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.terms import Shape, Term, squeeze, value_of


class Clamp(Struct, frozen=True):
    """`min(number, cdiv(extent, size) - 1)`: a tile's number, kept among those of an axis."""

    term: Term
    number: Term
    extent: Term
    size: int


class Rules(shapes.Rules, Protocol):
    """What these rules need of the rewriter."""

    clamps: list[Clamp]

    def extremum(self, op: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term: ...

    def negation(self, a: Term, shape: Shape) -> Term: ...

    def rebuild(self, term: Term, replace: dict[Term, Term], deep: bool) -> Term: ...


def clamp_of(rules: Rules, term: Term) -> Clamp | None:
    """How a scalar `mini` clamps, if it does."""
    for number, last in (term.args, term.args[::-1]):
        if last.op != "poly" and value_of(last) is None:
            continue
        top = rules.integers.add(last, rules.store.const(1, last.shape, last.element))
        if top.op == "param" and last.op == "poly":
            return Clamp(term, number, top, 1)
        size = value_of(top.args[1]) if top.op == "cdiv" else None
        if size is not None and size > 0:
            return Clamp(term, number, top.args[0], size)
    return None


def under(rules: Rules, a: Term, condition: Term) -> Term:
    """`a` where `condition` holds: x < v makes min(x, v - 1) x, and 0 <= x makes max(x, 0) x (I11); s*n + r < v with
    r >= 0 makes min(n, cdiv(v, s) - 1) n (I18)."""
    lanes: dict[Term, Term] = {}
    whole: dict[Term, Term] = {}
    for fact in condition.args if condition.op == "andi" else (condition,):
        if fact.op != "cmpi" or "unsigned" in str(fact.data):
            continue
        x, y = fact.args
        for small, large in _scalars(rules, x, y):
            facts = lanes if small is x and small.shape else whole
            if fact.data == "less_than":
                one = rules.store.const(1, large.shape, large.element)
                last = rules.integers.subtract(large, one)
                facts[rules.extremum("mini", (small, last), small.shape, small.element)] = small
            elif fact.data == "less_than_or_equal" and value_of(small) == 0:
                facts[rules.extremum("maxi", (small, large), large.shape, large.element)] = large
        if fact.data == "less_than":
            for clamp in rules.clamps:
                if _is_free(rules, clamp, x, y):
                    for shape in {(), x.shape, a.shape, squeeze(x.shape)}:
                        made = shapes.splat(rules, clamp.term, shape)
                        whole[made] = shapes.splat(rules, clamp.number, shape)
    for facts, deep in ((whole, True), (lanes, False)):
        kept = {old: new for old, new in facts.items() if old is not new and old.op in {"mini", "maxi"}}
        a = rules.rebuild(a, kept, deep) if kept else a
    return a


def _scalars(rules: Rules, x: Term, y: Term) -> list[tuple[Term, Term]]:
    """The compared pair, and the scalars that it holds on every lane."""
    small, large = shapes.unsplat(rules, x), shapes.unsplat(rules, y)
    found = [(x, y)]
    if small is not None and large is not None and small is not x:
        found.append((small, large))
    return found


def implied(rules: Rules, part: Term, others: Iterable[Term]) -> bool:
    """Whether a part of a conjunction follows from another: n < cdiv(v, s) from s*n + r < v with r >= 0 (I19)."""
    if not part.is_op("cmpi", "less_than") or part.args[1].op != "cdiv":
        return False
    number, (extent, by) = part.args[0], part.args[1].args
    size, integers = value_of(by), rules.integers
    if size is None or size < 1 or not integers.nonnegative(number):
        return False
    first = integers.scale(number, size)
    for other in others:
        if not other.is_op("cmpi", "less_than") or other.args[1] is not extent:
            continue
        x = other.args[0]
        rest = integers.subtract(x, first)
        if integers.nonnegative(rest) and all(t.op != "poly" or integers.no_overflow(t) for t in (x, first)):
            return True
    return False


def _is_free(rules: Rules, clamp: Clamp, x: Term, y: Term) -> bool:
    """Whether a lane with x < y shows that the clamp changes nothing: y is its extent, and x at least the first element
    of the tile. Number and extent are scalars, so what one lane shows holds on all."""
    limit = shapes.unsplat(rules, y)
    if limit is None:
        return False

    def wide(term: Term) -> Term:
        same = term.element == x.element
        return term if same else rules.make("exti", "signed", (term,), term.shape, x.element)

    if clamp.term.element not in {x.element, "i32"} or limit is not wide(clamp.extent):
        return False
    first = rules.integers.scale(wide(clamp.number), clamp.size)
    rest = rules.integers.subtract(x, shapes.splat(rules, first, x.shape))
    integers = rules.integers
    return (
        integers.nonnegative(rest)
        and integers.nonnegative(clamp.number)
        and all(term.op != "poly" or integers.no_overflow(term) for term in (x, first))
    )


def oriented(rules: Rules, c: Term, a: Term, b: Term) -> tuple[Term, Term, Term]:
    """`select(c, a, b)` in the one of its two spellings whose condition is no `<=`, `!=` or `not`: the other arm where
    the opposite holds. Loads keep their mask."""
    negative = c.op == "xori" and 1 in map(value_of, c.args)
    if c.op == "cmpi" and isinstance(c.data, str):
        negative = c.data.partition(" ")[0] in {"less_than_or_equal", "not_equal"}
    if not negative or any(arm.op in {"load", "load_ptr"} for arm in (a, b)):
        return c, a, b
    return rules.negation(c, c.shape), b, a
