"""Sums in which a quotient stands: that they are not negative, or above 0 (rules I5, I15, I16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile_runner.tileir.polynomials import Polynomial, decode, times, total, without
from ferrotile_runner.tileir.terms import Term, value_of, wrap

if TYPE_CHECKING:
    from ferrotile_runner.tileir.integers import Arithmetic


def stays_below(integers: Arithmetic, p: Polynomial) -> bool:
    """c*k + r of k < y/n, with 0 <= c <= n and 0 <= r <= n, all positive: below y, so no step of it wraps. It needs
    no H6: y is any number."""
    for product, factor in p.items():
        if len(product) != 1 or product[0].op != "iv":
            continue
        upper = product[0].args[1]
        size = value_of(upper.args[1]) if upper.op == "div" or _rounds_down(upper) else None
        if size is None or not 0 < factor <= size:
            continue
        total = p.get((), 0)
        for other, c in p.items():
            if other not in {product, ()}:
                top = integers.maximum(other[0]) if len(other) == 1 else None
                total += size + 1 if top is None else c * top
        if total <= size:
            return True
    return False


def split(integers: Arithmetic, t: Term, p: Polynomial) -> bool:
    """t = rest + k*(a - n*(a/n)) with rest and k >= 0: of a negative multiple of a/n, so much is a remainder."""
    for product, factor in p.items():
        for atom in product if factor < 0 else ():
            if atom.op != "div":
                continue
            top, size = atom.args
            fixed = value_of(size)
            others = without(product, atom)
            if fixed == 0 or (fixed is None and size not in others):
                continue
            count = -factor if fixed is None else -(factor // fixed)
            others = without(others, size) if fixed is None else others
            if not all(map(integers.nonnegative, others)):
                continue
            remainder = total(integers.polynomial(top), times({(atom,): 1}, integers.polynomial(size)), -1)
            # Of integers, not modulo 2^w: what is left must be smaller than t.
            left = total(p, times({others: count}, remainder), -1)
            rest = integers.build(left, t.shape, t.element)
            same = all(c == wrap(c, t.element) for c in left.values())
            fewer = sum(c < 0 for c in left.values()) < sum(c < 0 for c in p.values())
            if same and fewer and integers.nonnegative(rest):
                return integers.no_overflow(t)
    return False


def last_group(integers: Arithmetic, t: Term) -> bool:
    """t = a - g*(x/(g*b)) with 0 <= x < a*b: then t >= 1, for g*(x/(g*b))*b <= x < a*b."""
    for m, c in decode(t).items():
        if c >= 0 or len(m) != 1 or m[0].op != "div":
            continue
        x, group = m[0].args
        a = {n: d for n, d in decode(t).items() if n != m}
        for bound in integers.upper_bounds(x):
            # Of integers, not modulo 2^w.
            most = {n: -c * d for n, d in integers.polynomial(bound).items()}
            if times(a, integers.polynomial(group)) == most and integers.nonnegative(x):
                return integers.no_overflow(t) and (bound.op != "poly" or integers.no_overflow(bound))
    return False


def _rounds_down(term: Term) -> bool:
    words = str(term.data)
    return term.op == "divi" and "negative_inf" in words and "unsigned" not in words
