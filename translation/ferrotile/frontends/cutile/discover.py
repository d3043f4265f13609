"""Finds the cuTile kernels of a module."""

from __future__ import annotations

import ast

from ferrotile.syntax.module import FunctionSource, Module

KERNEL = "cuda.tile.kernel"


def find_kernels(module: Module) -> tuple[FunctionSource, ...]:
    """The functions decorated with `@ct.kernel` or `@ct.kernel(...)`, under any alias, in file order."""
    return tuple(f for f in module.functions if kernel_decorator(module, f) is not None)


def kernel_decorator(module: Module, function: FunctionSource) -> ast.expr | None:
    """The decorator that makes `function` a kernel."""
    for decorator in function.decorators:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if module.resolve(target) == KERNEL:
            return decorator
    return None
