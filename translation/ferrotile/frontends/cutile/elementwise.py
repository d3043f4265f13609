"""The named functions of arithmetic, comparison and math: `ct.add`, `ct.exp2`, `ct.where`, .."""

from __future__ import annotations

from ferrotile.frontends.cutile import arithmetic as ops
from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.values import Abstract, TupleOf

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
_UNARY = {
    "negative": ops.negative,
    "abs": ops.absolute,
    "bitwise_not": ops.invert,
    "isnan": ops.is_nan,
}


def _binary(name: str, symbol: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        mode = args.mode()
        if name == "truediv" and mode.rounding == "full":
            raise ctx.refused("FT302", "FULL division cannot be written in cutile 0.5: use the default or APPROX")
        return ops.binary(ctx, symbol, args.operand("x"), args.operand("y"), mode)

    return Spec(f"x y * {_MODES.get(name, '')}", handler)


def _math(name: str, keywords: str) -> Spec:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        mode = args.mode()
        if name in ("exp", "tanh") and mode.rounding == "full":
            mode = ops.PLAIN
        return ops.math_unary(ctx, name, args.operand("x"), mode)

    return Spec(f"x * {keywords}", handler)


def _unary(name: str) -> Spec:
    function = _UNARY[name]
    return Spec("x", lambda ctx, args: function(ctx, args.operand("x")))


def _where(ctx: Context, args: Arguments) -> Abstract:
    return ops.where(ctx, args.operand("cond"), args.operand("x"), args.operand("y"))


def _divmod(ctx: Context, args: Arguments) -> Abstract:
    x, y = args.operand("x"), args.operand("y")
    return TupleOf((ops.binary(ctx, "//", x, y), ops.binary(ctx, "%", x, y)))


FUNCTIONS = {
    **{name: _binary(name, symbol) for name, symbol in BINARY.items()},
    **{name: _math(name, keywords) for name, keywords in _MATH.items()},
    **{name: _unary(name) for name in _UNARY},
    "where": Spec("cond x y", _where),
    "divmod": Spec("x y", _divmod),
    "atan2": Spec("x1 x2", lambda ctx, args: ops.atan2(ctx, args.operand("x1"), args.operand("x2"))),
}
BUILTINS = {
    "min": Spec("x y", FUNCTIONS["minimum"].handler),
    "max": Spec("x y", FUNCTIONS["maximum"].handler),
    "abs": FUNCTIONS["abs"],
    "divmod": FUNCTIONS["divmod"],
}
