"""Kernels made in functions: what the names of the functions around them stand for.

A factory's parameters get the values of its first call whose arguments are known, else their defaults; its body is
interpreted up to the kernel. What stays unknown is an error only where the kernel uses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import suppress

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.frontends.cutile import static_names
from ferrotile.frontends.cutile.classes import class_of
from ferrotile.frontends.cutile.environment import Context, Frame, Refused
from ferrotile.frontends.cutile.static import Interpreter, Scope, to_abstract
from ferrotile.frontends.cutile.static_functions import bind_static, run_statement
from ferrotile.frontends.cutile.static_names import StaticError
from ferrotile.frontends.cutile.values import (
    Abstract,
    Const,
    DTypeOf,
    Function,
    Global,
    Member,
    Record,
    TupleOf,
    Unusable,
)
from ferrotile.program.dtypes import DType
from ferrotile.signatures.annotations import Annotation, Role
from ferrotile.signatures.assume import REPRESENTATIVES, constant
from ferrotile.signatures.usage import Use, read_usage
from ferrotile.syntax.module import FunctionSource, Module, parameters_of

_DTYPES: Mapping[str, str] = {
    "bool": "bool_",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "tf32": "tfloat32",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}
"""Element types by cuTile Python's own names."""


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
    return [a.arg for a in parameters_of(node)]


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
    unknown = [a for a in parameters_of(factory) if a.arg in read and a.arg not in scope]
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
    """The values that the first call gives all of, else what the first calls that give any say, and the defaults."""
    arguments = factory.args
    given: Scope = {}
    for call in calls_of(ctx.module, factory.name):
        run = Interpreter(ctx, [_around(ctx, call)])
        try:
            positional = run.elements(call.args)
            keywords = {k.arg: run.value(k.value) for k in call.keywords if k.arg is not None}
            return bind_static(run, f"`{factory.name}`", arguments, positional, keywords)
        except (StaticError, Refused, RecursionError):
            for name, node in _named(arguments, call):
                _note(run, given, name, node)
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    pairs: list[tuple[str, ast.expr | None]] = list(
        zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs += [(a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    for name, default in pairs:
        if default is not None:
            _note(Interpreter(ctx, []), given, name, default)
    return given


def _note(run: Interpreter, given: Scope, name: str, node: ast.expr) -> None:
    """Keep the value of an argument that is known and not given yet."""
    try:
        given.setdefault(name, run.value(node))
    except (StaticError, Refused, RecursionError):
        return


def _named(arguments: ast.arguments, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call by the names of the parameters."""
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if not any(isinstance(a, ast.Starred) for a in call.args):
        yield from zip(names, call.args, strict=False)
    known = {*names, *(a.arg for a in arguments.kwonlyargs)}
    yield from ((k.arg, k.value) for k in call.keywords if k.arg is not None and k.arg in known)


def _around(ctx: Context, call: ast.Call) -> Scope:
    """The local names of the functions around a call that have one value, or a default, each."""
    scope: Scope = {}
    for function in enclosing_functions(ctx.module, call):
        scope |= {n: StaticError(f"`{n}` is not known") for n in (*_parameters(function), *_stored(function.body))}
        names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        given = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
        keyword_only = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        given |= {a.arg: d for a, d in keyword_only if d is not None}
        for name, default in given.items():
            _settle(ctx, scope, name, default)
        for decorator in function.decorator_list:
            _first_row(ctx, scope, decorator)
        stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        for statement in function.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored.count(name) == 1:
                    _settle(ctx, scope, name, value)
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                    for target, value in zip(targets, values, strict=False):
                        if isinstance(target, ast.Name) and stored.count(target.id) == 1:
                            _settle(ctx, scope, target.id, value)
                case _:
                    continue
    for target, iterable in _loops_around(ctx.module, call):
        scope |= {n.id: StaticError(f"`{n.id}` is not known") for n in ast.walk(target) if isinstance(n, ast.Name)}
        run = Interpreter(ctx, [scope])
        with suppress(StaticError, Refused, RecursionError):
            run.assign(target, next(iter(static_names.iterate(run.value(iterable)))))
    return scope


def _first_row(ctx: Context, scope: Scope, decorator: ast.expr) -> None:
    """What the first row of `pytest.mark.parametrize` gives."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, values, *_]):
            run = Interpreter(ctx, [])
            with suppress(StaticError, Refused, RecursionError):
                given = run.value(names)
                listed = given.split(",") if isinstance(given, str) else static_names.iterate(given)
                first = next(iter(static_names.iterate(run.value(values))))
                row = [first] if len(listed) == 1 else static_names.iterate(first)
                scope |= {str(n).strip(): v for n, v in zip(listed, row, strict=False)}
        case _:
            return


def _loops_around(module: Module, call: ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    """The targets and iterables of the loops and comprehensions around a call, outermost first."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for statement in module.statements:
        if not any(n is call for n in ast.walk(statement)):
            continue
        for node in ast.walk(statement):
            inside = any(n is call for n in ast.walk(node))
            match node:
                case ast.For(target=target, iter=iterable) if inside:
                    found.append((target, iterable))
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp() if inside:
                    found.extend((g.target, g.iter) for g in node.generators)
                case _:
                    continue
    return found


def _settle(ctx: Context, scope: Scope, name: str, value: ast.expr) -> None:
    try:
        scope[name] = Interpreter(ctx, [scope]).value(value)
    except (StaticError, Refused, RecursionError):
        scope[name] = StaticError(f"`{name}` is not known")


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
        case Record(cls=cls, items=items):
            parts = [captured_text(i) for i in items]
            if cls.kind == "namedtuple" or None in parts:
                return None
            return f"{cls.name}({', '.join(f'{n}={p}' for n, p in zip(cls.fields, parts, strict=True))})"
        case Member(cls=cls, name=member):
            return f"{cls.name}.{member}"
        case DTypeOf(dtype=dtype) if (name := _DTYPES.get(dtype.name)) is not None:
            return f'__import__("cuda.tile", fromlist=("{name}",)).{name}'
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
            text = _function_text(module, name, value) if isinstance(value, Function) else captured_text(value)
            if text is not None:
                found.setdefault(name, text if isinstance(value, Function) else f"{name} = {text}")
        frame = frame.closure
    return found


def _function_text(module: Module, name: str, function: Function) -> str:
    """A captured function: of the module by its name, one of the factory as it stands there."""
    own = getattr(function.node, "name", None)
    top = None if own is None else module.function(own)
    if top is not None and top.node is function.node:
        return f"{name} = {own}"
    text = ast.unparse(function.node)
    return f"{name} = {text}" if isinstance(function.node, ast.Lambda) else text
