"""What a translated kernel is: the value that the translator hands to the runner, the editor and the command line."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from ferrotile.choices import Choices
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.program.ir import Program
from ferrotile.readings import Readings
from ferrotile.signatures.model import GridFactor, Signature
from ferrotile.syntax.span import Span


class Output(Struct, frozen=True):
    """A written array: `form` is `owned` (&mut Tensor at the block id), `owned-row` (nested partition),
    `mapped` (a partition that mints each tile once),
    `full` (checked full partition) or `pointer`; `reason` says why in words."""

    name: str
    form: str
    reason: str


class UnsafeCount(Struct, frozen=True):
    """`unsafe` blocks whose SAFETY line states a fact that ferrotile proved, and those that only take the Python's
    promise over."""

    proved: int = 0
    assumed: int = 0


class Origin(StrEnum):
    """Who wrote a kernel's Rust. Values are those of the JSON report."""

    RULES = "rules"
    """ferrotile's own translation."""
    AI = "ai"
    HAND = "hand"


class ArrayWord(Struct, frozen=True):
    """An extent of an array of the Python, or (`stride`) the stride of an axis, in elements."""

    array: str
    axis: int
    stride: bool = False


class RustParameter(Struct, frozen=True):
    """How an entry's parameter looks to the JIT and the launcher. `kind`: tensor, tensor_mut, scalar, pointer (a
    `*mut`, which only Rust of another origin has). `strides`: 1 where static, -1 where run-time; `tile`: the partition
    shape of a tensor_mut; `rust`: its name in Rust, where the Python's is none there. `copy_of`: the launcher passes a
    copy of this array, made before the launch. `passed`: what the launch passes for a scalar that is no argument of the
    Python: a word of an array, or a number."""

    name: str
    kind: str
    rank: int = 0
    strides: tuple[int, ...] = ()
    tile: tuple[int, ...] = ()
    rust: str | None = None
    copy_of: str | None = None
    passed: ArrayWord | int | float | None = None
    dtype: str = ""
    """Of what is `passed`."""


class Entry(Struct, frozen=True):
    """The Rust entry of a kernel. `generics`: the strings to compile it with under the signature, in order."""

    name: str
    module: str
    parameters: tuple[RustParameter, ...]
    generics: tuple[str, ...]
    hypotheses: tuple[str, ...] = ()
    """Launch facts that the launcher must establish, in the signature's terms: `bid.y = 0`, `cdiv(N, 1024) = 1`."""
    other_blocks: str = ""
    """Why a block of the Rust launch is none of the Python's, so that only whole launches can be compared."""
    grid: tuple[tuple[GridFactor, ...], ...] | None = None
    """The grid of the Rust launch, where neither an output says it nor it is the Python's."""
    block_maps: tuple[tuple[str, ...], ...] = ()
    """Which block of the Python a block of the Rust is, as hypotheses: one of these sets holds, whichever is proved."""


class SourceMap(Struct, frozen=True):
    """Pairs (Rust line, 0-based; Python span), sorted by Rust line: both ways."""

    pairs: tuple[tuple[int, Span], ...] = ()

    def python_span(self, rust_line: int) -> Span | None:
        """The Python that made a Rust line: the nearest mapped line at or above it."""
        found = None
        for line, span in self.pairs:
            if line > rust_line:
                break
            found = span
        return found

    def rust_lines(self, span: Span) -> tuple[int, ...]:
        """The Rust lines (0-based) made from Python that `span` touches."""
        return tuple(sorted({line for line, s in self.pairs if s.touches(span)}))


class KernelTranslation(Struct, frozen=True):
    """One kernel under one signature. `rust` is a complete `#[cutile::module] mod ...` text with this entry and the
    helpers that it needs, or None when refused; then `diagnostics` has at least one error. `readings`: what the front
    end made of each expression, also of a refused kernel, as far as it came."""

    name: str
    dialect: str
    span: Span
    name_span: Span
    signature: Signature | None
    program: Program | None
    rust: str | None
    entry: Entry | None
    outputs: tuple[Output, ...]
    unsafe: UnsafeCount
    source_map: SourceMap
    diagnostics: tuple[Diagnostic, ...]
    readings: Readings | None = None
    origin: Origin = Origin.RULES
    inferred: tuple[str, ...] = ()
    """What was found out about Rust of another origin, in words: which parameter is which, and the launch."""


class Options(Struct, frozen=True):
    """`unsafe`: `proved` (fastest form whose SAFETY facts are proved), or `never`. `checks`: `free` or `keep`.
    `choices`: a tuner's, joined to those that the comments above a kernel keep."""

    target: str = "sm_90"
    unsafe: str = "proved"
    checks: str = "free"
    choices: Choices = Choices()
