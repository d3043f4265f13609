"""Calls in a kernel's body, as `usage` sees them: operations of cuda.tile, methods, helper functions."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod

from ferrotile.program.dtypes import F8E8M0FNU
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.signatures.usage import BOOL, FLOAT, INT, NOTHING, Info, constant_value
from ferrotile.signatures.usage_marks import Marks, argument

_INDEXED = {"load": 1, "store": 1, "gather": 1, "scatter": 1, "load_advanced_indexing": 1, "store_advanced_indexing": 1}
"""Operation of cuda.tile -> position of its index argument; the array is the first."""

_SHAPED = {
    "load": 2, "full": 0, "zeros": 0, "ones": 0, "arange": 0, "num_tiles": 2, "reshape": 1, "broadcast_to": 1,
    "extract": 2,
}  # fmt: skip
"""Operation of cuda.tile -> position of its tile shape."""

_INDEX_NAMES = ("index", "indices")
_SHAPE_NAMES = ("shape", "size", "tile_shape")
_INTEGERS = ("bid", "num_blocks", "num_tiles", "arange", "argmax", "argmin", "atomic_cas")
_KEEPS = (
    "reshape", "permute", "transpose", "expand_dims", "broadcast_to", "extract", "sum", "max", "min", "item",
    "negative", "abs", "bitcast", "cumsum",
)  # fmt: skip
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "minimum", "maximum", "pow")
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_lshift", "bitwise_rshift")
_DEPTH = 6


class Calls(Marks, ABC):
    """Reads calls; statements and other expressions are the reader's affair."""

    @abstractmethod
    def _info(self, node: ast.expr) -> Info: ...

    @abstractmethod
    def _operation(self, op: ast.operator, left: Info, right: Info) -> Info: ...

    @abstractmethod
    def _block(self, statements: list[ast.stmt]) -> None: ...

    def _call(self, call: ast.Call) -> Info:
        dotted = self._dotted(call.func) or ""
        if dotted.startswith("cuda.tile."):
            return self._tile_call(call, dotted.removeprefix("cuda.tile."))
        member = self._module.members.get(dotted)
        if member is not None and (source := self._module.function(member)) is not None and self._depth < _DEPTH:
            return self._helper(call, source.node)
        if isinstance(call.func, ast.Name):
            known = self._names.get(call.func.id, NOTHING).function
            helper = None if known is not None else self._module.function(call.func.id)
            function = known if known is not None else None if helper is None else helper.node
            if function is not None and self._depth < _DEPTH:
                return self._helper(call, function)
        if isinstance(call.func, ast.Attribute) and not dotted:
            return self._method(call, call.func)
        infos = [self._info(a) for a in (*call.args, *(k.value for k in call.keywords))]
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        found = infos[0] if infos else NOTHING
        for other in infos[1:]:
            found = self._operation(ast.Add(), found, other)
        if name in ("min", "max", "abs", "divmod"):
            return found
        return {"int": INT, "float": FLOAT, "bool": BOOL, "len": INT}.get(name, NOTHING)

    def _tile_call(self, call: ast.Call, name: str) -> Info:
        infos = {id(a): self._info(a) for a in (*call.args, *(k.value for k in call.keywords))}
        first = infos[id(call.args[0])] if call.args else NOTHING
        if name in ("bid", "num_blocks"):
            axis = argument(call, 0, ("axis",))
            at = None if axis is None else constant_value(self._module, axis)
            if at is not None and type(at[0]) is int and 0 <= at[0] <= 2:
                self.usage.axes.add(at[0])
            return INT
        for keyword in call.keywords:
            found = infos[id(keyword.value)]
            if found.direct is not None:
                self.usage.of(found.direct).keyword = keyword.arg
                self.usage.of(found.direct).dtype |= keyword.arg == "dtype"
        if name in _SHAPED:
            self._tile_shape(argument(call, _SHAPED[name], _SHAPE_NAMES), infos)
        position = {"astype": 1, "full": 2, "zeros": 1, "ones": 1, "bitcast": 1}.get(name)
        dtype = None if position is None else argument(call, position, ("dtype",))
        if dtype is not None and (direct := infos[id(dtype)].direct) is not None:
            self.usage.of(direct).dtype = True
        if name in ("num_tiles", *_INDEXED) or name.startswith("atomic_"):
            return self._access(call, name, infos)
        if name == "where" and len(call.args) == 3:
            for array in first.elements:
                self.usage.of(array).element_condition = True
            return self._operation(ast.Add(), infos[id(call.args[1])], infos[id(call.args[2])])
        if name == "full" and len(call.args) > 1:
            value = infos[id(call.args[1])]
            kind = self._dtype_kind(dtype)
            for origin in value.origins:
                self.usage.of(origin).real |= kind == "float"
                self.usage.of(origin).whole |= kind == "int"
        if name in ("astype", "full", "zeros", "ones", "arange"):
            kind = self._dtype_kind(dtype) or ("int" if name == "arange" else "float" if name != "astype" else None)
            said = None if dtype is None else dtype_of(self._dotted(dtype) or "")
            origins = first.origins if name == "astype" else frozenset()
            return Info(origins=origins, elements=first.elements, kind=kind, dtype=said)
        if name == "cdiv":
            for found in infos.values():
                self._mark_bound(found)
            return Info(
                origins=frozenset(o for i in infos.values() for o in i.origins),
                elements=frozenset(e for i in infos.values() for e in i.elements),
                kind="int",
            )
        if name in _INTEGERS:
            return INT
        if name in _KEEPS:
            return Info(origins=first.origins, elements=first.elements, kind=first.kind, dtype=first.dtype)
        if name in _BITS and len(call.args) == 2:
            return self._operation(ast.BitAnd(), first, infos[id(call.args[1])])
        if name in _BINARY and len(call.args) == 2:
            op = ast.Mod() if name in ("floordiv", "mod") else ast.Div() if name == "truediv" else ast.Add()
            return self._operation(op, first, infos[id(call.args[1])])
        if name in ("mma", "matmul"):
            self._mark_matrices(*(infos[id(a)] for a in call.args[:2]))
        if name == "mma_scaled" and len(call.args) >= 4:
            for scale in (call.args[1], call.args[3]):
                for array in infos[id(scale)].elements:
                    self.usage.of(array).element = F8E8M0FNU
            return FLOAT
        if name.startswith(("less", "greater", "equal", "not_equal", "isnan")):
            return BOOL
        for found in infos.values():
            for origin in found.origins:
                self.usage.of(origin).real = True
        return FLOAT

    def _dtype_kind(self, dtype: ast.expr | None) -> str | None:
        name = "" if dtype is None else (self._dotted(dtype) or "").rpartition(".")[2]
        if name.startswith(("int", "uint")):
            return "int"
        if name.startswith("bool"):
            return "bool"
        return "float" if name.startswith(("float", "bfloat", "tfloat")) else None

    def _access(self, call: ast.Call, name: str, infos: dict[int, Info]) -> Info:
        array = argument(call, 0, ("array",))
        found = NOTHING if array is None else infos[id(array)]
        if name == "num_tiles":
            self._array_arity(found, argument(call, 2, _SHAPE_NAMES), infos, call)
            return INT
        index = argument(call, _INDEXED.get(name, 1), _INDEX_NAMES)
        arity = self._array_arity(found, index, infos, call)
        if index is not None:
            self._mark_index(infos[id(index)])
        if arity is None and name == "load":
            self._array_arity(found, argument(call, 2, _SHAPE_NAMES), infos, call)
        if found.array is not None:
            self._element_of(found.array, call, name, infos)
        if name in ("store", "scatter"):
            return NOTHING
        loaded = frozenset(() if found.array is None else (found.array,))
        if name.startswith("atomic_") and name != "atomic_add":
            for one in loaded:
                self.usage.of(one).element_bits = True
        return Info(elements=loaded, kind="float")

    def _method(self, call: ast.Call, func: ast.Attribute) -> Info:
        owner = self._info(func.value)
        infos = {id(a): self._info(a) for a in (*call.args, *(k.value for k in call.keywords))}
        match func.attr:
            case "tiled_view":
                shape = argument(call, 0, _SHAPE_NAMES)
                self._tile_shape(shape, infos)
                self._array_arity(owner, shape, infos, call)
                return Info(array=owner.array)
            case "slice":
                if owner.array is not None:
                    self._is_array(owner.array)
                for found in infos.values():
                    self._mark_index(found)
                return Info(array=owner.array)
            case "load" | "store":
                index = argument(call, 0, _INDEX_NAMES)
                if index is not None:
                    self._mark_index(infos[id(index)])
                    self._array_arity(owner, index, infos, call)
                return Info(elements=frozenset(() if owner.array is None else (owner.array,)), kind="float")
            case "num_tiles":
                return INT
            case "reshape":
                self._tile_shape(argument(call, 0, _SHAPE_NAMES), infos)
            case "astype":
                dtype = argument(call, 0, ("dtype",))
                if dtype is not None and (direct := infos[id(dtype)].direct) is not None:
                    self.usage.of(direct).dtype = True
                said = None if dtype is None else dtype_of(self._dotted(dtype) or "")
                return Info(origins=owner.origins, elements=owner.elements, kind=self._dtype_kind(dtype), dtype=said)
            case _:
                pass
        return Info(origins=owner.origins, elements=owner.elements, kind=owner.kind)

    def _helper(self, call: ast.Call, function: ast.FunctionDef | ast.Lambda) -> Info:
        arguments = function.args
        parameters = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        bound = {p: self._info(a) for p, a in zip(parameters, call.args, strict=False)}
        bound |= {k.arg: self._info(k.value) for k in call.keywords if k.arg is not None}
        outer, returned = self._names, self._returns
        closure = outer if isinstance(function, ast.Lambda) or function.name in outer else {}
        self._names = {**closure, **bound}
        self._returns = []
        self._depth += 1
        try:
            if isinstance(function, ast.Lambda):
                return self._info(function.body)
            self._block(function.body)
            results = self._returns
        finally:
            self._depth -= 1
            self._names, self._returns = outer, returned
        found = results[0] if results else NOTHING
        for other in results[1:]:
            found = either(found, other)
        return found


def joined(left: Info, right: Info, real: bool = False) -> Info:
    """What an operation of two values comes from."""
    kinds = {left.kind, right.kind}
    kind = "float" if real or "float" in kinds else "int" if "int" in kinds else left.kind or right.kind
    return Info(origins=left.origins | right.origins, elements=left.elements | right.elements, kind=kind)


def either(left: Info, right: Info) -> Info:
    """What a value comes from that is one of two, by path."""
    if left == right:
        return left
    both = joined(left, right)
    if left.items is not None and right.items is not None and len(left.items) == len(right.items):
        pairs = zip(left.items, right.items, strict=True)
        return Info(items=tuple(either(a, b) for a, b in pairs))
    array = left.array if left.array == right.array else None
    return Info(origins=both.origins, elements=both.elements, kind=both.kind, array=array)
