"""Objects of host code: namespaces, dataclasses, dicts, classes and their methods."""

from __future__ import annotations

import ast

from ferrotile.signatures.hostcode.run import Home, Run, Scope
from ferrotile.signatures.tensors import Arguments, extent
from ferrotile.signatures.values import (
    UNKNOWN,
    Class,
    Function,
    Global,
    Instance,
    Int,
    Known,
    Method,
    Partial,
    Sequence,
    Shape,
    Table,
    Unknown,
    Value,
)

TableKey = int | float | bool | str | None


def table_key(value: Value) -> tuple[TableKey] | None:
    """The dict key that a value is, wrapped, or None where it is not known."""
    match value:
        case Known(value=key):
            return (key,)
        case Int(value=int(key), derived=False):
            return (key,)
        case _:
            return None


def get(table: Table, key: Value, default: Value = UNKNOWN) -> Value:
    """`table[key]`, or `table.get(key, default)`."""
    known = table_key(key)
    if known is not None and known[0] in table.items:
        return table.items[known[0]]
    return default if table.stored is None else table.stored


def put(table: Table, key: Value, value: Value) -> None:
    known = table_key(key)
    if known is None:
        table.stored = value
    else:
        table.items[known[0]] = value


def table_method(table: Table, name: str, arguments: Arguments) -> Value:
    """`.get`, `.pop`, `.items()`, ..."""
    first = arguments.get(0)
    match name:
        case "get" | "pop" | "setdefault" if first is not None:
            default = arguments.get(1)
            missing: Value = default if default is not None else Known(None) if table.stored is None else UNKNOWN
            return get(table, first, missing)
        case "items" | "values" | "keys" if table.stored is None:
            keys = [Int(k) if type(k) is int else Known(k) for k in table.items]
            if name == "values":
                return Sequence(tuple(table.items.values()))
            if name == "keys":
                return Sequence(tuple(keys))
            pairs = zip(keys, table.items.values(), strict=True)
            return Sequence(tuple(Sequence((k, v)) for k, v in pairs))
        case "copy":
            return Table(dict(table.items), table.stored)
        case "update" if isinstance(first, Table):
            table.items.update(first.items)
            table.stored = first.stored or table.stored
            return Known(None)
        case "clear":
            table.items.clear()
            table.stored = None
            return Known(None)
        case _:
            return UNKNOWN


def home_of(run: Run, name: str) -> Home:
    """The home of a function or class that has been seen already."""
    return run.home(name) or run.own


def find_method(run: Run, of: Class, name: str, depth: int = 0) -> tuple[Function, bool] | None:
    """A method, also of base classes that are read, and whether it takes its object first."""
    for statement in of.node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            marks = {d.id for d in statement.decorator_list if isinstance(d, ast.Name)}
            return Function(statement, {}, of.home), "staticmethod" not in marks
    if depth < 4:
        scope = Scope({}, home_of(run, of.home))
        for base in of.node.bases:
            value = run.evaluate(run, base, scope)
            if isinstance(value, Class) and (found := find_method(run, value, name, depth + 1)) is not None:
                return found
    return None


def base_names(run: Run, of: Class, depth: int = 0) -> frozenset[str]:
    """Dotted names of base classes that are not read, also those of base classes that are."""
    found: set[str] = set()
    scope = Scope({}, home_of(run, of.home))
    for base in of.node.bases:
        match run.evaluate(run, base, scope):
            case Global(dotted=dotted):
                found.add(dotted)
            case Class() as inner if depth < 4:
                found |= base_names(run, inner, depth + 1)
            case _:
                continue
    return frozenset(found)


def class_field(run: Run, of: Class, name: str) -> Value | None:
    """A class-level assignment."""
    for statement in of.node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return run.evaluate(run, value, Scope({}, home_of(run, of.home)))
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                return run.evaluate(run, value, Scope({}, home_of(run, of.home)))
            case _:
                continue
    return None


def attribute(run: Run, owner: Instance | Class, name: str) -> Value:
    """`owner.name`; an attribute that nothing sets is unknown, the same at each mention."""
    if isinstance(owner, Instance) and name in owner.fields:
        return owner.fields[name]
    of = owner.of if isinstance(owner, Instance) else owner
    if of is not None:
        method = find_method(run, of, name)
        if method is not None:
            function, bound = method
            assert isinstance(function.node, ast.FunctionDef)
            marks = {d.id for d in function.node.decorator_list if isinstance(d, ast.Name)}
            if run.is_kernel(function, home_of(run, function.home)):
                return function  # no method: it is not bound
            if isinstance(owner, Instance) and marks & {"property", "cached_property"}:
                return Partial(function, (owner,), {"()": Known(True)})
            if bound and (isinstance(owner, Instance) or "classmethod" in marks):
                return Partial(function, (owner,), {})
            return function
        value = class_field(run, of, name)
        if value is not None:
            return value
    if isinstance(owner, Class):
        return Method(owner, name)
    if name in ("saved_tensors", "save_for_backward", "mark_dirty", "mark_non_differentiable", "set_materialize_grads"):
        return Method(owner, name)
    value = Unknown(run.fresh(name))
    owner.fields[name] = value
    return value


def annotated_fields(node: ast.ClassDef) -> list[tuple[str, ast.expr | None]]:
    """The fields of a dataclass or NamedTuple, with their defaults."""
    return [
        (s.target.id, s.value) for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]


def plain(value: Value) -> Value:
    """An attribute of something unknown, once it is passed on, is unknown itself."""
    if isinstance(value, Method) and isinstance(value.owner, Unknown):
        return value.owner
    return value


def elements(value: Value) -> tuple[Value, ...] | None:
    """What iterating over a value gives, where that is known."""
    match value:
        case Sequence(items=items):
            return items
        case Shape(tensor=tensor) if tensor.rank is not None:
            return tuple(extent(tensor, Int(i)) for i in range(tensor.rank))
        case Table(items=keys, stored=None):
            return tuple(Int(k) if type(k) is int else Known(k) for k in keys)
        case _:
            return None
