"""Making constants concrete, casts, promotion and broadcasting: the implicit rules, made explicit."""

from __future__ import annotations

import math

from ferrotile.frontends.cutile.environment import Context, Poisoned
from ferrotile.frontends.cutile.literals import Number, cast, default_dtype, fits
from ferrotile.frontends.cutile.values import Abstract, Const, Poison, Tile, Unusable, describe
from ferrotile.program import dtypes
from ferrotile.program.dtypes import AssumedDType, DType, DTypeVariableError, Kind, met
from ferrotile.program.ir import Value
from ferrotile.program.types import Shape, Size, TileType, same_shape

Operand = Const | Tile

_EXACT_F32 = 1 << 24


def operand(ctx: Context, value: Abstract, what: str = "operand") -> Operand:
    """A number or a tile, else refused."""
    match value:
        case Tile():
            return value
        case Const(value=bool() | int() | float()):
            return value
        case Unusable():
            raise ctx.unusable(value)
        case Poison():
            raise Poisoned
        case _:
            raise ctx.refused("FT203", f"{describe(value)} is no number or tile: not allowed as {what}")


def number(ctx: Context, value: Const) -> Number:
    found = ctx.literal(value)
    assert isinstance(found, (bool, int, float))
    return found


def shape_of(value: Operand) -> Shape:
    return value.type.shape if isinstance(value, Tile) else ()


def tile_of(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def own_dtype(ctx: Context, value: Operand) -> DType:
    """The type that the operand has alone."""
    if isinstance(value, Tile):
        return value.type.dtype
    if value.dtype is not None:
        return value.dtype
    assert isinstance(value.value, (bool, int, float))
    found = default_dtype(value.value)
    if found is None:
        raise ctx.refused("FT208", f"{value.value} does not fit in 64 bits")
    return found


def materialise(ctx: Context, value: Operand, dtype: DType | None = None, shape: Shape | None = None) -> Value:
    """A run-time value of the operand, cast to `dtype` and broadcast to `shape` where these are given."""
    if isinstance(value, Tile):
        converted = value.value if dtype is None else convert(ctx, value.value, dtype)
        return converted if shape is None else broadcast(ctx, converted, shape)
    target = own_dtype(ctx, value) if dtype is None else dtype
    if value.symbol is not None:
        symbolic = _symbolic(ctx, value, target)
        if symbolic is not None:
            return symbolic if shape is None else broadcast(ctx, symbolic, shape)
    found = cast_constant(ctx, value, target).value
    assert isinstance(found, (bool, int, float))
    return constant(ctx, found, target, shape or ())


def cast_constant(ctx: Context, value: Const, dtype: DType) -> Const:
    """A constant of the type `dtype`, converted when the kernel is compiled: integers wrap, floats round."""
    found = cast(number(ctx, value), value.dtype, dtype)
    if found is None or (dtype.kind is Kind.STORAGE and not _representable(float(found), dtype)):
        raise ctx.refused("FT208", f"the constant {value.value!r} cannot become {dtype}")
    return Const(found, None, dtype)


def _representable(value: float, dtype: DType) -> bool:
    """Whether cutile makes the same number of an f32 constant: beyond the largest one it may saturate."""
    return math.isfinite(value) or dtype.name in ("tf32", "f8e5m2")


def constant(ctx: Context, value: Number, dtype: DType, shape: Shape = ()) -> Value:
    """A `constant` operation of a number that the type can represent."""
    if dtype.is_float:
        return ctx.emit("constant", (), TileType(dtype, shape), value=float(value))
    if dtype.kind is Kind.BOOL:
        return ctx.emit("constant", (), TileType(dtype, shape), value=bool(value))
    return ctx.emit("constant", (), TileType(dtype, shape), value=int(value))


def _symbolic(ctx: Context, value: Const, dtype: DType) -> Value | None:
    """The constant parameter as a run-time value that keeps its name, where that is exact."""
    raw = value.value
    if isinstance(raw, bool):
        if dtype != dtypes.BOOL:
            return None
        return ctx.emit("const_param", (), TileType(dtypes.BOOL), name=value.symbol)
    if not isinstance(raw, int) or not fits(raw, dtypes.I32):
        return None
    exact = dtype in (dtypes.F32, dtypes.F64) and abs(raw) <= _EXACT_F32
    if dtype not in (dtypes.I32, dtypes.I64) and not exact:
        return None
    read = ctx.emit("const_param", (), TileType(dtypes.I32), name=value.symbol)
    return convert(ctx, read, dtype)


def convert(ctx: Context, value: Value, dtype: DType, rounding: str | None = None) -> Value:
    """`astype`: the operation that takes one element type to another; none when they are the same."""
    source = tile_of(value).dtype
    if source is dtype:
        return value
    result = TileType(dtype, tile_of(value).shape)
    if source.identical(dtype):
        return Value(value.id, result, value.name)
    if source.is_float:
        if dtype.is_float:
            return ctx.emit("ftof", (value,), result, rounding=rounding)
        return ctx.emit("ftoi", (value,), result)
    if dtype.is_float:
        return ctx.emit("itof", (value,), result)
    if dtype.kind is Kind.BOOL:
        zero = constant(ctx, 0, source, result.shape)
        return ctx.emit("cmpi", (value, zero), result, predicate="not_equal")
    if source.kind is Kind.BOOL or source.bits < dtype.bits:
        return ctx.emit("exti", (value,), result)
    return ctx.emit("bitcast" if source.bits == dtype.bits else "trunci", (value,), result)


def reshape(ctx: Context, value: Value, shape: Shape) -> Value:
    """`reshape`, or the value itself when the shape is the same."""
    type_ = tile_of(value)
    if same_shape(type_.shape, shape):
        return value
    return ctx.emit("reshape", (value,), TileType(type_.dtype, shape, type_.pointer))


def broadcast(ctx: Context, value: Value, shape: Shape) -> Value:
    """Reshape to the rank of `shape`, then broadcast, as cuTile Python does. The shape must fit."""
    type_ = tile_of(value)
    if same_shape(type_.shape, shape):
        return value
    ones = tuple(Size(1) for _ in range(len(shape) - type_.rank))
    for have, want in zip(type_.shape, shape[len(ones) :], strict=True):
        if have.value == want.value:
            ctx.join_size(have, want)
        elif have.symbol is not None:
            ctx.pin(have.symbol)
    full = ones + tuple(
        Size(1) if h.value == 1 != w.value else h for h, w in zip(type_.shape, shape[len(ones) :], strict=True)
    )
    ranked = reshape(ctx, value, full)
    if same_shape(full, shape):
        return ranked
    return ctx.emit("broadcast", (ranked,), TileType(type_.dtype, shape, type_.pointer))


def broadcast_shape(ctx: Context, a: Shape, b: Shape) -> Shape:
    """NumPy's rule; sizes that are unified under different names are pinned."""
    rank = max(len(a), len(b))
    left = (Size(1),) * (rank - len(a)) + a
    right = (Size(1),) * (rank - len(b)) + b
    out: list[Size] = []
    for x, y in zip(left, right, strict=True):
        if x.value == y.value:
            out.append(ctx.join_size(x, y))
        elif x.value == 1 or y.value == 1:
            ctx.pin((x if x.value == 1 else y).symbol)
            out.append(y if x.value == 1 else x)
        else:
            shown = [f"({', '.join(map(str, s))})" for s in (a, b)]
            raise ctx.refused(
                "FT204", f"shapes {shown[0]} and {shown[1]} do not broadcast: {x.value} against {y.value}"
            )
    return tuple(out)


_CATEGORY = {Kind.BOOL: 0, Kind.SIGNED: 1, Kind.UNSIGNED: 1, Kind.FLOAT: 2, Kind.STORAGE: 2}


def promote_dtypes(a: DType, b: DType) -> DType | None:
    """The type of two typed operands together; None when they do not combine.

    Raises `DTypeVariableError` where two type variables meet: they have to be one."""
    if a is b:
        return a
    if isinstance(a, AssumedDType) and isinstance(b, AssumedDType):
        a.meet(b)
    if a.identical(b):
        return met(a, b)
    if a.variable or b.variable:
        return _promote_variable(a, b)
    if Kind.STORAGE in (a.kind, b.kind):
        return None
    if _CATEGORY[a.kind] != _CATEGORY[b.kind]:
        return a if _CATEGORY[a.kind] > _CATEGORY[b.kind] else b
    if a.kind != b.kind:
        return None
    if a.bits == b.bits:
        return None
    return a if a.bits > b.bits else b


def _promote_variable(a: DType, b: DType) -> DType | None:
    """A type variable stands for a float of at most 32 bits: what holds for all of them."""
    if a.variable and b.variable:
        raise DTypeVariableError(a, b)
    variable, other = (a, b) if a.variable else (b, a)
    match other.kind:
        case Kind.FLOAT:
            return other if other.bits >= 32 else None
        case Kind.STORAGE:
            return None
        case _:
            return variable


def _literal_category(value: Number) -> int:
    return 0 if isinstance(value, bool) else 1 if isinstance(value, int) else 2


def is_loose(value: Operand) -> bool:
    return isinstance(value, Const) and value.dtype is None


def promote(ctx: Context, a: Operand, b: Operand, force_float: bool = False) -> DType:
    """The common type of two operands; a loose constant adapts to the other's category. `force_float` makes integers
    f32, as `/` does."""
    if is_loose(a) and not is_loose(b):
        a, b = b, a
    first = own_dtype(ctx, a)
    if is_loose(b) and not is_loose(a):
        assert isinstance(b, Const) and isinstance(b.value, (bool, int, float))
        found: DType | None = first
        if _literal_category(b.value) > _CATEGORY[first.kind]:
            found = own_dtype(ctx, b)
        elif first.is_integer and not isinstance(b.value, bool) and not force_float and not fits(int(b.value), first):
            raise ctx.refused("FT208", f"the constant {b.value} is out of range of {first}")
    else:
        second = own_dtype(ctx, b)
        found = promote_dtypes(first, second)
        if found is None:
            raise ctx.refused("FT203", f"{first} and {second} do not combine: convert one of them with `.astype(...)`")
    assert found is not None
    return found if found.is_float or not force_float else dtypes.F32


def implicit_cast(ctx: Context, value: Operand, dtype: DType, what: str) -> Value:
    """The cast that a store makes: allowed only where promotion of both types is the target."""
    if is_loose(value):
        assert isinstance(value, Const) and isinstance(value.value, (bool, int, float))
        category = _literal_category(value.value)
        lossy = category > _CATEGORY[dtype.kind] and not (dtype.kind is Kind.BOOL and value.value in (0, 1))
        if lossy or (dtype.kind is Kind.BOOL and category == 2):
            raise ctx.refused("FT206", f"cannot implicitly cast the constant {value.value!r} to {dtype} in {what}")
        if dtype.is_integer and not fits(int(value.value), dtype):
            raise ctx.refused("FT208", f"the constant {value.value} is out of range of {dtype}")
        return materialise(ctx, value, dtype)
    source = own_dtype(ctx, value)
    if isinstance(dtype, AssumedDType) and source.is_float and not isinstance(source, AssumedDType):
        ctx.specific = True
    if not source.identical(dtype) and not _promotes_to(source, dtype):
        raise ctx.refused(
            "FT206",
            f"cannot implicitly cast {source} to {dtype} in {what}: write `.astype({_ct_name(dtype)})`",
        )
    return materialise(ctx, value, dtype)


def _promotes_to(source: DType, dtype: DType) -> bool:
    found = promote_dtypes(source, dtype)
    return found is not None and found.identical(dtype)


def _ct_name(dtype: DType) -> str:
    stem = {"f": "ct.float", "bf": "ct.bfloat", "i": "ct.int", "u": "ct.uint", "tf": "ct.tfloat"}
    head = dtype.name.rstrip("0123456789")
    return f"{stem[head]}{dtype.bits}" if head in stem else "..."
