"""The state of one interpretation: frames, diagnostics, constants, and the helpers every subject uses."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.frontends.cutile.values import Abstract, Const, Function
from ferrotile.program.builder import Builder
from ferrotile.program.ir import Attribute, Value
from ferrotile.program.types import Shape, Size, Type
from ferrotile.syntax.module import Module
from ferrotile.syntax.span import NOWHERE, Span


class Refused(Exception):
    """User code that is refused; ends the statement that it is in."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Poisoned(Exception):
    """A value was used that had been refused before: nothing more to report."""


@dataclass(slots=True)
class LoopFrame:
    """A loop being interpreted: the template of each name it carries, and the names found not to fit."""

    carried: dict[str, Abstract]
    conflicts: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Frame:
    """The variables of one call of a function."""

    variables: dict[str, Abstract]
    locals: frozenset[str]
    is_kernel: bool = False
    closure: Frame | None = None
    loops: list[LoopFrame] = field(default_factory=list)


Inline = Callable[["Context", Function, tuple[Abstract, ...], dict[str, Abstract]], Abstract]


class Context:
    """Everything a handler needs. `span` is the Python expression in hand: operations get it."""

    def __init__(self, module: Module, inline: Inline) -> None:
        self.module = module
        self.builder = Builder()
        self.inline = inline
        self.frame = Frame({}, frozenset())
        self.depth = 0
        self.steps = 0
        self.span = NOWHERE
        self.host = False
        """Whether a module-level constant is being evaluated: `math` functions are allowed there."""
        self.diagnostics: list[Diagnostic] = []
        self.pinned: set[str] = set()
        self.module_values: dict[str, Abstract] = {}

    # diagnostics
    def refused(self, code: str, message: str, span: Span | None = None) -> Refused:
        """The exception that refuses the expression in hand; to be raised."""
        return Refused(diagnostic(code, message, self.span if span is None else span))

    def report(self, refused: Refused) -> None:
        found = refused.diagnostic
        if all((d.code, d.span) != (found.code, found.span) for d in self.diagnostics):
            self.diagnostics.append(found)

    @contextmanager
    def at(self, node: ast.AST) -> Iterator[None]:
        """Sets the span to that of `node` inside the `with`."""
        before, self.span = self.span, self.module.span_of(node)
        try:
            yield
        finally:
            self.span = before

    # building
    def emit(self, opcode: str, operands: tuple[Value, ...], result: Type, **attributes: Attribute) -> Value:
        return self.builder.emit(opcode, operands, result, self.span, **attributes)

    # constants
    def pin(self, *symbols: str | None) -> None:
        """Says that a decision used the values of these constants."""
        self.pinned.update(s for s in symbols if s is not None)

    def literal(self, value: Const) -> int | float | bool | str | None:
        """The value for use at compile time, which pins it."""
        self.pin(value.symbol)
        return value.value

    def join_size(self, a: Size, b: Size) -> Size:
        """One size for two equal ones; pins them when they have different names."""
        if a.symbol != b.symbol:
            self.pin(a.symbol, b.symbol)
        return a if a.symbol else b

    def join_shape(self, a: Shape, b: Shape) -> Shape:
        return tuple(self.join_size(x, y) for x, y in zip(a, b, strict=True))

    def pin_shape(self, *shapes: Shape) -> None:
        for shape in shapes:
            self.pin(*(s.symbol for s in shape))
