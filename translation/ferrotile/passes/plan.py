"""The plan of a kernel: its program after the passes, and what was decided for each array."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

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
    MAPPED = "mapped"
    FULL = "full"
    POINTER = "pointer"


class ArrayPlan(Struct, frozen=True):
    """`tile` is what an owned array's block owns: along axis d, `counts[d]` tiles from `counts[d] * block id` on, where
    `blocks[d]` is the block axis (None: from 0 on). `ordered` asks for loads with tokens; `injective` says that stores
    are proved to be disjoint between blocks, `trips` that they are between trips of the loops around them; `tokens` has
    every access pass a token to the next one, of whatever array when `fenced`.
    A mapped array has the `map` and the variable of the `loop` over its tiles. `before` names the array of which this
    one holds the values from before the launch."""

    name: str
    value: int
    dtype: DType
    rank: int
    form: Form
    tile: Shape = ()
    blocks: tuple[int | None, ...] = ()
    counts: tuple[int, ...] = ()
    ordered: bool = False
    injective: bool = False
    trips: bool = False
    tokens: bool = False
    fenced: bool = False
    map: tuple[Size, ...] = ()
    loop: int | None = None
    before: str | None = None
    reason: str = ""

    @property
    def owned_axes(self) -> bool:
        """Whether a block owns all tiles along some axis of a mapped array: 0 in its map."""
        return any(s.value == 0 for s in self.map)


class Plan(Struct, frozen=True):
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
