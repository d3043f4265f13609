"""The pure parts of Python that compile-time code may use: operators, builtins, methods, each within limits that keep
an analysis short and small."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")

_MAX_BITS = 1 << 14
_MAX_LENGTH = 20_000


class StaticError(Exception):
    """Compile-time code that raises in Python, too, or that is beyond what is interpreted."""


class Lambda(Struct, frozen=True, eq=False):
    """A function made at compile time, with the scopes around it."""

    node: ast.Lambda
    scopes: tuple[dict[str, object], ...]
    in_kernel: bool


class Pure(Struct, frozen=True, eq=False):
    """A bound method or builtin that is safe to call."""

    name: str
    function: Callable[..., object]


def guarded(function: Callable[..., T], *arguments: object, **keywords: object) -> T:
    """Calls a pure function of Python's own; its errors become StaticError."""
    try:
        return function(*arguments, **keywords)
    except (ArithmeticError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise StaticError(f"{type(error).__name__}: {error}") from None


Binary = Callable[..., object]

_OPERATORS: Mapping[str, Binary] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "@": operator.matmul,
}  # fmt: skip
_UNARY: Mapping[type[ast.unaryop], Callable[..., object]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARISONS: Mapping[type[ast.cmpop], Binary] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: lambda a, b: a is b or (_single(a) and a == b),
    ast.IsNot: lambda a, b: not (a is b or (_single(a) and a == b)),
    ast.In: lambda a, b: operator.contains(b, a),
    ast.NotIn: lambda a, b: not operator.contains(b, a),
}  # fmt: skip


def _single(value: object) -> bool:
    """Element types are single objects in Python, and equal values here."""
    return type(value).__name__ in ("DTypeOf", "Member")


def binary(symbol: str, left: object, right: object) -> object:
    """`left symbol right`, within limits."""
    if symbol == "%" and isinstance(left, str):
        raise StaticError("`%` formatting is not supported at compile time: use an f-string")
    sizes = [v.bit_length() for v in (left, right) if isinstance(v, int)]
    if len(sizes) == 2 and isinstance(left, int) and isinstance(right, int):
        grown = {"**": sizes[0] * abs(right), "<<": sizes[0] + abs(right), "*": sum(sizes)}.get(symbol, 0)
        if grown > _MAX_BITS:
            raise StaticError("an integer becomes too large")
    if symbol == "*" and isinstance(left, int) and isinstance(right, (str, tuple, list)):
        left, right = right, left
    if isinstance(left, (str, tuple, list)):
        times = right if symbol == "*" and isinstance(right, int) else 1
        if len(left) * times > _MAX_LENGTH:
            raise StaticError("a sequence becomes too long")
    return guarded(_OPERATORS[symbol], left, right)


def unary(kind: type[ast.unaryop], value: object) -> object:
    return guarded(_UNARY[kind], value)


def compare(kind: type[ast.cmpop], left: object, right: object) -> object:
    return guarded(_COMPARISONS[kind], left, right)


_item: Binary = operator.getitem


def subscript(value: object, index: object) -> object:
    if not isinstance(value, (str, tuple, list, dict, range)):
        raise StaticError(f"a value of type {type(value).__name__} cannot be subscripted at compile time")
    return guarded(_item, value, index)


def formatted(value: object, conversion: int, spec: str) -> str:
    if any(len(run) > 4 for run in "".join(c if c.isdigit() else " " for c in spec).split()):
        raise StaticError("a format is too wide")
    conversions: Mapping[int, Callable[[object], object]] = {ord("r"): repr, ord("s"): str, ord("a"): ascii}
    shown = conversions[conversion](value) if conversion in conversions else value
    return guarded(format, shown, spec)


def iterate(value: object) -> list[object]:
    """The items of what can be iterated at compile time."""
    if not isinstance(value, (str, tuple, list, dict, set, frozenset, range)):
        raise StaticError(f"a value of type {type(value).__name__} cannot be iterated at compile time")
    if len(value) > _MAX_LENGTH:
        raise StaticError("a sequence is too long")
    return list(value)


def _listed(function: Callable[..., object]) -> Callable[..., object]:
    """Iterators are made lists: they are read once, and at once."""
    return lambda *arguments, **keywords: list(function(*arguments, **keywords))  # type: ignore[call-overload]


def _iterable(function: Callable[..., object]) -> Callable[..., object]:
    return lambda *arguments, **keywords: function(*(iterate(a) for a in arguments), **keywords)


def _first_iterable(function: Callable[..., object]) -> Callable[..., object]:
    return lambda first, *arguments, **keywords: function(iterate(first), *arguments, **keywords)


def _extreme(function: Callable[..., object]) -> Callable[..., object]:
    return lambda *a, **k: function(iterate(a[0]), **k) if len(a) == 1 else function(*a, **k)


def _power(base: object, exponent: object) -> object:
    return binary("**", base, exponent)


def _maybe(function: Callable[..., object]) -> Callable[..., object]:
    return lambda *a: function(*(iterate(x) for x in a))


BUILTINS: Mapping[str, Callable[..., object]] = {
    "abs": abs, "all": _iterable(all), "any": _iterable(any), "bool": bool, "divmod": divmod, "float": float,
    "int": int, "len": len, "max": _extreme(max), "min": _extreme(min), "pow": _power, "range": range, "repr": repr,
    "round": round, "str": str, "sum": _first_iterable(sum), "tuple": _maybe(tuple), "list": _maybe(list),
    "set": _maybe(set), "frozenset": _maybe(frozenset), "sorted": _iterable(sorted), "reversed": _listed(
        _iterable(lambda items: reversed(items))),
    "enumerate": _listed(_first_iterable(enumerate)), "zip": _listed(_iterable(zip)), "dict": dict, "slice": slice,
    "ord": ord, "chr": chr, "hex": hex, "bin": bin,
}  # fmt: skip
"""Builtins without effects; those that take functions are in `static_functions`."""
_MATH = """acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees dist exp expm1 fabs floor fmod frexp
gcd hypot isclose isfinite isinf isnan isqrt lcm ldexp log log10 log1p log2 modf pow prod radians remainder sin sinh
sqrt tan tanh trunc"""
MATH: Mapping[str, Callable[..., object]] = {name: getattr(math, name) for name in _MATH.split()}

_TEXT_METHODS = """upper lower startswith endswith join split strip lstrip rstrip replace count find index isdigit
isalpha title capitalize removeprefix removesuffix partition rpartition splitlines"""
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(_TEXT_METHODS.split()),
    int: frozenset(["bit_length", "bit_count", "conjugate", "is_integer"]),
    float: frozenset(["is_integer", "hex", "conjugate"]),
    tuple: frozenset(["index", "count"]),
    list: frozenset(["index", "count", "append", "extend", "insert", "pop", "reverse", "sort", "copy"]),
    dict: frozenset(["get", "keys", "values", "items", "copy"]),
    set: frozenset(["union", "intersection", "difference", "issubset", "issuperset", "add"]),
    frozenset: frozenset(["union", "intersection", "difference", "issubset", "issuperset"]),
    range: frozenset(["index", "count"]),
}
_FIELDS: Mapping[type, frozenset[str]] = {
    range: frozenset(("start", "stop", "step")),
    int: frozenset(("real", "imag", "numerator", "denominator")),
    float: frozenset(("real", "imag")),
}


def _short(text: str, function: Callable[..., object]) -> Callable[..., object]:
    """`join` and `replace`, whose results can be far longer than what they are made of."""

    def call(*arguments: object) -> object:
        plain: list[object] = [a if isinstance(a, (str, int)) else iterate(a) for a in arguments]
        length = 1 + sum(len(str(a)) for a in plain)
        if (1 + len(text)) * length > _MAX_LENGTH * 50:
            raise StaticError("a text becomes too long")
        return function(*plain)

    return call


def method(value: object, name: str) -> object:
    """A pure method or field of a plain value."""
    kind = int if isinstance(value, bool) else type(value)
    if name in _FIELDS.get(kind, ()):
        return getattr(value, name)
    if name in _METHODS.get(kind, ()) and hasattr(value, name):
        function: Callable[..., object] = getattr(value, name)
        if kind is dict and name in ("keys", "values", "items"):
            return Pure(name, _listed(function))
        if isinstance(value, str) and name in ("join", "replace"):
            return Pure(name, _short(value, function))
        if isinstance(value, Sequence) and len(value) > _MAX_LENGTH:
            raise StaticError("a sequence becomes too long")
        return Pure(name, function)
    raise StaticError(f"`{name}` of a value of type {type(value).__name__} is not supported at compile time")
