"""What a test framework passes to a function: rows of `pytest.mark.parametrize`, fixtures, benchmark axes."""

from __future__ import annotations

import ast
from collections.abc import Sequence as Many

from ferrotile.signatures.hostcode.calls import call_function
from ferrotile.signatures.hostcode.objects import elements
from ferrotile.signatures.hostcode.run import Home, Run, Scope
from ferrotile.signatures.tensors import Arguments
from ferrotile.signatures.values import UNKNOWN, Function, Instance, Known, Sequence, Table, Value
from ferrotile.syntax.module import parameters_of

_CASES = 6
"""Rows read of one test."""

_DEPTH = 4

Case = dict[str, Value]


def has_cases(home: Home, node: ast.FunctionDef) -> bool:
    """Whether a framework gives this function some of its arguments."""
    return bool(node.decorator_list) or bool(_fixtures(home).keys() & set(_names(node)))


def cases(run: Run, home: Home, node: ast.FunctionDef) -> list[Case]:
    """Arguments by name: the first row of every decorator, then each other row of one of them."""
    scope = Scope({}, home)
    marks = [rows for d in node.decorator_list if (rows := _rows(run, home, d, node, scope))]
    first: Case = {}
    for rows in marks:
        first.update(rows[0])
    made = [first]
    for rows in marks:
        made.extend({**first, **row} for row in rows[1:])
    return [_with_fixtures(run, home, node, case, 0) for case in made[:_CASES]]


def _names(node: ast.FunctionDef) -> list[str]:
    return [a.arg for a in parameters_of(node)]


def _rows(run: Run, home: Home, decorator: ast.expr, node: ast.FunctionDef, scope: Scope) -> list[Case]:
    if not isinstance(decorator, ast.Call):
        return []
    dotted = home.module.resolve(decorator.func) or ""
    arguments = [run.evaluate(run, a, scope) for a in decorator.args]
    named = {k.arg: run.evaluate(run, k.value, scope) for k in decorator.keywords if k.arg is not None}
    match dotted.rpartition(".")[2]:
        case "parametrize":
            given = Arguments(tuple(arguments), named)
            return _table(_split(given.get(0, "argnames")), given.get(1, "argvalues"))
        case "expand" if arguments:
            return _table([n for n in _names(node) if n != "self"], arguments[0])
        case "perf_report" if arguments:
            return _benchmark(arguments[0])
        case _:
            return []


def _split(names: Value | None) -> list[str]:
    match names:
        case Known(value=str(text)):
            return [n.strip() for n in text.split(",") if n.strip()]
        case Sequence(items=items):
            return [i.value for i in items if isinstance(i, Known) and isinstance(i.value, str)]
        case _:
            return []


def _table(names: Many[str], values: Value | None) -> list[Case]:
    rows = None if values is None else elements(values)
    if rows is None or not names:
        return []
    if len(names) == 1:
        return [{names[0]: r} for r in rows]
    split = [(r, elements(r)) for r in rows]
    return [dict(zip(names, inner, strict=False)) for _, inner in split if inner is not None]


def _benchmark(value: Value) -> list[Case]:
    """`triton.testing.Benchmark`: its first point of the first line."""
    configs = elements(value) or (value,)
    config = configs[0]
    if not isinstance(config, Instance):
        return []
    case: Case = {}
    rows = _table(_split(config.fields.get("x_names")), config.fields.get("x_vals"))
    points = elements(config.fields.get("x_vals", UNKNOWN))
    if rows:
        case.update(rows[0])
    elif points:
        case.update((n, points[0]) for n in _split(config.fields.get("x_names")))
    line, lines = config.fields.get("line_arg"), elements(config.fields.get("line_vals", UNKNOWN))
    more = config.fields.get("args")
    if isinstance(more, Table):
        case.update({k: v for k, v in more.items.items() if isinstance(k, str)})
    if isinstance(line, Known) and isinstance(line.value, str) and lines:
        return [{**case, line.value: one} for one in lines]
    return [case]


def _fixtures(home: Home) -> dict[str, ast.FunctionDef]:
    return {s.name: s.node for s in home.hosts if any(_is_fixture(d) for d in s.decorators)}


def _is_fixture(decorator: ast.expr) -> bool:
    callee = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")) == "fixture"


def _with_fixtures(run: Run, home: Home, node: ast.FunctionDef, case: Case, depth: int) -> Case:
    found = dict(case)
    known = _fixtures(home)
    for name in _names(node):
        if name not in found and name in known and known[name] is not node and depth < _DEPTH:
            inner = _with_fixtures(run, home, known[name], _parameter(run, home, known[name]), depth + 1)
            made = call_function(run, Function(known[name], {}, home.name), Arguments((), inner))
            yielded = elements(made) if run.summary(known[name]).generator else None
            found[name] = yielded[0] if yielded else made
    return found


def _parameter(run: Run, home: Home, fixture: ast.FunctionDef) -> Case:
    """`request` of a fixture with `params`: the first of them."""
    for decorator in fixture.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "params":
                values = elements(run.evaluate(run, keyword.value, Scope({}, home)))
                if values:
                    return {"request": Instance(None, {"param": values[0]})}
    return {}
