"""Abstract values: what an expression of a kernel stands for while the kernel is interpreted."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from ferrotile.program.dtypes import DType
from ferrotile.program.ir import Value
from ferrotile.program.types import ArrayType, Shape, TileType
from ferrotile.syntax.span import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Const:
    """A compile-time value, loosely typed unless `dtype` is set; `symbol` names the constant parameter
    that it is, and is lost by arithmetic."""

    value: int | float | bool | str | None
    symbol: str | None = None
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile known at run time; rank 0 is a scalar."""

    value: Value

    @property
    def type(self) -> TileType:
        type_ = self.value.type
        assert isinstance(type_, TileType)
        return type_


@dataclass(frozen=True, slots=True)
class Array:
    value: Value
    name: str

    @property
    def type(self) -> ArrayType:
        type_ = self.value.type
        assert isinstance(type_, ArrayType)
        return type_


@dataclass(frozen=True, slots=True)
class TiledView:
    """`array.tiled_view(...)`. `shape` is empty for single elements; `steps` is None when tiles do not overlap."""

    array: Array
    shape: Shape
    padding: str | None
    steps: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class RawMemory:
    """`array.get_raw_memory()`: elements by their offset from the first."""

    array: Array


@dataclass(frozen=True, slots=True)
class SliceOf:
    """`ct.Slice(start, length)`."""

    start: Abstract
    length: Abstract


@dataclass(frozen=True, slots=True)
class TupleOf:
    items: tuple[Abstract, ...]


@dataclass(frozen=True, slots=True)
class DTypeOf:
    dtype: DType


@dataclass(frozen=True, slots=True)
class Global:
    """A name of another module by its dotted name: `cuda.tile.load`, `builtins.min`."""

    dotted: str


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A helper function or lambda; `closure` is the frame it was made in, None at module level. `defaults` are the
    values of a nested function's default arguments, taken when it was made."""

    node: ast.FunctionDef | ast.Lambda
    closure: object | None = None
    defaults: Mapping[str, Abstract] | None = None

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "lambda"


@dataclass(frozen=True, slots=True)
class Method:
    receiver: Abstract
    name: str


@dataclass(frozen=True, slots=True)
class RangeOf:
    start: Abstract
    stop: Abstract
    step: Abstract


@dataclass(frozen=True, slots=True)
class DictOf:
    """The `**` parameter of a helper."""

    items: tuple[tuple[str, Abstract], ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClassOf:
    """A class of the module: `kind` is `dataclass`, `enum`, `int-enum`, `namedtuple` or `plain`; `fields` are a
    dataclass's with their defaults."""

    name: str
    node: ast.ClassDef
    kind: str
    frozen: bool
    fields: Mapping[str, ast.expr | None]
    bases: tuple[ClassOf, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """An instance of a frozen dataclass; `items` in the order of its fields."""

    cls: ClassOf
    items: tuple[Abstract, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enum."""

    cls: ClassOf
    name: str
    value: Abstract


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A function of the user's with its first argument."""

    receiver: Abstract
    function: Function


@dataclass(frozen=True, slots=True)
class Formatted:
    """An f-string with run-time parts: texts, and values with their format, None where there is none."""

    pieces: tuple[str | tuple[Tile | Const, str | None], ...]


@dataclass(frozen=True, slots=True)
class IndexRange:
    """A slice object: `a:b:c` in a subscript, `slice(a, b, c)`."""

    start: Abstract
    stop: Abstract
    step: Abstract


@dataclass(frozen=True, slots=True)
class Unusable:
    """A name without one value here: set on one path only, or of different types. An error when used, at `span`
    where that is known: cuTile Python reports it there."""

    code: str
    reason: str
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Poison:
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
