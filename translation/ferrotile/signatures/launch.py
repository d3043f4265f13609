"""Launch sites: host code of the same file read abstractly, never run, up to each `ct.launch(...)`.

Functions are followed with the arguments that the file calls them with; a function that nothing calls is read
with unknown parameters. Loops are read once, both branches of an unknown condition are read in order."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ferrotile.signatures import numbers
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.signatures.host import is_main, length, literal, unbound_parameter
from ferrotile.signatures.tensors import Arguments, construct, extent, method, numel
from ferrotile.signatures.values import (
    UNKNOWN,
    ElementType,
    Function,
    Int,
    Known,
    Method,
    Sequence,
    Shape,
    Tensor,
    Unknown,
    Value,
)
from ferrotile.syntax.module import Module
from ferrotile.syntax.span import Span

_STEPS = 50_000
_DEPTH = 12
_LAUNCHERS = ("launch", "autotune_launch")


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch: the kernel's arguments and grid as far as they are known."""

    kernel: str
    arguments: tuple[Value, ...] | None
    grid: Value
    span: Span


@dataclass(frozen=True, slots=True)
class Launches:
    """All launches of a file, in reading order. By identity of an integer: the author's name, the value."""

    sites: tuple[Launch, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)


def collect_launches(module: Module) -> Launches:
    """Read the file's host code once; pass the result to `infer_signatures` of every kernel."""
    if b"launch" not in module.document.data:
        return Launches()
    reader = _Reader(module)
    with suppress(RecursionError):
        reader.read()
    return Launches(tuple(reader.sites), reader.names, reader.values)


Names = dict[str, Value]


class _Stop(Exception):
    """The step budget is used up."""


class _Reader:
    def __init__(self, module: Module) -> None:
        self.sites: list[Launch] = []
        self.names: dict[str, str] = {}
        self.values: dict[str, int] = {}
        self._module = module
        self._steps = 0
        self._depth = 0
        self._fresh = 0
        self._visited: set[int] = set()
        self._globals: Names = {f.name: Function(f.node, {}) for f in module.functions}
        self._kernels = {
            id(f.node)
            for f in (*module.functions, *module.nested)
            if any(self._is_kernel(d) for d in f.decorators)
        }

    def _is_kernel(self, decorator: ast.expr) -> bool:
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self._module.resolve(callee) in ("cuda.tile.kernel", "cuda.tile.function")

    def read(self) -> None:
        hosts = [
            f.node for f in (*self._module.functions, *self._module.nested) if id(f.node) not in self._kernels
        ]
        called = {
            n.func.id
            for f in hosts
            for n in ast.walk(f)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        try:
            self._block(list(self._module.statements), self._globals)
            for outer in (True, False):
                for node in hosts:
                    if (node.name not in called) is outer and id(node) not in self._visited:
                        self._call_function(Function(node, {}), Arguments((), {}))
        except _Stop:
            return

    # Statements

    def _block(self, statements: list[ast.stmt], names: Names) -> Value | None:
        result: Value | None = None
        for statement in statements:
            returned = self._statement(statement, names)
            if returned is not None and (result is None or isinstance(result, Unknown | Known)):
                result = returned
        return result

    def _statement(self, node: ast.stmt, names: Names) -> Value | None:
        self._steps += 1
        if self._steps > _STEPS:
            raise _Stop
        match node:
            case ast.Assign(targets=targets, value=value):
                result = self._value(value, names)
                for target in targets:
                    self._assign(target, result, names)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, self._value(value, names), names)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                left = names.get(name, self._globals.get(name, UNKNOWN))
                names[name] = numbers.binary(op, left, self._value(value, names))
            case ast.Expr(value=value):
                self._value(value, names)
            case ast.Return(value=value):
                return Known(None) if value is None else self._value(value, names)
            case ast.If(test=test, body=body, orelse=orelse):
                known = numbers.truth(self._value(test, names))
                if is_main(test) or known is True:
                    return self._block(body, names)
                if known is False:
                    return self._block(orelse, names)
                first = self._block(body, names)
                second = self._block(orelse, names)
                return second if first is None else first
            case ast.For(target=target, iter=items, body=body):
                found = self._value(items, names)
                first_item = found.items[0] if isinstance(found, Sequence) and found.items else UNKNOWN
                self._assign(target, first_item, names)
                return self._block(body, names)
            case ast.While(body=body):
                return self._block(body, names)
            case ast.With(items=context, body=body):
                for entry in context:
                    self._value(entry.context_expr, names)
                return self._block(body, names)
            case ast.Try(body=body, orelse=orelse, finalbody=final):
                return self._block([*body, *orelse, *final], names)
            case ast.FunctionDef(name=name):
                names[name] = Function(node, names)
            case _:
                return None
        return None

    def _assign(self, target: ast.expr, value: Value, names: Names) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = self._named(name, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                if any(isinstance(t, ast.Starred) for t in targets):
                    return
                if isinstance(value, Shape):
                    tensor = value.tensor
                    if tensor.rank is None:
                        tensor.rank = len(targets)
                    items: tuple[Value, ...] = tuple(extent(tensor, Int(i)) for i in range(len(targets)))
                elif isinstance(value, Sequence) and len(value.items) == len(targets):
                    items = value.items
                else:
                    items = (UNKNOWN,) * len(targets)
                for one, its in zip(targets, items, strict=True):
                    self._assign(one, its, names)
            case _:
                return

    def _named(self, name: str, value: Value) -> Value:
        """An integer takes the name of the first variable that holds it."""
        if not isinstance(value, Int) or name == "_":
            return value
        if value.ident is not None:
            if value.ident[0] in "#@":
                self.names.setdefault(value.ident, name)
            return value
        if value.terms is not None:
            return value
        self._fresh += 1
        ident = f"{name}:{self._fresh}"
        self.names[ident] = name
        if value.value is not None and not value.derived:
            self.values[ident] = value.value
        return Int(value.value, ident, None, value.derived)

    # Expressions

    def _value(self, node: ast.expr, names: Names) -> Value:
        self._steps += 1
        if self._steps > _STEPS:
            raise _Stop
        match node:
            case ast.Constant(value=value):
                return literal(value)
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Name(id=name) if name in self._globals:
                return self._globals[name]
            case ast.Name() | ast.Attribute() if (dotted := self._module.resolve(node)) is not None:
                dtype = dtype_of(dotted)
                return UNKNOWN if dtype is None else ElementType(dtype)
            case ast.Name(id=name) if name in self._module.constants:
                return self._value(self._module.constants[name], {})
            case ast.Attribute(value=value, attr=attr):
                return self._attribute(self._value(value, names), attr)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return Sequence(tuple(i for e in elements for i in self._elements(e, names)))
            case ast.Subscript(value=value, slice=index):
                return self._item(self._value(value, names), index, names)
            case ast.BinOp(left=left, op=op, right=right):
                rounded = numbers.round_up(node, lambda e: self._value(e, names))
                return rounded or numbers.binary(op, self._value(left, names), self._value(right, names))
            case ast.UnaryOp(op=op, operand=operand):
                rounded = numbers.round_up(node, lambda e: self._value(e, names))
                return rounded or numbers.unary(op, self._value(operand, names))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return numbers.compare(op, self._value(left, names), self._value(right, names))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                known = numbers.truth(self._value(test, names))
                first, second = self._value(body, names), self._value(orelse, names)
                return second if known is False or (known is None and isinstance(first, Unknown)) else first
            case ast.BoolOp(values=values):
                for one in values:
                    self._value(one, names)
                return UNKNOWN
            case ast.Lambda():
                return Function(node, names)
            case ast.NamedExpr(target=target, value=value):
                result = self._value(value, names)
                self._assign(target, result, names)
                return result
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt):
                self._value(elt, dict(names))
                return UNKNOWN
            case ast.Call():
                return self._call(node, names)
            case _:
                return UNKNOWN

    def _elements(self, node: ast.expr, names: Names) -> tuple[Value, ...]:
        if not isinstance(node, ast.Starred):
            return (self._value(node, names),)
        value = self._value(node.value, names)
        if isinstance(value, Shape) and value.tensor.rank is not None:
            return tuple(extent(value.tensor, Int(i)) for i in range(value.tensor.rank))
        return value.items if isinstance(value, Sequence) else (UNKNOWN,)

    def _attribute(self, owner: Value, attr: str) -> Value:
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
                    case "device" | "is_cuda" | "grad":
                        return UNKNOWN
                    case _:
                        return Method(owner, attr)
            case Unknown():
                return Method(UNKNOWN, attr)
            case _:
                return Method(owner, attr)

    def _item(self, owner: Value, index: ast.expr, names: Names) -> Value:
        at = self._value(index, names) if not isinstance(index, ast.Slice) else UNKNOWN
        match owner:
            case Shape(tensor=tensor):
                return extent(tensor, at)
            case Sequence(items=items) if isinstance(at, Int) and at.value is not None:
                return items[at.value] if -len(items) <= at.value < len(items) else UNKNOWN
            case Tensor():
                return Tensor(owner.dtype)
            case _:
                return UNKNOWN

    # Calls

    def _call(self, node: ast.Call, names: Names) -> Value:
        dotted = self._module.resolve(node.func) or ""
        if dotted.startswith("cuda.tile") and dotted.rpartition(".")[2] in _LAUNCHERS:
            return self._launch(node, names)
        callee = UNKNOWN if dotted else self._value(node.func, names)
        arguments = Arguments(
            tuple(v for a in node.args for v in self._elements(a, names)),
            {k.arg: self._value(k.value, names) for k in node.keywords if k.arg is not None},
        )
        match callee:
            case Function():
                return self._call_function(callee, arguments)
            case Method(owner=Tensor() as tensor, name=name):
                return method(tensor, name, arguments)
            case Method(owner=owner, name=name):
                return owner if isinstance(owner, Function) else numbers.method(owner, name)
            case _:
                pass
        name = dotted or (node.func.id if isinstance(node.func, ast.Name) else "")
        made = construct(dotted, arguments)
        if made is not None:
            return made
        if name == "len" and isinstance(arguments.get(0), Shape | Sequence | Tensor):
            return length(arguments.get(0))
        if dotted.endswith(".numel") and isinstance(whole := arguments.get(0), Tensor):
            return numel(whole)
        result = numbers.call(name, arguments)
        if isinstance(result, Unknown):
            # A callback handed to an unknown function (`benchmark(lambda: run(x))`) may be what launches.
            for value in (*arguments.positional, *arguments.named.values()):
                if isinstance(value, Function):
                    self._call_function(value, Arguments((), {}))
        return result

    def _call_function(self, function: Function, arguments: Arguments) -> Value:
        node = function.node
        if id(node) in self._kernels or self._depth >= _DEPTH:
            return UNKNOWN
        self._visited.add(id(node))
        names = dict(function.names)
        parameters = (*node.args.posonlyargs, *node.args.args)
        defaults = dict(
            zip([p.arg for p in reversed(parameters)], reversed(node.args.defaults), strict=False)
        )
        defaults |= {
            p.arg: d
            for p, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        }
        for position, parameter in enumerate((*parameters, *node.args.kwonlyargs)):
            value = arguments.get(position if position < len(parameters) else -1, parameter.arg)
            if value is None and parameter.arg in defaults:
                value = self._value(defaults[parameter.arg], {})
            names[parameter.arg] = (
                self._parameter(parameter, node) if value is None else self._named(parameter.arg, value)
            )
        self._depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self._value(node.body, names)
            return self._block(node.body, names) or Known(None)
        finally:
            self._depth -= 1

    def _parameter(self, parameter: ast.arg, node: ast.FunctionDef | ast.Lambda) -> Value:
        value = unbound_parameter(parameter, node, self._module)
        if isinstance(value, Unknown):
            self._fresh += 1
            return Unknown(f"{parameter.arg}:{self._fresh}")
        return self._named(parameter.arg, value)

    def _launch(self, node: ast.Call, names: Names) -> Value:
        given: dict[str, ast.expr] = dict(zip(("stream", "grid", "kernel", "args"), node.args, strict=False))
        given |= {k.arg: k.value for k in node.keywords if k.arg is not None}
        kernel = self._kernel_name(given.get("kernel"), names)
        grid_node = given.get("grid", given.get("grid_fn"))
        args_node = given.get("args", given.get("kernel_args", given.get("args_fn")))
        grid = UNKNOWN if grid_node is None else self._value(grid_node, names)
        found = UNKNOWN if args_node is None else self._value(args_node, names)
        if isinstance(grid, Function):
            grid = self._call_function(grid, Arguments((), {}))
        if isinstance(found, Function):
            found = self._call_function(found, Arguments((), {}))
        if kernel is not None:
            items = found.items if isinstance(found, Sequence) else None
            self.sites.append(Launch(kernel, items, grid, self._module.span_of(node)))
        return UNKNOWN

    def _kernel_name(self, node: ast.expr | None, names: Names) -> str | None:
        if node is None:
            return None
        value = self._value(node, names)
        if isinstance(value, Function) and isinstance(value.node, ast.FunctionDef):
            return value.node.name
        return node.id if isinstance(node, ast.Name) else None
