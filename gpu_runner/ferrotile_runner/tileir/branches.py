"""`if` as terms (rule T7), and what follows an `if` that may leave its region (rule C1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile_runner.tileir import effects, exits, shapes
from ferrotile_runner.tileir.exits import FALLS, Choice, Leaf, Tree
from ferrotile_runner.tileir.memory import Before
from ferrotile_runner.tileir.model import Operation, TokenType
from ferrotile_runner.tileir.terms import Term, value_of
from ferrotile_runner.tileir.trace import Memory, Unsupported

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program

Effects = list[tuple[Term, Term]]


class _Side(Struct, frozen=True):
    """One branch, evaluated: how it ends, its effects, the state and the number of accesses behind it."""

    tree: Tree
    parts: Effects
    memory: Memory
    span: tuple[int, int]

    @property
    def falls(self) -> bool:
        return exits.kinds(self.tree) <= FALLS

    @property
    def leaves(self) -> bool:
        return not exits.kinds(self.tree) & FALLS


def run(program: Program, operation: Operation, rest: Sequence[Operation]) -> Tree | None:
    """Evaluates an `if`. None: its results are bound and the operations behind it come next. A tree: how the region
    around it ends; `rest`, the operations behind it, have been evaluated where they are reached."""
    condition = program.term(operation.one("condition"))
    known = value_of(condition)
    if known is not None:
        return _known(program, operation, bool(known), rest)
    program.conditions.append((program.nesting, condition))
    before, start, path = program.trace.memory(), len(program.trace.effects), program.path
    sides: list[_Side] = []
    for taken in (True, False):
        program.path = path | {(condition, taken)}
        sides.append(_side(program, operation, 0 if taken else 1, start))
        _restore(program, before)
    program.path = path
    then, other = sides
    if then.falls and other.falls:
        branch_effects(program, condition, then.parts, other.parts)
        _bind(program, operation, condition, then, other)
        return None
    if then.leaves and other.leaves:
        branch_effects(program, condition, then.parts, other.parts)
        return Choice(condition, then.tree, other.tree)
    if (then.falls and other.leaves) or (then.leaves and other.falls):
        return _one_way(program, operation, condition, sides, rest)
    return _mixed(program, operation, condition, then, other, rest)


def _restore(program: Program, memory: Memory) -> None:
    program.trace.states = dict(memory.states)


def _side(program: Program, operation: Operation, number: int, start: int) -> _Side:
    first = len(program.trace.accesses)
    if number < len(operation.regions):
        program.nesting += 1
        tree: Tree = program.region(operation.regions[number])
        program.nesting -= 1
    else:
        tree = Leaf("end", (), (), first, program.path)
    trace = program.trace
    parts = trace.effects[start:]
    del trace.effects[start:]
    return _Side(tree, parts, trace.memory(), (first, len(trace.accesses)))


def _known(program: Program, operation: Operation, condition: bool, rest: Sequence[Operation]) -> Tree | None:
    number = 0 if condition else 1
    if number >= len(operation.regions):
        return None
    tree = program.region(operation.regions[number])
    if exits.kinds(tree) <= FALLS:
        for place, result in enumerate(operation.results):
            _bind_result(program, operation, tree, place, result.number)
        return None
    if not exits.kinds(tree) & FALLS:
        return tree
    fall = exits.taken(program.rewriter, tree, FALLS)
    return _behind(program, operation, tree, fall, rest)


def _one_way(
    program: Program, operation: Operation, condition: Term, sides: list[_Side], rest: Sequence[Operation]
) -> Tree:
    """One side leaves: the other and what follows it are the `else` of it."""
    staying = 1 if sides[0].leaves else 0
    side, path, start = sides[staying], program.path, len(program.trace.effects)
    program.path = path | {(condition, staying == 0)}
    _restore(program, side.memory)
    program.trace.effects.extend(side.parts)
    for place, result in enumerate(operation.results):
        _bind_result(program, operation, side.tree, place, result.number)
    tree = program.sequence(rest)
    parts = program.trace.effects[start:]
    del program.trace.effects[start:]
    program.path = path
    trees = [exits.graft(side.tree, tree) if number == staying else sides[number].tree for number in (0, 1)]
    both = [parts if number == staying else sides[number].parts for number in (0, 1)]
    branch_effects(program, condition, both[0], both[1])
    return Choice(condition, trees[0], trees[1])


def _mixed(
    program: Program, operation: Operation, condition: Term, then: _Side, other: _Side, rest: Sequence[Operation]
) -> Tree:
    """A branch that leaves on some ways only: what follows depends on the ways that do not."""
    branch_effects(program, condition, then.parts, other.parts)
    tree = Choice(condition, then.tree, other.tree)
    fall = exits.taken(program.rewriter, tree, FALLS)
    return _behind(program, operation, tree, fall, rest)


def _behind(program: Program, operation: Operation, tree: Tree, fall: Term, rest: Sequence[Operation]) -> Tree:
    path, start = program.path, len(program.trace.effects)
    before = program.trace.memory()
    for place, result in enumerate(operation.results):
        _bind_result(program, operation, tree, place, result.number)
    program.path = path | {(fall, True)}
    ending = program.sequence(rest)
    parts = program.trace.effects[start:]
    del program.trace.effects[start:]
    program.path = path
    _restore(program, before)
    branch_effects(program, fall, parts, [])
    return exits.graft(tree, ending)


def _bind_result(program: Program, operation: Operation, tree: Tree, place: int, number: int) -> None:
    """The value that the ways which fall through pass on; of tokens what all of them stand behind."""
    result = operation.results[place]
    if isinstance(result.type, TokenType):
        tokens = [leaf.tokens[place] or frozenset() for leaf in exits.leaves(tree) if leaf.kind in FALLS]
        program.tokens[number] = frozenset[int | tuple[str, int, int]].intersection(*tokens)
        return
    value = exits.merged(program.rewriter, tree, FALLS, place)
    if value is None:
        raise Unsupported("a branch that yields too little", operation.location)
    program.bind(operation, result, value)


def _bind(program: Program, operation: Operation, condition: Term, then: _Side, other: _Side) -> None:
    tree = Choice(condition, then.tree, other.tree)
    for place, result in enumerate(operation.results):
        if isinstance(result.type, TokenType):
            x, y = (_token(side.tree, place) for side in (then, other))
            program.tokens[result.number] = (x & y) | _within(x, then.span) | _within(y, other.span)
        else:
            _bind_result(program, operation, tree, place, result.number)


def _token(tree: Tree, place: int) -> Before:
    found = [leaf.tokens[place] or frozenset() for leaf in exits.leaves(tree) if leaf.kind in FALLS]
    return frozenset[int | tuple[str, int, int]].intersection(*found)


def _within(token: Before, span: tuple[int, int]) -> Before:
    """Accesses of one branch: on the other way they are not made."""
    return frozenset(item for item in token if isinstance(item, int) and span[0] <= item < span[1])


def branch_effects(program: Program, condition: Term, then: Effects, other: Effects) -> None:
    """Each effect under the conjunction of the conditions on its way (C5). The two sides exclude each other; the one
    that is written first is picked by the condition, not by the text."""
    negated = program.rewriter.negation(condition, ())
    sides = [(condition, then), (negated, other)]
    if _is_second(condition, negated):
        sides.reverse()
    for base in dict.fromkeys(base for _, branch in sides for base, _ in branch):
        for guard, branch in sides:
            for owner, effect in branch:
                if owner is base:
                    effects.write(program, base, guarded(program, guard, effect))


def _is_second(condition: Term, negated: Term) -> bool:
    predicates = ("cmpi", "less_than_or_equal"), ("cmpi", "not_equal")
    if condition.op == "xori" or negated.op == "xori":
        return condition.op == "xori"
    if condition.op in {"andi", "ori"}:
        return condition.op == "ori"
    return any(condition.is_op(op, predicate) for op, predicate in predicates)


def guarded(program: Program, guard: Term, effect: Term) -> Term:
    """The effect where the condition holds. A store through pointers of which no lane is masked in is none (C10)."""
    rewriter = program.rewriter
    if effect.op == "guard":
        guard, effect = rewriter.connective("andi", (guard, effect.args[0]), ()), effect.args[1]
    if effect.is_op("store_ptr", "weak"):
        base, offset, mask, value = effect.args
        both = rewriter.connective("andi", (shapes.splat(rewriter, guard, mask.shape), mask), mask.shape)
        return program.store.term("store_ptr", effect.data, (base, offset, both, value), (), "effect")
    return program.store.term("guard", (), (guard, effect), (), "effect")
