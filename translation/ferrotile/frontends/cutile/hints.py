"""Entry hints of `@ct.kernel(occupancy=2, num_ctas=ct.ByTarget(sm_100=2, default=1))`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.frontends.cutile.discover import kernel_decorator
from ferrotile.frontends.cutile.environment import Context, Poisoned, Refused
from ferrotile.frontends.cutile.expressions import evaluate
from ferrotile.frontends.cutile.values import Const
from ferrotile.program.ir import EntryHint
from ferrotile.syntax.module import FunctionSource, Module

ALLOWED: dict[str, tuple[str, frozenset[int]]] = {
    "occupancy": ("1 to 32", frozenset(range(1, 33))),
    "num_ctas": ("1, 2, 4, 8 or 16", frozenset((1, 2, 4, 8, 16))),
    "num_worker_warps": ("a power of two up to 32", frozenset((1, 2, 4, 8, 16, 32))),
    "opt_level": ("0 to 3", frozenset(range(4))),
}
"""What cuTile Python accepts for each hint, in words and in numbers."""

_TARGET = re.compile(r"sm_\d+[a-z]?")


def entry_hints(ctx: Context, module: Module, kernel: FunctionSource) -> tuple[EntryHint, ...]:
    """The hints in the decorator's call. What cuTile Python rejects is reported in `ctx`; None is no hint."""
    decorator = kernel_decorator(module, kernel)
    if not isinstance(decorator, ast.Call):
        return ()
    found: list[EntryHint] = []
    for keyword in decorator.keywords:
        if keyword.arg in ALLOWED:
            for target, node in _by_target(module, keyword.value):
                hint = _hint(ctx, module, keyword.arg, target, node)
                if hint is not None:
                    found.append(hint)
    return tuple(found)


def _by_target(module: Module, node: ast.expr) -> Iterator[tuple[str | None, ast.expr]]:
    """The value for each target; None stands for all other targets."""
    if isinstance(node, ast.Call) and module.resolve(node.func) == "cuda.tile.ByTarget":
        for keyword in node.keywords:
            yield (None if keyword.arg == "default" else keyword.arg), keyword.value
    else:
        yield None, node


def _hint(ctx: Context, module: Module, name: str, target: str | None, node: ast.expr) -> EntryHint | None:
    span = module.span_of(node)
    if target is not None and not _TARGET.fullmatch(target):
        ctx.diagnostics.append(diagnostic("FT205", f"`{target}` is no target: write `sm_90`, `sm_100`, ...", span))
        return None
    try:
        value = evaluate(ctx, node)
    except (Refused, Poisoned):
        value = None
    if isinstance(value, Const) and value.value is None:
        return None
    if not isinstance(value, Const) or not isinstance(value.value, int) or isinstance(value.value, bool):
        ctx.diagnostics.append(diagnostic("FT405", f"`{name}` is not a constant that is known here: left out", span))
        return None
    words, numbers = ALLOWED[name]
    if value.value not in numbers:
        ctx.diagnostics.append(diagnostic("FT205", f"`{name}` is {words}, not {value.value}", span))
        return None
    return EntryHint(name, value.value, target, span)
