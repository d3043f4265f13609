"""Compile-time Python: the expressions that `static_eval`, `static_iter`, `static_assert` and module constants hold.

Syntax is interpreted over plain Python values; tiles, arrays and functions of the kernel take part as what they are.
User code never runs: calls reach only the pure builtins listed in `static_names` and the user's own functions, whose
statements `static_functions` interprets."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Mapping
from typing import get_args

from ferrotile.frontends.cutile import static_names
from ferrotile.frontends.cutile.environment import Context, Refused
from ferrotile.frontends.cutile.operators import BINARY, compare_two, operate
from ferrotile.frontends.cutile.static_names import Lambda, StaticError
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    Const,
    DTypeOf,
    Function,
    Global,
    Tile,
    TupleOf,
    describe,
)

ABSTRACT = get_args(Abstract)
MAX_ITEMS = 1000
"""Trips of `static_iter` that cuTile Python allows."""

Scope = dict[str, object]


def to_python(ctx: Context, value: Abstract) -> object:
    """The plain value of a constant, which pins it; anything else stays what it is."""
    match value:
        case Const(dtype=None):
            return ctx.literal(value)
        case TupleOf(items=items):
            return tuple(to_python(ctx, i) for i in items)
        case _:
            return value


def to_abstract(value: object) -> Abstract:
    """Raises StaticError where cuTile Python has no such constant."""
    if isinstance(value, ABSTRACT):
        return value  # type: ignore[no-any-return]
    if value is None or isinstance(value, (bool, int, float, str)):
        return Const(value)
    if value is Ellipsis:
        return Global("builtins.Ellipsis")
    if isinstance(value, tuple):
        return TupleOf(tuple(to_abstract(v) for v in value))
    if isinstance(value, Lambda) and not value.scopes and not value.in_kernel:
        return Function(value.node)
    raise StaticError(f"cannot create a constant from a value of type {type(value).__name__}")


def evaluate_static(ctx: Context, node: ast.expr, what: str = "static_eval()") -> Abstract:
    """The constant that `static_eval` gives; refused at the call in hand."""
    try:
        return to_abstract(Interpreter(ctx).value(node))
    except (StaticError, RecursionError) as error:
        raise ctx.refused("FT205", f"inside {what}: {error}") from None


def static_items(ctx: Context, node: ast.expr) -> tuple[Abstract, ...]:
    """What `static_iter` goes through, at most 1000 items."""
    try:
        found = Interpreter(ctx).value(node)
        items = static_names.iterate(found)
        if len(items) > MAX_ITEMS:
            raise StaticError(f"more than {MAX_ITEMS} items")
        return tuple(to_abstract(i) for i in items)
    except (StaticError, RecursionError) as error:
        raise ctx.refused("FT205", f"inside static_iter(): {error}", ctx.module.span_of(node)) from None


def module_value(ctx: Context, name: str) -> object:
    """The plain value of a module-level constant; raises StaticError."""
    if name in ctx.static_values:
        found = ctx.static_values[name]
        if isinstance(found, StaticError):
            raise found
        return copy.copy(found) if isinstance(found, (list, dict, set)) else found
    ctx.static_values[name] = StaticError(f"`{name}` is defined by itself")
    try:
        found = Interpreter(ctx, []).value(ctx.module.constants[name])
    except StaticError as error:
        found = error
    except Refused as refused:
        found = StaticError(refused.diagnostic.message)
    except RecursionError:
        found = StaticError("it is nested too deeply")
    ctx.static_values[name] = found
    if isinstance(found, StaticError):
        raise found
    return found


class Interpreter:
    """`scopes` are those of compile-time functions and comprehensions, innermost last; without them names are looked
    up in the kernel. A list that starts empty means module level."""

    def __init__(self, ctx: Context, scopes: list[Scope] | None = None) -> None:
        self.ctx = ctx
        self.scopes: list[Scope] = [] if scopes is None else scopes
        self.in_kernel = scopes is None

    def value(self, node: ast.expr) -> object:
        self.ctx.tick()
        handler = _TABLE.get(type(node))
        if handler is None:
            raise StaticError(f"`{ast.unparse(node)[:40]}` is not supported")
        return handler(self, node)

    # names
    def name(self, node: ast.expr) -> object:
        assert isinstance(node, ast.Name)
        for scope in reversed(self.scopes):
            if node.id in scope:
                found = scope[node.id]
                if isinstance(found, StaticError):
                    raise found
                return found
        if self.in_kernel and self.ctx.is_local(node.id):
            return to_python(self.ctx, self.ctx.look_up(node))
        return self.global_name(node)

    def global_name(self, node: ast.Name) -> object:
        if self.ctx.module.resolve(node) is None and node.id in self.ctx.module.constants:
            return module_value(self.ctx, node.id)
        frame, self.ctx.frame = self.ctx.frame, self.ctx.module_frame
        try:
            return to_python(self.ctx, self.ctx.look_up(node))
        finally:
            self.ctx.frame = frame

    def attribute(self, node: ast.expr) -> object:
        assert isinstance(node, ast.Attribute)
        base = self.value(node.value)
        if isinstance(base, DTypeOf) and node.attr == "bitwidth":
            return base.dtype.bits
        if isinstance(base, (Tile, Array)) and node.attr not in ("shape", "dtype", "ndim", "strides"):
            raise StaticError(f"{describe(base)} has no attribute `{node.attr}` at compile time")
        if isinstance(base, ABSTRACT):
            return to_python(self.ctx, self.ctx.attribute(base, node.attr))
        return static_names.method(base, node.attr)

    # operators
    def binary(self, node: ast.expr) -> object:
        assert isinstance(node, ast.BinOp)
        return self.operate(node.op, self.value(node.left), self.value(node.right))

    def operate(self, op: ast.operator, left: object, right: object) -> object:
        if isinstance(left, ABSTRACT) or isinstance(right, ABSTRACT):
            return to_python(self.ctx, operate(self.ctx, BINARY[type(op)], to_abstract(left), to_abstract(right)))
        return static_names.binary(BINARY[type(op)], left, right)

    def unary(self, node: ast.expr) -> object:
        assert isinstance(node, ast.UnaryOp)
        operand = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return not self.truth(operand)
        if isinstance(operand, ABSTRACT):
            raise StaticError(f"unary operator on {describe(to_abstract(operand))}")
        return static_names.unary(type(node.op), operand)

    def truth(self, value: object) -> bool:
        if isinstance(value, Tile):
            raise StaticError(f"{describe(value)} has no value at compile time")
        return bool(value)

    def compare(self, node: ast.expr) -> object:
        assert isinstance(node, ast.Compare)
        left = self.value(node.left)
        result: object = True
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            result = self._one_comparison(op, left, right)
            if comparator is not node.comparators[-1] and not self.truth(result):
                return result
            left = right
        return result

    def _one_comparison(self, op: ast.cmpop, left: object, right: object) -> object:
        run_time = isinstance(left, Tile) or isinstance(right, Tile)
        if run_time and not isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return to_python(self.ctx, compare_two(self.ctx, op, to_abstract(left), to_abstract(right)))
        return static_names.compare(type(op), left, right)

    def boolean(self, node: ast.expr) -> object:
        assert isinstance(node, ast.BoolOp)
        stop = isinstance(node.op, ast.Or)
        found: object = None
        for value in node.values:
            found = self.value(value)
            if value is not node.values[-1] and self.truth(found) is stop:
                return found
        return found

    def ternary(self, node: ast.expr) -> object:
        assert isinstance(node, ast.IfExp)
        return self.value(node.body if self.truth(self.value(node.test)) else node.orelse)

    # displays
    def elements(self, nodes: Iterable[ast.expr]) -> list[object]:
        items: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                items.extend(static_names.iterate(self.value(node.value)))
            else:
                items.append(self.value(node))
        return items

    def display(self, node: ast.expr) -> object:
        match node:
            case ast.Tuple(elts=elements):
                return tuple(self.elements(elements))
            case ast.List(elts=elements):
                return self.elements(elements)
            case ast.Set(elts=elements):
                return static_names.guarded(set, self.elements(elements))
        assert isinstance(node, ast.Dict)
        found: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                inner = self.value(value)
                if not isinstance(inner, Mapping):
                    raise StaticError("`**` needs a dictionary")
                found.update(inner)
            else:
                static_names.guarded(found.__setitem__, self.value(key), self.value(value))
        return found

    def comprehension(self, node: ast.expr) -> object:
        assert isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp))
        scope: Scope = {}
        found: list[object] = []
        self.scopes.append(scope)
        try:
            self._generate(node.generators, node, found)
        finally:
            self.scopes.remove(scope)
        match node:
            case ast.SetComp():
                return static_names.guarded(set, found)
            case ast.DictComp():
                return static_names.guarded(dict, found)
            case _:
                return found

    def _generate(
        self,
        generators: list[ast.comprehension],
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        found: list[object],
    ) -> None:
        if not generators:
            made = (self.value(node.key), self.value(node.value)) if isinstance(node, ast.DictComp) else None
            found.append(made if isinstance(node, ast.DictComp) else self.value(node.elt))
            return
        first, *rest = generators
        for item in static_names.iterate(self.value(first.iter)):
            self.ctx.tick()
            self.assign(first.target, item)
            if all(self.truth(self.value(test)) for test in first.ifs):
                self._generate(rest, node, found)

    def assign(self, target: ast.expr, value: object) -> None:
        match target:
            case ast.Name(id=name):
                self.scopes[-1][name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                items = static_names.iterate(value)
                if len(items) != len(targets):
                    raise StaticError(f"cannot unpack {len(items)} values into {len(targets)} names")
                for one, item in zip(targets, items, strict=True):
                    self.assign(one, item)
            case _:
                raise StaticError("only names can be assigned at compile time")

    def subscript(self, node: ast.expr) -> object:
        assert isinstance(node, ast.Subscript)
        return static_names.subscript(self.value(node.value), self.value(node.slice))

    def slice(self, node: ast.expr) -> object:
        assert isinstance(node, ast.Slice)
        return slice(*(None if p is None else self.value(p) for p in (node.lower, node.upper, node.step)))

    def formatted(self, node: ast.expr) -> object:
        assert isinstance(node, ast.JoinedStr)
        text = ""
        for part in node.values:
            match part:
                case ast.Constant(value=str() as piece):
                    text += piece
                case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                    shown = self.value(value)
                    plain = describe(to_abstract(shown)) if isinstance(shown, ABSTRACT) else shown
                    wanted = self.value(spec) if spec is not None else ""
                    text += static_names.formatted(plain, conversion, str(wanted))
        return text

    # calls
    def make_lambda(self, node: ast.expr) -> object:
        assert isinstance(node, ast.Lambda)
        return Lambda(node, tuple(self.scopes), self.in_kernel)

    def call(self, node: ast.expr) -> object:
        from ferrotile.frontends.cutile.static_functions import call_static

        assert isinstance(node, ast.Call)
        callee = self.value(node.func)
        positional = self.elements(node.args)
        keywords: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, Mapping):
                keywords.update({str(k): v for k, v in value.items()})
            else:
                raise StaticError("`**` needs a dictionary")
        return call_static(self, callee, positional, keywords)

    def constant(self, node: ast.expr) -> object:
        assert isinstance(node, ast.Constant)
        return node.value


_TABLE: dict[type[ast.expr], Callable[[Interpreter, ast.expr], object]] = {
    ast.Constant: Interpreter.constant,
    ast.Name: Interpreter.name,
    ast.Attribute: Interpreter.attribute,
    ast.BinOp: Interpreter.binary,
    ast.UnaryOp: Interpreter.unary,
    ast.Compare: Interpreter.compare,
    ast.BoolOp: Interpreter.boolean,
    ast.IfExp: Interpreter.ternary,
    ast.Tuple: Interpreter.display,
    ast.List: Interpreter.display,
    ast.Set: Interpreter.display,
    ast.Dict: Interpreter.display,
    ast.ListComp: Interpreter.comprehension,
    ast.SetComp: Interpreter.comprehension,
    ast.DictComp: Interpreter.comprehension,
    ast.GeneratorExp: Interpreter.comprehension,
    ast.Subscript: Interpreter.subscript,
    ast.Slice: Interpreter.slice,
    ast.JoinedStr: Interpreter.formatted,
    ast.Lambda: Interpreter.make_lambda,
    ast.Call: Interpreter.call,
}
