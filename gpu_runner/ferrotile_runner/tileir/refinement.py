"""What two value graphs must agree on for the Rust to refine the Python: effects, order, checks, accesses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from msgspec import Struct, field

from ferrotile_runner.tileir import memory, obligations
from ferrotile_runner.tileir.differences import Finder, Pair, innermost, missing
from ferrotile_runner.tileir.effects import name_of
from ferrotile_runner.tileir.graph import Program
from ferrotile_runner.tileir.implication import Implication
from ferrotile_runner.tileir.memory import Access, View
from ferrotile_runner.tileir.model import Location
from ferrotile_runner.tileir.ordering import Conflict, conflicts
from ferrotile_runner.tileir.roles import is_leaf
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.solver import Answer, Solver
from ferrotile_runner.tileir.terms import Term, subterms, value_of
from ferrotile_runner.tileir.trace import Fact
from ferrotile_runner.tileir.words import show

PRINTS = "prints stay in the order of the program, which the Rust states by no token"

UNORDERED = "nothing orders"
"""How it begins that accesses lack an order, which simulations see only where another one shows."""


class Side(Struct, frozen=True):
    """What one program has where they differ: in words, and at the nearest operation with a place."""

    words: str
    location: Location | None = None
    operation: str = ""
    """The operation at the place, by its name in Tile IR."""


class Difference(Struct, frozen=True):
    """What differs: of which effect, in one sentence, and on both sides. A side is None where nothing can be shown."""

    effect: str
    words: str
    python: Side | None = None
    rust: Side | None = None

    def __str__(self) -> str:
        lines = [f"{self.effect}: {self.words}" if self.effect else self.words]
        for name, side in (("Python", self.python), ("Rust", self.rust)):
            if side is not None and (side.words or side.location):
                where = f" {side.location}" if side.location else ""
                lines.append(f"{name}{where}: {side.words}")
        return "\n".join(lines)


Layout = tuple[tuple[Term, ...], tuple[Term, ...]]


class Sides(Struct):
    """One evaluation of both programs."""

    python: Program
    rust: Program
    differing: Pair | None = None
    """What `effects_differ` found."""
    layouts: Mapping[str, frozenset[Layout]] = field(default_factory=dict)
    """Of each array: extents and strides as the launch gives them."""


def effects_differ(sides: Sides) -> Difference | None:
    """The effects on each array, in order (M5)."""
    left, right = sides.python.trace, sides.rust.trace
    finder = Finder(sides.python.store, {})
    for base in dict.fromkeys(base for base, _ in (*left.effects, *right.effects)):
        a = [effect for other, effect in left.effects if other is base]
        b = [effect for other, effect in right.effects if other is base]
        name = show(base) if base.op == "param" else "the printed lines" if base.op == "console" else "other launches"
        if len(a) != len(b):
            # The shorter list lacks what stands where it first differs.
            more = a if len(a) > len(b) else b
            place = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x is not y), min(len(a), len(b)))
            extra, words = innermost(more[place]), missing(more[place], in_python=more is a)
            return _difference(name, Pair((), extra if more is a else None, extra if more is b else None, words), sides)
        for number, (x, y) in enumerate(zip(a, b, strict=True)):
            pair = finder.differ(x, y)
            if pair is not None:
                which = f"{name}, {_nth(x)} {number + 1}" if len(a) > 1 else name
                return _difference(which, pair, sides)
    return None


def _nth(effect: Term) -> str:
    inner = innermost(effect)
    return "store" if inner.op.startswith("store") else "line" if inner.op == "print" else "effect"


def _difference(name: str, pair: Pair, sides: Sides) -> Difference:
    """The pair in words, each side at the nearest operation that has a place."""
    sides.differing = pair
    pair = _operand(sides, pair)
    if pair.words:
        words = pair.words
    elif pair.role:
        words = f"{pair.role} is `{show(pair.python, 3)}` in the Python, `{show(pair.rust, 3)}` in the Rust"
    else:
        words = f"`{show(pair.python, 3)}` in the Python, `{show(pair.rust, 3)}` in the Rust"
    return Difference(name, words, _side(sides, pair, python=True), _side(sides, pair, python=False))


def _side(sides: Sides, pair: Pair, python: bool) -> Side:
    """What one program has, and where. Two operations of one kind are at fault themselves, unless each program has both
    of them: then, and where the operations are others, it is the operation that takes them."""
    own, program = (pair.python, sides.python) if python else (pair.rust, sides.rust)
    if own is None:
        return Side("nothing")
    alike, outer = False, [step.python if python else step.rust for step in pair.steps]
    if pair.python is not None and pair.rust is not None and not _both(sides, pair.python, pair.rust):
        alike = pair.python.op == pair.rust.op or bool(pair.python.args and pair.python.args == pair.rust.args)
    other = pair.rust if python else pair.python
    wraps = other is None or (other in own.args and own.op not in {"map", "reshape"})
    at_fault = (alike or wraps) and not is_leaf(own)
    ways = [*outer, own] if at_fault or not outer else outer
    location, item = _place(program, ways)
    if location is None:
        inside = (program.places_of(item) for item in subterms(own))
        location = next((found[0] for found in inside if found), None)
    if is_leaf(own):
        return Side(show(item, 4), location, item.op)
    return Side(show(own, 4) if item is own or other is None else f"takes {show(own, 4)}", location, item.op)


def _operand(sides: Sides, pair: Pair) -> Pair:
    """Where each program computes both terms, none is wrong in itself: the outermost such pair, as an operand."""
    if pair.python is None or pair.rust is None or not pair.steps or not _both(sides, pair.python, pair.rust):
        return pair
    step = pair.steps[-1]
    if len(pair.steps) > 1 and _both(sides, step.python, step.rust):
        return _operand(sides, Pair(pair.steps[:-1], step.python, step.rust))
    return Pair(pair.steps, pair.python, pair.rust)


def _both(sides: Sides, python: Term, rust: Term) -> bool:
    """Whether each program computes what the other has in its place: none of the two is wrong in itself."""
    return bool(sides.rust.places_of(python) and sides.python.places_of(rust))


def _place(program: Program, ways: Sequence[Term]) -> tuple[Location | None, Term]:
    """The place of the innermost operation that has one, and that operation. Of several places of one term it is the
    last before that of the operation that takes it."""
    location, named = None, ways[-1]
    for item in ways:
        found = program.places_of(item)
        if not found or is_leaf(item):
            continue
        before = [place for place in found if location is None or place.line <= location.line]
        location, named = max(before, key=lambda place: (place.line, place.column), default=found[0]), item
    return location, named


def unmet(
    rewriter: Rewriter, sides: Sides, shared: frozenset[Term], solver: Solver, more: Sequence[Fact] = ()
) -> Difference | None:
    """What equal effects do not show: order, checks, accesses and divisions that only the Rust does. None when all is
    well. `shared`: arrays that a program writes; `more`: facts of the launch."""
    disorder = _order(rewriter, sides, shared)
    if disorder is not None:
        return disorder
    left, right = sides.python.trace, sides.rust.trace
    facts = [
        *more,
        *left.facts,
        *(Fact(item.condition, item.path, item.loops) for item in left.assertions),
        *(Fact(item.term, item.path, item.loops) for item in left.obligations),
    ]
    implication = Implication.of(rewriter, facts, left.summaries, right.summaries, solver)
    for assertion in right.assertions:
        if not implication.holds(assertion.condition, assertion.path, assertion.loops):
            shown = show(assertion.condition)
            words = f"the Rust checks `{shown}`, which the Python does not imply{_asked(implication)}"
            return Difference("", words, None, Side("", assertion.location, "assert"))
    checked = [Fact(a.condition, a.path, a.loops) for a in right.assertions]
    own = Implication.of(rewriter, checked, right.summaries, left.summaries, solver)
    for item in left.assertions:
        if not own.holds(item.condition, item.path, item.loops):
            words = f"the Python asserts `{show(item.condition)}`, the Rust does not{_asked(own)}"
            return Difference("", words, Side("", item.location, "assert"))
    for obligation in right.obligations:
        if not implication.holds(obligation.term, obligation.path, obligation.loops):
            words, operation = obligations.words(obligation.term, show)
            words += _asked(implication) if obligation.term.op != "assumed" else ""
            return Difference("", words, None, Side("", obligation.location, operation))
    return _accesses(rewriter, sides, implication)


def _asked(implication: Implication) -> str:
    """Why the solver did not help, where it was asked."""
    answer = implication.answer
    return "" if answer is None or answer is Answer.NOT_ASKED else f" ({answer.value})"


def _order(rewriter: Rewriter, sides: Sides, shared: frozenset[Term]) -> Difference | None:
    """Every pair of accesses that the Python orders is ordered in the Rust (M6, M7, M9)."""
    left, right = sides.python.trace, sides.rust.trace
    strides = sides.python.setting.strides
    ordered: dict[tuple[Term, Term, bool], Conflict] = {}
    free: dict[tuple[Term, Term, bool], Conflict] = {}
    for pair in conflicts(rewriter, left.accesses, left.carried, shared, strides):
        (ordered if pair.ordered else free).setdefault(pair.key, pair)
    for pair in conflicts(rewriter, right.accesses, right.carried, shared, strides):
        if pair.ordered or (pair.key in free and pair.key not in ordered):
            continue
        if pair.earlier.kind == pair.later.kind == "print":
            rewriter.store.use(PRINTS)
            continue
        return _unordered(pair, ordered.get(pair.key))
    return None


def _unordered(pair: Conflict, original: Conflict | None) -> Difference:
    earlier, later = pair.earlier, pair.later
    when = " of a later round" if pair.across_rounds else ""
    where = "" if earlier.base is later.base else f" of `{show(later.base)}`"
    words = (
        f"{UNORDERED} the {earlier.kind}{_at(earlier.location)} before the {later.kind}{where}{when}"
        f"{_at(later.location)} in the Rust: it needs the {earlier.kind}'s token (a data dependence is no order)"
    )
    python = None if original is None else Side("", original.later.location or original.earlier.location, later.kind)
    return Difference(show(earlier.base), words, python, Side("", later.location or earlier.location, later.kind))


def _accesses(rewriter: Rewriter, sides: Sides, implication: Implication) -> Difference | None:
    """Every access of the Rust is one of the Python's, of the same kind, or in range.

    A tile wholly outside its array is undefined, a pointer access with no lane is nothing: where the Python uses
    pointers, the tile of the Rust must be in range on its own account (M3)."""
    python, rust = sides.python.trace, sides.rust.trace

    def made(accesses: Iterable[Access]) -> Implication:
        facts = [Fact(access.value, access.path, access.loops) for access in accesses]
        return Implication.of(rewriter, facts, python.summaries, rust.summaries)

    views = {_layout(access.view) for access in python.accesses if access.view is not None}
    everything = made(python.accesses)
    tiles = made(access for access in python.accesses if access.view is not None)
    for access in rust.accesses:
        if access.kind in {"print", "grid"} or (access.writes and access.view is None):
            continue  # compared as effects: the same lanes at the same places
        # lanes that the Python promises to be inside are those of a tile that touches the array
        known = everything if access.view is None or memory.promised(rewriter, access.base) else tiles
        if known.holds(access.value, access.path, access.loops):
            continue
        if _is_whole(sides, access, views) and _in_range(rewriter, access, implication):
            continue
        place = f" at `{where(access)}`" if access.view is not None else ""
        words = f"the Rust {_VERBS[access.kind]} `{show(access.base)}`{place} where the Python may not"
        words += f", and it is not known to be in range{_asked(implication)}"
        return Difference(show(access.base), words, None, Side("", access.location, access.kind))
    return None


def where(access: Access) -> str:
    """The tile of an access of a view."""
    return f"{show(access.base)}[{', '.join(map(show, access.index))}]"


_VERBS = {"load": "loads", "store": "stores to", "atomic": "updates"}


def _layout(view: View) -> tuple[Term, Term, Layout]:
    return view.base, view.shift, (view.extents, view.strides)


def _is_whole(sides: Sides, access: Access, views: Set[tuple[Term, Term, Layout]]) -> bool:
    """Whether what lies within the view lies within the array: it is seen as the launch gives it, or as the Python
    sees it."""
    if access.view is None:
        return False
    base, shift, layout = seen = _layout(access.view)
    return seen in views or (value_of(shift) == 0 and layout in sides.layouts.get(name_of(base), ()))


def _in_range(rewriter: Rewriter, access: Access, implication: Implication) -> bool:
    if access.view is None:
        return False
    conditions = memory.in_range(rewriter, access.view, access.index)
    return all(implication.holds(condition, access.path, access.loops) for condition in conditions)


def _at(location: Location | None) -> str:
    """A place in the Rust."""
    return f" in line {location.entry.line}" if location else ""
