"""Arithmetic, comparison, logic and element-wise math."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.frontends.cutile.conversion import (
    Operand,
    broadcast_shape,
    cast_constant,
    constant,
    convert,
    is_loose,
    materialise,
    number,
    own_dtype,
    promote,
    shape_of,
    tile_of,
)
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.literals import Number, fold, fold_unary
from ferrotile.frontends.cutile.values import Abstract, Const, Tile
from ferrotile.program import dtypes
from ferrotile.program.dtypes import DType, Kind
from ferrotile.program.ir import Value
from ferrotile.program.types import TileType

PREDICATES = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less_than",
    "<=": "less_than_or_equal",
    ">": "greater_than",
    ">=": "greater_than_or_equal",
}


class Mode(Struct, frozen=True):
    """Keyword settings of a float operation; None is the default."""

    rounding: str | None = None
    ftz: bool | None = None
    propagate_nan: bool | None = None

    @property
    def plain(self) -> bool:
        return self.rounding is None and not self.ftz and not self.propagate_nan


PLAIN = Mode()

_SIMPLE = {
    "+": ("addi", "addf"),
    "-": ("subi", "subf"),
    "*": ("muli", "mulf"),
    "min": ("mini", "minf"),
    "max": ("maxi", "maxf"),
}
_BITWISE = {"&": "andi", "|": "ori", "^": "xori"}
_SHIFTS = {"<<": "shli", ">>": "shri"}


def binary(ctx: Context, symbol: str, a: Operand, b: Operand, mode: Mode = PLAIN) -> Abstract:
    """`a symbol b` for every binary operator, `min`, `max` and `cdiv`."""
    if isinstance(a, Const) and isinstance(b, Const) and is_loose(a) and is_loose(b):
        return Const(_fold(ctx, symbol, a, b))
    dtype = common_dtype(ctx, symbol, a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        folded = _fold(ctx, symbol, cast_constant(ctx, a, dtype), cast_constant(ctx, b, dtype))
        kind = dtypes.BOOL if symbol in PREDICATES else dtype
        return cast_constant(ctx, Const(folded, None, kind), kind)
    left, right, result = aligned(ctx, a, b, dtype)
    if symbol in PREDICATES:
        return _compare(ctx, symbol, left, right, result)
    if symbol in _BITWISE or symbol in _SHIFTS:
        return Tile(ctx.emit((_BITWISE | _SHIFTS)[symbol], (left, right), result))
    match symbol:
        case "/":
            return Tile(_float(ctx, "divf", left, right, mode))
        case "//":
            return Tile(_floor_divide(ctx, left, right))
        case "%":
            return Tile(_modulo(ctx, left, right))
        case "**" | "atan2":
            return Tile(ctx.emit({"**": "pow"}.get(symbol, symbol), (left, right), result))
        case "cdiv":
            return Tile(ctx.emit("divi", (left, right), result, rounding="positive_inf"))
        case _:
            integer, float_ = _SIMPLE[symbol]
            if not dtype.is_float:
                return Tile(ctx.emit(integer, (left, right), result))
            return Tile(_float(ctx, float_, left, right, mode))


def _fold(ctx: Context, symbol: str, a: Const, b: Const) -> Number:
    folded = fold(symbol, number(ctx, a), number(ctx, b))
    if folded is None:
        raise ctx.refused("FT203", f"`{a.value} {symbol} {b.value}` has no value")
    return folded


def common_dtype(ctx: Context, symbol: str, a: Operand, b: Operand) -> DType:
    """The type in which a binary operator computes; refuses types that it is not defined for."""
    if symbol in _BITWISE:
        return _bitwise_dtype(ctx, symbol, a, b)
    if symbol in _SHIFTS:
        for side in (a, b):
            if not own_dtype(ctx, side).is_integer:
                raise ctx.refused("FT203", f"`{symbol}` needs integers, not {own_dtype(ctx, side)}")
    dtype = promote(ctx, a, b, symbol == "/")
    if dtype.kind is Kind.STORAGE:
        raise ctx.refused("FT203", f"`{symbol}` is not defined for {dtype}: convert to ct.float32 first")
    if symbol in PREDICATES:
        return dtype
    if dtype.kind is Kind.BOOL:
        raise ctx.refused("FT203", f"`{symbol}` is not defined for two bools: convert one with `.astype(ct.int32)`")
    constant = isinstance(a, Const) and isinstance(b, Const)
    if symbol == "**" and not dtype.is_float and not constant:
        raise ctx.refused(
            "FT302", "`**` with an integer base is an internal error of cuTile Python: convert to a float"
        )
    if symbol == "atan2" and not dtype.is_float:
        raise ctx.refused("FT203", f"`atan2` needs floats, not {dtype}")
    if symbol == "cdiv" and dtype.is_float:
        raise ctx.refused("FT203", "`ct.cdiv` needs integers")
    if symbol == "//" and dtype.kind is Kind.UNSIGNED and not constant:
        raise ctx.refused(
            "FT220",
            f"`//` of {dtype} is refused by cuTile Python's own assembler: write `ct.cdiv(x + 1, y) - 1`",
        )
    return dtype


def aligned(ctx: Context, a: Operand, b: Operand, dtype: DType) -> tuple[Value, Value, TileType]:
    """Both operands in one type: cast first, then broadcast."""
    shape = broadcast_shape(ctx, shape_of(a), shape_of(b))
    left = materialise(ctx, a, dtype, shape)
    right = materialise(ctx, b, dtype, shape)
    return left, right, TileType(dtype, shape)


def _float(ctx: Context, opcode: str, a: Value, b: Value, mode: Mode) -> Value:
    if mode.plain:
        return ctx.emit(opcode, (a, b), a.type)
    ftz = mode.ftz or None
    if opcode in ("minf", "maxf"):
        return ctx.emit(opcode, (a, b), a.type, propagate_nan=mode.propagate_nan or None, ftz=ftz)
    return ctx.emit(opcode, (a, b), a.type, rounding=mode.rounding, ftz=ftz)


def _floor_divide(ctx: Context, a: Value, b: Value) -> Value:
    if tile_of(a).dtype.is_float:
        return ctx.emit("floor", (ctx.emit("divf", (a, b), a.type),), a.type)
    return ctx.emit("divi", (a, b), a.type, rounding="negative_inf")


def _modulo(ctx: Context, a: Value, b: Value) -> Value:
    """The remainder with the divisor's sign: corrected where it is not zero and the signs differ."""
    type_ = tile_of(a)
    flag = TileType(dtypes.BOOL, type_.shape)
    floating = type_.dtype.is_float
    zero = constant(ctx, 0, type_.dtype, type_.shape)
    remainder = ctx.emit("remf" if floating else "remi", (a, b), type_)
    if floating:
        low = ctx.emit("cmpf", (remainder, zero), flag, predicate="less_than", ordering="ordered")
        negative = ctx.emit("cmpf", (b, zero), flag, predicate="less_than", ordering="ordered")
    else:
        low = ctx.emit("cmpi", (remainder, zero), flag, predicate="less_than")
        negative = ctx.emit("cmpi", (b, zero), flag, predicate="less_than")
    differ = ctx.emit("xori", (low, negative), flag)
    if floating:
        inexact = ctx.emit("cmpf", (remainder, zero), flag, predicate="not_equal", ordering="unordered")
    else:
        inexact = ctx.emit("cmpi", (remainder, zero), flag, predicate="not_equal")
    wrong = ctx.emit("andi", (differ, inexact), flag)
    fixed = ctx.emit("addf" if floating else "addi", (remainder, b), type_)
    return ctx.emit("select", (wrong, fixed, remainder), type_)


def _bitwise_dtype(ctx: Context, symbol: str, a: Operand, b: Operand) -> DType:
    kinds = [own_dtype(ctx, a), own_dtype(ctx, b)]
    for kind in kinds:
        if kind.is_float:
            raise ctx.refused("FT203", f"`{symbol}` needs integers or bools, not {kind}")
    if is_loose(a) == is_loose(b) and kinds[0] != kinds[1]:
        raise ctx.refused("FT203", f"`{symbol}` needs equal types, not {kinds[0]} and {kinds[1]}")
    if {k.name for k in kinds} == {"bool", "i8"}:
        raise ctx.refused("FT203", f"`{symbol}` of bool and i8 is not defined")
    return promote(ctx, a, b)


def compare(ctx: Context, symbol: str, a: Operand, b: Operand) -> Abstract:
    """`a symbol b` for a comparison."""
    return binary(ctx, symbol, a, b)


def _compare(ctx: Context, symbol: str, left: Value, right: Value, kind: TileType) -> Abstract:
    flag = TileType(dtypes.BOOL, kind.shape)
    if not kind.dtype.is_float:
        return Tile(ctx.emit("cmpi", (left, right), flag, predicate=PREDICATES[symbol]))
    ordering = "unordered" if symbol == "!=" else "ordered"
    return Tile(ctx.emit("cmpf", (left, right), flag, predicate=PREDICATES[symbol], ordering=ordering))


def _folded(ctx: Context, name: str, x: Const) -> Const:
    """A function of a constant, computed when the kernel is compiled as cuTile Python does."""
    found = fold_unary(name, number(ctx, x))
    if found is None:
        raise ctx.refused("FT203", f"`{name}` of {x.value!r} has no value")
    if x.dtype is None:
        return Const(found)
    kind = dtypes.BOOL if name == "isnan" else x.dtype
    return cast_constant(ctx, Const(found, None, kind), kind)


def negative(ctx: Context, x: Operand) -> Abstract:
    dtype = own_dtype(ctx, x)
    if isinstance(x, Const):
        loose = x.dtype is None or dtype.kind is not Kind.BOOL
        return _folded(ctx, "negative", x if loose else cast_constant(ctx, x, dtypes.I32))
    _no_storage(ctx, "-", dtype)
    value = convert(ctx, x.value, dtypes.I32) if dtype.kind is Kind.BOOL else x.value
    return Tile(ctx.emit("negf" if dtype.is_float else "negi", (value,), value.type))


def _no_storage(ctx: Context, symbol: str, dtype: DType) -> None:
    if dtype.kind is Kind.STORAGE:
        raise ctx.refused("FT203", f"`{symbol}` is not defined for {dtype}: convert to ct.float32 first")


def positive(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const) and is_loose(x):
        return Const(+number(ctx, x))
    if own_dtype(ctx, x).kind is not Kind.BOOL:
        return x
    return cast_constant(ctx, x, dtypes.I32) if isinstance(x, Const) else Tile(convert(ctx, x.value, dtypes.I32))


def absolute(ctx: Context, x: Operand) -> Abstract:
    """`abs`. The operation reads unsigned integers as signed, so it is not the identity on them."""
    if isinstance(x, Const):
        return _folded(ctx, "abs", x)
    dtype = x.type.dtype
    _no_storage(ctx, "abs", dtype)
    return Tile(ctx.emit("absf" if dtype.is_float else "absi", (x.value,), x.value.type))


def invert(ctx: Context, x: Operand, bools: bool = False) -> Abstract:
    """`~`, or `ct.bitwise_not`, which takes constant `bools` too."""
    if isinstance(x, Const) and is_loose(x):
        raw = number(ctx, x)
        if isinstance(raw, bool) and bools:
            return Const(not raw)
        if isinstance(raw, (bool, float)):
            raise ctx.refused("FT203", f"`~` of the constant {raw!r}")
        return Const(~raw)
    if isinstance(x, Const) and x.dtype is not None and x.dtype.is_integer:
        return cast_constant(ctx, Const(~int(number(ctx, x)), None, x.dtype), x.dtype)
    value = materialise(ctx, x)
    type_ = tile_of(value)
    if type_.dtype.is_float:
        raise ctx.refused("FT203", f"`~` needs integers or bools, not {type_.dtype}")
    ones: int | bool = -1 if type_.dtype.kind is Kind.SIGNED else (1 << type_.dtype.bits) - 1
    mask = constant(ctx, ones, type_.dtype, type_.shape)
    return Tile(ctx.emit("xori", (value, mask), type_))


def logical_not(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const):
        return Const(not number(ctx, x), None, None if x.dtype is None else dtypes.BOOL)
    value = convert(ctx, x.value, dtypes.BOOL)
    true = constant(ctx, True, dtypes.BOOL, tile_of(value).shape)
    return Tile(ctx.emit("xori", (value, true), value.type))


def math_dtype(ctx: Context, name: str, x: Operand) -> DType:
    """The type in which a function computes: integers and bools become f32, except under floor and ceil."""
    dtype = own_dtype(ctx, x)
    _no_storage(ctx, name, dtype)
    if not dtype.is_float and name in ("floor", "ceil"):
        raise ctx.refused("FT203", f"`{name}` needs floats, not {dtype}")
    return dtype if dtype.is_float else dtypes.F32


def math_unary(ctx: Context, opcode: str, x: Operand, mode: Mode = PLAIN) -> Abstract:
    """An element-wise float function."""
    if isinstance(x, Const) and is_loose(x):
        return _folded(ctx, opcode, x)
    dtype = math_dtype(ctx, opcode, x)
    if isinstance(x, Const):
        return _folded(ctx, opcode, cast_constant(ctx, x, dtype))
    value = convert(ctx, x.value, dtype)
    return Tile(ctx.emit(opcode, (value,), value.type, rounding=mode.rounding, ftz=mode.ftz or None))


def where(ctx: Context, condition: Operand, a: Operand, b: Operand) -> Abstract:
    dtype = promote(ctx, a, b)
    shape = broadcast_shape(ctx, shape_of(a), shape_of(b))
    shape = broadcast_shape(ctx, shape_of(condition), shape)
    mask = materialise(ctx, condition, dtypes.BOOL, shape)
    left = materialise(ctx, a, dtype, shape)
    right = materialise(ctx, b, dtype, shape)
    return Tile(ctx.emit("select", (mask, left, right), TileType(dtype, shape)))


def is_nan(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const) and (is_loose(x) or own_dtype(ctx, x).is_float):
        return _folded(ctx, "isnan", x)
    dtype = own_dtype(ctx, x)
    if dtype.kind is not Kind.FLOAT or isinstance(x, Const):
        raise ctx.refused("FT203", f"`isnan` needs floats, not {dtype}")
    flag = TileType(dtypes.BOOL, x.type.shape)
    return Tile(ctx.emit("cmpf", (x.value, x.value), flag, predicate="not_equal", ordering="unordered"))
