"""Expressions: one function for each kind of syntax node, found by table."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable

from ferrotile.frontends.cutile import branches, calls, memory
from ferrotile.frontends.cutile.arguments import Call
from ferrotile.frontends.cutile.conversion import materialise, operand, reshape, tile_of
from ferrotile.frontends.cutile.environment import Context, Frame, Poisoned
from ferrotile.frontends.cutile.operators import BINARY, UNARY, compare_two, operate
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    Const,
    DTypeOf,
    Function,
    Global,
    Poison,
    Tile,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.program.types import Size
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.syntax.span import Span

_MATH_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
_ENUMS = ("PaddingMode", "RoundingMode", "MemoryOrder", "MemoryScope")
_MAX_STEPS = 200_000


def evaluate(ctx: Context, node: ast.expr) -> Abstract:
    """The abstract value of an expression; raises Refused or Poisoned."""
    ctx.steps += 1
    if ctx.steps > _MAX_STEPS:
        raise ctx.refused("FT301", "the kernel is too large to interpret")
    handler = _TABLE.get(type(node))
    with ctx.at(node):
        if handler is None:
            raise ctx.refused("FT201", f"{_syntax_name(node)} is not supported in a kernel")
        return handler(ctx, node)


def usable(ctx: Context, node: ast.expr) -> Abstract:
    """`evaluate`, refusing names that have no one value here."""
    return checked(ctx, evaluate(ctx, node), ctx.module.span_of(node))


def checked(ctx: Context, value: Abstract, span: Span) -> Abstract:
    """The value, unless it is one that cannot be used."""
    if isinstance(value, Poison):
        raise Poisoned
    if isinstance(value, Unusable):
        raise ctx.refused(value.code, value.reason, span)
    return value


def _syntax_name(node: ast.AST) -> str:
    words = "".join(" " + c.lower() if c.isupper() else c for c in type(node).__name__).strip()
    return f"`{words}` syntax"


def _constant(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Constant)
    value = node.value
    if value is None or isinstance(value, (bool, int, float, str)):
        return Const(value)
    if value is Ellipsis:
        return Global("builtins.Ellipsis")
    raise ctx.refused("FT201", f"constants of type {type(value).__name__} are not supported in a kernel")


def _name(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Name)
    return lookup(ctx, node)


def lookup(ctx: Context, node: ast.Name) -> Abstract:
    frame: Frame | None = ctx.frame
    while frame is not None:
        if node.id in frame.variables:
            return frame.variables[node.id]
        if node.id in frame.locals:
            raise ctx.refused("FT202", f"`{node.id}` is used before it is assigned")
        frame = frame.closure
    return _module_value(ctx, node)


def _module_value(ctx: Context, node: ast.Name) -> Abstract:
    name = node.id
    if name in ctx.module_values:
        return ctx.module_values[name]
    resolved = ctx.module.resolve(node)
    if resolved is not None:
        return _of_dotted(resolved)
    function = ctx.module.function(name)
    if function is not None:
        return Function(function.node)
    if name in ctx.module.constants:
        return _module_constant(ctx, name)
    if hasattr(builtins, name):
        return Global(f"builtins.{name}")
    raise ctx.refused("FT202", f"`{name}` is not defined")


def _module_constant(ctx: Context, name: str) -> Abstract:
    ctx.module_values[name] = Unusable("FT202", f"`{name}` is defined by itself")
    frame, host = ctx.frame, ctx.host
    ctx.frame, ctx.host = Frame({}, frozenset()), True
    try:
        value = evaluate(ctx, ctx.module.constants[name])
    finally:
        ctx.frame, ctx.host = frame, host
        del ctx.module_values[name]
    ctx.module_values[name] = value
    return value


def _of_dotted(dotted: str) -> Abstract:
    dtype = dtype_of(dotted)
    if dtype is not None:
        return DTypeOf(dtype)
    root, _, last = dotted.rpartition(".")
    if root in ("math", "numpy") and last in _MATH_CONSTANTS:
        return Const(_MATH_CONSTANTS[last])
    return Global(dotted)


def _attribute(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Attribute)
    base = usable(ctx, node.value)
    name = node.attr
    match base:
        case Global(dotted=dotted):
            found = _of_dotted(f"{dotted}.{name}")
            if dotted == "cuda.tile" and isinstance(found, Global) and not _known(name):
                raise calls.unknown(ctx, name)
            return found
        case Array():
            return _array_attribute(ctx, base, name)
        case Tile(value=value):
            type_ = tile_of(value)
            match name:
                case "dtype":
                    return DTypeOf(type_.dtype)
                case "shape":
                    return TupleOf(tuple(Const(s.value, s.symbol) for s in type_.shape))
                case "ndim":
                    return Const(type_.rank)
            return calls.method(ctx, base, name)
        case Const(value=int() | float() | bool()):
            return calls.method(ctx, base, name)
        case _:
            raise ctx.refused("FT205", f"{describe(base)} has no attribute `{name}`")


def _known(name: str) -> bool:
    return name in calls.FUNCTIONS or name in calls.LATER or name in _ENUMS or name[:1].isupper() or name in _OTHERS


_OTHERS = frozenset(("static_iter", "static_eval", "static_assert", "ensure_constant", "kernel", "function", "launch"))


def _array_attribute(ctx: Context, array: Array, name: str) -> Abstract:
    match name:
        case "dtype":
            return DTypeOf(array.type.dtype)
        case "shape":
            return memory.extents(ctx, array)
        case "ndim":
            return Const(array.type.rank)
        case "strides":
            raise ctx.refused("FT302", "cutile 0.5 cannot read strides: pass them as scalar arguments")
        case _:
            return calls.method(ctx, array, name)


def _tuple(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Tuple)
    items: list[Abstract] = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = usable(ctx, element.value)
            if not isinstance(inner, TupleOf):
                raise ctx.refused("FT203", f"cannot unpack {describe(inner)}")
            items.extend(inner.items)
        else:
            items.append(usable(ctx, element))
    return TupleOf(tuple(items))


def _list(ctx: Context, node: ast.expr) -> Abstract:
    raise ctx.refused("FT201", "list displays are not supported in a kernel: write a tuple")


def _binary(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.BinOp)
    return operate(ctx, BINARY[type(node.op)], usable(ctx, node.left), usable(ctx, node.right))


def _unary(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.UnaryOp)
    value = usable(ctx, node.operand)
    if isinstance(node.op, ast.Not) and isinstance(value, Const):
        return Const(not ctx.literal(value))
    return UNARY[type(node.op)](ctx, operand(ctx, value))


def _compare(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Compare)
    left = usable(ctx, node.left)
    return _chain(ctx, left, list(zip(node.ops, node.comparators, strict=True)))


def _chain(ctx: Context, left: Abstract, rest: list[tuple[ast.cmpop, ast.expr]]) -> Abstract:
    (op, comparator), *more = rest
    right = usable(ctx, comparator)
    first = compare_two(ctx, op, left, right)
    if not more:
        return first
    return branches.choose(ctx, first, lambda: _chain(ctx, right, more), lambda: first)


def _bool_op(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.BoolOp)
    return _bool_chain(ctx, isinstance(node.op, ast.And), node.values)


def _bool_chain(ctx: Context, both: bool, values: list[ast.expr]) -> Abstract:
    first = usable(ctx, values[0])
    if len(values) == 1:
        return first

    def rest() -> Abstract:
        return _bool_chain(ctx, both, values[1:])

    def same() -> Abstract:
        return first

    return branches.choose(ctx, first, rest, same) if both else branches.choose(ctx, first, same, rest)


def _ternary(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.IfExp)
    test = usable(ctx, node.test)
    return branches.choose(ctx, test, lambda: usable(ctx, node.body), lambda: usable(ctx, node.orelse))


def _call(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Call)
    callee = usable(ctx, node.func)
    host = ctx.host
    ctx.host = host or callee == Global("cuda.tile.static_eval")
    try:
        made = _arguments(ctx, node)
    finally:
        ctx.host = host
    return calls.call(ctx, callee, made)


def _arguments(ctx: Context, node: ast.Call) -> Call:
    positional: list[Abstract] = []
    spans = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            inner = usable(ctx, argument.value)
            if not isinstance(inner, TupleOf):
                raise ctx.refused("FT203", f"cannot unpack {describe(inner)}")
            positional.extend(inner.items)
            spans.extend([ctx.module.span_of(argument)] * len(inner.items))
        elif isinstance(argument, ast.GeneratorExp):
            positional.append(_generator(ctx, argument))
            spans.append(ctx.module.span_of(argument))
        else:
            positional.append(usable(ctx, argument))
            spans.append(ctx.module.span_of(argument))
    keywords: dict[str, Abstract] = {}
    keyword_spans = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ctx.refused("FT301", "`**` arguments have no translation yet")
        keywords[keyword.arg] = usable(ctx, keyword.value)
        keyword_spans[keyword.arg] = ctx.module.span_of(keyword.value)
    name = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else "the call"
    return Call(name, tuple(positional), keywords, tuple(spans), keyword_spans)


def _generator(ctx: Context, node: ast.GeneratorExp) -> Abstract:
    raise ctx.refused("FT301", "generator expressions have no translation yet", ctx.module.span_of(node))


def _lambda(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Lambda)
    return Function(node, ctx.frame)


def _subscript(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Subscript)
    base = usable(ctx, node.value)
    match base:
        case TupleOf(items=items):
            return _tuple_item(ctx, items, node.slice)
        case Tile():
            return _new_axes(ctx, base, node.slice)
        case Array():
            raise ctx.refused("FT203", "arrays cannot be subscripted: use `ct.load`")
        case _:
            raise ctx.refused("FT203", f"{describe(base)} cannot be subscripted")


def _tuple_item(ctx: Context, items: tuple[Abstract, ...], index: ast.expr) -> Abstract:
    if isinstance(index, ast.Slice):
        bounds: list[int | None] = []
        for part in (index.lower, index.upper, index.step):
            value = usable(ctx, part) if part is not None else Const(None)
            if not isinstance(value, Const) or not (value.value is None or isinstance(value.value, int)):
                raise ctx.refused("FT203", "tuple slices must be constant")
            raw = ctx.literal(value)
            bounds.append(None if raw is None else int(raw))
        if bounds[2] == 0:
            raise ctx.refused("FT203", "the step of a slice is zero")
        return TupleOf(items[slice(*bounds)])
    value = usable(ctx, index)
    if not isinstance(value, Const) or not isinstance(value.value, int):
        raise ctx.refused("FT203", "tuple indices must be constant integers")
    at = int(ctx.literal(value) or 0)
    if not -len(items) <= at < len(items):
        raise ctx.refused("FT204", f"index {at} is out of range of a tuple of {len(items)}")
    return items[at]


def _new_axes(ctx: Context, tile: Tile, index: ast.expr) -> Abstract:
    """`x[None, :, ...]`: only new axes, full slices and one ellipsis."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    slices = sum(isinstance(p, ast.Slice) for p in parts)
    shape = list(tile.type.shape)
    out: list[Size] = []
    ellipsis = False
    for part in parts:
        match part:
            case ast.Constant(value=None):
                out.append(Size(1))
            case ast.Slice(lower=None, upper=None, step=None) if shape:
                out.append(shape.pop(0))
            case ast.Constant(value=value) if value is Ellipsis and not ellipsis:
                ellipsis = True
                taken = max(len(tile.type.shape) - slices, 0)
                out.extend(shape[:taken])
                del shape[:taken]
            case _:
                raise ctx.refused("FT205", "a tile is indexed with None, `:` and `...` only: use `ct.extract`")
    return Tile(reshape(ctx, materialise(ctx, tile), (*out, *shape)))


_TABLE: dict[type[ast.expr], Callable[[Context, ast.expr], Abstract]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.IfExp: _ternary,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.Subscript: _subscript,
}
