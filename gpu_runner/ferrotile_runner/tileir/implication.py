"""Whether a check of the Rust follows from the Python being defined (rule M8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ferrotile_runner.tileir.memory import LoopFrame
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, value_of
from ferrotile_runner.tileir.trace import Fact, Path

Range = tuple[Term, Term]


@dataclass(slots=True)
class Implication:
    """Facts of the Python, by condition. A fact holds where the Python does its access: under the fact's path, in
    every iteration of its loops."""

    rewriter: Rewriter
    facts: dict[Term, list[Fact]] = field(default_factory=dict)
    bounds: dict[Term, list[Fact]] = field(default_factory=dict)
    """Upper limit -> facts `x < limit`."""

    @classmethod
    def of(cls, rewriter: Rewriter, facts: Sequence[Fact]) -> Implication:
        made = cls(rewriter)
        for fact in facts:
            made.facts.setdefault(fact.condition, []).append(fact)
            if fact.condition.is_op("cmpi", "less_than"):
                made.bounds.setdefault(fact.condition.args[1], []).append(fact)
        return made

    def holds(
        self, condition: Term, path: Path, loops: tuple[LoopFrame, ...], nonempty: frozenset[Range] = frozenset()
    ) -> bool:
        """Whether `condition` must be true at a place in the Rust reached by `path`, inside `loops`."""
        known = value_of(condition)
        if known is not None:
            return known == 1
        if condition.op == "andi":
            return all(self.holds(part, path, loops, nonempty) for part in condition.args)
        if condition.op == "ori":
            return self._either(condition, path, loops, nonempty)
        if (condition, True) in path:
            return True
        inductions = frozenset(frame.induction for frame in loops)
        if any(self._applies(fact, path, inductions, nonempty) for fact in self.facts.get(condition, ())):
            return True
        return condition.is_op("cmpi", "less_than") and self._last(condition, path, inductions, nonempty)

    def _either(self, condition: Term, path: Path, loops: tuple[LoopFrame, ...], nonempty: frozenset[Range]) -> bool:
        parts = condition.args
        if any(self.holds(part, path, loops, nonempty) for part in parts):
            return True
        for part in parts:  # not (upper <= lower): the loop runs
            if part.is_op("cmpi", "less_than_or_equal"):
                upper, lower = part.args
                others = [other for other in parts if other is not part]
                runs = nonempty | {(lower, upper)}
                if any(self.holds(other, path, loops, runs) for other in others):
                    return True
        return False

    def _runs(self, induction: Term, nonempty: frozenset[Range]) -> bool:
        lower, upper, _ = induction.args
        decided = self.rewriter.decided("less_than", lower, upper)
        return decided is True or (lower, upper) in nonempty

    def _applies(
        self, fact: Fact, path: Path, inductions: frozenset[Term], nonempty: frozenset[Range], apart: Term | None = None
    ) -> bool:
        """Whether the Python gets to the fact's place whenever the Rust gets to ours."""
        return fact.path <= path and all(
            frame.induction in inductions or frame.induction is apart or self._runs(frame.induction, nonempty)
            for frame in fact.loops
        )

    def _last(self, condition: Term, path: Path, inductions: frozenset[Term], nonempty: frozenset[Range]) -> bool:
        """`upper - 1 < limit` or `lower < limit`, from `k < limit` for every k of a loop that runs."""
        place, limit = condition.args
        integers = self.rewriter.integers
        for fact in self.bounds.get(limit, ()):
            variable = fact.condition.args[0]
            if not any(frame.induction is variable for frame in fact.loops) or not self._runs(variable, nonempty):
                continue
            lower, upper, step = variable.args
            last = integers.subtract(upper, self.rewriter.store.const(1, upper.shape, upper.element))
            ends = place is lower or (place is last and value_of(step) == 1)
            if ends and self._applies(fact, path, inductions, nonempty, variable):
                return True
        return False
