"""Reads a kernel's body for `usage`: one pass, in order, into helper functions."""

from __future__ import annotations

import ast
from contextlib import suppress

from ferrotile.signatures.usage import BOOL, FLOAT, INT, NOTHING, Info, constant_value
from ferrotile.signatures.usage_calls import Calls, either, joined
from ferrotile.syntax.module import Module

_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_STEPS = 20_000


class _Stop(Exception):
    pass


class Reader(Calls):
    """`usage` fills while `read_kernel` runs."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self._steps = 0

    def read_kernel(self, function: ast.FunctionDef, names: dict[str, Info]) -> None:
        """Read the body with these values of its parameters."""
        self._names = dict(names)
        with suppress(_Stop, RecursionError):
            self._block(function.body)

    # Statements

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                found = self._info(value)
                for target in targets:
                    self._assign(target, found, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._info(value), value)
            case ast.AugAssign(target=target, op=op, value=value):
                self._assign(target, self._operation(op, self._info(target), self._info(value)), value)
            case ast.Expr(value=value):
                self._info(value)
            case ast.Return(value=value):
                self._returns.append(NOTHING if value is None else self._info(value))
            case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
                self._condition(test)
                self._block(body)
                self._block(orelse)
            case ast.For(target=target, iter=items, body=body):
                self._assign(target, self._iterated(items), items)
                self._block(body)
            case ast.With(body=body):
                self._block(body)
            case ast.FunctionDef(name=name):
                self._names[name] = Info(function=node)
            case _:
                return

    def _iterated(self, items: ast.expr) -> Info:
        unrolled = False
        if isinstance(items, ast.Call) and (self._dotted(items.func) or "").endswith("static_iter") and items.args:
            items, unrolled = items.args[0], True
        if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id == "range":
            for argument in items.args:
                found = self._info(argument)
                self._mark_bound(found)
                for name in found.origins:
                    self.usage.of(name).unrolled |= unrolled
            return INT
        self._info(items)
        return NOTHING

    def _assign(self, target: ast.expr, found: Info, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self._names[name] = found
                self._name_extent(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                starred = any(isinstance(t, ast.Starred) for t in targets)
                match value:
                    case ast.Attribute(value=owner, attr="shape") if not starred:
                        array = self._info(owner).array
                        if array is not None:
                            self._rank(array, len(targets), value)
                            for axis, one in enumerate(targets):
                                if isinstance(one, ast.Name) and one.id != "_" and not self._depth:
                                    self.usage.extent_names[array, axis] = one.id
                        found = Info(items=(INT,) * len(targets))
                    case _:
                        if found.direct is not None and not starred:
                            self.usage.of(found.direct).items = len(targets)
                items = found.items
                for position, one in enumerate(targets):
                    fits = items is not None and len(items) == len(targets) and not starred
                    self._assign(one, items[position] if fits and items is not None else NOTHING, one)
            case _:
                return

    def _name_extent(self, name: str, value: ast.expr) -> None:
        """`n = x.shape[1]` in the kernel itself names the extent."""
        match value:
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=ast.Constant(value=int(axis))):
                array = self._info(owner).array
                if array is not None and axis >= 0 and not self._depth:
                    self.usage.extent_names.setdefault((array, axis), name)
            case _:
                return

    # Expressions

    def _info(self, node: ast.expr) -> Info:
        self._steps += 1
        if self._steps > _STEPS:
            raise _Stop
        match node:
            case ast.Constant(value=value):
                return FLOAT if isinstance(value, float) else BOOL if isinstance(value, bool) else NOTHING
            case ast.Name(id=name):
                return self._names.get(name, NOTHING)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                starred = any(isinstance(e, ast.Starred) for e in elements)
                items = tuple(self._info(e) for e in elements)
                return NOTHING if starred else Info(items=items)
            case ast.Starred(value=value):
                return self._info(value)
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(op, self._info(left), self._info(right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._condition(operand)
                return BOOL
            case ast.UnaryOp(operand=operand):
                found = self._info(operand)
                return Info(origins=found.origins, elements=found.elements, kind=found.kind)
            case ast.Compare():
                return self._compare(node)
            case ast.BoolOp(values=values):
                for value in values:
                    self._condition(value)
                return BOOL
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._condition(test)
                return either(self._info(body), self._info(orelse))
            case ast.Attribute(value=owner, attr=attr):
                return self._attribute(node, owner, attr)
            case ast.Subscript(value=owner, slice=index):
                return self._subscript(owner, index)
            case ast.Call():
                return self._call(node)
            case ast.Lambda():
                return Info(function=node)
            case ast.NamedExpr(target=target, value=value):
                found = self._info(value)
                self._assign(target, found, value)
                return found
            case ast.GeneratorExp(elt=elt, generators=[loop]) | ast.ListComp(elt=elt, generators=[loop]):
                self._assign(loop.target, self._iterated(loop.iter), loop.iter)
                self._info(elt)
                return NOTHING
            case _:
                return NOTHING

    def _operation(self, op: ast.operator, left: Info, right: Info) -> Info:
        for this, other in ((left, right), (right, left)):
            for name in this.origins:
                use = self.usage.of(name)
                use.whole |= other.kind == "int"
                use.real |= other.kind == "float"
                if isinstance(op, _BITWISE):
                    use.whole = True
            if isinstance(op, _BITWISE) and other.kind != "bool":
                for name in this.elements:
                    self.usage.of(name).element_bits = True
        if isinstance(op, ast.MatMult):
            self._mark_matrices(left, right)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            for name in right.origins:
                self.usage.of(name).divisor = True
        return joined(left, right, real=isinstance(op, ast.Div))

    def _compare(self, node: ast.Compare) -> Info:
        sides = [node.left, *node.comparators]
        infos = [self._info(s) for s in sides]
        for at, op in enumerate(node.ops):
            pairs = ((infos[at], infos[at + 1], sides[at + 1]), (infos[at + 1], infos[at], sides[at]))
            for this, other, expression in pairs:
                self._compared(op, this, other, expression)
        found = infos[0]
        for other in infos[1:]:
            found = joined(found, other)
        return Info(kind="bool")

    def _compared(self, op: ast.cmpop, this: Info, other: Info, expression: ast.expr) -> None:
        for name in this.origins:
            use = self.usage.of(name)
            use.real |= other.kind == "float"
            if other.kind == "int":
                use.whole = use.bound = True
        if this.direct is None:
            return
        use = self.usage.of(this.direct)
        values = expression.elts if isinstance(expression, ast.Tuple | ast.List) else [expression]
        for value in values:
            constant = constant_value(self._module, value)
            if constant is None:
                continue
            if constant[0] is None:
                use.none = True
            elif isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
                use.compared.append(constant[0])
            else:
                use.whole |= isinstance(constant[0], int)

    def _condition(self, test: ast.expr) -> None:
        found = self._info(test)
        if found.kind != "bool":
            for name in found.origins:
                self.usage.of(name).condition = True
        for name in found.elements:
            self.usage.of(name).element_condition = True

    def _attribute(self, node: ast.Attribute, owner: ast.expr, attr: str) -> Info:
        if self._dotted(node) is not None:
            return NOTHING
        found = self._info(owner)
        if found.array is not None and attr in ("shape", "dtype", "ndim", "strides"):
            self._is_array(found.array)
            return INT if attr == "ndim" else NOTHING
        return NOTHING

    def _subscript(self, owner: ast.expr, index: ast.expr) -> Info:
        if isinstance(owner, ast.Attribute) and owner.attr in ("shape", "strides"):
            array = self._info(owner.value).array
            at = constant_value(self._module, index)
            if array is not None:
                self._is_array(array)
                if at is not None and type(at[0]) is int and at[0] >= 0:
                    use = self.usage.of(array)
                    use.at_least = max(use.at_least, at[0] + 1)
            return INT
        found = self._info(owner)
        self._info(index) if not isinstance(index, ast.Slice) else None
        at = constant_value(self._module, index)
        if at is not None and type(at[0]) is int:
            if found.items is not None and -len(found.items) <= at[0] < len(found.items):
                return found.items[at[0]]
            if found.direct is not None and not self.usage.of(found.direct).array:
                use = self.usage.of(found.direct)
                use.items = max(use.items or 0, at[0] + 1)
                return Info(element_of=found.direct)
        elif found.direct is not None and not isinstance(index, ast.Slice | ast.Tuple):
            self.usage.of(found.direct).listed |= at is None
            return Info(element_of=found.direct)
        return Info(origins=found.origins, elements=found.elements, kind=found.kind)
