"""Arithmetic, comparison, logic and element-wise math."""

from __future__ import annotations

from dataclasses import dataclass

from ferrotile.frontends.cutile.conversion import (
    Operand,
    broadcast_shape,
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
from ferrotile.frontends.cutile.literals import fold
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


@dataclass(frozen=True, slots=True)
class Mode:
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
        folded = fold(symbol, number(ctx, a), number(ctx, b))
        if folded is None:
            raise ctx.refused("FT203", f"`{a.value} {symbol} {b.value}` has no value")
        return Const(folded)
    if symbol in PREDICATES:
        return compare(ctx, symbol, a, b)
    if symbol in _BITWISE:
        return _bitwise(ctx, symbol, a, b)
    dtype = promote(ctx, a, b)
    if dtype.kind is Kind.BOOL and symbol not in ("min", "max"):
        raise ctx.refused("FT203", f"`{symbol}` is not defined for two bools: convert one with `.astype(ct.int32)`")
    if dtype.kind is Kind.STORAGE:
        raise ctx.refused("FT203", f"`{symbol}` is not defined for {dtype}: convert to ct.float32 first")
    if symbol == "/" and not dtype.is_float:
        dtype = dtypes.F32
    if symbol == "**":
        return _power(ctx, a, b, dtype)
    left, right, result = aligned(ctx, a, b, dtype)
    if symbol in _SHIFTS:
        if not dtype.is_integer:
            raise ctx.refused("FT203", f"`{symbol}` needs integers, not {dtype}")
        return Tile(ctx.emit(_SHIFTS[symbol], (left, right), result))
    match symbol:
        case "/":
            return Tile(_float(ctx, "divf", left, right, mode))
        case "//":
            return Tile(_floor_divide(ctx, left, right))
        case "%":
            return Tile(_modulo(ctx, left, right))
        case "cdiv":
            if dtype.is_float:
                raise ctx.refused("FT203", "`ct.cdiv` needs integers")
            return Tile(ctx.emit("divi", (left, right), result, rounding="positive_inf"))
        case _:
            integer, float_ = _SIMPLE[symbol]
            if not dtype.is_float:
                return Tile(ctx.emit(integer, (left, right), result))
            return Tile(_float(ctx, float_, left, right, mode))


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


def _power(ctx: Context, a: Operand, b: Operand, dtype: DType) -> Abstract:
    if not own_dtype(ctx, a).is_float and not dtype.is_float:
        raise ctx.refused(
            "FT302", "`**` with an integer base is an internal error of cuTile Python: convert to a float"
        )
    left, right, result = aligned(ctx, a, b, dtype)
    return Tile(ctx.emit("pow", (left, right), result))


def _bitwise(ctx: Context, symbol: str, a: Operand, b: Operand) -> Abstract:
    dtype = own_dtype(ctx, b if is_loose(a) else a)
    for side in (a, b):
        if is_loose(side):
            assert isinstance(side, Const)
            if isinstance(side.value, float) or (dtype.kind is Kind.BOOL and not isinstance(side.value, bool)):
                raise ctx.refused("FT203", f"`{symbol}` of {dtype} and the constant {side.value!r}")
        elif own_dtype(ctx, side) != dtype:
            raise ctx.refused("FT203", f"`{symbol}` needs equal types, not {dtype} and {own_dtype(ctx, side)}")
    if dtype.is_float:
        raise ctx.refused("FT203", f"`{symbol}` needs integers or bools, not {dtype}")
    left, right, result = aligned(ctx, a, b, dtype)
    return Tile(ctx.emit(_BITWISE[symbol], (left, right), result))


def compare(ctx: Context, symbol: str, a: Operand, b: Operand) -> Abstract:
    left, right, result = aligned(ctx, a, b, promote(ctx, a, b))
    flag = TileType(dtypes.BOOL, result.shape)
    if not result.dtype.is_float:
        return Tile(ctx.emit("cmpi", (left, right), flag, predicate=PREDICATES[symbol]))
    ordering = "unordered" if symbol == "!=" else "ordered"
    return Tile(ctx.emit("cmpf", (left, right), flag, predicate=PREDICATES[symbol], ordering=ordering))


def negative(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const) and is_loose(x):
        return Const(-number(ctx, x))
    value = materialise(ctx, x)
    if tile_of(value).dtype.kind is Kind.BOOL:
        value = convert(ctx, value, dtypes.I32)
    return Tile(ctx.emit("negf" if tile_of(value).dtype.is_float else "negi", (value,), value.type))


def positive(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const) and is_loose(x):
        return Const(+number(ctx, x))
    value = materialise(ctx, x)
    return Tile(convert(ctx, value, dtypes.I32) if tile_of(value).dtype.kind is Kind.BOOL else value)


def absolute(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const) and is_loose(x):
        return Const(abs(number(ctx, x)))
    value = materialise(ctx, x)
    dtype = tile_of(value).dtype
    if dtype.kind in (Kind.BOOL, Kind.UNSIGNED):
        return Tile(value)
    return Tile(ctx.emit("absf" if dtype.is_float else "absi", (value,), value.type))


def invert(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const) and is_loose(x):
        raw = number(ctx, x)
        if isinstance(raw, (bool, float)):
            raise ctx.refused("FT203", f"`~` of the constant {raw!r}")
        return Const(~raw)
    value = materialise(ctx, x)
    type_ = tile_of(value)
    if type_.dtype.is_float:
        raise ctx.refused("FT203", f"`~` needs integers or bools, not {type_.dtype}")
    ones: int | bool = -1 if type_.dtype.kind is Kind.SIGNED else (1 << type_.dtype.bits) - 1
    mask = constant(ctx, ones, type_.dtype, type_.shape)
    return Tile(ctx.emit("xori", (value, mask), type_))


def logical_not(ctx: Context, x: Operand) -> Abstract:
    if isinstance(x, Const):
        return Const(not number(ctx, x))
    value = convert(ctx, x.value, dtypes.BOOL)
    true = constant(ctx, True, dtypes.BOOL, tile_of(value).shape)
    return Tile(ctx.emit("xori", (value, true), value.type))


def math_unary(ctx: Context, opcode: str, x: Operand, mode: Mode = PLAIN) -> Abstract:
    """An element-wise float function; integers and bools become f32, except under floor and ceil."""
    value = materialise(ctx, x)
    dtype = tile_of(value).dtype
    if dtype.kind is Kind.STORAGE:
        raise ctx.refused("FT203", f"`{opcode}` is not defined for {dtype}: convert to ct.float32 first")
    if not dtype.is_float:
        if opcode in ("floor", "ceil"):
            raise ctx.refused("FT203", f"`{opcode}` needs floats, not {dtype}")
        value = convert(ctx, value, dtypes.F32)
    return Tile(ctx.emit(opcode, (value,), value.type, rounding=mode.rounding, ftz=mode.ftz or None))


def atan2(ctx: Context, a: Operand, b: Operand) -> Abstract:
    dtype = promote(ctx, a, b)
    left, right, result = aligned(ctx, a, b, dtype if dtype.is_float else dtypes.F32)
    return Tile(ctx.emit("atan2", (left, right), result))


def where(ctx: Context, condition: Operand, a: Operand, b: Operand) -> Abstract:
    dtype = promote(ctx, a, b)
    shape = broadcast_shape(ctx, shape_of(a), shape_of(b))
    shape = broadcast_shape(ctx, shape_of(condition), shape)
    mask = materialise(ctx, condition, dtypes.BOOL, shape)
    left = materialise(ctx, a, dtype, shape)
    right = materialise(ctx, b, dtype, shape)
    return Tile(ctx.emit("select", (mask, left, right), TileType(dtype, shape)))


def is_nan(ctx: Context, x: Operand) -> Abstract:
    value = materialise(ctx, x)
    type_ = tile_of(value)
    flag = TileType(dtypes.BOOL, type_.shape)
    if not type_.dtype.is_float:
        raise ctx.refused("FT203", f"`isnan` needs floats, not {type_.dtype}")
    return Tile(ctx.emit("cmpf", (value, value), flag, predicate="not_equal", ordering="unordered"))
