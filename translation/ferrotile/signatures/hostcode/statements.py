"""Statements of host code, in the order in which one path runs them."""

from __future__ import annotations

import ast

from msgspec import Struct

from ferrotile.signatures import numbers
from ferrotile.signatures.comparisons import truth
from ferrotile.signatures.host import is_main
from ferrotile.signatures.hostcode.expressions import evaluate
from ferrotile.signatures.hostcode.facts import demand, settle
from ferrotile.signatures.hostcode.names import dotted_value
from ferrotile.signatures.hostcode.objects import elements
from ferrotile.signatures.hostcode.paths import Raised
from ferrotile.signatures.hostcode.run import Run, Scope
from ferrotile.signatures.hostcode.targets import assign_target
from ferrotile.signatures.values import (
    UNKNOWN,
    Class,
    FloatValue,
    Function,
    Int,
    Known,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from ferrotile.syntax.parsed import nodes

_ROUNDS = 16
"""A loop over more items than this is read once, for any one of them."""


class Returned(Struct, frozen=True):
    value: Value


class Left(Struct, frozen=True):
    """`break` (True) or `continue`."""

    broken: bool


Flow = Returned | Left | None


def execute(run: Run, statements: list[ast.stmt], scope: Scope) -> Flow:
    """Run a block; the result is how it was left, None at its end."""
    for statement in statements:
        flow = _statement(run, statement, scope)
        if flow is not None:
            return flow
    return None


def _statement(run: Run, node: ast.stmt, scope: Scope) -> Flow:
    run.step()
    match node:
        case ast.Assign(targets=targets, value=value):
            result = evaluate(run, value, scope)
            for target in targets:
                assign_target(run, target, result, scope)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            assign_target(run, target, evaluate(run, value, scope), scope)
        case ast.AugAssign(target=target, op=op, value=value):
            left = evaluate(run, target, scope) if isinstance(target, ast.Name) else UNKNOWN
            assign_target(run, target, numbers.binary(op, left, evaluate(run, value, scope)), scope)
        case ast.Expr(value=value):
            evaluate(run, value, scope)
        case ast.Return(value=value):
            return Returned(Known(None) if value is None else evaluate(run, value, scope))
        case ast.Raise():
            raise Raised
        case ast.Assert(test=test):
            demand(run, test, evaluate(run, test, scope), scope)
        case ast.If():
            return _if(run, node, scope)
        case ast.For(target=target, iter=items, body=body, orelse=orelse):
            return _for(run, target, evaluate(run, items, scope), body, orelse, scope)
        case ast.While(test=test, body=body):
            # The first round, then any later one.
            if truth(evaluate(run, test, scope)) is False:
                return None
            flow = execute(run, body, scope)
            if isinstance(flow, Returned) or (isinstance(flow, Left) and flow.broken):
                return flow if isinstance(flow, Returned) else None
            _forget(run, body, scope)
            evaluate(run, test, scope)
            flow = execute(run, body, scope)
            _forget(run, body, scope)
            return flow if isinstance(flow, Returned) else None
        case ast.With(items=context, body=body):
            for entry in context:
                evaluate(run, entry.context_expr, scope)
                if entry.optional_vars is not None:
                    assign_target(run, entry.optional_vars, UNKNOWN, scope)
            return execute(run, body, scope)
        case ast.Try():
            return _try(run, node, scope)
        case ast.FunctionDef(name=name):
            scope.names[name] = Function(node, scope.names, scope.home.name)
        case ast.ClassDef(name=name):
            scope.names[name] = Class(node, scope.home.name)
        case ast.ImportFrom() | ast.Import() if scope.names is not scope.home.globals:
            _import(run, node, scope)
        case ast.Break():
            return Left(True)
        case ast.Continue():
            return Left(False)
        case _:
            return None
    return None


def _if(run: Run, node: ast.If, scope: Scope) -> Flow:
    if scope.names is scope.home.globals and is_main(node.test):
        return execute(run, node.body, scope) if scope.home is run.own else None
    value = evaluate(run, node.test, scope)
    if _guard(node.body) and not node.orelse:
        # Only the paths that go on are of interest.
        demand(run, ast.UnaryOp(ast.Not(), node.test), numbers.unary(ast.Not(), value), scope)
        return None
    return execute(run, node.body if settle(run, node.test, value, True, scope) else node.orelse, scope)


def _guard(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise) and all(isinstance(s, ast.Expr | ast.Assign | ast.Raise) for s in body)


def _for(run: Run, target: ast.expr, items: Value, body: list[ast.stmt], orelse: list[ast.stmt], scope: Scope) -> Flow:
    known = elements(items)
    if known is None or len(known) > _ROUNDS:
        # The first round, then any later one.
        assign_target(run, target, known[0] if known else _any_of(items), scope)
        flow = execute(run, body, scope)
        if isinstance(flow, Returned):
            return flow
        _forget(run, body, scope)
        assign_target(run, target, _any_of(items), scope)
        flow = execute(run, body, scope)
        _forget(run, body, scope)
        return flow if isinstance(flow, Returned) else None
    for one in known:
        assign_target(run, target, one, scope)
        flow = execute(run, body, scope)
        if isinstance(flow, Returned):
            return flow
        if isinstance(flow, Left) and flow.broken:
            return None
    return execute(run, orelse, scope)


def _any_of(items: Value) -> Value:
    if isinstance(items, Sequence) and items.items and all(isinstance(i, Int) for i in items.items):
        return Int()
    if isinstance(items, Unknown) and items.kind == "range":
        return Int()
    return UNKNOWN


def _forget(run: Run, body: list[ast.stmt], scope: Scope) -> None:
    """What a loop assigns differs from round to round: numbers become unknown, tensors keep what they are."""
    for statement in body:
        for node in nodes(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in scope.names:
                match scope.names[node.id]:
                    case Int():
                        scope.names[node.id] = run.named(node.id, Int(derived=True))
                    case Known(value=float()) | FloatValue():
                        scope.names[node.id] = FloatValue()
                    case Tensor(dtype=dtype, rank=rank):
                        scope.names[node.id] = Tensor(dtype, rank)
                    case Function() | Class():
                        continue
                    case _:
                        scope.names[node.id] = UNKNOWN


def _try(run: Run, node: ast.Try, scope: Scope) -> Flow:
    try:
        flow = execute(run, [*node.body, *node.orelse], scope)
    except Raised:
        if not node.handlers:
            raise
        flow = execute(run, node.handlers[0].body, scope)
    final = execute(run, node.finalbody, scope)
    return flow if final is None else final


def _import(run: Run, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            scope.names[name] = dotted_value(run, alias.name if alias.asname else name)
        return
    base = "." * node.level + (node.module or "")
    for alias in node.names:
        if alias.name != "*":
            dotted = base + alias.name if base.endswith(".") else f"{base}.{alias.name}"
            scope.names[alias.asname or alias.name] = dotted_value(run, run.absolute(scope.home, dotted))
