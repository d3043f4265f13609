"""Kernels made in functions: what the names of the functions around them stand for.

A factory's parameters get the values of its first call whose arguments are known, else their defaults; its body is
interpreted up to the kernel. What stays unknown is an error only where the kernel uses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.frontends.cutile.classes import class_of
from ferrotile.frontends.cutile.environment import Context, Frame, Refused
from ferrotile.frontends.cutile.static import Interpreter, Scope, to_abstract
from ferrotile.frontends.cutile.static_functions import bind_static, run_statement
from ferrotile.frontends.cutile.static_names import StaticError
from ferrotile.frontends.cutile.values import Abstract, Const, DTypeOf, Function, Global, TupleOf, Unusable
from ferrotile.program.dtypes import DType
from ferrotile.signatures.annotations import Annotation, Role
from ferrotile.signatures.assume import REPRESENTATIVES, constant
from ferrotile.signatures.usage import Use, read_usage
from ferrotile.syntax.module import FunctionSource, Module


def closure_of(ctx: Context, kernel: FunctionSource) -> Frame | None:
    """The names of the functions around a kernel; None for a kernel at module level or in a class."""
    frame: Frame | None = None
    for node in enclosing_functions(ctx.module, kernel.node):
        frame = _frame(ctx, node, kernel.node, frame)
    return frame


def enclosing_functions(module: Module, kernel: ast.AST) -> tuple[ast.FunctionDef, ...]:
    """The functions around a node, outermost first."""

    def search(node: ast.AST, around: tuple[ast.FunctionDef, ...]) -> tuple[ast.FunctionDef, ...] | None:
        for child in ast.iter_child_nodes(node):
            if child is kernel:
                return (*around, node) if isinstance(node, ast.FunctionDef) else around
            inner = (*around, node) if isinstance(node, ast.FunctionDef) else around
            found = search(child, inner)
            if found is not None:
                return found
        return None

    for statement in module.statements:
        if statement is kernel:
            return ()
        found = search(statement, ())
        if found is not None:
            return found
    return ()


def _frame(ctx: Context, factory: ast.FunctionDef, inner: ast.AST, outer: Frame | None) -> Frame:
    scope = _arguments(ctx, factory)
    run = Interpreter(ctx, [_plain(outer), scope] if outer is not None else [scope])
    local: dict[str, ast.FunctionDef] = {}
    for statement in factory.body:
        if any(node is inner for node in ast.walk(statement)):
            break
        match statement:
            case ast.FunctionDef(name=name):
                local[name] = statement
                continue
            case ast.ClassDef(name=name):
                scope[name] = class_of(ctx, statement)
                continue
            case ast.Import(names=aliases):
                scope |= {a.asname: Global(a.name) for a in aliases if a.asname}
                scope |= {r: Global(r) for a in aliases if not a.asname for r in (a.name.partition(".")[0],)}
                continue
            case ast.ImportFrom(module=str() as package, names=aliases, level=0):
                scope |= {a.asname or a.name: Global(f"{package}.{a.name}") for a in aliases}
                continue
        try:
            run_statement(run, statement)
        except (StaticError, Refused, RecursionError):
            for name in _stored([statement]):
                scope.pop(name, None)
    names = frozenset((*_parameters(factory), *_stored(factory.body), *scope))
    _assume(ctx, factory, inner, scope)
    frame = Frame({}, names, closure=outer)
    for name in names:
        frame.variables[name] = _value(ctx, factory, name, scope)
    for name, node in local.items():
        frame.variables[name] = Function(node, frame, {})
    return frame


def _value(ctx: Context, factory: ast.FunctionDef, name: str, scope: Scope) -> Abstract:
    reason = f"`{name}` of the factory `{factory.name}` is not known: call it with constants at module level"
    if name not in scope:
        return Unusable("FT205", reason)
    try:
        return to_abstract(scope[name])
    except StaticError:
        return Unusable("FT205", reason)


def _plain(frame: Frame) -> Scope:
    known = {n: v for n, v in frame.variables.items() if not isinstance(v, Unusable)}
    return {n: v.value if isinstance(v, Const) and v.dtype is None else v for n, v in known.items()}


def _parameters(node: ast.FunctionDef) -> list[str]:
    arguments = node.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _stored(body: list[ast.stmt]) -> set[str]:
    names = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {s.name for s in body if isinstance(s, (ast.FunctionDef, ast.ClassDef))}


def _assume(ctx: Context, factory: ast.FunctionDef, inner: ast.AST, scope: Scope) -> None:
    """Values for parameters that no call gives and the kernel names, chosen as for constants of a kernel; told."""
    read = {n.id for n in ast.walk(inner) if isinstance(n, ast.Name)}
    # What is called, or has attributes, is no number: nothing sensible can be assumed of it.
    for node in ast.walk(inner):
        base = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Attribute) else None
        if isinstance(base, ast.Name):
            read.discard(base.id)
    arguments = factory.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    unknown = [a for a in every if a.arg in read and a.arg not in scope]
    if not unknown or not isinstance(inner, ast.FunctionDef):
        return
    captured = ast.arguments([], unknown, None, [], [], None, [])
    uses = read_usage(ctx.module, ast.FunctionDef(inner.name, captured, inner.body, [], None)).uses
    free = iter(REPRESENTATIVES)
    for argument in unknown:
        use = uses.get(argument.arg, Use())
        python = argument.annotation.id if isinstance(argument.annotation, ast.Name) else None
        value = constant(use, Annotation(Role.CONSTANT, None, python), None, free)
        scope[argument.arg] = DTypeOf(value) if isinstance(value, DType) else value
        shown = value.name if isinstance(value, DType) else repr(value)
        how = f"call `{factory.name}` with constants; {shown} is assumed"
        message = f"the value of `{argument.arg}` is not known: {how}"
        ctx.diagnostics.append(diagnostic("FT103", message, ctx.module.span_of(argument)))


def _arguments(ctx: Context, factory: ast.FunctionDef) -> Scope:
    """The values of the first call that is known, else the defaults."""
    for call in calls_of(ctx.module, factory.name):
        run = Interpreter(ctx, [])
        try:
            positional = run.elements(call.args)
            keywords = {k.arg: run.value(k.value) for k in call.keywords if k.arg is not None}
            return bind_static(run, f"`{factory.name}`", factory.args, positional, keywords)
        except (StaticError, Refused, RecursionError):
            continue
    arguments = factory.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    pairs: list[tuple[str, ast.expr | None]] = list(
        zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs += [(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    scope: Scope = {}
    for name, default in pairs:
        try:
            if default is not None:
                scope[name] = Interpreter(ctx, []).value(default)
        except (StaticError, Refused, RecursionError):
            continue
    return scope


def calls_of(module: Module, name: str) -> Iterator[ast.Call]:
    """The calls of a module-level function by its name, in file order."""
    for statement in module.statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield node


def captured_text(value: Abstract) -> str | None:
    """Python for a captured value, to make the kernel stand alone; None where there is none."""
    match value:
        case Const(value=float() as number) if number != number or number in (float("inf"), float("-inf")):
            return f'float("{number}")'
        case Const(value=raw, dtype=None):
            return repr(raw)
        case DTypeOf():
            return None
        case TupleOf(items=items):
            parts = [captured_text(i) for i in items]
            known = [p for p in parts if p is not None]
            return f"({', '.join(known)}{',' if len(known) == 1 else ''})" if len(known) == len(parts) else None
        case _:
            return None


def captures(module: Module, kernel: FunctionSource) -> dict[str, str]:
    """Python that gives the names around a kernel their values, by name, so that the kernel can stand alone. What has
    no text is left out."""

    def refuse(ctx: Context, function: Function, *_: object) -> Abstract:
        raise ctx.refused("FT205", f"`{function.name}` is not called here")

    ctx = Context(module, refuse)
    found: dict[str, str] = {}
    frame = closure_of(ctx, kernel)
    while frame is not None:
        for name, value in frame.variables.items():
            text = ast.unparse(value.node) if isinstance(value, Function) else captured_text(value)
            if text is not None:
                found.setdefault(name, text if isinstance(value, Function) else f"{name} = {text}")
        frame = frame.closure
    return found
