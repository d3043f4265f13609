"""Maps from numbers onto the tiles of a grid, each tile once (rules M7, H8)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from ferrotile_runner.tileir.memory import Access, count
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, subterms, value_of

TILE = ("row", "column")
"""The fresh names that stand for the tile of a schedule (H8)."""


def visits_once(rewriter: Rewriter, access: Access, induction: Term, varies: Callable[[Term], bool]) -> bool:
    """Whether each round of the loop accesses another tile: the index determines the loop's variable (M7). `varies`
    tells whether an atom may change between rounds."""
    view, integers = access.view, rewriter.integers
    if view is None or not view.is_partition or induction.op != "iv":
        return False
    lower, _, step = induction.args
    counts = integers.nonnegative(lower) and (integers.positive(step) or step.op == "grid")
    moving = [axis for axis, place in enumerate(access.index) if value_of(place) is None]
    quotients = dict.fromkeys(t for axis in moving for t in subterms(access.index[axis]) if t.op == "div")

    def fixed(term: Term) -> bool:
        return not any(map(varies, integers.polynomial_atoms(term)))

    def determined(value: Term, deep: int) -> bool:
        """Whether two rounds with one index have one `value`."""
        if value_of(value) is not None or fixed(value):
            return True
        alike = (access.index[axis] for axis in moving if access.index[axis].element == value.element)
        if any(fixed(integers.subtract(place, value)) for place in alike):
            return True
        for quotient in quotients if deep else ():  # value = quotient * size + rest
            top, size = quotient.args
            rest = integers.subtract(top, integers.multiply(quotient, size))
            if top is value and fixed(size) and determined(quotient, deep - 1) and determined(rest, deep - 1):
                return True
        return counts and integers.nonnegative(value) and any(mapped(value, *pair) for pair in permutations(moving, 2))

    def mapped(value: Term, first: int, second: int) -> bool:
        rows, columns = count(rewriter, view, first), count(rewriter, view, second)
        return is_bijection(rewriter, access.index[first], access.index[second], value, rows, columns)

    return determined(induction, len(moving))


def is_bijection(rewriter: Rewriter, i: Term, j: Term, v: Term, rows: Term, columns: Term) -> bool:
    """Whether (i, j) is a map of 0 <= v < rows * columns onto the tiles of a known family: row-major, column-major, or
    rows in groups of a constant size, `group * size + rest % last` in two spellings. `rows * columns` must be a bound
    of v."""
    integers, store = rewriter.integers, rewriter.store
    total = integers.multiply(rows, columns)
    if not any(bound is total for bound in integers.upper_bounds(v)):
        return False

    def div(a: Term, b: Term) -> Term:
        return rewriter.make("divi", "signed", (a, b), (), "i32")

    def rem(a: Term, b: Term) -> Term:
        return rewriter.make("remi", "signed", (a, b), (), "i32")

    if (i, j) in {(div(v, columns), rem(v, columns)), (rem(v, rows), div(v, rows))}:
        return True
    for size in _group_sizes(i, j):
        group = store.const(size)
        inside = integers.multiply(group, columns)
        first = integers.multiply(div(v, inside), group)
        last = rewriter.make("mini", "signed", (integers.subtract(rows, first), group), (), "i32")
        within = rem(v, inside)
        column = div(within, last)
        if j is column and i in {integers.add(first, rem(v, last)), integers.add(first, rem(within, last))}:
            return True
    return False


def _group_sizes(i: Term, j: Term) -> list[int]:
    """Constants that may be the number of rows in a group."""
    seen: set[int] = set()
    found = {
        known
        for place in (i, j)
        for term in subterms(place, seen)
        if term.op == "mini"
        for arg in term.args
        if (known := value_of(arg)) is not None and known > 0
    }
    return sorted(found)
