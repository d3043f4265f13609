"""What two value graphs must agree on for the Rust to refine the Python: effects, order, checks, accesses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ferrotile_runner.tileir import memory
from ferrotile_runner.tileir.graph import Program
from ferrotile_runner.tileir.implication import Implication
from ferrotile_runner.tileir.memory import Access
from ferrotile_runner.tileir.model import Location
from ferrotile_runner.tileir.ordering import conflicts
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, subterms
from ferrotile_runner.tileir.trace import Fact
from ferrotile_runner.tileir.words import Pair, differ, show

PRINTS = "prints stay in the order of the program, which the Rust states by no token"


class Difference(Struct, frozen=True):
    """What differs, in words; locations are those of the nearest operation that has one."""

    path: str
    python: str
    rust: str
    python_location: Location | None = None
    rust_location: Location | None = None

    def __str__(self) -> str:
        def at(place: Location | None) -> str:
            return f" ({place})" if place else ""

        return f"{self.path}: Python {self.python}{at(self.python_location)}, Rust {self.rust}{at(self.rust_location)}"


class Sides(Struct):
    """One evaluation of both programs."""

    python: Program
    rust: Program


def effects_differ(sides: Sides) -> Difference | None:
    """The effects on each array, in order (M5)."""
    left, right = sides.python.trace, sides.rust.trace
    bases = dict.fromkeys(base for base, _ in (*left.effects, *right.effects))
    for base in bases:
        a = [effect for other, effect in left.effects if other is base]
        b = [effect for other, effect in right.effects if other is base]
        name = show(base)
        for number, (x, y) in enumerate(zip(a, b, strict=False)):
            pair = differ(x, y)
            if pair is not None:
                return _difference(f"{name}, effect {number + 1}", pair, sides)
        if len(a) != len(b):
            extra = (a + b)[min(len(a), len(b))] if len(a) > len(b) else b[len(a)]
            pair = Pair((), extra if len(a) > len(b) else None, extra if len(b) > len(a) else None)
            return _difference(f"{name} has {len(a)} effects in the Python, {len(b)} in the Rust", pair, sides)
    return None


def _difference(name: str, pair: Pair, sides: Sides) -> Difference:
    path = " > ".join((name, *pair.path))
    return Difference(
        path, show(pair.python), show(pair.rust), _place(sides.python, pair.python), _place(sides.rust, pair.rust)
    )


def _place(program: Program, term: Term | None) -> Location | None:
    if term is None:
        return None
    places = program.trace.places
    return next((places[item] for item in subterms(term) if item in places), None)


def unmet(rewriter: Rewriter, sides: Sides, shared: frozenset[Term], more: Sequence[Fact] = ()) -> str:
    """What equal effects do not show: order, checks, accesses and divisions that only the Rust does. Empty when all
    is well. `shared`: arrays that a program writes; `more`: facts of the launch."""
    reason = _order(rewriter, sides, shared)
    if reason:
        return reason
    left, right = sides.python.trace, sides.rust.trace
    facts = [
        *more,
        *left.facts,
        *(Fact(item.condition, item.path, item.loops) for item in left.assertions),
        *(Fact(item.term, item.path, item.loops) for item in left.obligations),
    ]
    implication = Implication.of(rewriter, facts, left.summaries, right.summaries)
    for assertion in right.assertions:
        if not implication.holds(assertion.condition, assertion.path, assertion.loops):
            place = _at(assertion.location)
            return f"the Rust checks {show(assertion.condition)}{place}, which the Python does not imply"
    own = Implication.of(
        rewriter, [Fact(a.condition, a.path, a.loops) for a in right.assertions], right.summaries, left.summaries
    )
    for item in left.assertions:
        if not own.holds(item.condition, item.path, item.loops):
            return f"the Python asserts {show(item.condition)}{_at(item.location)}, the Rust does not"
    for obligation in right.obligations:
        if not implication.holds(obligation.term, obligation.path, obligation.loops):
            what = "divides" if obligation.term.op == "nonzero" else "shifts"
            return f"the Rust {what}{_at(obligation.location)} where the Python may not"
    return _accesses(rewriter, sides, implication)


def _order(rewriter: Rewriter, sides: Sides, shared: frozenset[Term]) -> str:
    """Every pair of accesses that the Python orders is ordered in the Rust (M6, M7, M9)."""
    left, right = sides.python.trace, sides.rust.trace
    ordered: set[tuple[Term, Term, bool]] = set()
    free: set[tuple[Term, Term, bool]] = set()
    for pair in conflicts(rewriter, left.accesses, left.carried, shared):
        (ordered if pair.ordered else free).add(pair.key)
    for pair in conflicts(rewriter, right.accesses, right.carried, shared):
        if pair.ordered or (pair.key in free and pair.key not in ordered):
            continue
        if pair.earlier.kind == pair.later.kind == "print":
            rewriter.store.use(PRINTS)
            continue
        later = " in a later iteration" if pair.across_rounds else ""
        where = "" if pair.earlier.base is pair.later.base else f" of {show(pair.later.base)}"
        return (
            f"{show(pair.earlier.base)}: nothing orders the {pair.earlier.kind}{_at(pair.earlier.location)} before the "
            f"{pair.later.kind}{where}{_at(pair.later.location)}{later} in the Rust (a data dependence is no order)"
        )
    return ""


def _accesses(rewriter: Rewriter, sides: Sides, implication: Implication) -> str:
    """Every access of the Rust is one of the Python's, of the same kind, or in range.

    A tile wholly outside its array is undefined, a pointer access with no lane is nothing: where the Python uses
    pointers, the tile of the Rust must be in range on its own account (M3)."""
    python, rust = sides.python.trace, sides.rust.trace

    def made(accesses: Iterable[Access]) -> Implication:
        facts = [Fact(access.value, access.path, access.loops) for access in accesses]
        return Implication.of(rewriter, facts, python.summaries, rust.summaries)

    everything = made(python.accesses)
    tiles = made(access for access in python.accesses if access.view is not None)
    for access in rust.accesses:
        if access.kind in {"print", "grid"} or (access.writes and access.view is None):
            continue  # compared as effects: the same lanes at the same places
        # lanes that the Python promises to be inside are those of a tile that touches the array
        known = everything if access.view is None or memory.promised(rewriter, access.base) else tiles
        if known.holds(access.value, access.path, access.loops) or _in_range(rewriter, access, implication):
            continue
        return f"the Rust {_VERBS[access.kind]} {show(access.base)}{_at(access.location)} where the Python may not"
    return ""


_VERBS = {"load": "loads", "store": "stores to", "atomic": "updates"}


def _in_range(rewriter: Rewriter, access: Access, implication: Implication) -> bool:
    if access.view is None:
        return False
    conditions = memory.in_range(rewriter, access.view, access.index)
    return all(implication.holds(condition, access.path, access.loops) for condition in conditions)


def _at(location: Location | None) -> str:
    return f" at {location}" if location else ""
