"""Calls: which handler a callee has, and what is known but not translated yet."""

from __future__ import annotations

import difflib
import sys

from ferrotile.frontends.cutile import (
    advanced,
    array_methods,
    atomics,
    classes,
    debug,
    elementwise,
    facts,
    gather,
    matrix,
    memory,
    packing,
    python_builtins,
    records,
    reductions,
    scans,
    shapes,
    strings,
)
from ferrotile.frontends.cutile.advice import advice, attribute_advice
from ferrotile.frontends.cutile.arguments import Call, Spec, bind
from ferrotile.frontends.cutile.environment import Context, Poisoned, Refused
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    BoundMethod,
    ClassOf,
    Const,
    DictOf,
    DTypeOf,
    Formatted,
    Function,
    Global,
    Method,
    Poison,
    RawMemory,
    Record,
    Tile,
    TiledView,
    Unusable,
    describe,
)
from ferrotile.signatures.dtype_names import NAMES

FUNCTIONS: dict[str, Spec] = {
    **memory.FUNCTIONS,
    **gather.FUNCTIONS,
    **atomics.FUNCTIONS,
    **advanced.FUNCTIONS,
    **shapes.FUNCTIONS,
    **elementwise.FUNCTIONS,
    **reductions.FUNCTIONS,
    **scans.FUNCTIONS,
    **matrix.FUNCTIONS,
    **packing.FUNCTIONS,
    **debug.FUNCTIONS,
    **facts.FUNCTIONS,
}
_LATER = """
float8_e5m3fnu int4 uint4
"""
LATER = frozenset(_LATER.split())
"""Device functions of `cuda.tile` that have no lowering yet."""
KNOWN = frozenset((*FUNCTIONS, *debug.VARIADIC, *LATER))
"""Every function that a kernel may name."""
_LIBRARIES = frozenset((*sys.stdlib_module_names, "cuda", "numpy", "torch", "cupy", "jax", "triton"))
METHODS_LATER = frozenset[str]()
TILE_METHODS = {**shapes.METHODS, **packing.METHODS}


def call(ctx: Context, callee: Abstract, made: Call) -> Abstract:
    match callee:
        case Global(dotted=dotted):
            return _global(ctx, dotted, made)
        case Method(receiver=Const(value=str()) | Formatted() as receiver):
            return strings.join(ctx, receiver, made)
        case Method(receiver=DictOf() as receiver):
            return _dict_get(ctx, receiver, made)
        case BoundMethod(receiver=receiver, function=function):
            return ctx.inline(ctx, function, (receiver, *made.positional), dict(made.keywords))
        case ClassOf():
            return classes.construct(ctx, callee, made)
        case Record() if (node := records.method_of(callee.cls, "__call__")) is not None:
            return ctx.inline(ctx, Function(node), (callee, *made.positional), dict(made.keywords))
        case Method(receiver=receiver, name=name):
            positional = (receiver, *made.positional)
            inner = Call(name, positional, made.keywords, (ctx.span, *made.spans), made.keyword_spans)
            spec = _methods(receiver)[name]
            return spec.handler(ctx, bind(ctx, inner, spec.parameters))
        case DTypeOf():
            args = bind(ctx, made, "x?")
            args.values.setdefault("x", Const(0))
            return shapes.constructor(ctx, callee, args)
        case Function():
            return ctx.inline(ctx, callee, made.positional, dict(made.keywords))
        case Poison():
            raise Poisoned
        case Unusable():
            raise ctx.unusable(callee)
        case _:
            raise ctx.refused("FT205", f"{describe(callee)} cannot be called")


def _dict_get(ctx: Context, dictionary: DictOf, made: Call) -> Abstract:
    args = bind(ctx, made, "key default?")
    key = args.get("key")
    if not isinstance(key, Const) or not isinstance(key.value, str):
        raise args.refused("key", "FT203", f"a key must be a string, not {describe(key)}")
    return dict(dictionary.items).get(key.value, args.values.get("default", Const(None)))


def _global(ctx: Context, dotted: str, made: Call) -> Abstract:
    root, _, name = dotted.rpartition(".")
    if root == "cuda.tile":
        return _device(ctx, name, made)
    if dotted == "builtins.print":
        return debug.print_values(ctx, made)
    if root == "builtins":
        if name == "print":
            return debug.print_values(ctx, made)
        return python_builtins.range_(ctx, made) if name == "range" else python_builtins.builtin(ctx, name, made)
    if dotted == "dataclasses.replace":
        return classes.replaced(ctx, made)
    if root == "operator" and name in elementwise.OPERATORS:
        spec = elementwise.OPERATORS[name]
        return spec.handler(ctx, bind(ctx, made, spec.parameters))
    if dotted.partition(".")[0] not in _LIBRARIES:
        raise ctx.refused("FT205", _elsewhere(ctx, dotted))
    hint = f": use `ct.{name}`" if root in ("math", "numpy", "torch") and name in FUNCTIONS else ""
    raise ctx.refused("FT205", f"`{dotted}` is not supported in device code{hint}")


def _elsewhere(ctx: Context, dotted: str) -> str:
    """Why a function of another file cannot be called."""
    root, _, name = dotted.rpartition(".")
    reason = ctx.module.unlinked.get(dotted)
    if reason is not None:
        return f"`{name}` is not known: {reason}; define it in this file"
    where = f"`{root.lstrip('.').replace('.', '/')}.py`" if root.strip(".") else "another file"
    return f"`{name}` is defined in {where}, which is not looked into: define it in this file"


def _device(ctx: Context, name: str, made: Call) -> Abstract:
    if name in debug.VARIADIC:
        return debug.VARIADIC[name](ctx, made)
    if name in FUNCTIONS:
        spec = FUNCTIONS[name]
        return spec.handler(ctx, bind(ctx, made, spec.parameters))
    if name == "ensure_constant":
        value = bind(ctx, made, "x").get("x")
        if not isinstance(value, (Const, DTypeOf, Function, Global)):
            raise ctx.refused("FT211", f"the argument of `ensure_constant` is no constant: {describe(value)}")
        return value
    if name in LATER:
        raise ctx.refused("FT301", f"`ct.{name}` has no translation yet")
    raise unknown(ctx, name)


def unknown(ctx: Context, name: str) -> Refused:
    """Refuses a name that `cuda.tile` does not have."""
    hint = advice(name)
    if not hint and (near := difflib.get_close_matches(name, [*KNOWN, *NAMES], 1, 0.75)):
        hint = f"; did you mean `ct.{near[0]}`?"
    return ctx.refused("FT210", f"`cuda.tile` has no `{name}`{hint}")


def _methods(receiver: Abstract) -> dict[str, Spec]:
    if isinstance(receiver, (Array, TiledView, RawMemory)):
        return array_methods.methods(receiver)
    return TILE_METHODS


def method(ctx: Context, receiver: Tile | Const | array_methods.Receiver, name: str) -> Abstract:
    """`receiver.name` where it is a method."""
    if name in _methods(receiver):
        return Method(receiver, name)
    if name in METHODS_LATER:
        raise ctx.refused("FT301", f"`.{name}` has no translation yet")
    hint = "" if isinstance(receiver, Const) else attribute_advice(name, FUNCTIONS)
    raise ctx.refused("FT205", f"{describe(receiver)} has no attribute `{name}`{hint}")
