"""The named functions of arithmetic, comparison and math: `ct.add`, `ct.exp2`, `ct.where`, .."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ferrotile.frontends.cutile import arithmetic as ops
from ferrotile.frontends.cutile import matrix
from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import Operand, is_loose
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.modes import check_mode
from ferrotile.frontends.cutile.values import Abstract, Const, TupleOf

BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "cdiv": "cdiv",
    "minimum": "min",
    "maximum": "max",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "bitwise_lshift": "<<",
    "bitwise_rshift": ">>",
}
_MODES = {
    **dict.fromkeys(("add", "sub", "mul", "truediv"), "rounding_mode? flush_to_zero?"),
    **dict.fromkeys(("minimum", "maximum"), "flush_to_zero? propagate_nan?"),
}
_MATH = {
    "exp": "rounding_mode?",
    "exp2": "flush_to_zero?",
    "log": "",
    "log2": "",
    "sqrt": "rounding_mode? flush_to_zero?",
    "rsqrt": "flush_to_zero?",
    "sin": "",
    "cos": "",
    "tan": "",
    "sinh": "",
    "cosh": "",
    "tanh": "rounding_mode?",
    "floor": "",
    "ceil": "",
}
_UNARY: dict[str, Callable[[Context, Operand], Abstract]] = {
    "negative": ops.negative,
    "abs": ops.absolute,
    "bitwise_not": lambda ctx, x: ops.invert(ctx, x, True),
    "isnan": ops.is_nan,
}


def _binary(name: str, symbol: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        mode = args.mode()
        a, b = args.operand("x"), args.operand("y")
        if not mode.plain and not (isinstance(a, Const) and isinstance(b, Const)):
            check_mode(args, name, ops.common_dtype(ctx, symbol, a, b))
        if name == "truediv" and mode.rounding == "full":
            raise ctx.refused("FT302", "FULL division cannot be written in cutile 0.5: use the default or APPROX")
        return ops.binary(ctx, symbol, a, b, mode)

    return Spec(f"x y * {_MODES.get(name, '')}", handler)


def _math(name: str, keywords: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        mode = args.mode()
        x = args.operand("x")
        if not mode.plain and not isinstance(x, Const):
            check_mode(args, name, ops.math_dtype(ctx, name, x))
        if mode.rounding == "full" or (name == "sqrt" and mode.rounding == "nearest_even"):
            mode = replace(mode, rounding=None)
        return ops.math_unary(ctx, name, x, mode)

    return Spec(f"x * {keywords}", handler)


def _unary(name: str) -> Spec:
    function = _UNARY[name]
    return Spec("x", lambda ctx, args: function(ctx, args.operand("x")))


def _where(ctx: Context, args: Arguments) -> Abstract:
    return ops.where(ctx, args.operand("cond"), args.operand("x"), args.operand("y"))


def _divmod(ctx: Context, args: Arguments) -> Abstract:
    x, y = args.operand("x"), args.operand("y")
    loose = is_loose(x) and is_loose(y)
    if not loose and ops.common_dtype(ctx, "//", x, y).is_float:
        raise ctx.refused("FT203", "`divmod` is not defined for floats: use `//` and `%`")
    return TupleOf((ops.binary(ctx, "//", x, y), ops.binary(ctx, "%", x, y)))


FUNCTIONS = {
    **{name: _binary(name, symbol) for name, symbol in BINARY.items()},
    **{name: _math(name, keywords) for name, keywords in _MATH.items()},
    **{name: _unary(name) for name in _UNARY},
    "where": Spec("cond x y", _where),
    "divmod": Spec("x y", _divmod),
    "atan2": Spec("x1 x2", lambda ctx, args: ops.binary(ctx, "atan2", args.operand("x1"), args.operand("x2"))),
}
BUILTINS = {
    "min": Spec("x y", FUNCTIONS["minimum"].handler),
    "max": Spec("x y", FUNCTIONS["maximum"].handler),
    "abs": FUNCTIONS["abs"],
    "divmod": FUNCTIONS["divmod"],
}
_SYMBOLS = {
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**",
}  # fmt: skip


def _operator(symbol: str) -> Spec:
    return Spec("a b", lambda ctx, args: ops.binary(ctx, symbol, args.operand("a"), args.operand("b")))


OPERATORS = {
    **{name: _operator(symbol) for name, symbol in _SYMBOLS.items()},
    "matmul": Spec("a b", lambda ctx, args: matrix.matmul(ctx, args.operand("a"), args.operand("b"))),
    "neg": Spec("a", lambda ctx, args: ops.negative(ctx, args.operand("a"))),
    "pos": Spec("a", lambda ctx, args: ops.positive(ctx, args.operand("a"))),
    "invert": Spec("a", lambda ctx, args: ops.invert(ctx, args.operand("a"))),
    "not_": Spec("a", lambda ctx, args: ops.logical_not(ctx, args.operand("a"))),
    "abs": Spec("a", lambda ctx, args: ops.absolute(ctx, args.operand("a"))),
}
"""Functions of Python's `operator` module."""
