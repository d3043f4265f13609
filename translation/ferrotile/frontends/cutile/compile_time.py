"""`static_eval`, `static_assert`, `static_iter` and tuple comprehensions."""

from __future__ import annotations

import ast

from ferrotile.frontends.cutile import branches
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.static import evaluate_static, static_items
from ferrotile.frontends.cutile.values import Abstract, Const, Global, TupleOf, describe

_KEYWORD_LIKE = frozenset(("static_eval", "static_assert", "static_iter", "static_exception"))


def keyword_like(callee: Abstract) -> str | None:
    """The name of a function whose argument is compile-time Python."""
    if isinstance(callee, Global) and callee.dotted.startswith("cuda.tile."):
        name = callee.dotted.removeprefix("cuda.tile.")
        return name if name in _KEYWORD_LIKE else None
    return None


def static_iterable(ctx: Context, node: ast.expr) -> tuple[Abstract, ...] | None:
    """The items of a `ct.static_iter(...)`; None for any other expression."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    if keyword_like(ctx.usable(node.func)) != "static_iter":
        return None
    if len(node.args) != 1 or node.keywords:
        raise ctx.refused("FT201", "`static_iter` takes a single expression")
    return static_items(ctx, node.args[0])


def keyword_call(ctx: Context, name: str, node: ast.Call) -> Abstract:
    """A call of one of them."""
    allowed = (1, 2) if name == "static_assert" else (1,)
    if node.keywords or len(node.args) not in allowed:
        takes = "one or two positional arguments" if name == "static_assert" else "a single expression"
        raise ctx.refused("FT201", f"`{name}` takes {takes}")
    match name:
        case "static_eval":
            return evaluate_static(ctx, node.args[0])
        case "static_assert":
            return _static_assert(ctx, node)
        case "static_iter":
            raise ctx.refused("FT201", "`static_iter` is only allowed as what a `for` goes through")
        case _:
            raise ctx.refused("FT201", "`static_exception` is only allowed after `raise`")


def _static_assert(ctx: Context, node: ast.Call) -> Abstract:
    condition = evaluate_static(ctx, node.args[0], "static_assert()")
    if not isinstance(condition, Const):
        raise ctx.refused("FT203", f"`static_assert` needs a compile-time constant, not {describe(condition)}")
    if not isinstance(condition.value, bool):
        raise ctx.refused("FT203", f"`static_assert` needs a bool, not {describe(condition)}")
    if not condition.value:
        message = evaluate_static(ctx, node.args[1], "static_assert()") if len(node.args) > 1 else Const("")
        text = message.value if isinstance(message, Const) else describe(message)
        raise ctx.refused("FT211", f"static assertion failed{f': {text}' if text else ''}")
    return Const(None)


def comprehension(ctx: Context, node: ast.GeneratorExp) -> Abstract:
    """`tuple(... for ... in ct.static_iter(...) if ...)`; its variables are its own."""
    targets = [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
    frame = ctx.frame
    saved = {name: frame.variables.get(name) for name in targets}
    items: list[Abstract] = []

    def go(generators: list[ast.comprehension]) -> None:
        if not generators:
            items.append(ctx.usable(node.elt))
            return
        first, *rest = generators
        for item in static_iterable(ctx, first.iter) or ():
            _bind_target(ctx, first.target, item)
            tests = [_static_test(ctx, test) for test in first.ifs]
            if all(tests):
                go(rest)

    try:
        go(node.generators)
    finally:
        for name, value in saved.items():
            if value is None:
                frame.variables.pop(name, None)
            else:
                frame.variables[name] = value
    return TupleOf(tuple(items))


def _bind_target(ctx: Context, target: ast.expr, value: Abstract) -> None:
    if isinstance(target, ast.Name):
        ctx.frame.variables[target.id] = value
        return
    assert isinstance(target, (ast.Tuple, ast.List))
    if not isinstance(value, TupleOf) or len(value.items) != len(target.elts):
        raise ctx.refused("FT203", f"cannot unpack {describe(value)} into {len(target.elts)} names")
    for one, item in zip(target.elts, value.items, strict=True):
        _bind_target(ctx, one, item)


def _static_test(ctx: Context, test: ast.expr) -> bool:
    with ctx.at(test):
        found = branches.truth(ctx, ctx.usable(test))
        if not isinstance(found, bool):
            raise ctx.refused("FT203", "the condition of a tuple comprehension must be known at compile time")
        return found
