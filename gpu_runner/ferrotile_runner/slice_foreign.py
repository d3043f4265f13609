"""What a slice takes from other files of the workspace: helpers, constants and imports that linking put into the
module. They are written out anew, so that no file of the user is imported."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping

from ferrotile.syntax.gathering import chains_of
from ferrotile.syntax.module import Module
from ferrotile.syntax.parsed import key_of
from ferrotile.syntax.span import Span


def members_in(module: Module, node: ast.AST) -> Iterator[str]:
    """The functions and constants that a node reads as attributes of modules of the workspace."""
    for root, attributes in chains_of(node) if module.members else ():
        target = module.imports.get(root)
        for end in range(1, len(attributes) + 1 if target is not None else 0):
            member = module.members.get(".".join((str(target), *attributes[:end])))
            if member is not None:
                yield member


def foreign_text(
    module: Module, needed: set[str], importable: frozenset[str], types: Mapping[str, str]
) -> tuple[set[str], str, Span | None]:
    """The names that are defined, their definitions in an order that can be executed, and the first import that
    brought one. `types` has the definitions of modules of element types, by name."""
    wanted = [n for n in sorted(needed) if _node(module, n) is not None]
    lines: list[str] = []
    defined: set[str] = set()
    for name in sorted(needed & set(module.imports)):
        if module.import_targets(name):
            continue
        target = module.imports[name]
        if target.partition(".")[0] in importable:
            lines.append(_import(name, target))
            defined.add(name)
        elif name in types:
            lines.append(types[name])
            defined.add(name)
    attributes = {n: list(_attributes(module, needed, n)) for n in wanted if "." in n}
    holders = {holder for paths in attributes.values() for path in paths for holder in _holders(path)}
    if holders:
        lines.append("import types as _modules\n")
    for holder in sorted(holders):
        lines.append(f'{holder} = _modules.ModuleType("{holder}")\n')
        defined.add(holder.partition(".")[0])
    identifiers = {n: n if "." not in n else f"_member_{i}" for i, n in enumerate(wanted)}
    for name in _ordered(module, wanted):
        lines.append(_definition(module, name, identifiers[name]))
        lines.extend(f"{path} = {identifiers[name]}\n" for path in attributes.get(name, ()))
        defined.add(name)
    places = [module.foreign[key_of(node)] for n in wanted if (node := _node(module, n)) is not None]
    return defined, "".join(lines), min(places, key=lambda span: span.start, default=None)


def _node(module: Module, name: str) -> ast.AST | None:
    """What another file calls `name`, where this file does not define it."""
    function = module.function(name)
    node = function.node if function is not None else module.constants.get(name) or module.classes.get(name)
    return node if node is not None and key_of(node) in module.foreign else None


def _ordered(module: Module, names: list[str]) -> list[str]:
    """Each after what it reads."""
    done: dict[str, None] = {}

    def visit(name: str, open_: tuple[str, ...]) -> None:
        node = _node(module, name)
        if node is None or name in done or name in open_:
            return
        for used in sorted({*(root for root, _ in chains_of(node)), *members_in(module, node)}):
            if used in names:
                visit(used, (*open_, name))
        done[name] = None

    for name in names:
        visit(name, ())
    return list(done)


def _definition(module: Module, name: str, identifier: str) -> str:
    function = module.function(name)
    if function is None and name in module.classes:
        return _class(module.classes[name], identifier)
    if function is None:
        return f"{identifier} = {ast.unparse(module.constants[name])}\n"
    assert function is not None
    node = copy.deepcopy(function.node)
    node.name = identifier
    _without_annotations(node)
    return ast.unparse(node) + "\n"


def _class(node: ast.ClassDef, identifier: str) -> str:
    """A class under another name; what its annotations name is not needed."""
    made = copy.deepcopy(node)
    made.name = identifier
    for part in ast.walk(made):
        if isinstance(part, ast.FunctionDef):
            _without_annotations(part)
        elif isinstance(part, ast.AnnAssign) and "ClassVar" not in ast.unparse(part.annotation):
            part.annotation = ast.Name("object", ast.Load())
    return ast.unparse(made) + "\n"


def _without_annotations(node: ast.FunctionDef) -> None:
    node.returns = None
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None


def _import(name: str, target: str) -> str:
    parent, _, last = target.rpartition(".")
    if target == "cuda":
        return f"import cuda.tile, cuda as {name}\n"
    return f"from {parent} import {last} as {name}\n" if parent else f"import {target} as {name}\n"


def _attributes(module: Module, needed: set[str], member: str) -> Iterator[str]:
    """The ways in which the code at hand writes a member: `helpers.twice`."""
    for dotted, name in module.members.items():
        for root in sorted(needed & set(module.imports)) if name == member else ():
            target = module.imports[root] + "."
            if dotted.startswith(target):
                yield f"{root}.{dotted.removeprefix(target)}"


def _holders(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]
