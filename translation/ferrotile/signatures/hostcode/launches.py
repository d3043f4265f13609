"""The calls that launch a kernel: `ct.launch`, tuners, and functions of unknown code that are named like them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ferrotile.signatures.hostcode.facts import resolve
from ferrotile.signatures.hostcode.objects import elements, home_of
from ferrotile.signatures.hostcode.run import Launch, Run, Scope
from ferrotile.signatures.tensors import Arguments
from ferrotile.signatures.values import (
    UNKNOWN,
    Function,
    Instance,
    Partial,
    Sequence,
    Table,
    Tensor,
    Unknown,
    Value,
)
from ferrotile.syntax.module import parameters_of

_MAX_SITES = 256
_PLACES: dict[str, tuple[str, ...]] = {
    "launch": ("stream", "grid", "kernel", "args"),
    "autotune_launch": ("stream", "grid_fn", "kernel", "args_fn", "hints_fn", "search_space"),
    "cutile_call": ("grid", "kernel", "args"),
    "exhaustive_search": ("search_space", "stream", "grid_fn", "kernel", "args_fn", "hints_fn"),
}
"""Launching functions of cuda.tile and the order of their arguments."""

_NAMES = {
    "grid": ("grid", "grid_fn"),
    "kernel": ("kernel", "kernel_or_fn", "fn"),
    "args": ("args", "args_fn", "kernel_args"),
    "space": ("search_space", "space", "configs"),
}
_OTHERS = 32
"""Configurations of a tuner of which the arguments are read, beside the first."""
_SEARCHES = ("exhaustive_search", "autotune_launch")


def is_launcher(dotted: str) -> bool:
    """Whether a dotted name is one of cuda.tile's launching functions."""
    return dotted.startswith("cuda.tile") and dotted.rpartition(".")[2] in _PLACES


def looks_like_launcher(run: Run, node: ast.Call, arguments: Arguments) -> bool:
    """Whether a call of unknown code is taken for a launch: its name says so, and it gets a kernel, a grid and as
    many arguments as the kernel has parameters."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if "launch" not in str(name).lower():
        return False
    kernel, grid, passed = _parts(run, arguments)
    return kernel is not None and grid is not None and passed is not None


def _parts(run: Run, arguments: Arguments) -> tuple[Function | None, Value | None, Value | None]:
    values = [*arguments.positional, *arguments.named.values()]
    kernels = [v for v in values if isinstance(v, Function) and run.is_kernel(v, home_of(run, v.home))]
    lists = [v for v in values if isinstance(v, Sequence)]
    if len(kernels) != 1:
        return None, None, None
    count = _arity(kernels[0])
    passed = next((v for v in lists if len(v.items) == count and any(isinstance(i, Tensor) for i in v.items)), None)
    grid = next((v for v in lists if v is not passed and 1 <= len(v.items) <= 3), None)
    return kernels[0], grid, passed


def _arity(kernel: Function) -> int:
    return len(parameters_of(kernel.node))


def launch(
    run: Run, dotted: str, arguments: Arguments, node: ast.Call, scope: Scope, call: Callable[..., Value]
) -> Value:
    """Note a launch. A tuner launches the first configuration of its space; its result's best one is that."""
    name = dotted.rpartition(".")[2]
    configs = 0
    others: tuple[tuple[tuple[Value, ...], Value], ...] = ()
    chosen: Value = UNKNOWN
    if not dotted:
        kernel: Value | None
        kernel, grid, passed = _parts(run, arguments)
    else:
        order = _PLACES[name]
        kernel, grid, passed, space = (
            _argument(arguments, order, _NAMES[part]) for part in ("kernel", "grid", "args", "space")
        )
        if name in _SEARCHES:
            chosen, rest = searched(space)
            configs = len(rest)
            if _callable(passed):
                others = tuple(_configured(run, passed, grid, other, call) for other in rest[:_OTHERS])
            kernel = call(run, kernel, Arguments((chosen,), {})) if _makes(run, kernel) else kernel
        given = Arguments((chosen,), {}) if name in _SEARCHES else Arguments((), {})
        grid = call(run, grid, given) if _callable(grid) else grid
        passed = call(run, passed, given) if _callable(passed) else passed
    found = _kernel(run, kernel)
    if found is not None and len(run.sites) < _MAX_SITES:
        items = None if passed is None else elements(passed)
        span, module, line = run.place(scope.home, node)
        home = "" if found.home in ("", run.own_name) else found.home
        assert isinstance(found.node, ast.FunctionDef)
        equal = tuple((a, resolve(run, a)) for a in run.equal)
        shown = UNKNOWN if grid is None else grid
        run.sites.append(Launch(found.node.name, items, shown, span, home, module, line, equal, configs, others))
    if name in _SEARCHES:
        best = Instance(None, {"config": chosen, "kernel": kernel or UNKNOWN})
        return Instance(None, {"best": best, "tuned_config": chosen, "best_config": chosen})
    return UNKNOWN


def _configured(
    run: Run, passed: Value | None, grid: Value | None, chosen: Value, call: Callable[..., Value]
) -> tuple[tuple[Value, ...], Value]:
    """The arguments and the grid of a launch with one configuration of a tuner; no arguments where they are not
    known."""
    given = Arguments((chosen,), {})
    items = elements(call(run, passed, given))
    blocks = call(run, grid, given) if _callable(grid) else grid
    return tuple(items or ()), UNKNOWN if blocks is None else blocks


def _argument(arguments: Arguments, order: tuple[str, ...], names: tuple[str, ...]) -> Value | None:
    position = next((n for n, parameter in enumerate(order) if parameter in names), -1)
    return arguments.get(position, *names)


def _callable(value: Value | None) -> bool:
    return isinstance(value, Function | Partial)


def _makes(run: Run, value: Value | None) -> bool:
    """A function that gives the kernel of a configuration."""
    return isinstance(value, Function) and not run.is_kernel(value, home_of(run, value.home))


def _kernel(run: Run, value: Value | None) -> Function | None:
    if isinstance(value, Function) and isinstance(value.node, ast.FunctionDef):
        return value
    return None


def searched(space: Value | None) -> tuple[Value, tuple[Value, ...]]:
    """The first configuration of a search space, and the others."""
    if isinstance(space, Table) and space.stored is None and space.items:
        first, *rest = space.items.values()
        return first, tuple(rest)
    items = None if space is None else elements(space)
    if not items:
        return Unknown(), ()
    return items[0], tuple(items[1:])
