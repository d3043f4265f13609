"""Finds the cuTile kernels of a module: decorated functions, also in classes and factories, and those that a call of
`ct.kernel` makes."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from ferrotile.syntax.module import FunctionSource, Module

KERNEL = "cuda.tile.kernel"


def find_kernels(module: Module) -> tuple[FunctionSource, ...]:
    """The functions decorated with `@ct.kernel` or `@ct.kernel(...)`, under any alias, and those that a module-level
    `name = ct.kernel(function)` makes kernels, under that name; in file order."""
    known: dict[str, bool] = {}
    decorated = []
    for function in (*module.functions, *module.nested):
        heads = function.heads
        if len(heads) == 1 and heads[0]:
            # Most kernels of a file are marked alike, and this is asked at every key.
            head = heads[0]
            if head not in known:
                known[head] = kernel_decorator(module, function) is not None
            if known[head]:
                decorated.append(function)
        elif heads and kernel_decorator(module, function) is not None:
            decorated.append(function)
    made = list(_made(module)) if any(target == KERNEL for target in _reach(module)) else []
    if not made and not module.nested:
        return tuple(decorated)
    return tuple(sorted([*decorated, *made], key=lambda f: f.name_span.start))


def _reach(module: Module) -> tuple[str, ...]:
    """Dotted names by which the module could call `ct.kernel`."""
    names = tuple(module.imports.values())
    packages = ("cuda", "cuda.tile")
    return (KERNEL,) if any(n in packages or n == KERNEL for n in names) else ()


def _made(module: Module) -> list[FunctionSource]:
    found: list[FunctionSource] = []
    for name, value in module.constants.items():
        if not isinstance(value, ast.Call):
            continue
        call = kernel_call(module, value)
        if call is None:
            continue
        (argument,) = call.args
        function = module.function(argument.id) if isinstance(argument, ast.Name) else None
        if function is not None and kernel_decorator(module, function) is None:
            found.append(replace(function, name=name))
    return found


def kernel_call(module: Module, call: ast.Call) -> ast.Call | None:
    """The call in `ct.kernel(function, ...)` or `ct.kernel(...)(function)` whose argument is the function."""
    if len(call.args) != 1:
        return None
    maker = call.func.func if isinstance(call.func, ast.Call) and not call.func.args else call.func
    return call if module.resolve(maker) == KERNEL else None


def kernel_decorator(module: Module, function: FunctionSource) -> ast.expr | None:
    """The decorator, or the call, that makes `function` a kernel: its keywords are the entry hints."""
    for decorator in function.decorators:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.resolve(target) == KERNEL:
            return decorator
    if function.name != function.node.name and isinstance(value := module.constants.get(function.name), ast.Call):
        return value.func if isinstance(value.func, ast.Call) else value
    return None
