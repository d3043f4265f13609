"""Lowers one kernel under one signature to a kernel program."""

from __future__ import annotations

import ast

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.frontends.cutile.environment import Context, Frame
from ferrotile.frontends.cutile.expressions import evaluate, usable
from ferrotile.frontends.cutile.factories import closure_of
from ferrotile.frontends.cutile.hints import entry_hints
from ferrotile.frontends.cutile.lint import Finding
from ferrotile.frontends.cutile.reading import read
from ferrotile.frontends.cutile.statements import RETURN, assigned_names, helper_value, run
from ferrotile.frontends.cutile.values import Abstract, Array, Const, DictOf, DTypeOf, Function, Tile, TupleOf, Unusable
from ferrotile.passes.uses import eliminate_dead, operations
from ferrotile.program.dtypes import AssumedDType, DType, DTypeVariableError, Kind
from ferrotile.program.ir import Block, Constant, Parameter, Program
from ferrotile.program.types import ArrayType, Shape, TileType, Type, ViewType
from ferrotile.readings import Readings
from ferrotile.signatures.model import (
    ArrayArgument,
    ConstantArgument,
    ConstantValue,
    ScalarArgument,
    Signature,
    Source,
)
from ferrotile.syntax.module import FunctionSource, Module, parameters_of

_MAX_DEPTH = 60
_MOST_CALLS = 400
"""Of a kernel with more calls of helpers, what is read in the helpers is not kept."""


class Lowered(Struct, frozen=True):
    """The program, or None when there is an error among the diagnostics."""

    program: Program | None
    diagnostics: tuple[Diagnostic, ...]
    specific: bool = False
    """Whether the kernel is not generic in an array's type that is only assumed: a scalar has it, and Rust has no
    arithmetic for a scalar of a type parameter, or a float of another type is stored."""
    meetings: frozenset[tuple[str, str]] = frozenset()
    """Arrays whose element types are only assumed, but have to be one."""
    readings: Readings | None = None


def lower_kernel(
    module: Module, kernel: FunctionSource, signature: Signature, syntax: dict[int, list[Finding]] | None = None
) -> Lowered:
    """Never raises on user code: what is unforeseen becomes FT900. `syntax` keeps what is found in each function, by
    `id` of its node, for the next signature of the same kernel.

    With a type variable in the signature it may raise `DTypeVariableError`, see `ferrotile.generic`."""
    try:
        return _lower(module, kernel, signature, syntax)
    except RecursionError:
        found = diagnostic("FT301", "the kernel is nested too deeply to interpret", kernel.name_span)
    except DTypeVariableError:
        raise
    except Exception as error:
        message = f"the translator failed on this kernel: {type(error).__name__}: {error}"
        found = diagnostic("FT900", message, kernel.name_span)
    return Lowered(None, (found,))


def _lower(
    module: Module, kernel: FunctionSource, signature: Signature, syntax: dict[int, list[Finding]] | None
) -> Lowered:
    ctx = Context(module, _inline, syntax)
    meetings: set[tuple[str, str]] = set()
    frame = Frame({}, _locals(kernel.node), is_kernel=True)
    ctx.calls.append((kernel.node, frame.values))
    if kernel.enclosing:
        frame.closure = closure_of(ctx, kernel)
    parameters: list[Parameter] = []
    for argument in signature.arguments:
        match argument:
            case ArrayArgument(name=name, dtype=dtype, extents=extents):
                kind = dtype
                if argument.source is Source.ASSUMED and dtype.kind is Kind.FLOAT and not dtype.variable:
                    kind = AssumedDType(dtype.name, dtype.kind, dtype.bits, None, name, meetings)
                value = ctx.builder.fresh(ArrayType(kind, len(extents)), name)
                parameters.append(Parameter(name, value))
                frame.variables[name] = Array(value, name)
            case ScalarArgument(name=name, dtype=dtype):
                value = ctx.builder.fresh(TileType(dtype), name)
                parameters.append(Parameter(name, value))
                frame.variables[name] = Tile(value)
            case ConstantArgument(name=name, value=constant):
                frame.variables[name] = _constant_value(constant, name)
    ctx.frame = frame
    ctx.lint(kernel.node, frame.locals)
    for variadic in (kernel.node.args.vararg, kernel.node.args.kwarg):
        if variadic is not None:
            message = "a kernel cannot have variadic parameters"
            ctx.report(ctx.refused("FT201", message, module.span_of(variadic)))
    end = run(ctx, kernel.node.body)
    body = ctx.builder.named(Block(ctx.builder.statements, end or RETURN))
    program = Program(
        name=kernel.name,
        parameters=tuple(replace(p, value=ctx.builder.named_value(p.value)) for p in parameters),
        constants=(),
        body=body,
        span=kernel.span,
        name_span=kernel.name_span,
        hints=entry_hints(ctx, module, kernel),
    )
    diagnostics = tuple(sorted(ctx.diagnostics, key=lambda d: d.span.start))
    readings = Readings(ctx.calls if len(ctx.calls) <= _MOST_CALLS else ctx.calls[:1], read)
    if any(d.severity is Severity.ERROR for d in diagnostics):
        return Lowered(None, diagnostics, readings=readings)
    program = eliminate_dead(program, unchanged=False)
    used, specific = _types(program)
    constants = tuple(
        Constant(a.name, a.value, a.name in ctx.pinned)
        for a in signature.arguments
        if isinstance(a, ConstantArgument) and a.name in used and isinstance(a.value, int)
    )
    specific = specific or ctx.specific
    return Lowered(replace(program, constants=constants), diagnostics, specific, frozenset(meetings), readings)


def _constant_value(constant: ConstantValue, name: str | None) -> Abstract:
    """What a constant parameter stands for; only one that is an integer can stay symbolic, under its name."""
    match constant:
        case DType():
            return DTypeOf(constant)
        case tuple():
            return TupleOf(tuple(_constant_value(c, None) for c in constant))
        case _:
            # One below zero is a plain number: passes take a symbol, mostly an extent, to be at least 0.
            return Const(constant, name if isinstance(constant, int) and constant >= 0 else None)


def _locals(node: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    arguments = node.args
    names = {a.arg for a in parameters_of(node)}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    if isinstance(node, ast.FunctionDef):
        names.update(assigned_names(node.body))
    return frozenset(names)


def _types(program: Program) -> tuple[set[str], bool]:
    """The constant parameters that the program names; `Lowered.specific`."""
    used: set[str] = set()
    kinds: dict[int, Type] = {}
    specific = False
    for operation in operations(program.body):
        if operation.opcode == "const_param":
            used.add(str(operation.attribute("name")))
        for value in operation.operands:
            kinds[id(value.type)] = value.type
        for value in operation.results:
            kind = kinds[id(value.type)] = value.type
            if isinstance(kind, TileType) and not kind.shape and not kind.pointer:
                specific = specific or isinstance(kind.dtype, AssumedDType)
    used.update(s.symbol for kind in kinds.values() for s in _extents(kind) if s.symbol is not None)
    return used, specific


def _extents(kind: Type) -> Shape:
    match kind:
        case TileType(shape=shape) | ViewType(tile=shape):
            return shape
        case ArrayType():
            return ()


def _inline(
    ctx: Context, function: Function, positional: tuple[Abstract, ...], keywords: dict[str, Abstract]
) -> Abstract:
    """A helper's body in place of its call; typed anew for each call."""
    if isinstance(function.node, ast.Lambda) and function.closure is None:
        raise ctx.refused("FT205", "cuTile Python cannot read a lambda made outside of the kernel: write a `def`")
    if ctx.depth >= _MAX_DEPTH:
        raise ctx.refused("FT205", f"`{function.name}` is nested more than {_MAX_DEPTH} calls deep")
    closure = function.closure if isinstance(function.closure, Frame) else None
    place = ctx.header(ctx.module.span_of(function.node))
    frame = Frame(_bind(ctx, function, positional, keywords), _locals(function.node), closure=closure, span=place)
    ctx.calls.append((function.node, frame.values))
    caller, span = ctx.frame, ctx.span
    ctx.lint(function.node, frame.locals)
    ctx.frame = frame
    ctx.depth += 1
    try:
        if isinstance(function.node, ast.Lambda):
            return evaluate(ctx, function.node.body)
        return helper_value(ctx, function.node.body)
    finally:
        ctx.frame, ctx.span = caller, span
        ctx.depth -= 1


def _bind(
    ctx: Context, function: Function, positional: tuple[Abstract, ...], keywords: dict[str, Abstract]
) -> dict[str, Abstract]:
    arguments = function.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    bound: dict[str, Abstract] = dict(zip(names, positional, strict=False))
    if arguments.vararg is not None:
        bound[arguments.vararg.arg] = TupleOf(positional[len(names) :])
    elif len(positional) > len(names):
        raise ctx.refused("FT205", f"`{function.name}` takes {len(names)} arguments, {len(positional)} are given")
    allowed = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)}
    extra: dict[str, Abstract] = {}
    for name, value in keywords.items():
        if name not in allowed and arguments.kwarg is not None:
            extra[name] = value
            continue
        if name not in allowed:
            raise ctx.refused("FT205", f"`{function.name}` has no argument `{name}`")
        if name in bound:
            raise ctx.refused("FT205", f"`{function.name}` gets `{name}` twice")
        bound[name] = value
    defaults: dict[str, ast.expr] = dict(
        zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            defaults[argument.arg] = default
    for name in (*names, *(a.arg for a in arguments.kwonlyargs)):
        if name in bound:
            continue
        if name not in defaults:
            raise ctx.refused("FT205", f"`{function.name}` misses its argument `{name}`")
        if function.defaults is not None:
            bound[name] = function.defaults[name]
            continue
        frame, ctx.frame = ctx.frame, ctx.module_frame
        try:
            bound[name] = usable(ctx, defaults[name])
        finally:
            ctx.frame = frame
    if arguments.kwarg is not None:
        bound[arguments.kwarg.arg] = DictOf(tuple(extra.items()))
    for name, value in bound.items():
        if isinstance(value, Unusable):
            raise ctx.refused(value.code, f"`{name}` of `{function.name}`: {value.reason}")
    return bound
