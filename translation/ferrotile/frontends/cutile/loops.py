"""`for` and `while`: which variables are carried, and the body interpreted with them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from ferrotile.frontends.cutile import branches
from ferrotile.frontends.cutile.conversion import Operand, materialise, operand, own_dtype, tile_of
from ferrotile.frontends.cutile.environment import Context, LoopFrame
from ferrotile.frontends.cutile.expressions import usable
from ferrotile.frontends.cutile.merging import Mismatch, after_loop, carry, next_values, placeholders
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    Const,
    DTypeOf,
    Function,
    Global,
    Poison,
    RangeOf,
    Static,
    Tile,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.program import dtypes
from ferrotile.program.ir import Block, End, For, If, Loop, Statement, Terminator, Value

Run = Callable[[Context, Sequence[ast.stmt]], Terminator | None]
Assign = Callable[[Context, ast.expr, Abstract], None]


def jump(ctx: Context, kind: End) -> Terminator:
    """`break`, `continue`, or the end of a body: the values of the innermost loop's carried variables."""
    if not ctx.frame.loops:
        raise ctx.refused("FT201", f"`{kind.value}` outside a loop")
    loop = ctx.frame.loops[-1]
    values: list[Value] = []
    for name, template in loop.carried.items():
        current = ctx.frame.variables.get(name, template)
        try:
            if isinstance(current, Poison):
                raise Mismatch("")
            if isinstance(current, Unusable):
                raise Mismatch(current.reason)
            values.extend(list(next_values(ctx, template, current)))
        except Mismatch as mismatch:
            if not isinstance(current, Poison):
                loop.conflicts[name] = str(mismatch)
            values.extend(placeholders(ctx, template))
    return Terminator(kind, tuple(values))


class _Body:
    """One interpretation of a loop body; repeated without variables of several types."""

    def __init__(self, ctx: Context, assigned: tuple[str, ...]) -> None:
        self.ctx = ctx
        self.assigned = assigned
        self.outer = dict(ctx.frame.variables)
        self.unfit: dict[str, str] = {}
        self.prelude: list[Statement] = []
        self.initial: list[Value] = []
        self.arguments: list[Value] = []
        self.frame = LoopFrame({})
        self.statements: list[Statement] = []
        self.end = Terminator(End.RETURN)

    def interpret(self, run: Callable[[], Terminator]) -> None:
        """Runs until no carried variable conflicts."""
        ctx = self.ctx
        reported = len(ctx.diagnostics)
        while True:
            self._attempt(run)
            if not self.frame.conflicts:
                return
            self.unfit.update(self.frame.conflicts)
            del ctx.diagnostics[reported:]

    def _attempt(self, run: Callable[[], Terminator]) -> None:
        ctx = self.ctx
        self.prelude, self.statements = [], []
        self.initial, self.arguments = [], []
        variables = dict(self.outer)
        carried: dict[str, Abstract] = {}
        with ctx.builder.block(self.prelude):
            for name in self.assigned:
                if name in self.unfit:
                    variables[name] = self._unusable(name)
                elif isinstance(self.outer.get(name), (Tile, Const, TupleOf, Array, DTypeOf, Function, Global)):
                    template = carry(ctx, self.outer[name], name, self.initial, self.arguments)
                    variables[name] = carried[name] = template
        self.frame = LoopFrame(carried)
        ctx.frame.variables = variables
        ctx.frame.loops.append(self.frame)
        try:
            with ctx.builder.block(self.statements):
                self.end = run()
        finally:
            ctx.frame.loops.pop()
            ctx.frame.variables = dict(self.outer)

    def _unusable(self, name: str) -> Abstract:
        return Unusable("FT207", f"the type of `{name}` depends on the path taken: {self.unfit[name]}")

    def finish(self) -> tuple[Value, ...]:
        """Opens the outer block again with the results of the loop."""
        ctx = self.ctx
        results: list[Value] = []
        for argument in self.arguments:
            results.append(ctx.builder.fresh(argument.type))
        source = iter(results)
        variables = dict(self.outer)
        for name in self.assigned:
            if name in self.frame.carried:
                variables[name] = after_loop(self.frame.carried[name], source)
                if isinstance(found := variables[name], Tile):
                    ctx.builder.name(found.value, name)
            elif name in self.unfit:
                variables[name] = self._unusable(name)
            elif not isinstance(self.outer.get(name), Poison):
                variables[name] = Unusable("FT202", f"`{name}` may be undefined here: it is set in the loop only")
        ctx.frame.variables = variables
        return tuple(results)


def run_for(ctx: Context, node: ast.For, run: Run, assign: Assign, assigned: tuple[str, ...]) -> Terminator | None:
    iterable = usable(ctx, node.iter)
    if isinstance(iterable, Static):
        return _unroll(ctx, node, run, assign, iterable)
    if not isinstance(iterable, RangeOf):
        raise ctx.refused(
            "FT203", f"`for` goes over `range(...)`, not {describe(iterable)}", ctx.module.span_of(node.iter)
        )
    if not isinstance(node.target, ast.Name):
        raise ctx.refused("FT201", "the target of a `for` over a range must be a name")
    target = node.target
    span = ctx.span
    with ctx.at(node.iter):
        lower, upper, step = _bounds(ctx, iterable)
    variable = ctx.builder.fresh(lower.type, target.id)
    body = _Body(ctx, tuple(n for n in assigned if n != target.id))

    def once() -> Terminator:
        ctx.frame.variables[target.id] = Tile(variable)
        return run(ctx, node.body) or jump(ctx, End.YIELD)

    body.interpret(once)
    for statement in body.prelude:
        ctx.builder.append(statement)
    block = Block(tuple(body.statements), body.end)
    arguments = tuple(body.arguments)
    results = body.finish()
    ctx.frame.variables[target.id] = Unusable("FT202", f"`{target.id}` may be undefined after the loop")
    ctx.builder.append(For(variable, lower, upper, step, tuple(body.initial), arguments, block, results, span))
    return None


def _bounds(ctx: Context, range_: RangeOf) -> tuple[Value, Value, Value]:
    bounds: list[Operand] = []
    for bound in (range_.start, range_.stop, range_.step):
        value = operand(ctx, bound, "bound of a range")
        if isinstance(value, Const) and isinstance(value.value, (float, bool)):
            raise ctx.refused("FT203", "the bounds of a range must be integers")
        bounds.append(value)
    step = bounds[2]
    if isinstance(step, Const) and isinstance(step.value, int) and step.value <= 0:
        raise ctx.refused("FT205", "the step of a range must be positive")
    wide = any(own_dtype(ctx, b) == dtypes.I64 for b in bounds)
    if wide:
        raise ctx.refused("FT301", "a `range` over int64 has no translation yet: convert its bounds to int32")
    values: list[Value] = []
    for bound in bounds:
        made = materialise(ctx, bound, dtypes.I32 if isinstance(bound, Const) else None)
        type_ = tile_of(made)
        if type_.dtype != dtypes.I32 or type_.rank:
            raise ctx.refused("FT203", f"the bounds of a range must be int32 scalars, not {type_}")
        values.append(made)
    return values[0], values[1], values[2]


def _unroll(ctx: Context, node: ast.For, run: Run, assign: Assign, iterable: Static) -> Terminator | None:
    if any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for s in node.body for n in ast.walk(s)):
        raise ctx.refused("FT201", "`break`, `continue` and `return` are not supported in a `for` over static_iter")
    for item in iterable.items:
        assign(ctx, node.target, item)
        end = run(ctx, node.body)
        if end is not None:
            return end
    return None


def run_while(ctx: Context, node: ast.While, run: Run, assigned: tuple[str, ...]) -> Terminator | None:
    span = ctx.span
    body = _Body(ctx, assigned)

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

    body.interpret(once)
    for statement in body.prelude:
        ctx.builder.append(statement)
    block = Block(tuple(body.statements), body.end)
    arguments = tuple(body.arguments)
    results = body.finish()
    ctx.builder.append(Loop(tuple(body.initial), arguments, block, results, span))
    return None
