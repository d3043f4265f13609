"""Abstract values of host code: what is known of the arguments of a launch without running it.

An integer may have a value, an identity (two extents with the same identity are equal at every launch) and a
form as a product of `ceil(extent / tile)`, which is what grids are made of."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from ferrotile.program.dtypes import DType
from ferrotile.signatures.model import ConstantValue

Constant = ConstantValue


@dataclass(frozen=True, slots=True)
class Term:
    """`ceil(extent / tile)`; a str names an identity (host code) or a symbol (directive)."""

    extent: str | int
    tile: str | int = 1


Grid = tuple[tuple[Term, ...], ...]


@dataclass(frozen=True, slots=True)
class Int:
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


@dataclass(frozen=True, slots=True)
class Ratio:
    """`a / b` of two integers, before `math.ceil`."""

    top: Int
    bottom: Int


@dataclass(frozen=True, slots=True)
class Known:
    """A float, bool, str or None that is known."""

    value: float | bool | str | None


@dataclass(frozen=True, slots=True)
class FloatValue:
    """A float of unknown value."""


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ElementType:
    """`x.dtype`, `torch.float16`; None where it is some element type, unknown which."""

    dtype: DType | None


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor; what is known of it grows while host code is read (`M, N = x.shape` tells the rank)."""

    dtype: DType | None = None
    rank: int | None = None
    dims: dict[int, Int] = field(default_factory=dict)
    candidates: tuple[DType, ...] = ()
    """Element types that host code allows (`assert x.dtype in (...)`), where none is known."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`x.shape` of a tensor whose rank may be unknown yet."""

    tensor: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or lambda of the module named `home` (`""`: the file itself), with the names around it."""

    node: ast.FunctionDef | ast.Lambda
    names: Mapping[str, Value]
    home: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """`functools.partial(f, ...)`, or a method with its object."""

    function: Function
    positional: tuple[Value, ...]
    named: Mapping[str, Value]


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    node: ast.ClassDef
    home: str = ""


@dataclass(slots=True, eq=False)
class Instance:
    """An object: a namespace, a dataclass, `self`, an autograd context."""

    of: Class | None
    fields: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Table:
    """A dict. `stored`: the last value put under a key that is not known."""

    items: dict[int | float | bool | str | None, Value] = field(default_factory=dict)
    stored: Value | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """`x.to`, before its call."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known but perhaps the Python type in `kind`; `ident` keeps two mentions of one value equal;
    `likely`: what a condition would be for assumed extents; never a fact."""

    ident: str | None = None
    kind: str | None = None
    likely: bool | None = None


@dataclass(frozen=True, slots=True)
class Global:
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
