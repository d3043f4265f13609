"""Exact expansions of operations that cutile 0.5 cannot say: 16-bit arithmetic, and reductions and scans of every kind.

`EXPANSIONS` is the table. An expansion gives the value that replaces the operation's result, or None where the
operation can be said as it is. What an expansion emits is expanded in its turn.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from ferrotile.passes.uses import next_id, rewrite
from ferrotile.program.dtypes import BOOL, I32, U32, DType, Kind
from ferrotile.program.ir import Attribute, Operation, Program, Statement, Value
from ferrotile.program.types import Size, TileType
from ferrotile.rust.targets.cutile_0_5 import REDUCIBLE, WIDE_INTEGERS
from ferrotile.syntax.span import NOWHERE, Span

_LAST = 2**31 - 1
"""An index that no lane has."""


class Maker:
    """Emits the operations that stand for one."""

    def __init__(self, fresh: int, span: Span = NOWHERE) -> None:
        self.fresh = fresh
        self.span = span
        self.made: list[Operation] = []

    def emit(self, opcode: str, operands: tuple[Value, ...], result: TileType, **attributes: Attribute) -> Value:
        value = Value(self.fresh, result)
        self.fresh += 1
        kept = tuple((k, v) for k, v in attributes.items() if v is not None)
        self.made.append(Operation(opcode, operands, (value,), kept, self.span))
        return value

    def constant(self, number: int | float | bool, like: TileType) -> Value:
        return self.emit("constant", (), like, value=number)

    def compare(self, opcode: str, predicate: str, a: Value, b: Value) -> Value:
        ordering = {"cmpi": None, "cmpf": "unordered" if predicate == "not_equal" else "ordered"}[opcode]
        return self.emit(opcode, (a, b), _like(a, BOOL), predicate=predicate, ordering=ordering)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.emit("select", (condition, a, b), _tile(a))


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _like(value: Value, dtype: DType) -> TileType:
    return TileType(dtype, _tile(value).shape)


def _wide(dtype: DType) -> DType:
    return U32 if dtype.kind in (Kind.UNSIGNED, Kind.BOOL) else I32


def _narrow_arithmetic(make: Maker, operation: Operation) -> Value | None:
    """16-bit `+ - * <<` in 32 bits: the low bits are the same."""
    kind = _tile(operation.result)
    if kind.dtype.name in WIDE_INTEGERS:
        return None
    wide = TileType(_wide(kind.dtype), kind.shape)
    a, b = (make.emit("exti", (v,), wide) for v in operation.operands)
    return make.emit("trunci", (make.emit(operation.opcode, (a, b), wide),), kind)


_COMBINE = {
    "sum": ("addi", "addf"), "prod": ("muli", "mulf"), "min": ("mini", "minf"), "max": ("maxi", "maxf"),
    "and": ("andi", ""), "or": ("ori", ""), "xor": ("xori", ""),
}  # fmt: skip


def _combine(make: Maker, reduction: Operation, a: Value, b: Value) -> Value:
    """One step of a reduction, with its modes, lane by lane."""
    function = str(reduction.attribute("function"))
    integer, floating = _COMBINE[function]
    kind = _tile(a)
    if not kind.dtype.is_float:
        return make.emit(integer, (a, b), kind)
    modes = ("propagate_nan", "ftz") if function in ("min", "max") else ("rounding", "ftz")
    return make.emit(floating, (a, b), kind, **{m: reduction.attribute(m) for m in modes})


def _axis(operation: Operation) -> int:
    return int(str(operation.attribute("axis")))


def _without(kind: TileType, axis: int) -> TileType:
    return TileType(kind.dtype, kind.shape[:axis] + kind.shape[axis + 1 :])


def _tree(make: Maker, reduction: Operation, value: Value) -> Value:
    """Halves combined with halves until one is left."""
    axis = _axis(reduction)
    kind = _tile(value)
    while kind.shape[axis].value > 1:
        half = TileType(kind.dtype, (*kind.shape[:axis], Size(kind.shape[axis].value // 2), *kind.shape[axis + 1 :]))
        low, high = (make.emit("extract", (value, *_place(make, kind, axis, k)), half) for k in (0, 1))
        value, kind = _combine(make, reduction, low, high), half
    return make.emit("reshape", (value,), _without(kind, axis))


def _place(make: Maker, kind: TileType, axis: int, part: int) -> tuple[Value, ...]:
    return tuple(make.constant(part if d == axis else 0, TileType(I32)) for d in range(kind.rank))


def _reduce(make: Maker, operation: Operation) -> Value | None:
    (source,) = operation.operands
    kind = _tile(source)
    function = str(operation.attribute("function"))
    if function in ("argmax", "argmin"):
        return _arg_reduce(make, operation)
    if function in ("and", "or", "xor"):
        return _bool_reduce(make, operation) if kind.dtype.kind is Kind.BOOL else _tree(make, operation, source)
    if operation.attribute("propagate_nan") and kind.dtype.is_float:
        return _reduce_nan(make, operation)
    if operation.attribute("ftz") and function in ("min", "max"):
        opcode = _COMBINE[function][1]
        flushed = make.emit(opcode, (source, source), kind, ftz=True)
        return _plain(make, operation, flushed)
    if operation.attribute("ftz") or operation.attribute("rounding") not in (None, "nearest_even"):
        return _tree(make, operation, source)
    if kind.dtype.name in REDUCIBLE:
        return None
    widened = make.emit("exti", (source,), _like(source, _wide(kind.dtype)))
    reduced = _plain(make, operation, widened)
    return make.emit("trunci", (reduced,), _tile(operation.result))


def _plain(make: Maker, operation: Operation, source: Value, function: str | None = None) -> Value:
    """The same reduction of another tile, without modes."""
    axis = _axis(operation)
    name = function or str(operation.attribute("function"))
    return make.emit("reduce", (source,), _without(_tile(source), axis), axis=axis, function=name)


def _bool_reduce(make: Maker, operation: Operation) -> Value:
    (source,) = operation.operands
    function = {"and": "min", "or": "max", "xor": "sum"}[str(operation.attribute("function"))]
    reduced = _plain(make, operation, make.emit("exti", (source,), _like(source, I32)), function)
    if function == "sum":
        reduced = make.emit("andi", (reduced, make.constant(1, _tile(reduced))), _tile(reduced))
    return make.compare("cmpi", "not_equal", reduced, make.constant(0, _tile(reduced)))


def _any(make: Maker, operation: Operation, flags: Value) -> Value:
    """Whether any lane along the axis is set."""
    high = _plain(make, operation, make.emit("exti", (flags,), _like(flags, I32)), "max")
    return make.compare("cmpi", "not_equal", high, make.constant(0, _tile(high)))


def _reduce_nan(make: Maker, operation: Operation) -> Value:
    """NaN where any lane is one, else the extreme of the others."""
    (source,) = operation.operands
    kind = _tile(source)
    plain = tuple((k, v) for k, v in operation.attributes if k != "propagate_nan")
    result = _tile(operation.result)
    extreme = make.emit("reduce", (source,), result, **dict(plain))
    missing = _any(make, operation, make.compare("cmpf", "not_equal", source, source))
    return make.select(missing, make.constant(math.nan, TileType(kind.dtype, result.shape)), extreme)


def _arg_reduce(make: Maker, operation: Operation) -> Value:
    """The first index of the extreme: the least index among the lanes that equal it; 0 where none does (all NaN)."""
    (source,) = operation.operands
    function = "max" if operation.attribute("function") == "argmax" else "min"
    axis = _axis(operation)
    if _tile(source).dtype.name not in REDUCIBLE:
        source = make.emit("exti", (source,), _like(source, _wide(_tile(source).dtype)))
    kind = _tile(source)
    opcode = "cmpf" if kind.dtype.is_float else "cmpi"
    extreme = _plain(make, operation, source, function)
    hits = make.compare(opcode, "equal", source, _spread(make, extreme, kind, axis))
    lanes = make.emit("iota", (), TileType(I32, (kind.shape[axis],)))
    ranks = _spread_lanes(make, lanes, kind, axis)
    found = _first(make, operation, hits, ranks)
    beyond = make.constant(_LAST, _tile(found))
    found = make.select(make.compare("cmpi", "equal", found, beyond), make.constant(0, _tile(found)), found)
    if opcode == "cmpf" and operation.attribute("propagate_nan"):
        missing = _first(make, operation, make.compare("cmpf", "not_equal", source, source), ranks)
        found = make.select(make.compare("cmpi", "equal", missing, beyond), found, missing)
    return found


def _first(make: Maker, operation: Operation, flags: Value, ranks: Value) -> Value:
    """The least index whose flag is set, or `_LAST`."""
    return _plain(make, operation, make.select(flags, ranks, make.constant(_LAST, _tile(ranks))), "min")


def _spread(make: Maker, value: Value, kind: TileType, axis: int) -> Value:
    """A reduced tile, repeated along the axis that it was reduced over."""
    ones = TileType(kind.dtype, (*kind.shape[:axis], Size(1), *kind.shape[axis + 1 :]))
    return make.emit("broadcast", (make.emit("reshape", (value,), ones),), kind)


def _spread_lanes(make: Maker, lanes: Value, kind: TileType, axis: int) -> Value:
    if kind.rank == 1:
        return lanes
    ones = TileType(I32, tuple(s if d == axis else Size(1) for d, s in enumerate(kind.shape)))
    return make.emit("broadcast", (make.emit("reshape", (lanes,), ones),), TileType(I32, kind.shape))


def _scan(make: Maker, operation: Operation) -> Value | None:
    """cutile 0.5 scans along axis 0 from identity 0 alone: other axes are permuted there, and another identity is
    exclusive-or'ed into the bits, so that 0 stands for it."""
    (source,) = operation.operands
    kind = _tile(source)
    axis = _axis(operation)
    if axis:
        axes = list(range(kind.rank))
        axes[0], axes[axis] = axes[axis], axes[0]
        first = TileType(kind.dtype, tuple(kind.shape[a] for a in axes))
        moved = make.emit("permute", (source,), first, axes=tuple(axes))
        attributes = {k: v for k, v in operation.attributes if k != "axis"}
        scanned = make.emit("scan", (moved,), first, axis=0, **attributes)
        return make.emit("permute", (scanned,), kind, axes=tuple(axes))
    if operation.attribute("key") is not None:
        return None
    function = str(operation.attribute("function"))
    if kind.dtype.kind is Kind.BOOL:
        wide = _like(source, I32)
        scanned = make.emit("scan", (make.emit("exti", (source,), wide),), wide, **dict(operation.attributes))
        return make.compare("cmpi", "not_equal", scanned, make.constant(0, wide))
    if kind.dtype.is_integer and kind.dtype.bits == 16 and function != "sum":
        wide = _like(source, _wide(kind.dtype))
        scanned = make.emit("scan", (make.emit("exti", (source,), wide),), wide, **dict(operation.attributes))
        return make.emit("trunci", (scanned,), kind)
    key = identity_bits(function, kind.dtype)
    if key == 0:
        return None
    bits = TileType(DType(f"i{kind.dtype.bits}", Kind.SIGNED, kind.dtype.bits), kind.shape)
    same = kind.dtype.identical(bits.dtype)
    mask = make.constant(key, bits)
    inner = source if same else make.emit("bitcast", (source,), bits)
    inner = make.emit("xori", (inner, mask), bits)
    attributes = dict(operation.attributes)
    inner = make.emit("scan", (inner,), bits, **attributes, key=key, element=kind.dtype.name)
    inner = make.emit("xori", (inner, mask), bits)
    return inner if same else make.emit("bitcast", (inner,), kind)


def identity_bits(function: str, dtype: DType) -> int:
    """The bits of the function's neutral element, as a signed integer of the type's width."""
    match function:
        case "sum" | "or" | "xor":
            return 0
        case "and":
            return -1
        case "prod":
            number = 1.0
        case _:
            number = math.inf if function == "min" else -math.inf
    if dtype.is_float:
        (wide,) = struct.unpack("<i", struct.pack("<f", number))
        match dtype.name:
            case "f64":
                (wide,) = struct.unpack("<q", struct.pack("<d", number))
            case "f16":
                (wide,) = struct.unpack("<h", struct.pack("<e", number))
            case "bf16":
                wide >>= 16
        return int(wide)
    if function == "prod":
        return 1
    top = (1 << dtype.bits - 1) - 1
    if dtype.kind is Kind.SIGNED:
        return top if function == "min" else -top - 1
    return -1 if function == "min" else 0


_RANK = 6
"""The highest rank of a tile."""


def _insert(make: Maker, operation: Operation) -> Value | None:
    """A select between the tile and the part, repeated over all places, without `insert`, which is unsafe and needs
    Tile IR 13.4."""
    whole, part, *index = operation.operands
    kind = _tile(whole)
    if 2 * kind.rank > _RANK or not kind.rank:
        return None
    counts = [Size(w.value // p.value) for w, p in zip(kind.shape, _tile(part).shape, strict=True)]
    grid = tuple(s for pair in zip(counts, _tile(part).shape, strict=True) for s in pair)
    ones = tuple(s for p in _tile(part).shape for s in (Size(1), p))
    spread = make.emit("reshape", (part,), TileType(kind.dtype, ones))
    spread = make.emit("broadcast", (spread,), TileType(kind.dtype, grid))
    spread = make.emit("reshape", (spread,), kind)
    chosen: Value | None = None
    for axis, (count, place) in enumerate(zip(counts, index, strict=True)):
        here = _hit(make, count, place, axis, grid)
        chosen = here if chosen is None else make.emit("andi", (chosen, here), _tile(here))
    assert chosen is not None
    mask = make.emit("reshape", (chosen,), TileType(BOOL, kind.shape))
    return make.select(mask, spread, whole)


def _hit(make: Maker, count: Size, place: Value, axis: int, grid: tuple[Size, ...]) -> Value:
    """The lanes of the split tile whose part number along an axis is the place's."""
    numbers = TileType(I32, (count,))
    spread = make.emit("reshape", (place,), TileType(I32, (Size(1),)))
    if count.value > 1:
        spread = make.emit("broadcast", (spread,), numbers)
    equal = make.compare("cmpi", "equal", make.emit("iota", (), numbers), spread)
    ones = tuple(s if d == 2 * axis else Size(1) for d, s in enumerate(grid))
    equal = make.emit("reshape", (equal,), TileType(BOOL, ones))
    return make.emit("broadcast", (equal,), TileType(BOOL, grid))


EXPANSIONS: Mapping[str, Callable[[Maker, Operation], Value | None]] = MappingProxyType(
    {**dict.fromkeys(("addi", "subi", "muli", "shli"), _narrow_arithmetic), "reduce": _reduce, "scan": _scan,
     "insert": _insert}
)  # fmt: skip


def expand(program: Program) -> Program:
    """The program without operations that the table expands."""
    fresh = next_id(program)

    def one(operation: Operation) -> list[Operation]:
        nonlocal fresh
        expansion = EXPANSIONS.get(operation.opcode)
        if expansion is None:
            return [operation]
        make = Maker(fresh, operation.span)
        value = expansion(make, operation)
        if value is None:
            return [operation]
        fresh = make.fresh
        renamed = [replace(m, results=operation.results) if m.result.id == value.id else m for m in make.made]
        return [o for m in renamed for o in one(m)]

    def visit(s: Statement) -> Sequence[Statement]:
        return one(s) if isinstance(s, Operation) else (s,)

    return replace(program, body=rewrite(program.body, visit, EXPANSIONS))
