"""What a kernel's body says of its parameters: ranks by index arity, names of extents, and what each is used as.

The body is read once in order, without types, through helper functions; a name stands for the parameters that its
value comes from."""

from __future__ import annotations

import ast

from msgspec import Struct, field

from ferrotile.program.dtypes import DType
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.syntax.module import Module, parameters_of

Compared = int | float | bool | str | DType | None


class Use(Struct):
    """How one parameter is used. `at_least`: one more than the highest `x.shape[i]`. `element_...`: what is loaded
    from the array is used so."""

    array: bool = False
    rank: int | None = None
    at_least: int = 0
    tile: bool = False
    index: bool = False
    bound: bool = False
    """The end of a loop, or compared with an index."""
    unrolled: bool = False
    divisor: bool = False
    condition: bool = False
    none: bool = False
    """Compared with None."""
    compared: list[Compared] = field(default_factory=list)
    whole: bool = False
    """Combined with integers."""
    real: bool = False
    """Combined with floats."""
    dtype: bool = False
    items: int | None = None
    """Unpacked into this many, or indexed up to it."""
    listed: bool = False
    """A list of arrays."""
    keyword: str | None = None
    element: DType | None = None
    """The element type of what is stored, or of the padding."""
    element_index: bool = False
    element_bits: bool = False
    element_condition: bool = False
    element_matrix: bool = False
    """Multiplied as matrices, as they are."""


class Usage(Struct):
    """By parameter name. `axes`: the block id axes that the body asks for."""

    uses: dict[str, Use] = field(default_factory=dict)
    extent_names: dict[tuple[str, int], str] = field(default_factory=dict)
    conflicts: dict[str, ast.expr] = field(default_factory=dict)
    axes: set[int] = field(default_factory=set)

    def of(self, name: str) -> Use:
        """How `name` is used."""
        return self.uses.setdefault(name, Use())

    def rank(self, name: str) -> int | None:
        return self.of(name).rank


class Info(Struct, frozen=True):
    """What a value comes from. `direct`: it is this very parameter. `kind`: `int`, `float` or `bool`.
    `array`: it is this array parameter or a view of it. `elements`: arrays that it was loaded from. `element_of`: it is
    an item of this parameter."""

    direct: str | None = None
    origins: frozenset[str] = frozenset()
    elements: frozenset[str] = frozenset()
    kind: str | None = None
    array: str | None = None
    items: tuple[Info, ...] | None = None
    function: ast.FunctionDef | ast.Lambda | None = None
    element_of: str | None = None
    dtype: DType | None = None


NOTHING = Info()
INT, FLOAT, BOOL = Info(kind="int"), Info(kind="float"), Info(kind="bool")


def read_usage(module: Module, function: ast.FunctionDef) -> Usage:
    """Read the body, and helper functions that get a parameter, some calls deep. Never raises on user code."""
    from ferrotile.signatures.usage_reader import Reader

    names = [a.arg for a in parameters_of(function)]
    reader = Reader(module)
    reader.read_kernel(function, {n: Info(n, frozenset((n,)), array=n) for n in names})
    return reader.usage


def constant_value(module: Module, node: ast.expr, depth: int = 0) -> tuple[Compared] | None:
    """The literal or module constant that an expression is, wrapped; None where it is neither."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return (value,)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return (-number,)
        case ast.Name() | ast.Attribute() if (dotted := module.resolve(node)) is not None:
            dtype = dtype_of(dotted)
            return None if dtype is None else (dtype,)
        case ast.Name(id=name) if name in module.constants and depth < 4:
            return constant_value(module, module.constants[name], depth + 1)
        case _:
            return None
