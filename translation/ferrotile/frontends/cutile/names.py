"""Names: variables of the functions in hand, then what the module defines or imports, then Python's builtins."""

from __future__ import annotations

import ast
import builtins
import math
import operator
from typing import TypeGuard

from ferrotile.frontends.cutile import classes
from ferrotile.frontends.cutile.discover import kernel_decorator
from ferrotile.frontends.cutile.environment import Context, Frame
from ferrotile.frontends.cutile.static import module_value, to_abstract
from ferrotile.frontends.cutile.static_names import StaticError
from ferrotile.frontends.cutile.values import Abstract, Const, DTypeOf, Function, Global
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.syntax.module import FunctionSource

_PRIVATE = {
    "cuda.tile._numeric_semantics": frozenset(("PaddingMode", "RoundingMode")),
    "cuda.tile._memory_model": frozenset(("MemoryOrder", "MemoryScope")),
}
"""Names that `cuda.tile` has from modules of its own, under which code imports them now and then."""

_MATH_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}


def is_local(ctx: Context, name: str) -> bool:
    """Whether a name is one of the functions in hand, not of the module."""
    frame: Frame | None = ctx.frame
    while frame is not None:
        if name in frame.variables or name in frame.locals:
            return True
        frame = frame.closure
    return False


def lookup(ctx: Context, node: ast.Name) -> Abstract:
    """What a name stands for in the kernel or helper in hand; refused when it is not defined."""
    frame: Frame | None = ctx.frame
    while frame is not None:
        if node.id in frame.variables:
            return frame.variables[node.id]
        if node.id in frame.locals:
            raise ctx.refused("FT202", f"`{node.id}` is used before it is assigned")
        frame = frame.closure
    return _module_value(ctx, node)


def _module_value(ctx: Context, node: ast.Name) -> Abstract:
    name = node.id
    if name in ctx.module_values:
        return ctx.module_values[name]
    function = ctx.module.function(name)
    if function is not None and any(bound == name for bound, _ in ctx.module.bindings):
        raise ctx.refused("FT205", f"`{name}` is set more than once in this module: its value is not known")
    if name in ctx.module.reimported:
        raise ctx.refused("FT205", f"`{name}` is imported more than once, as different things: use one name each")
    resolved = ctx.module.resolve(node)
    if resolved is not None:
        return ctx.module_values.setdefault(name, of_dotted(resolved))
    if function is not None:
        return _module_function(ctx, function)
    if name in ctx.module.constants:
        return _module_constant(ctx, name)
    found = classes.find_class(ctx, name)
    if found is not None:
        return ctx.module_values.setdefault(name, found)
    if hasattr(builtins, name):
        return ctx.module_values.setdefault(name, Global(f"builtins.{name}"))
    if any(n.id == name for s in ctx.module.statements for n in ast.walk(s) if _stores(n)):
        raise ctx.refused("FT205", f"`{name}` is set more than once in this module: its value is not known")
    raise ctx.refused("FT202", f"`{name}` is not defined")


def _stores(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def member(ctx: Context, dotted: str) -> Abstract | None:
    """What an attribute of a module of the workspace stands for; None for any other dotted name."""
    name = ctx.module.members.get(dotted)
    if name is None:
        return None
    if name in ctx.module.classes:
        return classes.find_class(ctx, name)
    function = ctx.module.function(name)
    return _module_constant(ctx, name) if function is None else _module_function(ctx, function)


_HARMLESS = frozenset(("cuda.tile.function", "functools.wraps"))
"""Decorators that leave a function what it is, when a kernel calls it."""


def _module_function(ctx: Context, function: FunctionSource) -> Abstract:
    name = function.name
    if kernel_decorator(ctx.module, function) is not None:
        raise ctx.refused("FT205", f"`{name}` is a kernel: a kernel cannot call it, nor pass it on")
    for decorator in function.decorators:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ctx.module.resolve(target) not in _HARMLESS:
            text = ast.unparse(target)
            raise ctx.refused("FT205", f"`{name}` is decorated with `{text}`: what that makes of it is not known")
    same = [f for f in ctx.module.functions if f.name == name]
    if len(same) > 1 and not all(f.node in ctx.module.statements for f in same):
        raise ctx.refused("FT205", f"`{name}` is defined more than once, in branches: which one holds is not known")
    return Function(function.node)


def _module_constant(ctx: Context, name: str) -> Abstract:
    try:
        value = to_abstract(module_value(ctx, name))
    except StaticError as error:
        raise ctx.refused("FT205", f"the value of `{name}` is not known: {error}") from None
    ctx.module_values[name] = value
    return value


def of_dotted(dotted: str) -> Abstract:
    """What a dotted name of another module stands for."""
    root, _, last = dotted.rpartition(".")
    if last in _PRIVATE.get(root, ()):
        root, dotted = "cuda.tile", f"cuda.tile.{last}"
    dtype = dtype_of(dotted)
    if dtype is not None:
        return DTypeOf(dtype)
    if root in ("math", "numpy") and last in _MATH_CONSTANTS:
        return Const(_MATH_CONSTANTS[last])
    return Global(dotted)


def check_exists(ctx: Context, dotted: str) -> None:
    """Refuses a name that a module of the standard library does not have."""
    root, _, last = dotted.rpartition(".")
    if root in _STANDARD and not hasattr(_STANDARD[root], last):
        raise ctx.refused("FT202", f"the module `{root}` has no `{last}`")


_STANDARD = {"math": math, "operator": operator}
