"""What names stand for in host code: names of modules, dotted names, attributes."""

from __future__ import annotations

import ast
import builtins

from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.signatures.hostcode import objects
from ferrotile.signatures.hostcode.calls import call_value
from ferrotile.signatures.hostcode.known_globals import known_global, of_element_type
from ferrotile.signatures.hostcode.neural import is_module_method
from ferrotile.signatures.hostcode.parsers import is_parser_method
from ferrotile.signatures.hostcode.run import Home, Run, Scope
from ferrotile.signatures.tensor_methods import method
from ferrotile.signatures.tensors import Arguments
from ferrotile.signatures.values import (
    UNKNOWN,
    Class,
    ElementType,
    Global,
    Instance,
    Int,
    Known,
    Method,
    Partial,
    Shape,
    Table,
    Tensor,
    Unknown,
    Value,
)


def global_name(run: Run, name: str, home: Home, depth: int = 0) -> Value:
    """A name of a module, through what it imports from modules that are read."""
    if name in home.globals:
        return home.globals[name]
    imported = home.module.imports.get(name)
    if imported is not None:
        return dotted_value(run, run.absolute(home, imported), depth + 1)
    if name in home.module.constants:
        value = run.evaluate(run, home.module.constants[name], Scope({}, home)) if depth < 8 else UNKNOWN
        home.globals.setdefault(name, value)
        return value
    for star in reversed(home.module.star_imports):
        base = run.absolute(home, star)
        found = dotted_value(run, f"{base}.{name}", depth + 1)
        if not isinstance(found, Global | Unknown) or (dtype_of(f"{base}.{name}") is not None):
            return found
        if not hasattr(builtins, name):
            return found
    return Global(f"builtins.{name}") if hasattr(builtins, name) else UNKNOWN


def dotted_value(run: Run, dotted: str, depth: int = 0) -> Value:
    """What a dotted name means: something of a module of the workspace, an element type, or something not read."""
    outside = run.outside.get(dotted)
    if outside is not None:
        return outside
    dtype = dtype_of(dotted)
    if dtype is not None:
        return run.outside.setdefault(dotted, ElementType(dtype))
    found = run.split(dotted) if depth < 8 else None
    if found is None:
        known = known_global(dotted)
        if known is None and depth < 8:
            return run.outside.setdefault(dotted, Global(dotted))
        return known or Global(dotted)
    home, rest = found
    if not rest:
        return Global(dotted)
    load(run, home)
    value = global_name(run, rest[0], home, depth + 1)
    for attr in rest[1:]:
        value = attribute(run, value, attr)
    return value


def load(run: Run, home: Home) -> None:
    """Read the assignments at the top of another module, once."""
    if home.ready:
        return
    home.ready = True
    wanted = (ast.Assign, ast.AnnAssign, ast.If, ast.Try, ast.ClassDef)
    kept: list[ast.stmt] = [s for s in home.module.statements if isinstance(s, wanted)]
    run.execute(run, kept, Scope(home.globals, home))
    remember_tables(home)


def remember_tables(home: Home) -> None:
    """Note the module-level dicts as they are before any function is called."""
    home.tables = [(v, Table(dict(v.items), v.stored)) for v in home.globals.values() if isinstance(v, Table)]


def attribute(run: Run, owner: Value, attr: str) -> Value:
    """`owner.attr`."""
    match owner:
        case Tensor():
            match attr:
                case "shape":
                    return Shape(owner)
                case "dtype":
                    return ElementType(owner.dtype)
                case "ndim":
                    return Int(owner.rank)
                case "T" | "mT":
                    return method(owner, "t", Arguments((), {}))
                case "is_cuda":
                    return Known(True)
                case "device":
                    return Unknown(None, "device")
                case "grad":
                    return Tensor(owner.dtype, owner.rank, owner.dims)
                case _:
                    return Method(owner, attr)
        case Int() | Known() if attr == "value":
            return owner  # of a member of an enumeration
        case ElementType() if (known := of_element_type(owner, attr)) is not None:
            return known
        case Instance() if is_parser_method(owner, attr) or is_module_method(run, owner, attr):
            return Method(owner, attr)
        case Instance() | Class():
            value = objects.attribute(run, owner, attr)
            if isinstance(value, Partial) and "()" in value.named:
                return call_value(run, Partial(value.function, value.positional, {}), Arguments((), {}))
            return value
        case Global(dotted=dotted):
            return dotted_value(run, f"{dotted}.{attr}")
        case Unknown(ident=ident):
            return Method(Unknown(ident and f"{ident}.{attr}"), attr)
        case Method(owner=Unknown(ident=ident), name=name):
            return Method(Unknown(ident and f"{ident}.{name}.{attr}"), attr)
        case _:
            return Method(owner, attr)
