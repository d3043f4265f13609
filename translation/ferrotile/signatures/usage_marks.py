"""Notes what a kernel's parameters are used as: the facts behind `usage`."""

from __future__ import annotations

import ast

from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.signatures.usage import NOTHING, Info, Usage
from ferrotile.syntax.module import Module


class Marks:
    """`usage` fills while a body is read. `names` are the local names of the function in hand."""

    def __init__(self, module: Module) -> None:
        self.usage = Usage()
        self._module = module
        self._depth = 0
        self._names: dict[str, Info] = {}
        self._returns: list[Info] = []

    def _dotted(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name) and node.id in self._names:
            return None
        return self._module.resolve(node)

    def _element_of(self, array: str, call: ast.Call, name: str, infos: dict[int, Info]) -> None:
        """The element type that a typed padding or a typed value to be stored shows."""
        value = argument(call, 2, ("tile", "value", "update")) if name in ("store", "scatter") else None
        padding = argument(call, 99, ("padding_value",))
        use = self.usage.of(array)
        if value is not None and use.element is None:
            use.element = infos[id(value)].dtype
        if isinstance(padding, ast.Call) and use.element is None:
            use.element = dtype_of(self._dotted(padding.func) or "")

    def _mark_index(self, index: Info) -> None:
        for one in index.items or (index,):
            for name in one.origins:
                self.usage.of(name).index = self.usage.of(name).whole = True
            for name in one.elements:
                self.usage.of(name).element_index = True

    def _mark_bound(self, found: Info) -> None:
        for name in found.origins:
            self.usage.of(name).bound = self.usage.of(name).whole = True
        for name in found.elements:
            self.usage.of(name).element_index = True

    def _mark_matrices(self, *operands: Info) -> None:
        for found in operands:
            if found.dtype is None and len(found.elements) == 1:
                for name in found.elements:
                    self.usage.of(name).element_matrix = True

    def _array_arity(self, array: Info, index: ast.expr | None, infos: dict[int, Info], at: ast.expr) -> int | None:
        if array.element_of is not None:
            self.usage.of(array.element_of).listed = True
        if array.array is None:
            return None
        self._is_array(array.array)
        if index is None:
            return None
        arity = self._arity(index, infos.get(id(index), NOTHING))
        if arity is None:
            return None
        self._rank(array.array, arity, at)
        return arity

    def _arity(self, index: ast.expr, found: Info) -> int | None:
        """How many axes an index has; None where it may be a tuple of unknown length."""
        if found.items is not None:
            return len(found.items)
        if found.direct is not None and self._tuple_like(found.direct):
            return None
        if found == NOTHING and isinstance(index, ast.Name):
            return 1 if index.id in self._module.constants else None
        return None if found == NOTHING and isinstance(index, ast.Call | ast.Starred) else 1

    def _tuple_like(self, name: str) -> bool:
        return self.usage.of(name).items is not None

    def _is_array(self, name: str) -> None:
        self.usage.of(name).array = True

    def _rank(self, name: str, rank: int, at: ast.expr) -> None:
        use = self.usage.of(name)
        use.array = True
        if use.rank is None:
            use.rank = rank
        elif use.rank != rank:
            self.usage.conflicts.setdefault(name, at)

    def _tile_shape(self, shape: ast.expr | None, infos: dict[int, Info]) -> None:
        if shape is None:
            return
        found = infos.get(id(shape), NOTHING)
        for one in found.items or (found,):
            for name in one.origins:
                self.usage.of(name).tile = True


def argument(call: ast.Call, position: int, names: tuple[str, ...]) -> ast.expr | None:
    """An argument of a call by position or by one of its names."""
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    if position < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
        return call.args[position]
    return None
