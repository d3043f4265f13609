"""Statements of a kernel or helper body."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from ferrotile.frontends.cutile import branches
from ferrotile.frontends.cutile.environment import Context, Poisoned, Refused
from ferrotile.frontends.cutile.expressions import checked, default_values, evaluate, usable
from ferrotile.frontends.cutile.lint import message_of
from ferrotile.frontends.cutile.loops import jump, run_for, run_once, run_while
from ferrotile.frontends.cutile.names import lookup
from ferrotile.frontends.cutile.operators import BINARY, operate
from ferrotile.frontends.cutile.static import evaluate_static
from ferrotile.frontends.cutile.values import (
    NONE,
    Abstract,
    Const,
    Function,
    Poison,
    Tile,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.program.ir import End, Terminator
from ferrotile.syntax.parsed import children
from ferrotile.syntax.span import Span

RETURN = Terminator(End.RETURN)


def run(ctx: Context, body: Sequence[ast.stmt]) -> Terminator | None:
    """Interprets statements; gives how they end, None when control goes on. What is refused is
    reported, and the names it would have set are poisoned."""
    for statement in body:
        try:
            with ctx.at(statement):
                end = _statement(ctx, statement)
        except Refused as refused:
            ctx.report(refused)
            poison(ctx, statement)
        except Poisoned:
            poison(ctx, statement)
        else:
            if end is not None:
                return end
    return None


def poison(ctx: Context, statement: ast.stmt) -> None:
    for name in assigned_names([statement]):
        ctx.frame.variables[name] = Poison()


_ASSIGNED = "_ferrotile_assigned"
_CLOSED = frozenset((ast.Constant, ast.FunctionDef, ast.GeneratorExp, ast.Lambda))
"""Nodes that set no name inside."""


def assigned_names(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Names that the statements set in their own scope, in order of appearance."""
    return tuple(dict.fromkeys(name for statement in body for name in _assigned_in(statement)))


def _assigned_in(statement: ast.stmt) -> tuple[str, ...]:
    """The names that one statement sets; it remembers them, for every loop and lowering around it asks again."""
    known: tuple[str, ...] | None = getattr(statement, _ASSIGNED, None)
    if known is not None:
        return known
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                found[node.id] = None
            return
        if type(node) in _CLOSED:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = None
            return
        for child in children(node):
            visit(child)

    visit(statement)
    names = tuple(found)
    setattr(statement, _ASSIGNED, names)
    return names


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The statements directly inside one, those of a nested function left out."""
    if isinstance(node, ast.FunctionDef):
        return
    for name in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, name, ())


def contains_return(node: ast.AST) -> bool:
    """Whether a statement is a `return` or has one inside."""
    return isinstance(node, ast.Return) or any(map(contains_return, _inside(node)))


def _statement(ctx: Context, node: ast.stmt) -> Terminator | None:
    if id(node) in ctx.rejected:
        raise Poisoned
    handler = _TABLE.get(type(node))
    if handler is None:
        raise ctx.refused("FT201", message_of(node))
    return handler(ctx, node)


def assign(ctx: Context, target: ast.expr, value: Abstract) -> None:
    match target:
        case ast.Name(id=name):
            if isinstance(value, Tile):
                ctx.builder.name(value.value, name)
            ctx.frame.variables[name] = ctx.frame.values[id(target)] = value
            ctx.frame.places[name] = ctx.module.span_of(target)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            if not isinstance(value, TupleOf):
                raise ctx.refused("FT203", f"cannot unpack {describe(value)}")
            if len(value.items) != len(elements):
                raise ctx.refused("FT203", f"cannot unpack {len(value.items)} values into {len(elements)} names")
            for element, item in zip(elements, value.items, strict=True):
                assign(ctx, element, item)
        case ast.Subscript(value=base):
            what = describe(usable(ctx, base))
            message = f"{what} is not changed in place: make a new value"
            raise ctx.refused("FT203", message, ctx.module.span_of(target))
        case _:
            raise ctx.refused(
                "FT201", "only names can be assigned in a kernel: tiles and arrays are not changed in place"
            )


def _assign(ctx: Context, node: ast.stmt) -> None:
    assert isinstance(node, ast.Assign)
    value = _assigned(ctx, node.value)
    for target in reversed(node.targets):
        assign(ctx, target, value)


def _assigned(ctx: Context, node: ast.expr) -> Abstract:
    """A conditional value of two types is an error only where it is used."""
    value = evaluate(ctx, node)
    if isinstance(node, (ast.IfExp, ast.Compare)) and isinstance(value, Unusable):
        return value
    return checked(ctx, value, ctx.module.span_of(node))


def _annotated(ctx: Context, node: ast.stmt) -> None:
    assert isinstance(node, ast.AnnAssign)
    if node.value is not None:
        assign(ctx, node.target, usable(ctx, node.value))


def _augmented(ctx: Context, node: ast.stmt) -> None:
    assert isinstance(node, ast.AugAssign)
    if not isinstance(node.target, ast.Name):
        raise ctx.refused("FT201", "only names can be assigned in a kernel")
    with ctx.at(node.target):
        left = checked(ctx, lookup(ctx, node.target), ctx.span)
    right = usable(ctx, node.value)
    assign(ctx, node.target, operate(ctx, BINARY[type(node.op)], left, right))


def _expression(ctx: Context, node: ast.stmt) -> None:
    assert isinstance(node, ast.Expr)
    evaluate(ctx, node.value)


def _if(ctx: Context, node: ast.stmt) -> Terminator | None:
    assert isinstance(node, ast.If)
    with ctx.at(node.test):
        condition = branches.truth(ctx, usable(ctx, node.test))
    if isinstance(condition, bool):
        return run(ctx, node.body if condition else node.orelse)
    return branches.branch(ctx, condition, lambda: run(ctx, node.body), lambda: run(ctx, node.orelse))


def _for(ctx: Context, node: ast.stmt) -> Terminator | None:
    assert isinstance(node, ast.For)
    names = tuple(dict.fromkeys((*assigned_names([node]), *_hidden(ctx, node))))
    return after_return(ctx, node, run_for(ctx, node, run, assign, names))


def _while(ctx: Context, node: ast.stmt) -> Terminator | None:
    assert isinstance(node, ast.While)
    names = (*assigned_names(node.body), *_hidden(ctx, node))
    return after_return(ctx, node, run_while(ctx, node, run, names))


def _hidden(ctx: Context, node: ast.stmt) -> tuple[str, ...]:
    return ("$retval", "$returning") if ctx.frame.returns and contains_return(node) else ()


def after_return(ctx: Context, node: ast.stmt, end: Terminator | None) -> Terminator | None:
    """A helper that returned in an inner loop leaves the outer one, too."""
    if end is not None or not _hidden(ctx, node):
        return end
    condition = branches.truth(ctx, ctx.frame.variables["$returning"])
    if isinstance(condition, bool):
        return jump(ctx, End.BREAK) if condition else None
    return branches.branch(ctx, condition, lambda: jump(ctx, End.BREAK), lambda: None)


def _break(ctx: Context, node: ast.stmt) -> Terminator:
    return jump(ctx, End.BREAK)


def _continue(ctx: Context, node: ast.stmt) -> Terminator:
    return jump(ctx, End.CONTINUE)


def _return(ctx: Context, node: ast.stmt) -> Terminator:
    assert isinstance(node, ast.Return)
    if not ctx.frame.is_kernel:
        value = NONE if node.value is None else usable(ctx, node.value)
        ctx.frame.variables |= {"$retval": value, "$returning": Const(True)}
        ctx.frame.places["$retval"] = ctx.span
        return jump(ctx, End.BREAK)
    if node.value is not None and usable(ctx, node.value) != NONE:
        raise ctx.refused("FT203", "a kernel cannot return a value")
    return RETURN


def _with(ctx: Context, node: ast.stmt) -> None:
    raise ctx.refused("FT301", "`with` has no translation yet: write what it does")


def _pass(ctx: Context, node: ast.stmt) -> None:
    """Nothing to do."""


def _define(ctx: Context, node: ast.stmt) -> None:
    assert isinstance(node, ast.FunctionDef)
    ctx.frame.variables[node.name] = Function(node, ctx.frame, default_values(ctx, node.args))
    ctx.frame.places[node.name] = ctx.span


def _raise(ctx: Context, node: ast.stmt) -> None:
    assert isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
    argument = node.exc.args[0] if len(node.exc.args) == 1 and not node.exc.keywords else None
    if argument is None:
        raise ctx.refused("FT201", "`static_exception` takes a single expression")
    message = ""
    if isinstance(argument, ast.Call) and argument.args:
        shown = evaluate_static(ctx, argument.args[0], "static_exception()")
        message = f": {shown.value}" if isinstance(shown, Const) else ""
    raise ctx.refused("FT211", f"`raise {ast.unparse(argument)[:60]}` is reached{message}")


_TABLE: dict[type[ast.stmt], Callable[[Context, ast.stmt], Terminator | None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Return: _return,
    ast.Pass: _pass,
    ast.Raise: _raise,
    ast.With: _with,
    ast.FunctionDef: _define,
}


def helper_value(ctx: Context, body: Sequence[ast.stmt]) -> Abstract:
    """The value that a helper's body returns. Where it can return in a loop, the body is, as in cuTile Python, a
    loop of one trip, which a `return` leaves."""
    if not any(_returns_in_loop(s) for s in body):
        return function_value(ctx, body)
    ctx.frame.returns = True

    def once() -> Terminator:
        ctx.frame.variables["$returning"] = Const(False)
        end = run(ctx, body)
        if end is None:
            ctx.frame.variables["$retval"] = NONE
            ctx.frame.places["$retval"] = ctx.frame.span
            end = jump(ctx, End.BREAK)
        return end

    run_once(ctx, once, (*assigned_names(body), "$retval", "$returning"))
    return checked(ctx, ctx.frame.variables["$retval"], ctx.span)


def _returns_in_loop(node: ast.AST) -> bool:
    if isinstance(node, (ast.For, ast.While)):
        return contains_return(node)
    return any(map(_returns_in_loop, _inside(node)))


def function_value(ctx: Context, body: Sequence[ast.stmt]) -> Abstract:
    """The value that a helper's body returns. An early `return` makes the rest the other branch."""
    for k, statement in enumerate(body):
        rest = body[k + 1 :]
        match statement:
            case ast.Return(value=value):
                with ctx.at(statement):
                    ctx.frame.places["$retval"] = ctx.span
                    return NONE if value is None else usable(ctx, value)
            case ast.If() if contains_return(statement):
                return _returning_if(ctx, statement, rest)
        with ctx.at(statement):
            _statement(ctx, statement)
    ctx.frame.places["$retval"] = ctx.frame.span
    return NONE


def _returning_if(ctx: Context, node: ast.If, rest: Sequence[ast.stmt]) -> Abstract:
    with ctx.at(node):
        test = usable(ctx, node.test)
        before = ctx.frame.variables

        def side(body: Sequence[ast.stmt]) -> Callable[[], Abstract]:
            def run_side() -> Abstract:
                ctx.frame.variables = dict(before)
                return function_value(ctx, [*body, *rest])

            return run_side

        if isinstance(test, Const):
            return branches.returned_early(ctx, side(node.body if branches.truth(ctx, test) else node.orelse)())

        def place() -> Span:
            return ctx.frame.places.get("$retval", ctx.span)

        return branches.choose(ctx, test, side(node.body), side(node.orelse), "$retval", place)
