"""Whether a check of the Rust follows from the Python being defined (rule M8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from ferrotile_runner.tileir.memory import LoopFrame
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.solver import Answer, Solver
from ferrotile_runner.tileir.terms import Term, subterms, value_of
from ferrotile_runner.tileir.trace import Fact, Path, Summary

Range = tuple[Term, Term]
Summaries = Mapping[int, Summary]


class _Place(Struct, frozen=True):
    """Where a condition is asked for: its way, the loops around it, and ranges of loops that are known to run."""

    path: Path
    loops: tuple[LoopFrame, ...]
    nonempty: frozenset[Range] = frozenset()


class Implication(Struct):
    """Facts of one program, by condition, asked for at places of the other. A fact holds where the first program does
    its access: under the fact's path, in every round of its loops that is made."""

    rewriter: Rewriter
    own: Summaries
    others: Summaries
    solver: Solver | None = None
    """Asked for what the rules leave."""
    answer: Answer | None = None
    """What the solver said to the last condition that has no proof."""
    facts: dict[Term, list[Fact]] = field(default_factory=dict)
    bounds: dict[Term, list[Fact]] = field(default_factory=dict)
    """Upper limit -> facts `x < limit`."""
    variables: dict[Term, frozenset[tuple[str, int]]] = field(default_factory=dict)
    ways: dict[Path, Path] = field(default_factory=dict)

    @classmethod
    def of(
        cls, rewriter: Rewriter, facts: Sequence[Fact], own: Summaries, others: Summaries, solver: Solver | None = None
    ) -> Implication:
        """`own`, `others`: the loops of the program that the facts are of, and of the one that asks."""
        made = cls(rewriter, own, others, solver)
        for fact in facts:
            made.facts.setdefault(fact.condition, []).append(fact)
            if fact.condition.is_op("cmpi", "less_than"):
                made.bounds.setdefault(fact.condition.args[1], []).append(fact)
        return made

    def holds(self, condition: Term, path: Path, loops: tuple[LoopFrame, ...]) -> bool:
        """Whether `condition` must be true at a place reached by `path`, inside `loops`."""
        place, self.answer = _Place(path, loops), None
        if self._holds(condition, place):
            return True
        if self.solver is None:
            return False
        self.answer = self.solver.implied(condition, self._facts_at(place))
        return self.answer is Answer.HOLDS

    def _facts_at(self, place: _Place) -> Iterator[Term]:
        """What holds at a place: facts that apply there, and the way to it."""
        for condition, found in self.facts.items():
            if any(self._applies(fact, place) for fact in found):
                yield condition
        for condition, taken in self._known(place.path):
            yield condition if taken else self.rewriter.negation(condition, condition.shape)

    def _holds(self, condition: Term, place: _Place) -> bool:
        known = value_of(condition)
        if known is not None:
            return known == 1
        if condition.op == "andi":
            return all(self._holds(part, place) for part in condition.args)
        if condition.op == "ori":
            return self._either(condition, place)
        if (condition, True) in self._known(place.path):
            return True
        if condition.op == "shift" and self._shifts(condition, place):
            return True
        if condition.op == "nonzero" and self._divides(condition.args[0], place):
            return True
        if condition.op == "quotient" and self._is_positive(condition.args[1], place):
            return True
        if any(self._applies(fact, place) for fact in self.facts.get(condition, ())):
            return True
        return condition.is_op("cmpi", "less_than") and self._last(condition, place)

    def _shifts(self, condition: Term, place: _Place) -> bool:
        """An amount that a narrower shift of the other program is defined for."""
        amount, width = condition.args[0], condition.data
        inner = amount.args[0] if amount.op == "exti" else amount  # a defined amount is not negative
        for fact, found in self.facts.items():
            if fact.op != "shift" or fact.args[0] is not inner or not isinstance(fact.data, int):
                continue
            if isinstance(width, int) and fact.data <= width and any(self._applies(one, place) for one in found):
                return True
        return False

    def _divides(self, divisor: Term, place: _Place) -> bool:
        """A divisor that a condition on the way keeps from being 0."""
        zero, known = self.rewriter.store.const(0, divisor.shape, divisor.element), self._known(place.path)
        return any(
            (self.rewriter.compare(f"{predicate} signed", (zero, divisor), divisor.shape), taken) in known
            for predicate, taken in (("not_equal", True), ("equal", False), ("less_than", True))
        )

    def _is_positive(self, divisor: Term, place: _Place) -> bool:
        """What a condition on the way says; by a number above 0 every quotient is one of the type."""
        zero = self.rewriter.store.const(0, divisor.shape, divisor.element)
        return (self.rewriter.compare("less_than signed", (zero, divisor), divisor.shape), True) in self._known(
            place.path
        )

    def _either(self, condition: Term, place: _Place) -> bool:
        parts = condition.args
        if any(self._holds(part, place) for part in parts):
            return True
        for part in parts:  # not (upper <= lower): the loop runs
            if part.is_op("cmpi", "less_than_or_equal"):
                upper, lower = part.args
                others = [other for other in parts if other is not part]
                runs = _Place(place.path, place.loops, place.nonempty | {(lower, upper)})
                if any(self._holds(other, runs) for other in others):
                    return True
        return False

    def _runs(self, induction: Term, place: _Place) -> bool:
        if induction.op != "iv":
            return True  # `loop`
        lower, upper, _ = induction.args
        return self.rewriter.decided("less_than", lower, upper) is True or (lower, upper) in place.nonempty

    def _applies(self, fact: Fact, place: _Place, apart: Term | None = None) -> bool:
        """Whether the first program gets to the fact's place whenever the other gets to ours."""
        known = self._known(place.path)
        if not all(step in known or self._parts(step) <= known for step in fact.path):
            return False
        # Where a loop starts and ends may depend on the round of a loop around it.
        bounds = (bound for frame in fact.loops for bound in frame.induction.args)
        terms = (fact.condition, *(condition for condition, _ in fact.path), *bounds)
        mentioned = frozenset[tuple[str, int]]().union(*map(self._mentions, terms))
        return all(self._same_round(frame, mentioned, place, apart) for frame in fact.loops)

    def _known(self, path: Path) -> Path:
        """All that holds on a way: also what was not taken as its opposite, and the parts of what was."""
        found = self.ways.get(path)
        if found is None:
            steps = {one for step in path for one in (step, *self._parts(step))}
            opposite = {(self.rewriter.negation(condition, condition.shape), not taken) for condition, taken in steps}
            found = self.ways[path] = frozenset(steps | opposite)
        return found

    def _parts(self, step: tuple[Term, bool]) -> Path:
        """What a conjunction that holds, or a disjunction that does not, is made of: all of it is said by its parts."""
        condition, taken = step
        if condition.op == ("andi" if taken else "ori"):
            return frozenset((part, taken) for part in condition.args)
        return frozenset((step,))

    def _same_round(
        self, frame: LoopFrame, mentioned: frozenset[tuple[str, int]], place: _Place, apart: Term | None
    ) -> bool:
        depth = frame.induction.data if isinstance(frame.induction.data, int) else 0
        mine = self.own.get(frame.ordinal)
        carried = bool({("carry", depth), ("turn", depth)} & mentioned)
        for other in place.loops:
            theirs = self.others.get(other.ordinal)
            if other.induction is not frame.induction or mine is None or theirs is None:
                continue
            if mine.term is theirs.term or (mine.counted and not mine.stops and not carried):
                return True
        if frame.induction is apart:
            return not carried
        # Its variables are no one else's, and it makes at least one round.
        return not carried and ("iv", depth) not in mentioned and self._runs(frame.induction, place)

    def _mentions(self, term: Term) -> frozenset[tuple[str, int]]:
        """Variables of loops in a term, by kind and depth of the loop."""
        known = self.variables.get(term)
        if known is None:
            found = set[tuple[str, int]]()
            for item in subterms(term):
                if item.op in {"iv", "turn"} and isinstance(item.data, int):
                    found.add((item.op, item.data))
                elif item.op == "carry" and isinstance(item.data, tuple) and isinstance(item.data[0], int):
                    found.add(("carry", item.data[0]))
                elif item.op == "entered" and isinstance(item.data, int):  # what earlier rounds wrote
                    found.add(("carry", item.data))
            known = self.variables[term] = frozenset(found)
        return known

    def _last(self, condition: Term, place: _Place) -> bool:
        """`upper - 1 < limit` or `lower < limit`, from `k < limit` for every k of a loop that runs."""
        value, limit = condition.args
        integers = self.rewriter.integers
        for fact in self.bounds.get(limit, ()):
            variable = fact.condition.args[0]
            frame = next((frame for frame in fact.loops if frame.induction is variable), None)
            if frame is None or variable.op != "iv" or not self._runs(variable, place):
                continue
            lower, upper, step = variable.args
            last = integers.subtract(upper, self.rewriter.store.const(1, upper.shape, upper.element))
            mine = self.own.get(frame.ordinal)
            all_rounds = mine is not None and not mine.stops
            depth = variable.data if isinstance(variable.data, int) else 0
            others = (bound for other in fact.loops if other is not frame for bound in other.induction.args)
            terms = (*(condition for condition, _ in fact.path), *others)
            ways = frozenset[tuple[str, int]]().union(*map(self._mentions, terms))
            if {("iv", depth), ("carry", depth)} & (ways | self._mentions(limit)):
                continue
            ends = value is lower or (value is last and value_of(step) == 1 and all_rounds)
            if ends and self._applies(fact, place, variable):
                return True
        return False
