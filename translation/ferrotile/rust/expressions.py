"""One operation as a Rust expression."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.program.dtypes import F8E8M0FNU, F32, I8, U8, DType, Kind
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import Shape, TileType
from ferrotile.rust.approximate import approximate
from ferrotile.rust.integer_helpers import INTEGER_HELPERS
from ferrotile.rust.layout import ATOM, Code, array, atom, binary, call, method, negative, suffixed
from ferrotile.rust.operators import floor_form, floor_is_plain, plain_operator
from ferrotile.rust.safety import Helper
from ferrotile.rust.scan_helpers import step
from ferrotile.rust.targets import cutile_0_5 as target
from ferrotile.rust.types import Spelling, float_text, literal
from ferrotile.rust.values import Values
from ferrotile.syntax.span import Span

Operand = Callable[[Value], Code]


class Unsupported(Exception):
    """The target has no form for an operation: a diagnostic, not a failure of ferrotile."""

    def __init__(self, code: str, message: str, span: Span) -> None:
        super().__init__(message)
        self.code, self.message, self.span = code, message, span


class Operands(Struct, frozen=True):
    """Operands in the three ways that expressions need them: as is, as tiles that a call accepts, as scalars."""

    raw: Operand
    tile: Operand
    scalar: Operand
    values: Values
    spelling: Spelling
    axes: tuple[int, int, int]
    bind: Callable[[str, str, Code], Code]
    """Bind an expression to a typed local before the statement: wish, type, code."""
    mul_add: Callable[[Operation, int], str | None]
    """The helper that says a multiply-add whose operands have this length, where there is one."""
    helper: Callable[[Hashable, str, Callable[[str], Helper]], str]
    """The name of a helper function of the module: key, wish, how it is made."""


def tile_type(value: Value) -> TileType:
    """The tile type of a value that has one."""
    assert isinstance(value.type, TileType)
    return value.type


def constant_code(op: Operands, value: int | float | bool, dtype: DType, shape: Shape) -> Code:
    """`constant(v, shape![..])`; goes through another type where the literal would be read wrongly."""
    spelled = atom(op.spelling.shape(shape))
    text = literal(value, dtype, True)
    if text is not None:
        return call("constant", negative(text) if text.startswith("-") else atom(text), spelled)
    if dtype.kind is Kind.BOOL:
        no = op.bind("no", "bool", atom("false"))
        return method(no, "broadcast", spelled) if shape else call("scalar_to_tile", no)
    if dtype.is_integer:
        signed = DType(f"i{dtype.bits}", Kind.SIGNED, dtype.bits)
        bits = literal(int(value) - 2**dtype.bits, signed, True)
        assert bits is not None
        inner = op.bind("bits", op.spelling.tile(signed, shape), call("constant", atom(bits), spelled))
        return call("bitcast", inner)
    if dtype.identical(F32) and value != value:
        signed = DType("i32", Kind.SIGNED, 32)
        inner = op.bind("bits", op.spelling.tile(signed, shape), call("constant", atom("2143289344"), spelled))
        return call("bitcast", inner)
    if dtype.identical(F8E8M0FNU):
        exponent = math.frexp(float(value))[1] + 126 if value == value else 255
        return call("bitcast", op.bind("bits", op.spelling.tile(U8, shape), constant_code(op, exponent, U8, shape)))
    if dtype.variable is None and dtype.name in ("f16", "bf16") and value == 0 and math.copysign(1.0, value) > 0:
        return call("constant", atom(f"{dtype}::ZERO"), spelled)
    wide = op.bind("wide", op.spelling.tile(F32, shape), constant_code(op, float(value), F32, shape))
    return call("convert_tile", wide)


def _mode(operation: Operation, name: str) -> Code:
    flag = {"ftz": "ftz", "nan": "propagate_nan"}.get(name)
    if flag is not None:
        return atom(f"{name}::{'Enabled' if operation.attribute(flag) else 'Disabled'}")
    if name == "overflow":
        return atom("overflow::None")
    return rounding(operation)


def rounding(operation: Operation) -> Code:
    """`rounding::NearestEven`"""
    way = str(operation.attribute("rounding") or "nearest_even")
    if way not in target.ROUNDING:
        raise Unsupported("FT302", f"Rounding mode `{way}` cannot be written in cutile 0.5.", operation.span)
    return atom(f"rounding::{target.ROUNDING[way]}")


def expression(operation: Operation, op: Operands) -> Code:
    """The expression of a pure operation with one result."""
    kind = operation.result.type
    code = operation.opcode
    a = operation.operands
    match code:
        case "block_id":
            return call("program_id", atom(str(op.axes[int(str(operation.attribute("axis")))])))
        case "num_blocks":
            return atom(f"get_num_tile_blocks().{op.axes[int(str(operation.attribute('axis')))]}")
        case "const_param":
            return atom(op.spelling.constant(str(operation.attribute("name"))))
        case "extent":
            return atom(f"{op.raw(a[0]).text}.shape()[{operation.attribute('axis')}]")
        case "num_tiles":
            return call("num_tiles", atom(f"&{op.raw(a[0]).text}"), atom(str(operation.attribute("axis"))))
        case "base_pointer":
            return call("pointer_to_tile", method(op.raw(a[0]), "as_ptr"))
        case "offset":
            return method(op.raw(a[0]), "offset_tile", op.tile(a[1]))
    assert isinstance(kind, TileType)
    form = floor_form(operation, op.values.defined)
    if form is not None:
        return call(op.helper(form, form, INTEGER_HELPERS[form]), op.scalar(a[0]), op.scalar(a[1]))
    match code:
        case "constant":
            return _constant(operation, kind, op)
        case "iota":
            return call("iota", atom(op.spelling.shape(kind.shape)))
        case "reshape":
            return _reshape(operation, kind, op)
        case "broadcast":
            return _broadcast(operation, kind, op)
        case "permute":
            axes = operation.attribute("axes")
            assert isinstance(axes, tuple)
            return call("permute", op.tile(a[0]), atom(f"const_array![{', '.join(map(str, axes))}]"))
        case "pack" | "unpack":
            return call(code, op.tile(a[0]))
        case "insert":
            return call("insert", op.tile(a[1]), op.tile(a[0]), array(*(op.tile(v) for v in a[2:])))
        case "assume_div_by":
            return call(f"assume_div_by::<_, {operation.attribute('divisor')}>", op.scalar(a[0]))
        case "scan":
            return _scan(operation, kind, op)
        case "mmaf_scaled":
            return call("mmaf_scaled", *map(op.tile, a))
        case "cat":
            return call("cat", op.tile(a[0]), op.tile(a[1]), atom(str(operation.attribute("axis"))))
        case "extract":
            return call("extract", op.tile(a[0]), array(*(op.tile(v) for v in a[1:])))
        case "select":
            return call("select", op.tile(a[0]), op.tile(a[1]), op.tile(a[2]))
        case "exti" | "bitcast":
            return call(code, op.tile(a[0]))
        case "trunci":
            return _truncate(operation, kind, op)
        case "itof" | "ftof" | "ftoi":
            return _convert(operation, kind, op)
        case "cmpi" | "cmpf":
            return _compare(operation, op)
        case "reduce":
            return _reduce(operation, op)
        case "mmaf" | "mmai":
            return _matrix(operation, op)
        case "divi":
            return _divide(operation, op)
        case "mini" | "maxi" | "minf" | "maxf":
            return _extreme(operation, op)
        case _:
            return _arithmetic(operation, op)


def _constant(operation: Operation, kind: TileType, op: Operands) -> Code:
    value = operation.attribute("value")
    assert isinstance(value, (int, float))
    if not kind.shape:
        text = literal(value, kind.dtype, False)
        if text is not None:
            return negative(text) if text.startswith("-") else atom(text)
        if kind.dtype.name in ("f16", "bf16") and kind.dtype.variable is None and math.isfinite(value):
            return call(f"convert_scalar::<{kind.dtype}>", atom(f"{float_text(float(value), F32)}f32"))
        tile = op.bind("scalar", op.spelling.tile(kind.dtype, ()), constant_code(op, value, kind.dtype, ()))
        return call("tile_to_scalar", tile)
    if op.values.splats(operation.result):
        text = literal(value, kind.dtype, False)
        return method(atom(f"{text}{kind.dtype}"), "broadcast", atom(op.spelling.shape(kind.shape)))
    return constant_code(op, value, kind.dtype, kind.shape)


def _scalar_like(value: Value, op: Operands) -> bool:
    return not tile_type(value).shape and not op.values.is_tile0(value) and not tile_type(value).pointer


def _receiver(value: Value, op: Operands) -> Code:
    """An operand that a method is called on: what the JIT cannot type without help is bound first."""
    code = op.raw(value)
    if op.values.is_inline(value) and not op.values.infers(value):
        return op.bind(value.name or "scalar", op.spelling.value(tile_type(value)), code)
    return suffixed(code) if code.precedence < ATOM and tile_type(value).dtype.name == "i32" else code


def _reshape(operation: Operation, kind: TileType, op: Operands) -> Code:
    (source,) = operation.operands
    shape = atom(op.spelling.shape(kind.shape))
    if not kind.shape and _scalar_like(source, op):
        return op.tile(source)
    if _scalar_like(source, op):
        return method(_receiver(source, op), "broadcast", shape)
    return method(op.tile(source), "reshape", shape)


def _broadcast(operation: Operation, kind: TileType, op: Operands) -> Code:
    (source,) = operation.operands
    shape = atom(op.spelling.shape(kind.shape))
    inner = op.values.defined.get(source.id)
    if isinstance(inner, Operation) and inner.opcode == "reshape" and op.values.is_inline(source):
        scalar = inner.operands[0]
        if _scalar_like(scalar, op):
            return method(_receiver(scalar, op), "broadcast", shape)
    return method(op.tile(source), "broadcast", shape)


def _truncate(operation: Operation, kind: TileType, op: Operands) -> Code:
    """The low bits are masked first: `trunci` without a promise about overflow cannot be written."""
    (source,) = operation.operands
    wide = tile_type(source)
    typed = op.spelling.tile(wide.dtype, wide.shape)
    mask = op.bind("mask", typed, constant_code(op, 2**kind.dtype.bits - 1, wide.dtype, wide.shape))
    plain = wide.dtype.name in target.WIDE_INTEGERS
    low = binary(op.tile(source), "&", mask, 7) if plain else call("andi", op.tile(source), mask)
    return call("trunci", low, atom("overflow::NoUnsignedWrap"))


def _convert(operation: Operation, kind: TileType, op: Operands) -> Code:
    (source,) = operation.operands
    way = operation.attribute("rounding")
    if operation.opcode == "ftof" and (way not in (None, "nearest_even") or _powers_of_two(source, kind)):
        return call("ftof", op.tile(source), rounding(operation))
    if _scalar_like(source, op) and not kind.shape:
        return call(f"convert_scalar::<{kind.dtype}>", op.scalar(source))
    return call("convert_tile", op.tile(source))


def _powers_of_two(source: Value, kind: TileType) -> bool:
    return any(d.identical(F8E8M0FNU) for d in (tile_type(source).dtype, kind.dtype))


def _compare(operation: Operation, op: Operands) -> Code:
    a, b = operation.operands
    kind = tile_type(a)
    predicate = str(operation.attribute("predicate"))
    if operation.opcode == "cmpf" and operation.attribute("ordering") == "unordered":
        mode = atom(f"predicate::{target.PREDICATE[predicate]}")
        return call("cmpf", op.tile(a), op.tile(b), mode, atom("cmp_ordering::Unordered"))
    if not kind.shape and not op.values.natural_tile0(operation.result):
        return binary(first_scalar(op, a), target.COMPARE_SCALAR[predicate], op.scalar(b), 4)
    if operation.opcode == "cmpi" and kind.dtype.name not in target.WIDE_INTEGERS:
        return call("cmpi", op.tile(a), op.tile(b), atom(f"predicate::{target.PREDICATE[predicate]}"))
    return call(target.COMPARE_TILE[predicate], op.tile(a), op.tile(b))


def _reduce(operation: Operation, op: Operands) -> Code:
    (source,) = operation.operands
    dtype = tile_type(source).dtype
    if dtype.name not in target.REDUCIBLE:
        raise Unsupported(
            "FT302",
            f"Reductions of `{dtype}` have no form in cutile 0.5; widen to i32 first.",
            operation.span,
        )
    name = f"reduce_{operation.attribute('function')}"
    return call(name, op.tile(source), atom(str(operation.attribute("axis"))))


def _scan(operation: Operation, kind: TileType, op: Operands) -> Code:
    way = atom(f"reverse::{'Reverse' if operation.attribute('reverse') else 'Forward'}")
    zero = {"f16": "f16::ZERO", "bf16": "bf16::ZERO"}.get(kind.dtype.name) or literal(0, kind.dtype, True) or "0"
    zero = "0.0f32" if zero == "0.0" and kind.dtype.name == "f32" else zero
    source = op.tile(operation.operands[0])
    function = str(operation.attribute("function"))
    plain = operation.attribute("key") is None and operation.attribute("rounding") in (None, "nearest_even")
    if function == "sum" and plain and not operation.attribute("ftz"):
        return call("scan_sum", source, atom("0"), way, atom(zero))
    key = (operation.attributes, kind.dtype)
    name = op.helper(key, f"combine_{function}", lambda n: step(n, operation, kind.dtype))
    return call("scan", source, atom("0"), way, atom(zero), atom(f"|p, q| {name}(p, q)"))


def _matrix(operation: Operation, op: Operands) -> Code:
    a, b, acc = operation.operands
    kinds = {tile_type(a).dtype.kind, tile_type(b).dtype.kind}
    code = [op.tile(v) for v in (a, b, acc)]
    if operation.attribute("fast_acc"):
        return call("mmaf_with_fast_acc", *code, atom("fast_acc::Enabled"))
    if operation.opcode == "mmai" and (len(kinds) > 1 or tile_type(a).rank > 2):
        signs = [
            atom(f"signedness::{'Unsigned' if tile_type(v).dtype.kind is Kind.UNSIGNED else 'Signed'}") for v in (a, b)
        ]
        for k, v in enumerate((a, b)):
            if len(kinds) > 1 and tile_type(v).dtype.kind is Kind.UNSIGNED:
                code[k] = op.bind("bits", op.spelling.tile(I8, tile_type(v).shape), call("bitcast", code[k]))
        return call("mmai", *code, *signs)
    return call("mma" if tile_type(a).rank == 2 else "mmaf", *code)


def _divide(operation: Operation, op: Operands) -> Code:
    a, b = operation.operands
    way = operation.attribute("rounding")
    scalar = not tile_type(a).shape and not op.values.natural_tile0(operation.result)
    operand = op.scalar if scalar else op.raw
    plain = tile_type(a).dtype.name in target.WIDE_INTEGERS
    if plain and (way in (None, "zero") or (way == "negative_inf" and floor_is_plain(operation, op.values.defined))):
        return binary(operand(a), "/", operand(b), 10)
    if scalar and way == "positive_inf":
        return call("ceil_div", _suffixed(op, a), _suffixed(op, b))
    return call("divi", op.tile(a), op.tile(b), atom(f"rounding::{target.ROUNDING[str(way or 'zero')]}"))


def _suffixed(op: Operands, value: Value) -> Code:
    """A scalar argument of a generic function, which types a bare float literal as f64 and an integer not at all."""
    code = op.scalar(value)
    source = op.values.defined.get(value.id)
    if not isinstance(source, Operation) or source.opcode != "constant" or not code.text[-1:].isdigit():
        return code
    name = tile_type(value).dtype.name
    return replace(code, text=f"{code.text}{name}") if name in ("f32", "f64", "i32") else code


def first_scalar(op: Operands, value: Value) -> Code:
    """A scalar in front of an operator: by what follows, the JIT types a number, but no unary minus."""
    code = op.scalar(value)
    return _suffixed(op, value) if code.text.startswith("-") else code


def _extreme(operation: Operation, op: Operands) -> Code:
    a, b = operation.operands
    name = operation.opcode
    if not tile_type(a).shape and not op.values.natural_tile0(operation.result):
        return call(name[:3], _suffixed(op, a), _suffixed(op, b))
    if name.endswith("f") and not operation.attribute("propagate_nan") and not operation.attribute("ftz"):
        return call(f"{name[:3]}_tile", op.tile(a), op.tile(b))
    modes = target.FUNCTIONS[name][1]
    return call(name, op.tile(a), op.tile(b), *(_mode(operation, m) for m in modes))


def _arithmetic(operation: Operation, op: Operands) -> Code:
    code, a = operation.opcode, operation.operands
    kind = tile_type(a[0])
    if code in target.OPERATORS:
        symbol, precedence = target.OPERATORS[code]
        if plain_operator(operation):
            scalar = not kind.shape and not op.values.natural_tile0(operation.result)
            operand = op.scalar if scalar else (op.tile if not kind.shape else op.raw)
            left = first_scalar(op, a[0]) if scalar else operand(a[0])
            return binary(left, symbol, operand(a[1]), precedence)
        if code not in target.NAMED:
            raise Unsupported(
                "FT302",
                f"`{code}` of `{kind.dtype}` has no form in cutile 0.5; widen to 32 bits.",
                operation.span,
            )
        modes = [_mode(operation, m) for m in ("rounding", "ftz")] if code in ("addf", "subf", "mulf", "divf") else []
        return call(target.NAMED[code], op.tile(a[0]), op.tile(a[1]), *modes)
    if code in target.APPROXIMATE and operation.attribute("rounding") in ("approx", "full"):
        if operation.attribute("rounding") == "approx":
            rank = len(tile_type(a[0]).shape)
            name = op.helper((code, rank), f"{code}_approx", lambda n: approximate(n, code, rank))
            return call(name, op.tile(a[0]))
        return call(code, op.tile(a[0]))
    if code not in target.FUNCTIONS:
        raise Unsupported("FT301", f"`{code}` has no translation yet.", operation.span)
    operands = [op.tile(v) for v in a]
    if code == "fma":
        helper = op.mul_add(operation, sum(len(c.text) for c in operands))
        if helper is not None:
            return call(helper, *operands)
    name, modes_ = target.FUNCTIONS[code]
    return call(name, *operands, *(_mode(operation, m) for m in modes_))
