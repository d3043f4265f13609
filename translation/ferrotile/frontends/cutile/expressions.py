"""Expressions: one function for each kind of syntax node, found by table."""

from __future__ import annotations

import ast
import builtins
import math
import operator as operator_module
from collections.abc import Callable
from typing import TypeGuard

from ferrotile.frontends.cutile import array_methods, branches, calls, classes, strings
from ferrotile.frontends.cutile.arguments import Call
from ferrotile.frontends.cutile.conversion import materialise, reshape, tile_of
from ferrotile.frontends.cutile.environment import Context, Frame, Poisoned
from ferrotile.frontends.cutile.discover import kernel_decorator
from ferrotile.frontends.cutile.lint import message_of
from ferrotile.frontends.cutile.operators import BINARY, compare_two, operate, unary
from ferrotile.frontends.cutile.records import special
from ferrotile.frontends.cutile.static import evaluate_static, module_value, static_items, to_abstract
from ferrotile.frontends.cutile.static_names import StaticError
from ferrotile.frontends.cutile.values import (
    Abstract,
    Array,
    ClassOf,
    Const,
    describe,
    DictOf,
    DTypeOf,
    Formatted,
    Function,
    Global,
    IndexRange,
    Member,
    Method,
    Poison,
    RawMemory,
    Record,
    Tile,
    TiledView,
    TupleOf,
    Unusable,
)
from ferrotile.program.types import Size
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.syntax.module import FunctionSource
from ferrotile.syntax.span import Span

_MATH_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}
_ENUMS = ("PaddingMode", "RoundingMode", "MemoryOrder", "MemoryScope")


def evaluate(ctx: Context, node: ast.expr) -> Abstract:
    """The abstract value of an expression; raises Refused or Poisoned."""
    ctx.tick()
    handler = _TABLE.get(type(node))
    with ctx.at(node):
        if handler is None:
            raise ctx.refused("FT201", message_of(node))
        return handler(ctx, node)


def usable(ctx: Context, node: ast.expr) -> Abstract:
    """`evaluate`, refusing names that have no one value here."""
    return checked(ctx, evaluate(ctx, node), ctx.module.span_of(node))


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


def is_local(ctx: Context, name: str) -> bool:
    """Whether a name is one of the functions in hand, not of the module."""
    frame: Frame | None = ctx.frame
    while frame is not None:
        if name in frame.variables or name in frame.locals:
            return True
        frame = frame.closure
    return False


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
        return _module_function(ctx, function)
    found = classes.find_class(ctx, name)
    if found is not None:
        return ctx.module_values.setdefault(name, found)
    if name in ctx.module.constants:
        return _module_constant(ctx, name)
    if hasattr(builtins, name):
        return Global(f"builtins.{name}")
    if any(n.id == name for s in ctx.module.statements for n in ast.walk(s) if _stores(n)):
        raise ctx.refused("FT205", f"`{name}` is set more than once in this module: its value is not known")
    raise ctx.refused("FT202", f"`{name}` is not defined")


def _stores(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


_HARMLESS = frozenset(("cuda.tile.function", "functools.wraps"))
"""Decorators that leave a function what it is, when a kernel calls it."""


def _module_function(ctx: Context, function: FunctionSource) -> Abstract:
    name = function.name
    if kernel_decorator(ctx.module, function) is not None:
        raise ctx.refused("FT205", f"`{name}` is a kernel: a kernel cannot call it, nor pass it on")
    for decorator in function.decorators:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ctx.module.resolve(target) not in _HARMLESS:
            text = ast.unparse(target)
            raise ctx.refused("FT205", f"`{name}` is decorated with `{text}`: what that makes of it is not known")
    same = [f for f in ctx.module.functions if f.name == name]
    if len(same) > 1 and not all(f.node in ctx.module.statements for f in same):
        raise ctx.refused("FT205", f"`{name}` is defined more than once, in branches: which one holds is not known")
    return Function(function.node)


def _module_constant(ctx: Context, name: str) -> Abstract:
    try:
        value = to_abstract(module_value(ctx, name))
    except StaticError as error:
        raise ctx.refused("FT205", f"the value of `{name}` is not known: {error}") from None
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


def _exists(ctx: Context, dotted: str) -> None:
    """Refuses a name that a module of the standard library does not have."""
    root, _, last = dotted.rpartition(".")
    if root in _STANDARD and not hasattr(_STANDARD[root], last):
        raise ctx.refused("FT202", f"the module `{root}` has no `{last}`")


_STANDARD = {"math": math, "operator": operator_module}


def _attribute(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Attribute)
    return attribute_of(ctx, usable(ctx, node.value), node.attr)


def attribute_of(ctx: Context, base: Abstract, name: str) -> Abstract:
    """`base.name`."""
    match base:
        case Global(dotted=dotted):
            _exists(ctx, f"{dotted}.{name}")
            found = _of_dotted(f"{dotted}.{name}")
            if dotted == "cuda.tile" and isinstance(found, Global) and not _known(name):
                raise calls.unknown(ctx, name)
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
        case (Const(value=str()) | Formatted()) if name == "join":
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
    return branches.choose(ctx, first, lambda: _chain(ctx, right, more), lambda: first)


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
    if callee == Global("builtins.tuple") and len(node.args) == 1 and not node.keywords:
        if isinstance(node.args[0], ast.GeneratorExp):
            return _comprehension(ctx, node.args[0])
    keyword = keyword_like(callee)
    if keyword is not None:
        return _keyword_call(ctx, keyword, node)
    return calls.call(ctx, callee, _arguments(ctx, node))


_KEYWORD_LIKE = frozenset(("static_eval", "static_assert", "static_iter", "static_exception"))


def keyword_like(callee: Abstract) -> str | None:
    """The name of a function whose argument is compile-time Python."""
    if isinstance(callee, Global) and callee.dotted.startswith("cuda.tile."):
        name = callee.dotted.removeprefix("cuda.tile.")
        return name if name in _KEYWORD_LIKE else None
    return None


def static_iterable(ctx: Context, node: ast.expr) -> tuple[Abstract, ...] | None:
    """The items of a `ct.static_iter(...)`; None for any other expression."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    if keyword_like(usable(ctx, node.func)) != "static_iter":
        return None
    if len(node.args) != 1 or node.keywords:
        raise ctx.refused("FT201", "`static_iter` takes a single expression")
    return static_items(ctx, node.args[0])


def _keyword_call(ctx: Context, name: str, node: ast.Call) -> Abstract:
    allowed = (1, 2) if name == "static_assert" else (1,)
    if node.keywords or len(node.args) not in allowed:
        takes = "one or two positional arguments" if name == "static_assert" else "a single expression"
        raise ctx.refused("FT201", f"`{name}` takes {takes}")
    match name:
        case "static_eval":
            return evaluate_static(ctx, node.args[0])
        case "static_assert":
            return _static_assert(ctx, node)
        case "static_iter":
            raise ctx.refused("FT201", "`static_iter` is only allowed as what a `for` goes through")
        case _:
            raise ctx.refused("FT201", "`static_exception` is only allowed after `raise`")


def _static_assert(ctx: Context, node: ast.Call) -> Abstract:
    condition = evaluate_static(ctx, node.args[0], "static_assert()")
    if not isinstance(condition, Const):
        raise ctx.refused("FT203", f"`static_assert` needs a compile-time constant, not {describe(condition)}")
    if not isinstance(condition.value, bool):
        raise ctx.refused("FT203", f"`static_assert` needs a bool, not {describe(condition)}")
    if not condition.value:
        message = evaluate_static(ctx, node.args[1], "static_assert()") if len(node.args) > 1 else Const("")
        text = message.value if isinstance(message, Const) else describe(message)
        raise ctx.refused("FT211", f"static assertion failed{f': {text}' if text else ''}")
    return Const(None)


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
            spans.append(ctx.module.span_of(argument))
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
        keywords[keyword.arg] = usable(ctx, keyword.value)
        keyword_spans[keyword.arg] = ctx.module.span_of(keyword.value)
    name = ast.unparse(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else "the call"
    return Call(name, tuple(positional), keywords, tuple(spans), keyword_spans)


def _comprehension(ctx: Context, node: ast.GeneratorExp) -> Abstract:
    """`tuple(... for ... in ct.static_iter(...) if ...)`; its variables are its own."""
    targets = [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
    frame = ctx.frame
    saved = {name: frame.variables.get(name) for name in targets}
    items: list[Abstract] = []

    def go(generators: list[ast.comprehension]) -> None:
        if not generators:
            items.append(usable(ctx, node.elt))
            return
        first, *rest = generators
        for item in static_iterable(ctx, first.iter) or ():
            _bind_target(ctx, first.target, item)
            tests = [_static_test(ctx, test) for test in first.ifs]
            if all(tests):
                go(rest)

    try:
        go(node.generators)
    finally:
        for name, value in saved.items():
            if value is None:
                frame.variables.pop(name, None)
            else:
                frame.variables[name] = value
    return TupleOf(tuple(items))


def _bind_target(ctx: Context, target: ast.expr, value: Abstract) -> None:
    if isinstance(target, ast.Name):
        ctx.frame.variables[target.id] = value
        return
    assert isinstance(target, (ast.Tuple, ast.List))
    if not isinstance(value, TupleOf) or len(value.items) != len(target.elts):
        raise ctx.refused("FT203", f"cannot unpack {describe(value)} into {len(target.elts)} names")
    for one, item in zip(target.elts, value.items, strict=True):
        _bind_target(ctx, one, item)


def _static_test(ctx: Context, test: ast.expr) -> bool:
    with ctx.at(test):
        found = branches.truth(ctx, usable(ctx, test))
        if not isinstance(found, bool):
            raise ctx.refused("FT203", "the condition of a tuple comprehension must be known at compile time")
        return found


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


def _subscript(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.Subscript)
    base = usable(ctx, node.value)
    match base:
        case TupleOf(items=items):
            return _tuple_item(ctx, items, node.slice)
        case DictOf(items=items):
            return _dictionary_item(ctx, dict(items), usable(ctx, node.slice))
        case Record():
            found = special(ctx, base, "getitem", usable(ctx, node.slice))
            if found is None:
                raise ctx.refused("FT203", f"{describe(base)} cannot be subscripted")
            return found
        case Tile():
            return _new_axes(ctx, base, node.slice)
        case Array():
            raise ctx.refused("FT203", "arrays cannot be subscripted: use `ct.load`")
        case _:
            raise ctx.refused("FT203", f"{describe(base)} cannot be subscripted")


def _tuple_item(ctx: Context, items: tuple[Abstract, ...], index: ast.expr) -> Abstract:
    if isinstance(index, ast.Slice):
        parts = (index.lower, index.upper, index.step)
        value: Abstract = IndexRange(*(usable(ctx, p) if p is not None else Const(None) for p in parts))
    else:
        value = usable(ctx, index)
    if isinstance(value, IndexRange):
        bounds: list[int | None] = []
        for value in (value.start, value.stop, value.step):
            if not isinstance(value, Const) or not (value.value is None or isinstance(value.value, int)):
                raise ctx.refused("FT203", "tuple slices must be constant")
            raw = ctx.literal(value)
            bounds.append(None if raw is None else int(raw))
        if bounds[2] == 0:
            raise ctx.refused("FT203", "the step of a slice is zero")
        return TupleOf(items[slice(*bounds)])
    if not isinstance(value, Const) or not isinstance(value.value, int) or isinstance(value.value, bool):
        raise ctx.refused("FT203", "tuple indices must be constant integers")
    at = int(ctx.literal(value) or 0)
    if not -len(items) <= at < len(items):
        raise ctx.refused("FT204", f"index {at} is out of range of a tuple of {len(items)}")
    return items[at]


def _dictionary_item(ctx: Context, items: dict[str, Abstract], key: Abstract) -> Abstract:
    if not isinstance(key, Const) or not isinstance(key.value, str):
        raise ctx.refused("FT203", f"a key must be a string, not {describe(key)}")
    if key.value not in items:
        raise ctx.refused("FT203", f"the key `{key.value}` is not in the dictionary")
    return items[key.value]


def _joined(ctx: Context, node: ast.expr) -> Abstract:
    assert isinstance(node, ast.JoinedStr)
    return strings.formatted(ctx, node, usable)


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
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool_op,
    ast.IfExp: _ternary,
    ast.Call: _call,
    ast.JoinedStr: _joined,
    ast.Lambda: _lambda,
    ast.Subscript: _subscript,
}
