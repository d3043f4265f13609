"""Abstract values of host code: what is known of the arguments of a launch without running it.

An integer may have a value, an identity (two extents with the same identity are equal at every launch) and a
form as a product of `ceil(extent / tile)`, which is what grids are made of."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from msgspec import Struct, field

from ferrotile.program.dtypes import DType
from ferrotile.signatures.model import ConstantValue

Constant = ConstantValue


class Term(Struct, frozen=True):
    """`ceil(extent / tile)`; a str names an identity (host code) or a symbol (directive). `whole`: host code does not
    round up, so that the extent must be a multiple of the tile."""

    extent: str | int
    tile: str | int = 1
    whole: bool = False


Grid = tuple[tuple[Term, ...], ...]


class Int(Struct, frozen=True):
    """`derived`: the value was computed from something that may differ at another launch: it is an
    example and no constant. `guess`: what an unknown value would be for assumed extents; never a fact."""

    value: int | None = None
    ident: str | None = None
    terms: tuple[Term, ...] | None = None
    derived: bool = False
    guess: int | None = None

    @property
    def likely(self) -> int | None:
        """The value, or else the guess."""
        return self.guess if self.value is None else self.value

    @property
    def is_literal(self) -> bool:
        return self.ident is None and self.terms is None and not self.derived

    def as_terms(self) -> tuple[Term, ...] | None:
        """This integer as a product; None where it has no such form."""
        if self.terms is not None:
            return self.terms
        if self.ident is not None:
            return (Term(self.ident),)
        if self.value is not None and not self.derived:
            return () if self.value == 1 else (Term(self.value),)
        return None


class Ratio(Struct, frozen=True):
    """`a / b` of two integers, before `math.ceil`."""

    top: Int
    bottom: Int


class Known(Struct, frozen=True):
    """A float, bool, str or None that is known."""

    value: float | bool | str | None


class FloatValue(Struct, frozen=True):
    """A float of unknown value."""


class Sequence(Struct, frozen=True):
    items: tuple[Value, ...]


class ElementType(Struct, frozen=True):
    """`x.dtype`, `torch.float16`; None where it is some element type, unknown which."""

    dtype: DType | None


class Tensor(Struct, eq=False):
    """A tensor; what is known of it grows while host code is read (`M, N = x.shape` tells the rank)."""

    dtype: DType | None = None
    rank: int | None = None
    dims: dict[int, Int] = field(default_factory=dict)
    candidates: tuple[DType, ...] = ()
    """Element types that host code allows (`assert x.dtype in (...)`), where none is known."""


class Shape(Struct, frozen=True):
    """`x.shape` of a tensor whose rank may be unknown yet."""

    tensor: Tensor


class Function(Struct, frozen=True, eq=False):
    """A function or lambda of the module named `home` (`""`: the file itself), with the names around it."""

    node: ast.FunctionDef | ast.Lambda
    names: Mapping[str, Value]
    home: str = ""


class Partial(Struct, frozen=True, eq=False):
    """`functools.partial(f, ...)`, or a method with its object."""

    function: Function
    positional: tuple[Value, ...]
    named: Mapping[str, Value]


class Class(Struct, frozen=True, eq=False):
    node: ast.ClassDef
    home: str = ""


class Instance(Struct, eq=False):
    """An object: a namespace, a dataclass, `self`, an autograd context."""

    of: Class | None
    fields: dict[str, Value] = field(default_factory=dict)


class Table(Struct, eq=False):
    """A dict. `stored`: the last value put under a key that is not known."""

    items: dict[int | float | bool | str | None, Value] = field(default_factory=dict)
    stored: Value | None = None


class Method(Struct, frozen=True):
    """`x.to`, before its call."""

    owner: Value
    name: str


class Unknown(Struct, frozen=True):
    """Nothing is known but perhaps the Python type in `kind`; `ident` keeps two mentions of one value equal;
    `likely`: what a condition would be for assumed extents; never a fact."""

    ident: str | None = None
    kind: str | None = None
    likely: bool | None = None


class Global(Struct, frozen=True):
    """A name of a module that is not read, dotted: `torch.empty`, `builtins.min`."""

    dotted: str


Value = (
    Int
    | Ratio
    | Known
    | FloatValue
    | Sequence
    | ElementType
    | Tensor
    | Shape
    | Function
    | Partial
    | Class
    | Instance
    | Table
    | Method
    | Global
    | Unknown
)

UNKNOWN = Unknown()
