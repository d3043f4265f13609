"""The plan of a kernel: its program after the passes, and what was decided for each array."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.program.dtypes import DType
from ferrotile.program.ir import Program
from ferrotile.program.types import Shape, Size
from ferrotile.signatures.model import Signature
from ferrotile.syntax.span import Span
from ferrotile.translation import Options


class Form(Enum):
    """How an array enters the Rust kernel."""

    READ = "read"
    OWNED = "owned"
    OWNED_ROW = "owned-row"
    FULL = "full"
    POINTER = "pointer"


@dataclass(frozen=True, slots=True)
class ArrayPlan:
    """`tile` is what an owned array's block owns; `row_axis` and `row` describe the axis that holds several tiles.
    `ordered` asks for loads with tokens; `injective` says that stores are proved to be disjoint between blocks;
    `tokens` has
    every access pass a token to the next one."""

    name: str
    value: int
    dtype: DType
    rank: int
    form: Form
    tile: Shape = ()
    row_axis: int | None = None
    row: Size | None = None
    ordered: bool = False
    injective: bool = False
    tokens: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """`axes[k]` is the Rust program axis of Python's block axis k."""

    program: Program
    signature: Signature
    options: Options
    arrays: tuple[ArrayPlan, ...]
    axes: tuple[int, int, int]
    hypotheses: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def refused(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    def array(self, value: int) -> ArrayPlan:
        """The plan of an array value."""
        return next(a for a in self.arrays if a.value == value)


def error(code: str, message: str, span: Span) -> Diagnostic:
    """An error diagnostic at a span."""
    return Diagnostic(code, Severity.ERROR, message, span)
