"""Structured control flow and reductions as terms (rules T5-T7)."""

from __future__ import annotations

import math
from itertools import groupby, islice, permutations
from typing import TYPE_CHECKING

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.literals import LiteralError, literal
from ferrotile_runner.tileir.memory import Before, LoopFrame
from ferrotile_runner.tileir.model import Operation, TileType, TokenType, Value
from ferrotile_runner.tileir.terms import Term, squeeze, value_of
from ferrotile_runner.tileir.trace import Unsupported

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program


def run(program: Program, operation: Operation) -> None:
    """`for` and `if`. Raises Unsupported for `loop` and for early exits."""
    match operation.name:
        case "for":
            _for(program, operation)
        case "if":
            _if(program, operation)
        case name:
            raise Unsupported(f"no rule for {name} with early exit", operation.location)


# Reductions


def reduction(program: Program, operation: Operation) -> None:
    """Operands and axis are taken after unit axes are dropped; the region is terms over bound variables (T5)."""
    store, rewriter = program.store, program.rewriter
    operands = program.terms(operation.named["operands"])
    region = operation.regions[0]
    axis = operation.attributes.get("dim", 0)
    if not isinstance(axis, int):
        raise Unsupported("a reduction without axis", operation.location)
    for place, argument in enumerate(region.arguments):
        element = argument.type.element if isinstance(argument.type, TileType) else None
        if not isinstance(element, str):
            raise Unsupported("a reduction of no scalars", operation.location)
        program.values[argument.number] = store.term("bound", place, (), (), element)
    mark = program.trace.mark()
    body = program.terms(program.region(region).operands)
    if program.trace.mark() != mark:
        raise Unsupported("a reduction that touches memory or divides", operation.location)
    texts = operation.attributes.get("identities", ())
    shape = operands[0].shape
    place = len(squeeze(shape[:axis])) if shape[axis] != 1 else -1
    try:
        identities = tuple(
            literal(str(text), operand.element)
            for text, operand in zip(texts if isinstance(texts, tuple) else (), operands, strict=True)
        )
    except LiteralError as error:
        raise Unsupported(str(error), operation.location) from error
    if len(squeeze(shape)) != len(shape):
        store.lemma("T5: reductions of equal lanes in another shape may add in another order")
    flat = tuple(shapes.reshape(rewriter, operand, squeeze(shape)) for operand in operands)
    for number, (operand, result) in enumerate(zip(operands, operation.results, strict=True)):
        if not isinstance(result.type, TileType):
            raise Unsupported("a reduction of no tile", operation.location)
        data = (place, operation.flag("reverse"), identities, len(flat), number)
        made = store.term(operation.name, data, (*flat, *body), squeeze(result.type.shape), operand.element)
        program.bind(operation, result, shapes.reshape(rewriter, made, result.type.shape))


# If


def _if(program: Program, operation: Operation) -> None:
    condition = program.term(operation.one("condition"))
    known = value_of(condition)
    results = operation.results
    trace = program.trace
    yields: list[tuple[Value, ...]] = []
    spans: list[tuple[int, int]] = []
    parts: list[list[tuple[Term, Term]]] = []
    before_states, start = dict(trace.states), len(trace.effects)
    path = program.path
    for number, region in enumerate(operation.regions):
        if known is not None and bool(known) != (number == 0):
            continue
        trace.states = dict(before_states)
        program.path = path if known is not None else path | {(condition, number == 0)}
        first = len(trace.accesses)
        terminator = program.region(region)
        if terminator.name not in {"yield", "end"}:
            raise Unsupported("an early exit from a loop or the kernel", terminator.location or operation.location)
        yields.append(terminator.named.get("values", ()))
        spans.append((first, len(trace.accesses)))
        parts.append(trace.effects[start:])
        del trace.effects[start:]
    program.path = path
    if known is not None:
        trace.effects.extend(part for branch in parts for part in branch)
        if yields:
            for result, value in zip(results, yields[0], strict=True):
                _pass(program, result, value)
        else:
            trace.states = before_states
        return
    trace.states = before_states
    _branch_effects(program, condition, parts)
    if not results:
        return
    then, other = yields
    for result, a, b in zip(results, then, other, strict=True):
        if isinstance(result.type, TokenType):
            x, y = program.token(a), program.token(b)
            program.tokens[result.number] = (x & y) | _within(x, spans[0]) | _within(y, spans[1])
        else:
            x_term, y_term = program.term(a), program.term(b)
            mask = shapes.splat(program.rewriter, condition, x_term.shape)
            merged = program.rewriter.select((mask, x_term, y_term), x_term.shape, x_term.element)
            program.bind(operation, result, merged)


def _pass(program: Program, result: Value, value: Value) -> None:
    """`result` is `value` under another name."""
    if isinstance(result.type, TokenType):
        program.tokens[result.number] = program.token(value)
    else:
        program.values[result.number] = program.term(value)


def _within(token: Before, span: tuple[int, int]) -> Before:
    return frozenset(item for item in token if isinstance(item, int) and span[0] <= item < span[1])


def _branch_effects(program: Program, condition: Term, parts: list[list[tuple[Term, Term]]]) -> None:
    from ferrotile_runner.tileir.effects import write

    branches = (*parts, [], [])[:2]
    for base in dict.fromkeys(base for branch in branches for base, _ in branch):
        sides = [tuple(effect for other, effect in branch if other is base) for branch in branches]
        args = (condition, *sides[0], *sides[1])
        write(program, base, program.store.term("if", len(sides[0]), args, (), "effect"))


# For


def _for(program: Program, operation: Operation) -> None:
    lower, upper, step = (program.term(operation.one(role)) for role in ("lower", "upper", "step"))
    if operation.flag("unsigned"):
        raise Unsupported("an unsigned loop", operation.location)
    region = operation.regions[0]
    induction, *arguments = region.arguments
    initial = operation.named["initial"]
    if _runs_once(program, lower, upper, step):
        program.values[induction.number] = lower
        for argument, value in zip(arguments, initial, strict=True):
            _pass(program, argument, value)
        terminator = program.region(region)
        if terminator.name not in {"continue", "end"}:
            raise Unsupported("an early exit from a loop", terminator.location)
        for result, value in zip(operation.results, terminator.named.get("values", ()), strict=True):
            _pass(program, result, value)
        return
    _Loop(program, operation, lower, upper, step).run()


def _runs_once(program: Program, lower: Term, upper: Term, step: Term) -> bool:
    """From the block id in steps of the grid's size up to the grid's size (H3); or constants that allow one trip."""
    a, b, c = value_of(lower), value_of(upper), value_of(step)
    if a is not None and b is not None and c is not None:
        return c > 0 and a < b <= a + c
    grid = program.rewriter.integers.facts.grid
    if (
        lower.op == "bid"
        and isinstance(lower.data, str)
        and step.is_op("grid", lower.data)
        and grid.get(lower.data) is upper
    ):
        return program.store.use(f"grid.{lower.data} is the number of tiles: the persistent loop runs once")
    return False


class _Loop:
    """Evaluates a loop body until its carried constants and written arrays are known (T6)."""

    def __init__(self, program: Program, operation: Operation, lower: Term, upper: Term, step: Term) -> None:
        self.program, self.operation = program, operation
        self.bounds = (lower, upper, step)
        self.region = operation.regions[0]
        self.induction, *self.arguments = self.region.arguments
        pairs = list(zip(self.arguments, operation.named["initial"], strict=True))
        self.token_pairs = [pair for pair in pairs if isinstance(pair[0].type, TokenType)]
        self.slots = [k for k, (argument, _) in enumerate(pairs) if not isinstance(argument.type, TokenType)]
        self.initial = {k: program.term(pairs[k][1]) for k in self.slots}
        self.fixed: set[int] = set()
        self.written: set[Term] = set()

    def run(self) -> None:
        program, trace = self.program, self.program.trace
        mark, states, seen = trace.mark(), dict(trace.states), dict(trace.occurrences)
        program.depth += 1
        outer = program.loops
        while True:
            yielded = self.body()
            fixed = {k for k in self.slots if yielded[k] is program.values[self.arguments[k].number]} | self.fixed
            written = {base for base, _ in trace.effects[mark[0] :]}
            if fixed == self.fixed and written <= self.written:
                break
            self.fixed, self.written = fixed, self.written | written
            trace.rollback(mark, states, seen)
            program.loops = outer
        program.loops = outer
        self.close(yielded, mark[0], states)
        program.depth -= 1

    def body(self) -> dict[int, Term]:
        """One symbolic iteration; what each carried value becomes."""
        program, store = self.program, self.program.store
        self.ordinal = program.trace.loop_count
        program.trace.loop_count += 1
        variable = store.term("iv", program.depth, self.bounds, (), self.bounds[0].element)
        program.values[self.induction.number] = variable
        self.order = self.sorted()
        for rank, k in enumerate(self.order):
            start = self.initial[k]
            data = (program.depth, rank)
            program.values[self.arguments[k].number] = store.term("carry", data, (), start.shape, start.element)
        for k in self.fixed:
            program.values[self.arguments[k].number] = self.initial[k]
        for argument, value in self.token_pairs:
            program.tokens[argument.number] = program.token(value) | {("carried", self.ordinal)}
        for base in self.written:
            entered = store.term("entered", program.depth, program.trace.states.get(base, ()), (), "effect")
            program.trace.states[base] = (entered,)
        program.loops = (*program.loops, LoopFrame(self.ordinal, variable))
        terminator = program.region(self.region)
        if terminator.name not in {"continue", "end"}:
            raise Unsupported("an early exit from a loop", terminator.location)
        values = terminator.named.get("values", ())
        passed = [program.token(value) for value in values if isinstance(value.type, TokenType)]
        self.tokens = passed
        if passed:
            program.trace.carried[self.ordinal] = frozenset.intersection(*passed) if len(passed) > 1 else passed[0]
        return {k: program.term(values[k]) for k in self.slots}

    def sorted(self) -> list[int]:
        """Carried values by shape, type and start; ties in the order that the setting picks."""
        moving = [k for k in self.slots if k not in self.fixed]

        def key(k: int) -> tuple[tuple[int, ...], str, int]:
            start = self.initial[k]
            return (start.shape, start.element, start.number)

        groups = [tuple(group) for _, group in groupby(sorted(moving, key=key), key=key)]
        total = math.prod(math.factorial(len(group)) for group in groups)
        self.program.trace.ties[self.ordinal] = total
        pick = self.program.setting.orders.get(self.ordinal, 0) % total
        order: list[int] = []
        for group in groups:
            pick, choice = divmod(pick, math.factorial(len(group)))
            order += next(islice(permutations(group), choice, None))
        return order

    def close(self, yielded: dict[int, Term], start: int, states: dict[Term, tuple[Term, ...]]) -> None:
        """Results and effects of the whole loop."""
        from ferrotile_runner.tileir.effects import write

        program, store, trace = self.program, self.program.store, self.program.trace
        inner = trace.effects[start:]
        del trace.effects[start:]
        trace.states = dict(states)
        carried = (*(self.initial[k] for k in self.order), *(yielded[k] for k in self.order))
        shape = (program.depth, len(self.order))
        for base in dict.fromkeys(base for base, _ in inner):
            effects = tuple(effect for other, effect in inner if other is base)
            write(program, base, store.term("for", shape, (*self.bounds, *carried, *effects), (), "effect"))
        for k, value in self.initial.items():
            result = self.operation.results[k]
            if k in self.fixed:
                program.values[result.number] = value
            else:
                data = (*shape, self.order.index(k))
                made = store.term("for", data, (*self.bounds, *carried), value.shape, value.element)
                program.bind(self.operation, result, made)
        tokens = iter(self.tokens)
        for k, argument in enumerate(self.arguments):
            if isinstance(argument.type, TokenType):
                passed = next(tokens)
                marker = ("carried", self.ordinal)
                kept = (passed - {marker}) if marker in passed else frozenset()
                program.tokens[self.operation.results[k].number] = kept
