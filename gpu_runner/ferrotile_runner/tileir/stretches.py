"""A loop's rounds in two stretches, and rounds that an earlier stop leaves out (rules C7, C8).

cuTile Python splits `for i in range(a, b)` with one `if i >= c` into the rounds below c and the others. Both programs
are read so, whichever wrote it down. The second stretch is made where the first did not stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile_runner.tileir import branches, exits, shapes, single
from ferrotile_runner.tileir.counting import Counter, is_invariant
from ferrotile_runner.tileir.memory import Before
from ferrotile_runner.tileir.model import TokenType
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, value_of

if TYPE_CHECKING:
    from ferrotile_runner.tileir.loops import Loop

Bounds = tuple[Term, ...]
_ENDS = single.ROUND | single.STOP


class Part(Struct, frozen=True):
    """What a stretch starts from, and its bounds (empty: the operation's). `last`: its results are the loop's."""

    initial: Mapping[int, Term]
    entering: Mapping[int, Before]
    bounds: Bounds
    counter: Counter | None
    last: bool


def split_point(loop: Loop, conditions: Sequence[Term]) -> Term | None:
    """The one number that the loop's variable is compared with, by a single `if` of its body; where the rounds of
    which the condition is true begin or end. The step is 1."""
    if not loop.rounds or value_of(loop.rounds[2]) != 1:
        return None
    integers, found = loop.program.rewriter.integers, list[Term]()
    variable = loop.variable
    for condition in conditions:
        if condition.op != "cmpi" or condition.data not in {"less_than", "less_than_or_equal"}:
            continue
        small, large = condition.args
        if (small is variable) == (large is variable):
            continue
        other = large if small is variable else small
        if not is_invariant(other, [*loop.current(), variable]):
            continue
        # below c: i < c and c <= i; from c + 1: c < i and i <= c
        if (condition.data == "less_than") != (small is variable):
            known = value_of(other)
            following = integers.add(other, loop.program.store.const(1, (), other.element))
            if known is None and not integers.no_overflow(following):
                return None
            other = following
        found.append(other)
    return found[0] if len(found) == 1 else None


def in_two(loop: Loop, point: Term) -> None:
    """Runs the rounds below `point`, then the others."""
    rewriter, (lower, upper, step) = loop.program.rewriter, loop.rounds
    middle = rewriter.make("mini", "signed", (upper, point), (), upper.element)
    start = rewriter.make("maxi", "signed", (lower, point), (), lower.element)
    first = Part(loop.initial, loop.entered, (lower, middle, step), _counter(loop, middle), last=False)
    stopped = loop.part(first)
    program, results = loop.program, loop.operation.results
    initial = {k: program.values[results[k].number] for k in loop.slots}
    if loop.counter is not None:
        initial[loop.counter.slot] = start
    entering = {k: program.tokens[results[k].number] for k in loop.entered}
    second = Part(initial, entering, (start, upper, step), _counter(loop, upper), last=True)
    unless(loop, stopped, second)


def _counter(loop: Loop, upper: Term) -> Counter | None:
    return None if loop.counter is None else Counter(loop.counter.slot, upper, loop.counter.step)


def unless(loop: Loop, stopped: Term, part: Part) -> None:
    """A stretch that is made where `stopped` is false; else what it starts from is what it gives."""
    program, rewriter, trace = loop.program, loop.program.rewriter, loop.program.trace
    known = value_of(stopped)
    if known == 0:
        loop.part(part)
        return
    results = loop.operation.results
    if known is None:
        memory, path, start, first = trace.memory(), program.path, len(trace.effects), len(trace.accesses)
        program.path = path | {(stopped, False)}
        loop.part(part)
        program.path = path
        parts = trace.effects[start:]
        del trace.effects[start:]
        trace.states = dict(memory.states)
        branches.branch_effects(program, stopped, [], parts)
    for k, result in enumerate(results):
        if isinstance(result.type, TokenType):
            before = part.entering.get(k, frozenset())
            after = program.tokens[result.number] if known is None else before
            made = frozenset(item for item in after if known is None and isinstance(item, int) and item >= first)
            program.tokens[result.number] = (before & after) | made
            continue
        initial, made_value = part.initial.get(k), program.values.get(result.number)
        if known is not None and initial is not None:
            program.values[result.number] = initial
        elif initial is not None and made_value is not None and k in loop.given:
            mask = shapes.splat(rewriter, stopped, initial.shape)
            value = rewriter.select((mask, initial, made_value), initial.shape, initial.element)
            program.values[result.number] = value


def trips(rewriter: Rewriter, bounds: Bounds) -> int | None:
    """0 or 1 where no more can be: by constants, or since the end is not behind the start."""
    a, b, c = (value_of(bound) for bound in bounds)
    if a is not None and b is not None and c is not None and c > 0:
        return 0 if a >= b else 1 if b <= a + c else None
    lower, upper, step = bounds
    if not (rewriter.integers.positive(step) or step.op == "grid"):
        return None
    empty = rewriter.decided("less_than_or_equal", upper, lower) is True or rewriter.integers.is_below(upper, lower)
    return 0 if empty else None


def few(loop: Loop, part: Part, count: int) -> Term:
    """A stretch of no or one round, in the place of the loop. Returns when it stopped early."""
    program, results = loop.program, loop.operation.results
    if count == 0:
        for k, value in part.initial.items():
            program.values[results[k].number] = value
        for k, token in part.entering.items():
            program.tokens[results[k].number] = token
        return program.store.const(0, (), "i1")
    if loop.induction is not None:
        program.values[loop.induction.number] = part.bounds[0]
    for k, value in part.initial.items():
        program.values[loop.arguments[k].number] = value
    for k, token in part.entering.items():
        program.tokens[loop.arguments[k].number] = token
    tree = program.region(loop.region)
    single.bind_round(program, loop.operation, tree, _ENDS)
    return exits.taken(program.rewriter, tree, frozenset({"break"}))
