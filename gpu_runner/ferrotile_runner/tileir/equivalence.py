"""Refinement of a Python entry by a Rust entry, by comparing value graphs. See docs/proof.md.

The claim: for every launch that satisfies the hypotheses and for which the Python is defined, the Rust does what
the Python may do. Whatever has no rule gives "not proved" with a reason, never a yes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from itertools import islice, product

from msgspec import Struct, field
from msgspec.structs import replace

from ferrotile_runner.tileir import schedules
from ferrotile_runner.tileir.graph import Copy, Merged, Program, Setting, tile_of
from ferrotile_runner.tileir.hypotheses import (
    Apply,
    Array,
    Expression,
    Hypotheses,
    Name,
    Number,
    ParameterMap,
    Scalar,
    parse,
)
from ferrotile_runner.tileir.integers import Arithmetic, Facts
from ferrotile_runner.tileir.model import Entry
from ferrotile_runner.tileir.ordering import Strides
from ferrotile_runner.tileir.refinement import Difference, Layout, Side, Sides, effects_differ, unmet
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.solver import Answer, Solver
from ferrotile_runner.tileir.terms import Shape, Store, Term, is_integer
from ferrotile_runner.tileir.trace import Fact, Trace, Unsupported
from ferrotile_runner.tileir.words import show

__all__ = ["Array", "Difference", "Hypotheses", "ParameterMap", "Proof", "Scalar", "parse", "prove"]

MAX_ORDERS = 64
MOST_REFUSED = 1
"""How often the solver may fail to show an equality before it is asked for no more."""


class Proof(Struct, frozen=True):
    """`equal` is a proof under `hypotheses_used`; otherwise `difference` or `reason` says why there is none."""

    equal: bool
    hypotheses_used: tuple[str, ...]
    lemmas: tuple[str, ...]
    difference: Difference | None
    """What differs, or what has no proof, with its places where the entries have some."""
    reason: str
    """The same as text: a difference, a construct without a rule, an unordered access, a check that is not implied."""
    terms: int
    ms: float


class Known(Struct, frozen=True):
    """What an earlier evaluation has shown: arrays that are addressed by pointers, that are written; which orders of
    carried values to take; the tiles of a schedule."""

    pointers: frozenset[Term] = frozenset()
    shared: frozenset[Term] = frozenset()
    orders: Mapping[int, int] = field(default_factory=dict)
    replaced: schedules.Scheduled | None = None
    numbers: Mapping[Term, Term] = field(default_factory=dict)
    """Numbers of the Rust that the solver found to be those of the Python."""


class _Context:
    """The store and facts of one proof."""

    def __init__(self, parameters: ParameterMap, hypotheses: Hypotheses) -> None:
        self.parameters, self.hypotheses = parameters, hypotheses
        self.store = Store()
        self.facts = Facts(hypotheses.no_overflow, hypotheses.positive_extents, within=hypotheses.within)
        self.rewriter = Rewriter(self.store, Arithmetic(self.store, self.facts))
        self.copies: dict[Term, Copy] = {}
        self.solver = Solver(self.rewriter.integers)
        self.refused = 0
        self.rust_blocks = {axis: self.block(axis) for axis in "xyz"}
        self.python_blocks = {axis: self.python_block(axis) for axis in "xyz"}
        self.rust_grids = {axis: self.store.term("grid", axis) for axis in "xyz"}
        self.python_grids = {axis: self.python_grid(axis) for axis in "xyz"}
        for symbol, tile in hypotheses.extent_leq:
            made = self.store.term("cdiv", "", (self.extent(symbol), self.store.const(tile)))
            self.facts.equal[made] = self.store.const(1)
            self.facts.limits[self.extent(symbol)] = tile
        for symbol, most in hypotheses.at_most:
            self.facts.limits[self.extent(symbol)] = most
        for axis, sizes in hypotheses.grid.items():
            self.facts.grid[axis] = tuple(map(self.expression, sizes))
        for name, bound in hypotheses.below:
            self.facts.below.append((self.expression(Name(name)), self.expression(bound)))

    def block(self, axis: str) -> Term:
        if axis in self.hypotheses.unit_axes:
            self.store.use(f"bid.{axis} = 0")
            return self.store.const(0)
        return self.store.term("bid", axis)

    def python_block(self, axis: str) -> Term:
        found = self.hypotheses.python_axes.get(axis)
        return self.rust_blocks[axis] if found is None else self.expression(found)

    def python_grid(self, axis: str) -> Term:
        """The size of a renamed axis is the Rust axis's; of a split one it has a name of its own."""
        found = self.hypotheses.python_axes.get(axis)
        if found is None:
            return self.rust_grids[axis]
        if isinstance(found, Name) and found.text.startswith("bid."):
            return self.rust_grids[found.text[4:]]
        return self.store.term("grid", f"python {axis}")

    def extent(self, symbol: str | int) -> Term:
        symbol = self.hypotheses.symbol(symbol) if isinstance(symbol, str) and self.hypotheses.same else symbol
        known = self.hypotheses.extents.get(symbol) if isinstance(symbol, str) else symbol
        return self.store.term("param", ("dim", symbol)) if known is None else self.store.const(known)

    def expression(self, tree: Expression) -> Term:
        match tree:
            case Number(value):
                return self.store.const(value)
            case Name(text) if text.startswith("bid."):
                return self.rust_blocks[text[4:]]
            case Name(text) if text.startswith("grid."):
                return self.store.term("grid", text[5:])
            case Name(text):
                return self.extent(text)
            case Apply(function, arguments):
                a, b = (self.expression(argument) for argument in arguments)
                if function in ("cdiv", "//"):
                    return self.rewriter.quotient("cdiv" if function == "cdiv" else "div", (a, b), (), "i32")
                integers = self.rewriter.integers
                if function == "%":
                    whole = self.rewriter.quotient("div", (a, b), (), "i32")
                    return integers.subtract(a, integers.multiply(b, whole))
                return integers.multiply(a, b) if function == "*" else integers.add(a, b)

    def array_words(self, name: str, extents: tuple[str | int, ...], tag: str = "") -> list[Term]:
        store, last = self.store, len(extents) - 1
        words = [self.extent(extent) for extent in extents]
        words += [
            store.const(1) if axis == last else store.term("param", ("stride", f"{name}{tag}.stride{axis}"))
            for axis in range(len(extents))
        ]
        return words

    def scalar(self, parameter: Scalar, shape: Shape, element: str) -> Term:
        """The word of a scalar; of one that repeats an extent it is the extent's (H9)."""
        if parameter.extent is not None and (shape, element) == ((), "i32"):
            return self.extent(parameter.extent)
        return self.store.term("param", ("scalar", parameter.name), (), shape, element)

    def words(self, entry: Entry, rust: bool) -> list[Term | None]:
        """The terms of an entry's parameters. Raises Unsupported when the count is another one."""
        found: list[Term | None] = []
        for parameter in self.parameters.parameters:
            if isinstance(parameter, Scalar):
                at = len(found)
                if at >= len(entry.parameters):
                    break
                shape, element = tile_of(entry.parameters[at].type)
                found.append(self.scalar(parameter, shape, element))
                continue
            merged = parameter.rust_extents
            extents = parameter.extents if merged is None or not rust else merged
            tag = "" if merged is None or not rust else ".merged"
            at = len(found)
            if at >= len(entry.parameters):
                break
            _, element = tile_of(entry.parameters[at].type)
            found.append(self.store.term("param", ("array", parameter.name), (), (), element))
            found += self.array_words(parameter.name, extents, tag)
            if rust and parameter.rust_is_mut:
                found += [None] * (2 * len(extents))
            if rust and parameter.copy is not None:
                found.append(self.copy_of(parameter.name, parameter.copy, element))
                found += self.array_words(parameter.copy, parameter.extents)
        if len(found) != len(entry.parameters):
            side = "Rust" if rust else "Python"
            raise Unsupported(f"the {side} entry has {len(entry.parameters)} words, {len(found)} were expected")
        return found

    def layouts(self) -> dict[str, frozenset[Layout]]:
        """Extents and strides of each array, as each side's launch gives them."""
        found: dict[str, frozenset[Layout]] = {}
        for parameter in self.parameters.parameters:
            if isinstance(parameter, Array):
                ways = [(parameter.name, parameter.extents, "")]
                ways += [(parameter.name, parameter.rust_extents, ".merged")] if parameter.rust_extents else []
                ways += [(parameter.copy, parameter.extents, "")] if parameter.copy is not None else []
                words = [(self.array_words(name, extents, tag), len(extents)) for name, extents, tag in ways]
                found[parameter.name] = frozenset((tuple(w[:rank]), tuple(w[rank:])) for w, rank in words)
        return found

    def strides(self) -> Strides:
        """The strides of each array, as each side's launch gives them."""
        return {name: frozenset(steps for _, steps in found) for name, found in self.layouts().items()}

    def copy_of(self, name: str, copy: str, element: str) -> Term:
        """The pointer of a copy that the launcher made of an array."""
        made = self.store.term("param", ("copy", name, copy), (), (), element)
        original = self.store.term("param", ("array", name), (), (), element)
        extents = next(p.extents for p in self.parameters.parameters if isinstance(p, Array) and p.name == name)
        words, own = self.array_words(copy, extents), self.array_words(name, extents)
        hypothesis = f"{copy} is a copy of {name} from before the launch"
        self.copies[made] = Copy(original, tuple(words), tuple(own), hypothesis)
        return made

    def merged(self, entry: Entry) -> dict[Term, Merged]:
        """Arrays that the Rust takes with merged leading axes: pointer -> the Rust's words."""
        found: dict[Term, Merged] = {}
        at = 0
        for parameter in self.parameters.parameters:
            if isinstance(parameter, Scalar):
                at += 1
                continue
            if parameter.rust_extents is not None:
                if parameter.name not in self.hypotheses.contiguous:
                    raise Unsupported(f"{parameter.name} has merged axes but is not known to be contiguous")
                _, element = tile_of(entry.parameters[at].type)
                base = self.store.term("param", ("array", parameter.name), (), (), element)
                words = self.array_words(parameter.name, parameter.rust_extents, ".merged")
                rank = len(parameter.rust_extents)
                found[base] = Merged(tuple(words[:rank]), tuple(words[rank:]))
            at += 1 + 2 * len(parameter.extents)
        return found


def prove(python: Entry, rust: Entry, parameters: ParameterMap, hypotheses: Hypotheses) -> Proof:
    """Whether `rust` refines `python` on every launch that `hypotheses` allows. Total: never raises on readable IR."""
    start = time.perf_counter()
    context = _Context(parameters, hypotheses)
    difference: Difference | None = None
    try:
        difference = _search(context, python, rust)
    except Unsupported as error:
        side = Side("", error.location)
        python_side, rust_side = side if error.side == "Python" else None, side if error.side == "Rust" else None
        place = f" (in the {error.side})" if error.side else ""
        difference = Difference("", f"no rule: {error.reason}{place}", python_side, rust_side)
    except RecursionError:
        difference = Difference("", "no rule: terms too deep to compare")
    used = context.store.used
    for symbol, extent in hypotheses.extents.items():
        used[f"{symbol} = {extent}"] = None
    for text in _shared_extents(parameters, hypotheses):
        used[text] = None
    for parameter in parameters.parameters:
        if isinstance(parameter, Scalar) and parameter.extent is not None:
            used[f"{parameter.name} is the extent {parameter.extent}"] = None
    for axis in hypotheses.python_axes:
        used[f"python bid.{axis} = {show(context.python_blocks[axis])} of the Rust launch"] = None
    return Proof(
        equal=difference is None,
        hypotheses_used=tuple(used),
        lemmas=tuple(context.store.lemmas),
        difference=difference,
        reason="" if difference is None else str(difference),
        terms=len(context.store.table),
        ms=(time.perf_counter() - start) * 1e3,
    )


def _shared_extents(parameters: ParameterMap, hypotheses: Hypotheses) -> Iterable[str]:
    owners: dict[str, list[str]] = {}
    for parameter in parameters.parameters:
        if isinstance(parameter, Array):
            for extent in parameter.extents:
                if isinstance(extent, str) and extent not in hypotheses.extents:
                    owners.setdefault(extent, []).append(parameter.name)
    for symbol, names in owners.items():
        if len(names) > 1:
            yield f"extent {symbol} is equal in {', '.join(dict.fromkeys(names))}"


def _search(context: _Context, python: Entry, rust: Entry) -> Difference | None:
    """Tries the orders of equal carried values until the graphs are equal."""
    first = _evaluate(context, python, rust, Known())
    traces = (first.python.trace, first.rust.trace)
    pointers = frozenset(base for trace in traces for base in trace.pointers)
    shared = frozenset(base for trace in traces for base in _shared(trace))
    ties = sorted((loop, count) for loop, count in first.rust.trace.ties.items() if count > 1)
    choices = islice(product(*(range(count) for _, count in ties)), MAX_ORDERS)
    # Without pointers and synchronising accesses nothing that the first evaluation found changes what it found.
    is_final = not pointers and not any(a.acquires or a.releases for trace in traces for a in trace.accesses)
    if not is_final:
        context.store.forget()
    earliest: Difference | None = None
    for number, choice in enumerate(choices):
        orders = {loop: pick for (loop, _), pick in zip(ties, choice, strict=True)}
        known = Known(pointers, shared, orders)
        sides = first if is_final and number == 0 else _evaluate(context, python, rust, known)
        difference = effects_differ(sides)
        while difference is not None and (found := _same_number(context, sides, known.numbers)):
            known = replace(known, numbers={**known.numbers, **found})
            sides = _evaluate(context, python, rust, known)
            difference = effects_differ(sides)
        if difference is None:
            return unmet(context.rewriter, sides, shared, context.solver)
        scheduled = schedules.same_tiles(context.rewriter, sides)
        if scheduled is not None:
            sides = _evaluate(context, python, rust, replace(known, replaced=scheduled))
            again = effects_differ(sides)
            if again is None and schedules.block_free(sides):
                context.store.lemma(schedules.LEMMA)
                return unmet(context.rewriter, sides, shared, context.solver, scheduled_facts(context, scheduled))
        earliest = earliest or difference
    return earliest


def _shared(trace: Trace) -> Iterable[Term]:
    """Arrays that a synchronising access orders: those that the program writes; where it waits for another launch, or
    lets one start, all, for that launch writes and reads what this one only reads."""
    bases = [base for base, _ in trace.effects]
    if any(access.kind == "grid" for access in trace.accesses):
        bases += [access.base for access in trace.accesses]
    return (base for base in bases if base.op == "param")


def _same_number(context: _Context, sides: Sides, known: Mapping[Term, Term]) -> Mapping[Term, Term]:
    """A number of the Rust and the one that the Python has in its place, where the solver shows that they are equal: of
    the differing terms and those around them the innermost. Empty where there is none, or enough was asked."""
    pair = sides.differing
    if pair is None:
        return {}
    inner = [] if pair.python is None or pair.rust is None else [(pair.python, pair.rust)]
    for python, rust in (*inner, *((step.python, step.rust) for step in reversed(pair.steps))):
        if not is_integer(rust.element) or rust.shape or rust in known or rust.op == "const":
            continue
        if context.refused >= MOST_REFUSED:
            return {}
        if context.solver.equal(python, rust) is Answer.HOLDS:
            return {rust: python}
        context.refused += 1
    return {}


def scheduled_facts(context: _Context, scheduled: schedules.Scheduled) -> list[Fact]:
    """The tile that a schedule visits is one of the grid."""
    return [Fact(condition, frozenset(), ()) for condition in schedules.ranges(context.rewriter, scheduled)]


def _evaluate(context: _Context, python: Entry, rust: Entry, known: Known) -> Sides:
    """The Rust first: where the Python leaves padding open it may be the Rust's."""
    setting = Setting(
        context.rewriter,
        context.rust_blocks,
        context.rust_grids,
        by_pointer=known.pointers,
        shared=known.shared,
        orders=known.orders,
        replaced={**known.numbers, **(known.replaced.rust if known.replaced else {})},
        copies=context.copies,
        strides=context.strides(),
    )
    right = _program(context, rust, setting, "Rust")
    setting = Setting(
        context.rewriter,
        context.python_blocks,
        context.python_grids,
        by_pointer=known.pointers,
        shared=known.shared,
        is_original=True,
        strides=setting.strides,
        paddings=right.trace.paddings,
        merged=context.merged(python),
        replaced=known.replaced.python if known.replaced else {},
    )
    return Sides(_program(context, python, setting, "Python"), right, layouts=context.layouts())


def _program(context: _Context, entry: Entry, setting: Setting, side: str) -> Program:
    try:
        return Program(entry, context.words(entry, rust=side == "Rust"), setting)
    except Unsupported as error:
        error.side = side
        raise
