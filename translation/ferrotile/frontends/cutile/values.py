"""Abstract values: what an expression of a kernel stands for while the kernel is interpreted."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from msgspec import Struct

from ferrotile.program.dtypes import DType
from ferrotile.program.ir import Value
from ferrotile.program.types import ArrayType, Shape, TileType
from ferrotile.syntax.span import NOWHERE, Span


class Const(Struct, frozen=True):
    """A compile-time value, loosely typed unless `dtype` is set; `symbol` names the constant parameter
    that it is, and is lost by arithmetic."""

    value: int | float | bool | str | None
    symbol: str | None = None
    dtype: DType | None = None


class Tile(Struct, frozen=True):
    """A tile known at run time; rank 0 is a scalar."""

    value: Value

    @property
    def type(self) -> TileType:
        type_ = self.value.type
        assert isinstance(type_, TileType)
        return type_


class Array(Struct, frozen=True):
    value: Value
    name: str

    @property
    def type(self) -> ArrayType:
        type_ = self.value.type
        assert isinstance(type_, ArrayType)
        return type_


class TiledView(Struct, frozen=True):
    """`array.tiled_view(...)`. `shape` is empty for single elements; `steps` is None when tiles do not overlap."""

    array: Array
    shape: Shape
    padding: str | None
    steps: tuple[int, ...] | None = None


class RawMemory(Struct, frozen=True):
    """`array.get_raw_memory()`: elements by their offset from the first."""

    array: Array


class SliceOf(Struct, frozen=True):
    """`ct.Slice(start, length)`."""

    start: Abstract
    length: Abstract


class TupleOf(Struct, frozen=True):
    items: tuple[Abstract, ...]


class DTypeOf(Struct, frozen=True):
    dtype: DType


class Global(Struct, frozen=True):
    """A name of another module by its dotted name: `cuda.tile.load`, `builtins.min`."""

    dotted: str


class Function(Struct, frozen=True, eq=False):
    """A helper function or lambda; `closure` is the frame it was made in, None at module level. `defaults` are the
    values of a nested function's default arguments, taken when it was made."""

    node: ast.FunctionDef | ast.Lambda
    closure: object | None = None
    defaults: Mapping[str, Abstract] | None = None

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "lambda"


class Method(Struct, frozen=True):
    receiver: Abstract
    name: str


class RangeOf(Struct, frozen=True):
    start: Abstract
    stop: Abstract
    step: Abstract


class DictOf(Struct, frozen=True):
    """The `**` parameter of a helper."""

    items: tuple[tuple[str, Abstract], ...]


class ClassOf(Struct, frozen=True, eq=False):
    """A class of the module: `kind` is `dataclass`, `enum`, `int-enum`, `namedtuple` or `plain`; `fields` are a
    dataclass's with their defaults."""

    name: str
    node: ast.ClassDef
    kind: str
    frozen: bool
    fields: Mapping[str, ast.expr | None]
    bases: tuple[ClassOf, ...] = ()


class Record(Struct, frozen=True):
    """An instance of a frozen dataclass; `items` in the order of its fields."""

    cls: ClassOf
    items: tuple[Abstract, ...]


class Member(Struct, frozen=True):
    """A member of an enum."""

    cls: ClassOf
    name: str
    value: Abstract


class BoundMethod(Struct, frozen=True):
    """A function of the user's with its first argument."""

    receiver: Abstract
    function: Function


class Formatted(Struct, frozen=True):
    """An f-string with run-time parts: texts, and values with their format, None where there is none."""

    pieces: tuple[str | tuple[Tile | Const, str | None], ...]


class IndexRange(Struct, frozen=True):
    """A slice object: `a:b:c` in a subscript, `slice(a, b, c)`."""

    start: Abstract
    stop: Abstract
    step: Abstract


class Unusable(Struct, frozen=True):
    """A name without one value here: set on one path only, or of different types. An error when used, at `span`
    where that is known: cuTile Python reports it there."""

    code: str
    reason: str
    span: Span = NOWHERE


class Poison(Struct, frozen=True):
    """The value of an expression that was refused already."""


Abstract = (
    Const
    | Tile
    | Array
    | TiledView
    | RawMemory
    | SliceOf
    | TupleOf
    | DictOf
    | Record
    | Member
    | ClassOf
    | Formatted
    | IndexRange
    | DTypeOf
    | Global
    | Function
    | Method
    | BoundMethod
    | RangeOf
    | Unusable
    | Poison
)

NONE = Const(None)


def describe(value: Abstract) -> str:
    """What a message calls the value."""
    match value:
        case Const(value=constant, dtype=dtype):
            return repr(constant) if dtype is None else f"{dtype}({constant!r})"
        case Tile():
            if not value.type.rank:
                return f"a scalar of {value.type.dtype}"
            shape = ", ".join(map(str, value.type.shape))
            return f"a tile of {value.type.dtype} with shape ({shape})"
        case Array(name=name):
            return f"the array `{name}`"
        case TiledView(array=array):
            return f"a tiled view of `{array.name}`"
        case RawMemory(array=array):
            return f"the raw memory of `{array.name}`"
        case SliceOf():
            return "a `ct.Slice`"
        case TupleOf(items=items):
            return f"a tuple of {len(items)}"
        case DTypeOf(dtype=dtype):
            return f"the element type {dtype}"
        case Global(dotted=dotted):
            return f"`{dotted.removeprefix('builtins.')}`"
        case Function():
            return f"the function `{value.name}`"
        case Method(name=name):
            return f"the method `{name}`"
        case RangeOf():
            return "a range"
        case DictOf():
            return "a dictionary"
        case ClassOf(name=name):
            return f"the class `{name}`"
        case Record(cls=cls):
            return f"an instance of `{cls.name}`"
        case Member(cls=cls, name=name):
            return f"`{cls.name}.{name}`"
        case BoundMethod(function=function):
            return f"the method `{function.name}`"
        case Formatted():
            return "a formatted string"
        case IndexRange():
            return "a slice"
        case Unusable() | Poison():
            return "an unusable value"
