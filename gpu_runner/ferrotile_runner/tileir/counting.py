"""Loops that count: a `loop` with a counter, and a `for` with a flag, are a `for` with a stop (rules C2, C3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ferrotile_runner.tileir import exits
from ferrotile_runner.tileir.exits import Choice, Leaf, Tree
from ferrotile_runner.tileir.memory import Before
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, subterms, value_of
from ferrotile_runner.tileir.trace import Path


class Counter(Struct, frozen=True):
    """Carried value `slot` goes up by `step`, a constant, as long as it is below `upper`."""

    slot: int
    upper: Term
    step: Term


class Carried(Struct, frozen=True):
    """What a round gets, and what the loop starts from."""

    current: Mapping[int, Term]
    initial: Mapping[int, Term]
    tokens: Mapping[int, Before]


def _idle(tree: Tree, kind: str, carried: Carried) -> bool:
    """A way that changes nothing: it ends in `kind` and passes every value and token on as it was."""
    if not isinstance(tree, Leaf) or tree.kind != kind:
        return False
    same = all(k < len(tree.tokens) and tree.tokens[k] == token for k, token in carried.tokens.items())
    return same and all(k < len(tree.values) and tree.values[k] is value for k, value in carried.current.items())


def _guarded(condition: Term, taken: bool, paths: Iterable[Path]) -> bool:
    """Whether all that a round does, every access, check and division, is done where `condition` is `taken`."""
    return all((condition, taken) in path for path in paths)


def flag_of(tree: Tree, carried: Carried, moving: Sequence[int], paths: Sequence[Path]) -> int | None:
    """The carried boolean that turns all later rounds into nothing, once it is set."""
    if not isinstance(tree, Choice):
        return None
    for k in moving:
        if tree.condition is not carried.current[k]:
            continue
        if _idle(tree.then, "continue", carried) and _guarded(tree.condition, False, paths):
            return k
    return None


def counter_of(rewriter: Rewriter, tree: Tree, carried: Carried, paths: Sequence[Path]) -> Counter | None:
    """The counter of a `loop` that begins with `if count < upper {} else { break }` and always adds one constant."""
    if not isinstance(tree, Choice):
        return None
    current = carried.current
    for busy, idle, holds in ((tree.then, tree.other, True), (tree.other, tree.then, False)):
        test = tree.condition if holds else rewriter.negation(tree.condition, ())
        if not _idle(idle, "break", carried) or not test.is_op("cmpi", "less_than"):
            continue
        count, upper = test.args
        slot = next((k for k, value in current.items() if value is count), None)
        if slot is None or count.op != "carry" or not is_invariant(upper, current.values()):
            continue
        if not _guarded(tree.condition, holds, paths):
            continue
        steps = {
            rewriter.integers.subtract(leaf.values[slot] or count, count)
            for leaf in exits.leaves(busy)
            if leaf.kind in {"continue", "end"} and slot < len(leaf.values)
        }
        if len(steps) != 1:
            continue
        (step,) = steps
        size = value_of(step) or 0
        # `count < upper` keeps `count + 1` from wrapping; longer steps may go past the largest number.
        if size == 1 or (size > 1 and _is_far(rewriter, upper, size)):
            return Counter(slot, upper, step)
    return None


def _is_far(rewriter: Rewriter, upper: Term, step: int) -> bool:
    """Whether the largest number is so far that a number below `upper` plus the step is no larger."""
    last, known = rewriter.integers.add(upper, rewriter.store.const(step - 1, (), upper.element)), value_of(upper)
    return value_of(last) == known + step - 1 if known is not None else rewriter.integers.no_overflow(last)


def is_invariant(term: Term, current: Iterable[Term]) -> bool:
    """Whether the value is the same in every round; `current`: what changes from round to round."""
    mine = set(current)
    return not any(
        item in mine or item.op in {"carry", "turn", "load", "load_ptr", "atomic", "entered"} for item in subterms(term)
    )
