"""What a kernel's body says of its parameters: rank by index arity, names of extents, tile sizes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from ferrotile.syntax.module import Module

_INDEXED = {"load": 1, "store": 1, "gather": 1, "scatter": 1}
"""Operation of cuda.tile -> position of its index argument; the array is the first."""

_SHAPED = {
    "load": 2,
    "full": 0,
    "zeros": 0,
    "ones": 0,
    "arange": 0,
    "num_tiles": 2,
    "reshape": 1,
    "broadcast_to": 1,
}
"""Operation of cuda.tile -> position of its tile shape."""

_INDEX_NAMES = ("index", "indices")
_SHAPE_NAMES = ("shape", "size", "tile_shape")
_METHODS = ("tiled_view", "slice", "reshape")


@dataclass(slots=True)
class Usage:
    """By parameter name. `at_least` is one more than the highest `x.shape[i]`; `extent_names` by axis."""

    rank: dict[str, int] = field(default_factory=dict)
    at_least: dict[str, int] = field(default_factory=dict)
    arrays: set[str] = field(default_factory=set)
    extent_names: dict[tuple[str, int], str] = field(default_factory=dict)
    tile_sizes: set[str] = field(default_factory=set)
    conflicts: dict[str, ast.expr] = field(default_factory=dict)


def read_usage(module: Module, function: ast.FunctionDef, depth: int = 0) -> Usage:
    """Read the body, and helper functions that get a parameter, three calls deep."""
    reader = _Reader(module, function, depth)
    for node in ast.walk(function):
        reader.visit(node)
    return reader.usage


class _Reader:
    def __init__(self, module: Module, function: ast.FunctionDef, depth: int) -> None:
        arguments = function.args
        self.usage = Usage()
        self._module = module
        self._depth = depth
        self._parameters = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        self._bound: dict[str, ast.expr | None] = {}
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                name = node.targets[0].id
                self._bound[name] = None if name in self._bound else node.value

    def visit(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                self._call(node)
            case ast.Assign(targets=[target], value=value):
                self._name_extents(target, value)
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=int(i))
            ):
                if name in self._parameters and i >= 0:
                    self.usage.arrays.add(name)
                    self.usage.at_least[name] = max(self.usage.at_least.get(name, 0), i + 1)
            case ast.Attribute(value=ast.Name(id=name), attr="shape" | "dtype" | "ndim"):
                if name in self._parameters:
                    self.usage.arrays.add(name)
            case _:
                return

    def _name_extents(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Attribute(value=ast.Name(id=array), attr="shape"):
                if array in self._parameters and not any(isinstance(t, ast.Starred) for t in targets):
                    self._rank(array, len(targets), value)
                    for axis, one in enumerate(targets):
                        if isinstance(one, ast.Name) and one.id != "_":
                            self.usage.extent_names[array, axis] = one.id
            case (
                ast.Name(id=name),
                ast.Subscript(
                    value=ast.Attribute(value=ast.Name(id=array), attr="shape"),
                    slice=ast.Constant(value=int(i)),
                ),
            ):
                if array in self._parameters and i >= 0:
                    self.usage.extent_names[array, i] = name
            case _:
                return

    def _call(self, call: ast.Call) -> None:
        dotted = self._module.resolve(call.func) or ""
        if dotted.startswith("cuda.tile."):
            self._operation(call, dotted.removeprefix("cuda.tile."))
        elif isinstance(call.func, ast.Name) and self._depth < 3:
            self._helper(call, call.func.id)
        elif isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
            shape = _argument(call, 0, _SHAPE_NAMES)
            self._tile_shape(shape)
            if call.func.attr == "tiled_view":
                self._array(call.func.value, shape)

    def _operation(self, call: ast.Call, name: str) -> None:
        if name in _SHAPED:
            self._tile_shape(_argument(call, _SHAPED[name], _SHAPE_NAMES))
        array = _argument(call, 0, ("array",))
        if name == "num_tiles":
            self._array(array, _argument(call, 2, _SHAPE_NAMES))
        elif name in _INDEXED or name.startswith("atomic_"):
            self._array(array, _argument(call, _INDEXED.get(name, 1), _INDEX_NAMES))

    def _array(self, array: ast.expr | None, index: ast.expr | None) -> None:
        if not isinstance(array, ast.Name) or array.id not in self._parameters:
            return
        self.usage.arrays.add(array.id)
        arity = self._arity(index)
        if arity is not None:
            self._rank(array.id, arity, array)

    def _rank(self, name: str, rank: int, at: ast.expr) -> None:
        self.usage.arrays.add(name)
        if self.usage.rank.setdefault(name, rank) != rank:
            self.usage.conflicts.setdefault(name, at)

    def _arity(self, index: ast.expr | None, depth: int = 0) -> int | None:
        match index:
            case None:
                return None
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return None if any(isinstance(e, ast.Starred) for e in elements) else len(elements)
            case ast.Name(id=name) if name in self._bound and depth < 4:
                value = self._bound[name]
                return None if value is None else self._arity(value, depth + 1)
            case ast.Name(id=name) if name in self._parameters and self._depth > 0:
                return None
            case ast.Name() | ast.Constant() | ast.BinOp() | ast.Call() | ast.UnaryOp():
                return 1
            case _:
                return None

    def _tile_shape(self, shape: ast.expr | None) -> None:
        if shape is None:
            return
        for node in ast.walk(shape):
            if isinstance(node, ast.Name):
                bound = self._bound.get(node.id)
                names = [node] if bound is None else [n for n in ast.walk(bound) if isinstance(n, ast.Name)]
                self.usage.tile_sizes.update(n.id for n in names if n.id in self._parameters)

    def _helper(self, call: ast.Call, name: str) -> None:
        helper = self._module.function(name)
        if helper is None:
            return
        parameters = [a.arg for a in (*helper.node.args.posonlyargs, *helper.node.args.args)]
        pairs = [*zip(parameters, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
        passed = [(p, a.id) for p, a in pairs if isinstance(a, ast.Name) and a.id in self._parameters]
        if not passed:
            return
        inner = read_usage(self._module, helper.node, self._depth + 1)
        for theirs, ours in passed:
            if theirs in inner.rank:
                self._rank(ours, inner.rank[theirs], call)
            if theirs in inner.arrays:
                self.usage.arrays.add(ours)
            if theirs in inner.tile_sizes:
                self.usage.tile_sizes.add(ours)
            if theirs in inner.at_least:
                self.usage.at_least[ours] = max(self.usage.at_least.get(ours, 0), inner.at_least[theirs])


def _argument(call: ast.Call, position: int, names: tuple[str, ...]) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if position < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
        return call.args[position]
    return None
