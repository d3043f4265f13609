"""Expressions: one function for each kind of syntax node, found by table."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ferrotile.frontends.cutile import array_methods, branches, calls, classes, strings
from ferrotile.frontends.cutile.arguments import Call
from ferrotile.frontends.cutile.compile_time import comprehension, keyword_call, keyword_like
from ferrotile.frontends.cutile.conversion import tile_of
from ferrotile.frontends.cutile.environment import Context, Poisoned
from ferrotile.frontends.cutile.lint import message_of
from ferrotile.frontends.cutile.names import check_exists, lookup, member, of_dotted
from ferrotile.frontends.cutile.operators import BINARY, compare_two, operate, unary
from ferrotile.frontends.cutile.subscripts import subscript
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    ClassOf,
    Const,
    DictOf,
    DTypeOf,
    Formatted,
    Function,
    Global,
    Member,
    Method,
    Poison,
    RawMemory,
    Record,
    Tile,
    TiledView,
    TupleOf,
    Unusable,
    describe,
)
from ferrotile.syntax.span import Span


def evaluate(ctx: Context, node: ast.expr) -> Abstract:
    """The abstract value of an expression; raises Refused or Poisoned."""
    ctx.tick()
    handler = _TABLE.get(type(node))
    before = ctx.span
    ctx.span = ctx.spans.get(id(node)) or ctx.module.span_of(node)
    try:
        if handler is None:
            raise ctx.refused("FT201", message_of(node))
        value = ctx.frame.values[id(node)] = handler(ctx, node)
        return value
    finally:
        ctx.span = before


def usable(ctx: Context, node: ast.expr) -> Abstract:
    """`evaluate`, refusing names that have no one value here."""
    value = evaluate(ctx, node)
    return checked(ctx, value, ctx.module.span_of(node)) if isinstance(value, (Poison, Unusable)) else value


def checked(ctx: Context, value: Abstract, span: Span) -> Abstract:
    """The value, unless it is one that cannot be used."""
    if isinstance(value, Poison):
        raise Poisoned
    if isinstance(value, Unusable):
        raise ctx.unusable(value, span)
    return value


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


def _attribute(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Attribute)
    return attribute_of(ctx, usable(ctx, node.value), node.attr)


def attribute_of(ctx: Context, base: Abstract, name: str) -> Abstract:
    """`base.name`."""
    match base:
        case Global(dotted=dotted):
            whole = f"{dotted}.{name}"
            known = ctx.members.get(whole)
            if known is not None:
                return known
            linked = member(ctx, whole)
            if linked is not None:
                return linked
            check_exists(ctx, whole)
            found = of_dotted(whole)
            if dotted == "cuda.tile" and isinstance(found, Global) and not _known(name):
                raise calls.unknown(ctx, name)
            ctx.members[whole] = found
            return found
        case Array() | TiledView() | RawMemory():
            found_attribute = array_methods.attribute(ctx, base, name)
            return found_attribute if found_attribute is not None else calls.method(ctx, base, name)
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
        case Const(value=str()) | Formatted() if name == "join":
            return Method(base, name)
        case DictOf() if name == "get":
            return Method(base, name)
        case ClassOf():
            return classes.class_attribute(ctx, base, name)
        case Record():
            return classes.record_attribute(ctx, base, name)
        case Member():
            return classes.member_attribute(ctx, base, name)
        case _:
            raise ctx.refused("FT205", f"{describe(base)} has no attribute `{name}`")


def _known(name: str) -> bool:
    return name in calls.KNOWN or name in _ENUMS or name[:1].isupper() or name in _OTHERS


_ENUMS = ("PaddingMode", "RoundingMode", "MemoryOrder", "MemoryScope")
_OTHERS = frozenset(("static_iter", "static_eval", "static_assert", "ensure_constant", "kernel", "function", "launch"))


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


def _binary(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.BinOp)
    return operate(ctx, BINARY[type(node.op)], usable(ctx, node.left), usable(ctx, node.right))


def _unary(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.UnaryOp)
    return unary(ctx, node.op, usable(ctx, node.operand))


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
    # cuTile Python evaluates a middle operand once for each of its comparisons: an atomic runs twice.
    calls = any(isinstance(n, ast.Call) for n in ast.walk(comparator))

    def rest_of_chain() -> Abstract:
        return _chain(ctx, usable(ctx, comparator) if calls else right, more)

    return branches.choose(ctx, first, rest_of_chain, lambda: first)


def _bool_op(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.BoolOp)
    return _bool_chain(ctx, isinstance(node.op, ast.And), node.values)


def _bool_chain(ctx: Context, both: bool, values: list[ast.expr]) -> Abstract:
    with ctx.at(values[0]):
        first = branches.as_bool(ctx, usable(ctx, values[0]))
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
    place = ctx.module.span_of(node.orelse)
    sides = (lambda: usable(ctx, node.body), lambda: usable(ctx, node.orelse))
    return branches.choose(ctx, test, *sides, place=lambda: place)


def _call(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Call)
    callee = usable(ctx, node.func)
    only = node.args[0] if len(node.args) == 1 and not node.keywords else None
    if callee == Global("builtins.tuple") and isinstance(only, ast.GeneratorExp):
        return comprehension(ctx, only)
    keyword = keyword_like(callee)
    if keyword is not None:
        return keyword_call(ctx, keyword, node)
    return calls.call(ctx, callee, _arguments(ctx, node))


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
        else:
            positional.append(usable(ctx, argument))
            spans.append(ctx.spans.get(id(argument)) or ctx.module.span_of(argument))
    keywords: dict[str, Abstract] = {}
    keyword_spans = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            inner = usable(ctx, keyword.value)
            if not isinstance(inner, DictOf):
                raise ctx.refused("FT203", f"`**` needs a dictionary, not {describe(inner)}")
            keywords.update(inner.items)
            keyword_spans.update(dict.fromkeys(dict(inner.items), ctx.module.span_of(keyword.value)))
            continue
        value = keyword.value
        keywords[keyword.arg] = usable(ctx, value)
        keyword_spans[keyword.arg] = ctx.spans.get(id(value)) or ctx.module.span_of(value)
    name = ctx.callees.get(id(node))
    if name is None:
        name = _written(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else "the call"
        ctx.callees[id(node)] = name
    return Call(name, tuple(positional), keywords, tuple(spans), keyword_spans)


def _written(node: ast.expr) -> str:
    """`ast.unparse`, which is slow, for the names that nearly all callees are."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name() | ast.Attribute() as base, attr=name):
            return f"{_written(base)}.{name}"
        case _:
            return ast.unparse(node)


def _lambda(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Lambda)
    return Function(node, ctx.frame, default_values(ctx, node.args))


def default_values(ctx: Context, arguments: ast.arguments) -> dict[str, Abstract]:
    """A nested function's default values, taken where it is made."""
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    pairs: list[tuple[str, ast.expr | None]] = list(
        zip(names[len(names) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs.extend((a.arg, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    return {name: usable(ctx, node) for name, node in pairs if node is not None}


def _joined(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.JoinedStr)
    return strings.formatted(ctx, node, usable)


_TABLE: dict[type[ast.expr], Callable[[Context, ast.expr], Abstract]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Tuple: _tuple,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.IfExp: _ternary,
    ast.Call: _call,
    ast.JoinedStr: _joined,
    ast.Lambda: _lambda,
    ast.Subscript: subscript,
}
