"""The signature of a kernel: what each argument is, and where that is known from."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from ferrotile.program.dtypes import DType
from ferrotile.syntax.span import NOWHERE, Span


class Source(Enum):
    DIRECTIVE = "directive"
    ANNOTATION = "annotation"
    LAUNCH = "launch"
    USAGE = "usage"
    ASSUMED = "assumed"
    """Chosen by ferrotile, so that something can be shown: the translation must stay generic in it."""


class ArrayArgument(Struct, frozen=True):
    """An array of `dtype`; `extents` are symbols (`"M"`, equal symbols = equal extents) or known ints, one an axis.
    The last axis has unit stride; the others' strides are run-time words. `source` tells where the element type
    comes from, `rank_source` where the number of axes does (None: from the same)."""

    name: str
    dtype: DType
    extents: tuple[str | int, ...]
    source: Source
    span: Span = NOWHERE
    rank_source: Source | None = None


class ScalarArgument(Struct, frozen=True):
    """`extent`: the launch passes this extent of an array, a symbol of an `ArrayArgument` (None: not known)."""

    name: str
    dtype: DType
    source: Source
    span: Span = NOWHERE
    extent: str | None = None


ConstantValue = int | float | bool | str | None | DType | tuple["ConstantValue", ...]


class ConstantArgument(Struct, frozen=True):
    """A `ct.Constant[...]` parameter and its value."""

    name: str
    value: ConstantValue
    source: Source
    span: Span = NOWHERE


Argument = ArrayArgument | ScalarArgument | ConstantArgument


class GridFactor(Struct, frozen=True):
    """`ceil(extent / tile)`; `extent` is an extent symbol or an int; tile 1 means the extent itself."""

    extent: str | int
    tile: int = 1


class Site(Struct, frozen=True):
    """The launch that a signature was read from: a place in the kernel's own file, or a line (1-based) of `module`."""

    span: Span = NOWHERE
    module: str = ""
    line: int = 0


class Signature(Struct, frozen=True):
    """Arguments in Python order. `grid[axis]` is a product of factors; a missing axis has 1 block; None = unknown.
    `multiples`: extents that the launch divides without rounding up, and by what. `tuned`: the constants in
    other configurations that a tuner may take, as far as they are known."""

    kernel: str
    arguments: tuple[Argument, ...]
    grid: tuple[tuple[GridFactor, ...], ...] | None = None
    grid_source: Source | None = None
    site: Site | None = None
    multiples: tuple[tuple[str, int], ...] = ()
    divided: tuple[tuple[str | None, ...], ...] = ()
    """Runs parallel to `grid`: the constant parameter that the launch divides by, None for a number of its own."""
    tuned: tuple[tuple[tuple[str, ConstantValue], ...], ...] = ()
