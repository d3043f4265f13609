"""Integer implications that the rules leave, by z3 (rule Z1 of docs/proof.md).

Terms are written as integers, not as bit-vectors: a sum or product only where index arithmetic does not overflow (H6,
noted as used), everything else whose value is not known is a variable of its own, bounded by its type. So z3 sees less
than is true, never more. Its limit is a number of its steps, so that the same question has the same answer everywhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from enum import Enum
from types import ModuleType
from typing import Protocol

from msgspec import Struct, field

from ferrotile_runner.tileir.index_arithmetic import needs
from ferrotile_runner.tileir.integers import Arithmetic
from ferrotile_runner.tileir.polynomials import decode
from ferrotile_runner.tileir.terms import Term, is_integer, subterms, value_of

STEPS = 2_000_000
"""z3's `rlimit` for one question: about a second where it does not find an answer."""
MOST_TERMS = 600
"""A larger question is not asked."""
_ASKED = frozenset({"cmpi", "andi", "ori", "xori", "nonzero", "quotient", "shift"})


class Expression(Protocol):
    """A number of z3's."""

    def __add__(self, other: Expression) -> Expression: ...

    def __sub__(self, other: Expression) -> Expression: ...

    def __mul__(self, other: Expression) -> Expression: ...

    def __le__(self, other: Expression) -> Claim: ...

    def __lt__(self, other: Expression) -> Claim: ...


class Claim(Protocol):
    """A truth value of z3's."""


class Answer(Enum):
    """`HOLDS` alone is a proof; the others say why there is none."""

    HOLDS = "the solver shows it"
    FAILS = "the solver finds values for which it does not hold"
    LIMIT = "the solver reaches its limit"
    ABSENT = "z3-solver is not installed"
    NOT_ASKED = "it is not about integers alone"


class Solver(Struct):
    """Questions about the terms of one proof."""

    integers: Arithmetic
    steps: int = STEPS
    answers: dict[tuple[Term, frozenset[Term]], Answer] = field(default_factory=dict)

    def implied(self, goal: Term, facts: Iterable[Term]) -> Answer:
        """Whether `goal` holds on every lane of every launch on which the facts do: scalars, or of the goal's shape."""
        known = frozenset(fact for fact in facts if fact.op in _ASKED and fact.shape in {(), goal.shape})
        key = (goal, known)
        if key not in self.answers:
            self.answers[key] = self._implied(goal, sorted(known, key=lambda term: term.number))
        return self.answers[key]

    def equal(self, a: Term, b: Term) -> Answer:
        """Whether two integer scalars are one number on every launch."""
        if not is_integer(a.element) or (a.shape, a.element) != (b.shape, b.element):
            return Answer.NOT_ASKED
        return self.implied(self.integers.store.term("cmpi", "equal", (a, b), a.shape, "i1"), ())

    def _implied(self, goal: Term, facts: list[Term]) -> Answer:
        size = sum(1 for _ in subterms(goal))
        if goal.op not in _ASKED or size > MOST_TERMS:
            return Answer.NOT_ASKED
        z3 = _z3()
        if z3 is None:
            return Answer.ABSENT
        store = self.integers.store
        used, context = dict(store.used), z3.Context()
        question = _Question(self.integers, z3, context)
        wanted = question.truth(goal)
        mentioned = set(subterms(goal))
        # Facts about other things cost steps and show nothing.
        for fact in facts:
            parts = {term for term in subterms(fact) if term.op != "const"}
            if parts & mentioned and len(parts) <= MOST_TERMS:
                question.known.append(question.truth(fact))
        solver = z3.Solver(ctx=context)
        solver.set("rlimit", self.steps)
        solver.add(*question.known, z3.Not(wanted, context))
        found = solver.check()
        if found == z3.unsat:
            store.lemma(f"Z1: an implication of integers by z3 {z3.get_version_string()}")
            return Answer.HOLDS
        store.used = used  # of a question without an answer no hypothesis was needed
        store.moved.clear()  # what rests on one would not note it again
        store.divisors.clear()
        return Answer.FAILS if found == z3.sat else Answer.LIMIT


def _z3() -> ModuleType | None:
    """It takes long to load, so that it is loaded by the first question."""
    try:
        return importlib.import_module("z3")
    except ImportError:
        return None


class _Question:
    """Terms as z3's; `known` gathers what holds of the variables."""

    def __init__(self, integers: Arithmetic, z3: ModuleType, context: object) -> None:
        self.integers, self.z3, self.context = integers, z3, context
        self.known: list[Claim] = []
        self.numbers: dict[Term, Expression] = {}
        self.truths: dict[Term, Claim] = {}

    def constant(self, value: int) -> Expression:
        made: Expression = self.z3.IntVal(value, self.context)
        return made

    def number(self, term: Term) -> Expression:
        """An integer term."""
        if term not in self.numbers:
            self.numbers[term] = self._number(term)
        return self.numbers[term]

    def _number(self, term: Term) -> Expression:
        value = value_of(term)
        if value is not None:
            return self.constant(value)
        match term.op:
            case "poly" if self.integers.no_overflow(term):
                total = self.constant(0)
                for product, factor in decode(term).items():
                    part = self.constant(factor)
                    for atom in product:
                        part = part * self.number(atom)
                    total = total + part
                return total
            case "mini" | "maxi" if not term.data and len(term.args) == 2:
                a, b = (self.number(arg) for arg in term.args)
                smaller = a <= b
                return self._choice(smaller, a, b) if term.op == "mini" else self._choice(smaller, b, a)
            case "exti" if term.data == "signed" and is_integer(term.args[0].element):
                return self.number(term.args[0])
            case "map" if isinstance(term.data, tuple) and set(term.data) <= {-1} and not term.args[0].shape:
                return self.number(term.args[0])
            case "select":
                condition, one, other = term.args
                if condition.shape == term.shape:
                    return self._choice(self.truth(condition), self.number(one), self.number(other))
            case "div" | "cdiv":
                return self._quotient(term)
        return self._variable(term)

    def _choice(self, condition: Claim, a: Expression, b: Expression) -> Expression:
        made: Expression = self.z3.If(condition, a, b, self.context)
        return made

    def _variable(self, term: Term) -> Expression:
        """A number of which its range is known, and where a loop has it between its bounds."""
        made: Expression = self.z3.Int(f"t{term.number}", self.context)
        self.numbers[term] = made
        bits = int(term.element[1:]) if is_integer(term.element) else 64
        low, high, integers = -(1 << (bits - 1)), (1 << (bits - 1)) - 1, self.integers
        if integers.positive(term):
            low = 1
        elif integers.nonnegative(term):
            low = 0
        top = integers.maximum(term) if low >= 0 else None
        highest = self.constant(high if top is None else min(high, top))
        self.known += [self.constant(low) <= made, made <= highest]
        if term.op == "iv":
            self._rounds(term, made)
        elif term.op == "bid":
            for bound in integers.upper_bounds(term):
                self.known.append(made < self.number(bound))
        return made

    def _rounds(self, term: Term, made: Expression) -> None:
        lower, upper, step = term.args
        if not (self.integers.positive(step) or step.op == "grid"):
            return
        start, end = self.number(lower), self.number(upper)
        self.known += [start <= made, made < end]
        size = value_of(step)
        if size is not None and size > 1 and needs(term, self.integers.indices) is not None:
            count: Expression = self.z3.Int(f"n{term.number}", self.context)
            there = start + self.constant(size) * count
            self.known += [self.constant(0) <= count, made <= there, there <= made]

    def _quotient(self, term: Term) -> Expression:
        """a/b for a >= 0 and b >= 0; of b = 0 nothing is known."""
        z3, made = self.z3, self._variable(term)
        a, b = (self.number(arg) for arg in term.args)
        rest = a - b * made if term.op == "div" else b * made - a
        zero = self.constant(0)
        self.known.append(z3.Implies(zero < b, z3.And(zero <= rest, rest < b), self.context))
        return made

    def truth(self, term: Term) -> Claim:
        """A boolean term."""
        if term not in self.truths:
            self.truths[term] = self._truth(term)
        return self.truths[term]

    def _truth(self, term: Term) -> Claim:
        z3, value = self.z3, value_of(term)
        made: Claim = (
            z3.Bool(f"b{term.number}", self.context) if value is None else z3.BoolVal(bool(value), self.context)
        )
        match term.op:
            case "cmpi" if "unsigned" not in str(term.data) and is_integer(term.args[0].element):
                a, b = (self.number(arg) for arg in term.args)
                predicate = str(term.data).split(" ")[0]
                if predicate in {"less_than", "less_than_or_equal"}:
                    return a < b if predicate == "less_than" else a <= b
                same = z3.And(a <= b, b <= a)
                made = same if predicate == "equal" else z3.Not(same, self.context)
            case "andi":
                made = z3.And(*map(self.truth, term.args))
            case "ori":
                made = z3.Or(*map(self.truth, term.args))
            case "xori":
                made = z3.Xor(*map(self.truth, term.args), self.context)
            case "nonzero" if is_integer(term.args[0].element):
                divisor, zero = self.number(term.args[0]), self.constant(0)
                made = z3.Or(divisor < zero, zero < divisor)
            case "quotient" if is_integer(term.args[0].element):
                a, b = (self.number(arg) for arg in term.args)
                least = self.constant(-(1 << (int(term.args[0].element[1:]) - 1)))
                minus = self.constant(-1)
                made = z3.Or(least < a, b < minus, minus < b)
            case "shift" if is_integer(term.args[0].element) and isinstance(term.data, int):
                amount = self.number(term.args[0])
                made = z3.And(self.constant(0) <= amount, amount < self.constant(term.data))
        return made
