"""Calls and the user's own functions in compile-time code."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from enum import Enum

from ferrotile.frontends.cutile import static_names
from ferrotile.frontends.cutile.arguments import Call
from ferrotile.frontends.cutile.static import ABSTRACT, Interpreter, Scope, to_abstract, to_python
from ferrotile.frontends.cutile.static_names import Lambda, Pure, StaticError
from ferrotile.frontends.cutile.values import (
    Array,
    BoundMethod,
    ClassOf,
    DTypeOf,
    Function,
    Global,
    Record,
    Tile,
    describe,
)

_TILE_FUNCTIONS = """matmul add sub mul truediv floordiv pow mod divmod bitwise_and bitwise_or bitwise_xor
bitwise_lshift bitwise_rshift bitwise_not minimum maximum cdiv greater greater_equal less less_equal equal not_equal
negative"""
_ON_TILES = frozenset(_TILE_FUNCTIONS.split())
"""Functions of `cuda.tile` that static code may call."""
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "builtins.int": int,
    "builtins.float": float,
    "builtins.bool": bool,
    "builtins.str": str,
    "builtins.tuple": tuple,
    "builtins.list": list,
    "builtins.dict": dict,
    "cuda.tile.Tile": Tile,
    "cuda.tile.Array": Array,
    "cuda.tile.DType": DTypeOf,
}


class _Flow(Enum):
    NEXT = 0
    BREAK = 1
    CONTINUE = 2
    RETURN = 3


def call_static(
    run: Interpreter, callee: object, positional: Sequence[object], keywords: Mapping[str, object]
) -> object:
    """The result of a call in compile-time code; raises StaticError."""
    match callee:
        case Pure(function=function):
            return static_names.guarded(function, *positional, **keywords)
        case Lambda(node=node, scopes=scopes, in_kernel=in_kernel):
            inner = Interpreter(run.ctx, list(scopes))
            inner.in_kernel = in_kernel
            inner.scopes.append(bind_static(inner, "the lambda", node.args, positional, keywords))
            return inner.value(node.body)
        case Function(node=ast.FunctionDef() as node, closure=None):
            return _user_function(run, node, positional, keywords)
        case Function(node=ast.Lambda() as node, closure=None):
            inner = Interpreter(run.ctx, [])
            inner.scopes.append(bind_static(inner, "the lambda", node.args, positional, keywords))
            return inner.value(node.body)
        case Global(dotted=dotted):
            return _known(run, dotted, positional, keywords)
    if isinstance(callee, ClassOf) and callee.kind == "namedtuple":
        return _named_tuple(run, callee, positional, keywords)
    if isinstance(callee, DTypeOf):
        return run.ctx.call(callee, _made(run, "the element type", positional, keywords))
    if isinstance(callee, (ClassOf, BoundMethod, Record)):
        return to_python(run.ctx, run.ctx.call(callee, _made(run, describe(callee), positional, keywords)))
    if isinstance(callee, ABSTRACT):
        raise StaticError(f"{describe(to_abstract(callee))} cannot be called at compile time")
    raise StaticError(f"a value of type {type(callee).__name__} cannot be called")


def _named_tuple(
    run: Interpreter, cls: ClassOf, positional: Sequence[object], keywords: Mapping[str, object]
) -> tuple[object, ...]:
    """In a kernel a named tuple is a tuple, as cuTile Python has it."""
    values = dict(zip(cls.fields, positional, strict=False)) | dict(keywords)
    found: list[object] = []
    for name, default in cls.fields.items():
        if name in values:
            found.append(values[name])
        elif default is not None:
            found.append(Interpreter(run.ctx, []).value(default))
        else:
            raise StaticError(f"`{cls.name}` misses its argument `{name}`")
    return tuple(found)


def _made(run: Interpreter, name: str, positional: Sequence[object], keywords: Mapping[str, object]) -> Call:
    made = tuple(map(to_abstract, positional))
    named = {k: to_abstract(v) for k, v in keywords.items()}
    return Call(name, made, named, (run.ctx.span,) * len(made), dict.fromkeys(named, run.ctx.span))


def _known(run: Interpreter, dotted: str, positional: Sequence[object], keywords: Mapping[str, object]) -> object:
    root, _, name = dotted.rpartition(".")
    if root == "builtins":
        if name == "isinstance" and len(positional) == 2 and not keywords:
            return _isinstance(*positional)
        if name == "map" and len(positional) == 2 and not keywords:
            return [call_static(run, positional[0], [i], {}) for i in static_names.iterate(positional[1])]
        if name == "filter" and len(positional) == 2 and not keywords:
            items = static_names.iterate(positional[1])
            return [i for i in items if run.truth(call_static(run, positional[0], [i], {}))]
        if name in static_names.BUILTINS:
            return _builtin(run, name, positional, keywords)
    if root == "math" and name in static_names.MATH:
        return static_names.guarded(static_names.MATH[name], *positional, **keywords)
    if root == "cuda.tile":
        if name not in _ON_TILES:
            raise StaticError(f"`{name}()` cannot be called there")
        call = _made(run, f"ct.{name}", positional, keywords)
        return to_python(run.ctx, run.ctx.call(Global(dotted), call))
    raise StaticError(f"`{dotted.removeprefix('builtins.')}()` is not supported at compile time")


def _builtin(run: Interpreter, name: str, positional: Sequence[object], keywords: Mapping[str, object]) -> object:
    symbols = [p for p in positional if isinstance(p, ABSTRACT)]
    if symbols and name in ("bool", "int", "float", "abs", "round", "divmod", "min", "max"):
        raise StaticError(f"`{name}()` of {describe(to_abstract(symbols[0]))}, which has no value at compile time")
    if symbols and name in ("str", "repr"):
        return describe(to_abstract(symbols[0])).removeprefix("the element type ")
    if "key" in keywords and name in ("sorted", "min", "max"):
        key = keywords["key"]
        keywords = {**keywords, "key": lambda item: call_static(run, key, [item], {})}
    return static_names.guarded(static_names.BUILTINS[name], *positional, **keywords)


def _isinstance(value: object, kinds: object) -> bool:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    for kind in wanted:
        known = _TYPES.get(kind.dotted) if isinstance(kind, Global) else None
        if known is None:
            raise StaticError("`isinstance` of that type is not supported at compile time")
        if isinstance(value, known):
            return True
    return False


def bind_static(
    run: Interpreter,
    name: str,
    arguments: ast.arguments,
    positional: Sequence[object],
    keywords: Mapping[str, object],
) -> Scope:
    if arguments.kwarg is not None:
        raise StaticError(f"{name} has `**` parameters")
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    scope: Scope = dict(zip(names, positional, strict=False))
    if arguments.vararg is not None:
        scope[arguments.vararg.arg] = tuple(positional[len(names) :])
    elif len(positional) > len(names):
        raise StaticError(f"{name} takes {len(names)} arguments, {len(positional)} are given")
    for key, value in keywords.items():
        if key in scope or key not in (*names, *(a.arg for a in arguments.kwonlyargs)):
            raise StaticError(f"{name} gets an unexpected argument `{key}`")
        scope[key] = value
    optional = names[len(names) - len(arguments.defaults) :]
    defaults: dict[str, ast.expr] = dict(zip(optional, arguments.defaults, strict=True))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = default
    for key in (*names, *(a.arg for a in arguments.kwonlyargs)):
        if key not in scope:
            if key not in defaults:
                raise StaticError(f"{name} misses its argument `{key}`")
            scope[key] = run.value(defaults[key])
    return scope


def _user_function(
    run: Interpreter, node: ast.FunctionDef, positional: Sequence[object], keywords: Mapping[str, object]
) -> object:
    inner = Interpreter(run.ctx, [])
    inner.scopes.append(bind_static(inner, f"`{node.name}`", node.args, positional, keywords))
    run.ctx.depth += 1
    try:
        if run.ctx.depth > 60:
            raise StaticError(f"`{node.name}` is nested too deeply")
        result: list[object] = []
        _body(inner, node.body, result)
        return result[0] if result else None
    finally:
        run.ctx.depth -= 1


def run_statement(run: Interpreter, node: ast.stmt) -> None:
    """Interprets one statement; raises StaticError."""
    _statement(run, node, [])


def _body(run: Interpreter, body: Sequence[ast.stmt], result: list[object]) -> _Flow:
    for statement in body:
        flow = _statement(run, statement, result)
        if flow is not _Flow.NEXT:
            return flow
    return _Flow.NEXT


def _statement(run: Interpreter, node: ast.stmt, result: list[object]) -> _Flow:
    run.ctx.tick()
    match node:
        case ast.Assign(targets=targets, value=value):
            found = run.value(value)
            for target in targets:
                run.assign(target, found)
        case ast.AnnAssign(target=target, value=value):
            if value is not None:
                run.assign(target, run.value(value))
        case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
            before = run.value(ast.Name(target.id, ast.Load()))
            run.assign(target, run.operate(op, before, run.value(value)))
        case ast.Expr(value=value):
            if not isinstance(value, ast.Constant):
                run.value(value)
        case ast.Return(value=value):
            result.append(None if value is None else run.value(value))
            return _Flow.RETURN
        case ast.If(test=test, body=body, orelse=orelse):
            return _body(run, body if run.truth(run.value(test)) else orelse, result)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            for item in static_names.iterate(run.value(iterable)):
                run.assign(target, item)
                flow = _body(run, body, result)
                if flow is _Flow.RETURN:
                    return flow
                if flow is _Flow.BREAK:
                    return _Flow.NEXT
            return _body(run, orelse, result)
        case ast.While(test=test, body=body, orelse=orelse):
            while run.truth(run.value(test)):
                run.ctx.tick()
                flow = _body(run, body, result)
                if flow is _Flow.RETURN:
                    return flow
                if flow is _Flow.BREAK:
                    return _Flow.NEXT
            return _body(run, orelse, result)
        case ast.Break():
            return _Flow.BREAK
        case ast.Continue():
            return _Flow.CONTINUE
        case ast.Pass():
            pass
        case ast.Assert(test=test):
            if not run.truth(run.value(test)):
                raise StaticError(f"`{ast.unparse(node)}` fails")
        case ast.Raise():
            raise StaticError(f"`{ast.unparse(node)}`")
        case _:
            raise StaticError(f"`{type(node).__name__.lower()}` is not supported at compile time")
    return _Flow.NEXT
