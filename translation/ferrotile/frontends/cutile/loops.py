"""`for` and `while`: which variables are carried, and the body interpreted with them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ferrotile.frontends.cutile import branches
from ferrotile.frontends.cutile.compile_time import static_iterable
from ferrotile.frontends.cutile.conversion import Operand, materialise, operand, own_dtype
from ferrotile.frontends.cutile.environment import Context, LoopFrame
from ferrotile.frontends.cutile.expressions import usable
from ferrotile.frontends.cutile.merging import (
    Mismatch,
    after_loop,
    carry,
    common,
    equal_constants,
    late_template,
    next_values,
    path_message,
    placeholders,
)
from ferrotile.frontends.cutile.values import (
    Abstract,
    Const,
    Poison,
    RangeOf,
    Tile,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.passes.uses import loop_ends, terminators
from ferrotile.program import dtypes
from ferrotile.program.ir import Block, End, For, If, Loop, Statement, Terminator, Value

Run = Callable[[Context, Sequence[ast.stmt]], Terminator | None]
Assign = Callable[[Context, ast.expr, Abstract], None]


def jump(ctx: Context, kind: End) -> Terminator:
    """`break`, `continue`, or the end of a body: the values of the innermost loop's carried variables."""
    if not ctx.frame.loops:
        raise ctx.refused("FT201", f"`{kind.value}` outside a loop")
    loop = ctx.frame.loops[-1]
    leaves = kind is End.BREAK or loop.counted
    if leaves:
        for name in loop.assigned:
            place = ctx.frame.places.get(name, ctx.span)
            loop.left.setdefault(name, []).append((ctx.frame.variables.get(name), place))
    values: list[Value] = []
    for name, template in loop.carried.items():
        current = ctx.frame.variables.get(name, template)
        late = name in loop.late
        try:
            if isinstance(current, Poison):
                raise Mismatch("")
            if isinstance(current, Unusable):
                if not late:
                    loop.conflicts.setdefault(name, current)
                raise Mismatch("")
            values.extend(list(next_values(ctx, template, current)))
        except Mismatch as mismatch:
            if not isinstance(current, (Poison, Unusable)) and not (late and kind is not End.BREAK):
                place = ctx.frame.places.get(name, ctx.span)
                loop.conflicts.setdefault(name, Unusable("FT207", path_message(name, mismatch), place))
            values.extend(placeholders(ctx, template))
    return Terminator(kind, tuple(values))


class _Body:
    """One interpretation of a loop body. It is repeated when a variable turns out not to have one type, which is an
    error, or to be set inside only and yet known behind the loop."""

    def __init__(self, ctx: Context, assigned: tuple[str, ...], counted: bool) -> None:
        self.ctx = ctx
        self.assigned = assigned
        self.counted = counted
        self.span = ctx.header(ctx.span)
        self.outer = dict(ctx.frame.variables)
        self.unfit: dict[str, Unusable] = {}
        self.late: dict[str, Abstract] = {}
        self.mixed: dict[str, Unusable] = {}
        self.prelude: list[Statement] = []
        self.initial: list[Value] = []
        self.arguments: list[Value] = []
        self.frame = LoopFrame({}, counted)
        self.statements: list[Statement] = []
        self.end = Terminator(End.RETURN)

    def interpret(self, run: Callable[[], Terminator]) -> None:
        """Runs until no carried variable conflicts."""
        ctx = self.ctx
        reported = len(ctx.diagnostics)
        while True:
            places = dict(ctx.frame.places)
            self._attempt(run)
            ctx.frame.places = places
            late = self._late()
            if not self.frame.conflicts and not late:
                break
            self.unfit.update(self.frame.conflicts)
            self.late.update(late)
            del ctx.diagnostics[reported:]
        for conflict in self.unfit.values():
            ctx.report(ctx.refused(conflict.code, conflict.reason, conflict.span))

    def _late(self) -> dict[str, Abstract]:
        """Names that have no value before the loop, and one type wherever it is left."""
        found: dict[str, Abstract] = {}
        for name in self.assigned:
            if name in self.frame.carried or name in self.unfit or not self._set_inside(name):
                continue
            if name in self.late or name in self.mixed:
                continue
            template = common(self.ctx, name, self.frame.left.get(name, []))
            if isinstance(template, Unusable):
                self.mixed[name] = template
            elif template is not None:
                found[name] = template
        return found

    def _set_inside(self, name: str) -> bool:
        """Whether paths without a value do not count: a counted loop may make no trip at all."""
        if name == "$retval":
            left = self.frame.left.get(name, [])
            self.frame.left[name] = [(v, p) for v, p in left if v is not None and not isinstance(v, Unusable)]
            return True
        return not self.counted and isinstance(self.outer.get(name), (Unusable, type(None)))

    def _attempt(self, run: Callable[[], Terminator]) -> None:
        ctx = self.ctx
        self.prelude, self.statements = [], []
        self.initial, self.arguments = [], []
        variables = dict(self.outer)
        carried: dict[str, Abstract] = {}
        with ctx.builder.block(self.prelude):
            for name in self.assigned:
                before = self.outer.get(name)
                if name in self.unfit:
                    variables[name] = Poison()
                elif name in self.late:
                    carried[name] = late_template(ctx, self.late[name], name, self.initial, self.arguments)
                elif before is not None and not isinstance(before, (Unusable, Poison)):
                    template = carry(ctx, before, name, self.initial, self.arguments)
                    variables[name] = carried[name] = template
                if before is None and name not in self.unfit:
                    variables[name] = self._undefined(name)
        self.frame = LoopFrame(carried, self.counted, self.assigned, frozenset(self.late))
        ctx.frame.variables = variables
        ctx.frame.loops.append(self.frame)
        try:
            with ctx.builder.block(self.statements):
                self.end = run()
        finally:
            ctx.frame.loops.pop()
            ctx.frame.variables = dict(self.outer)

    def finish(self) -> tuple[Value, ...]:
        """Opens the outer block again with the results of the loop."""
        ctx = self.ctx
        results = [ctx.builder.fresh(argument.type) for argument in self.arguments]
        source = iter(results)
        variables = dict(self.outer)
        for name in self.assigned:
            if name in self.frame.carried:
                found = after_loop(self.frame.carried[name], source)
                if isinstance(found, Tile):
                    ctx.builder.name(found.value, name.lstrip("$"))
                variables[name] = self._constant(name) or found
            elif name in self.unfit:
                variables[name] = Poison()
            elif not isinstance(self.outer.get(name), Poison):
                variables[name] = self.mixed.get(name) or self._undefined(name)
        ctx.frame.variables = variables
        return tuple(results)

    def _undefined(self, name: str) -> Unusable:
        return Unusable("FT202", f"`{name}` may be undefined: it is set in the loop only", self.span)

    def _constant(self, name: str) -> Abstract | None:
        """The constant that a variable is on every way out of the loop."""
        left = [value for value, _ in self.frame.left.get(name, [])]
        if self.counted and name not in self.late:
            left.append(self.outer.get(name))
        if not left or not all(isinstance(v, Const) for v in left):
            return None
        found = left[0]
        for other in left[1:]:
            assert isinstance(found, Const) and isinstance(other, Const)
            if not equal_constants(self.ctx, found, other):
                return None
            if found.symbol != other.symbol:
                self.ctx.pin(found.symbol, other.symbol)
                found = Const(found.value, None, found.dtype or other.dtype)
        return found


def run_for(ctx: Context, node: ast.For, run: Run, assign: Assign, assigned: tuple[str, ...]) -> Terminator | None:
    items = static_iterable(ctx, node.iter)
    if items is not None:
        return _unroll(ctx, node, run, assign, items)
    iterable = usable(ctx, node.iter)
    if not isinstance(iterable, RangeOf):
        unrolled = "; write `ct.static_iter(...)` around it" if isinstance(iterable, TupleOf) else ""
        raise ctx.refused("FT203", f"`for` goes over `range(...)`, not {describe(iterable)}{unrolled}")
    span = ctx.span
    with ctx.at(node.iter):
        lower, upper, step = _bounds(ctx, iterable)
    variable = ctx.builder.fresh(lower.type, node.target.id if isinstance(node.target, ast.Name) else "i")
    body = _Body(ctx, assigned, counted=True)

    def once() -> Terminator:
        assign(ctx, node.target, Tile(variable))
        return run(ctx, node.body) or jump(ctx, End.YIELD)

    body.interpret(once)
    for statement in body.prelude:
        ctx.builder.append(statement)
    block = Block(tuple(body.statements), body.end)
    arguments = tuple(body.arguments)
    results = body.finish()
    ctx.builder.append(For(variable, lower, upper, step, tuple(body.initial), arguments, block, results, span))
    return None


def _bounds(ctx: Context, range_: RangeOf) -> tuple[Value, Value, Value]:
    """Bounds and step as signed scalars of one type, at least int32."""
    bounds: list[Operand] = []
    for bound in (range_.start, range_.stop, range_.step):
        value = operand(ctx, bound, "bound of a range")
        dtype = own_dtype(ctx, value)
        if dtype.kind is not dtypes.Kind.SIGNED or (isinstance(value, Tile) and value.type.rank):
            raise ctx.refused("FT203", f"the bounds of a range must be signed integer scalars, not {describe(value)}")
        bounds.append(value)
    step = bounds[2]
    if isinstance(step, Const) and isinstance(step.value, int) and step.value <= 0:
        raise ctx.refused("FT205", "the step of a range must be positive")
    if any(own_dtype(ctx, b) == dtypes.I64 for b in bounds):
        raise ctx.refused("FT302", "cutile 0.5 counts in int32 only: convert the bounds of this `range` to int32")
    lower, upper, stride = (materialise(ctx, bound, dtypes.I32) for bound in bounds)
    return lower, upper, stride


def _unroll(ctx: Context, node: ast.For, run: Run, assign: Assign, items: tuple[Abstract, ...]) -> Terminator | None:
    for item in items:
        assign(ctx, node.target, item)
        end = run(ctx, node.body)
        if end is not None:
            return end
    return None


def run_while(ctx: Context, node: ast.While, run: Run, assigned: tuple[str, ...]) -> Terminator | None:
    def once() -> Terminator:
        with ctx.at(node.test):
            condition = branches.truth(ctx, usable(ctx, node.test))
            if condition is False:
                return jump(ctx, End.BREAK)
            if isinstance(condition, Value):
                leave: list[Statement] = []
                with ctx.builder.block(leave):
                    end = jump(ctx, End.BREAK)
                stay = Block((), Terminator(End.YIELD))
                ctx.builder.append(If(condition, stay, Block(tuple(leave), end), (), ctx.span))
        return run(ctx, node.body) or jump(ctx, End.CONTINUE)

    return run_once(ctx, once, assigned)


def run_once(ctx: Context, once: Callable[[], Terminator], assigned: tuple[str, ...]) -> Terminator | None:
    """A `Loop` whose body `once` interprets."""
    span = ctx.span
    body = _Body(ctx, assigned, counted=False)
    reported = len(ctx.diagnostics)
    body.interpret(once)
    for statement in body.prelude:
        ctx.builder.append(statement)
    block = Block(tuple(body.statements), body.end)
    ends = {t.kind for t in loop_ends(block)}
    ended = ends & {End.BREAK, End.RETURN} or _may_return(block)
    if not ended and len(ctx.diagnostics) == reported:
        raise ctx.refused("FT201", "this loop never ends: cuTile Python cannot compile it", span)
    arguments = tuple(body.arguments)
    results = body.finish()
    ctx.builder.append(Loop(tuple(body.initial), arguments, block, results, span))
    return None


def _may_return(block: Block) -> bool:
    return any(t.kind is End.RETURN for t in terminators(block))
