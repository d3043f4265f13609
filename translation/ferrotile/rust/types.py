"""Rust spellings of types, shapes and literals."""

from __future__ import annotations

import math
import struct
from collections.abc import Container, Iterable
from decimal import Decimal

from ferrotile.passes import naming
from ferrotile.program.dtypes import F32, DType, Kind
from ferrotile.program.types import Shape, Size, TileType

_I32_MAX = 2**31 - 1


class Spelling:
    """Spells sizes, given which constants are generic; remembers the ones used."""

    def __init__(self, generic: Container[str], used: dict[str, bool]) -> None:
        self._generic = generic
        self.used = used

    def size(self, size: Size) -> str:
        """A constant's name, or the number."""
        if size.symbol is not None and size.symbol in self._generic:
            return self.constant(size.symbol)
        return str(size.value)

    def constant(self, name: str) -> str:
        """A generic constant as Rust names it."""
        if name not in self.used:
            self.used[name] = True
        return naming.constant(name)

    def sizes(self, shape: Iterable[Size]) -> str:
        return ", ".join(map(self.size, shape))

    def shape(self, shape: Shape) -> str:
        """`shape![TM, TN]`"""
        return f"shape![{self.sizes(shape)}]"

    def braces(self, shape: Shape) -> str:
        """`{ [TM, TN] }`"""
        return f"{{ [{self.sizes(shape)}] }}"

    def tile(self, dtype: DType, shape: Shape) -> str:
        return f"Tile<{dtype}, {self.braces(shape)}>"

    def value(self, kind: TileType) -> str:
        """The type of a local: rank 0 is a scalar."""
        return self.tile(kind.dtype, kind.shape) if kind.shape else str(kind.dtype)

    def pointers(self, dtype: DType, shape: Shape, mutable: bool) -> str:
        return f"PointerTile<*{'mut' if mutable else 'const'} {dtype}, {self.braces(shape)}>"


def _shortest(value: float, dtype: DType) -> str:
    """The fewest significant digits that read back as the value in its own precision."""
    if dtype.name != F32.name:
        return repr(value)
    (single,) = struct.unpack("f", struct.pack("f", value))
    texts = (f"{single:.{digits}e}" for digits in range(9))
    return next(t for t in texts if struct.unpack("f", struct.pack("f", float(t)))[0] == single)


def float_text(value: float, dtype: DType) -> str:
    """The shortest decimal that reads back as the finite value (f64 constants were rounded by the front end)."""
    number = Decimal(_shortest(value, dtype))
    if value != 0.0 and not 1e-6 <= abs(value) < 1e16:
        sign, digits, _ = number.normalize().as_tuple()
        first, rest = digits[0], "".join(map(str, digits[1:])) or "0"
        return f"{'-' if sign else ''}{first}.{rest}e{number.adjusted()}"
    text = f"{number:f}"
    return text if "." in text else f"{text}.0"


def has_literal(value: int | float | bool, dtype: DType, in_constant: bool) -> bool:
    """Whether `literal` gives one; quicker, for it does not look for the shortest decimal."""
    if dtype.is_float and math.isfinite(value):
        return dtype.variable is None and dtype.name in ("f32", "f64")
    return literal(value, dtype, in_constant) is not None


def literal(value: int | float | bool, dtype: DType, in_constant: bool) -> str | None:
    """A literal of the type, or None where the language has none that the JIT reads right (cutile-rs.md S6, S24)."""
    if dtype.kind is Kind.BOOL:
        # `constant(false, ..)` is a tile of true.
        return "true" if value else (None if in_constant else "false")
    if dtype.is_integer:
        number = int(value)
        suffix = "" if dtype.name == "i32" else dtype.name
        top = 2 ** (dtype.bits - 1) - 1
        if number > top or (not in_constant and not -_I32_MAX <= number <= _I32_MAX):
            return None
        return f"{number}{suffix}"
    if dtype.variable is not None or dtype.name not in ("f32", "f64"):
        return None
    number_ = float(value)
    if math.isnan(number_):
        return None
    if math.isinf(number_):
        if not in_constant:
            return None
        return f"{dtype}::{'INFINITY' if number_ > 0 else 'NEG_INFINITY'}"
    return float_text(number_, dtype)
