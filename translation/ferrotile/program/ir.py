"""The kernel program: structured statements over three-address operations, in SSA form with region arguments.

Mirrors CUDA Tile IR: `For` and `Loop` carry values as region arguments, regions end in a terminator, every
operation is one of `operations.OPERATIONS`. Promotion, broadcasting, literal typing and casts are explicit: operands
of an element-wise operation have identical types.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct, field

from ferrotile.program.types import Type
from ferrotile.syntax.span import NOWHERE, Span


class Value(Struct, frozen=True):
    """An SSA value. `name` is a hint (the author's variable), not unique; identity is `id`, unique in the program."""

    id: int
    type: Type
    name: str | None = None


Attribute = int | float | bool | str | tuple[int, ...] | None


class Operation(Struct, frozen=True):
    """`results = opcode(operands) {attributes}`; `operations.OPERATIONS` has each opcode's operands and attributes."""

    opcode: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    span: Span = NOWHERE

    def attribute(self, name: str) -> Attribute:
        """The attribute's value, or None when absent."""
        for key, value in self.attributes:
            if key == name:
                return value
        return None

    @property
    def result(self) -> Value:
        (value,) = self.results
        return value


class End(Enum):
    """How a region ends. YIELD leaves an `if` or goes round a `for`; CONTINUE and BREAK act on the innermost loop."""

    YIELD = "yield"
    CONTINUE = "continue"
    BREAK = "break"
    RETURN = "return"


class Terminator(Struct, frozen=True):
    kind: End
    values: tuple[Value, ...] = ()


class Block(Struct, frozen=True):
    """Statements and a terminator. A `For` body ends in YIELD or CONTINUE; a `Loop` body in CONTINUE (YIELD is not used
    there) or BREAK; `if` branches in any. The kernel's body ends in RETURN."""

    statements: tuple[Statement, ...]
    terminator: Terminator


class If(Struct, frozen=True):
    """`condition` is a rank-0 bool. Both branches that YIELD give one value per result."""

    condition: Value
    then: Block
    otherwise: Block
    results: tuple[Value, ...] = ()
    span: Span = NOWHERE


class For(Struct, frozen=True):
    """Counts `variable` (rank-0 i32) from `lower` to `upper` (exclusive) by `step` > 0.

    `arguments[k]` starts as `initial[k]`, is what the body YIELDs (or CONTINUEs with) on the next trip, and leaves as
    `results[k]`. A BREAK inside leaves the loop with its values as the results.
    """

    variable: Value
    lower: Value
    upper: Value
    step: Value
    initial: tuple[Value, ...]
    arguments: tuple[Value, ...]
    body: Block
    results: tuple[Value, ...]
    span: Span = NOWHERE


class Loop(Struct, frozen=True):
    """Python's `while`: repeats until a BREAK; the condition is an `if` with a BREAK at the body's head.
    CONTINUE gives the next trip's arguments, BREAK the results; both have one value per argument."""

    initial: tuple[Value, ...]
    arguments: tuple[Value, ...]
    body: Block
    results: tuple[Value, ...]
    span: Span = NOWHERE


Statement = Operation | If | For | Loop


class Parameter(Struct, frozen=True):
    """A run-time parameter of the kernel, in Python order; constants are not here (see `Program.constants`)."""

    name: str
    value: Value


class Constant(Struct, frozen=True):
    """A constant parameter that occurs symbolically in the program (as a `Size.symbol` or a `const_param` operation).

    `pinned` means that a decision used its value, so the program holds for that value only and the symbol must be
    emitted as a literal.
    """

    name: str
    value: int | bool
    pinned: bool = False


class EntryHint(Struct, frozen=True):
    """`name` is occupancy, num_ctas, num_worker_warps or opt_level; `target` is `sm_100` or the like, None = any other.
    `span` is where the author wrote it."""

    name: str
    value: int
    target: str | None = None
    span: Span = NOWHERE


class Program(Struct, frozen=True):
    """One kernel under one signature. Arrays do not alias; accesses of one array happen in program order."""

    name: str
    parameters: tuple[Parameter, ...]
    constants: tuple[Constant, ...]
    body: Block
    span: Span = NOWHERE
    name_span: Span = NOWHERE
    hints: tuple[EntryHint, ...] = field(default=())
    """What the author asks of the compiler, in the order written."""
