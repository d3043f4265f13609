"""The state of one interpretation: frames, diagnostics, constants, and the helpers every subject uses."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.frontends.cutile.lint import Finding, find_unsupported
from ferrotile.frontends.cutile.values import Abstract, Const, Function, Unusable
from ferrotile.program.builder import Builder
from ferrotile.program.ir import Attribute, Value
from ferrotile.program.types import Shape, Size, Type
from ferrotile.syntax.module import Module
from ferrotile.syntax.span import NOWHERE, Span

if TYPE_CHECKING:
    from ferrotile.frontends.cutile.arguments import Call


class Refused(Exception):
    """User code that is refused; ends the statement that it is in."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class Poisoned(Exception):
    """A value was used that had been refused before: nothing more to report."""


class LoopFrame(Struct):
    """A loop being interpreted: the template of each name it carries, the names found not to fit, and what names hold
    where the loop ends. Without `counted` only a BREAK leaves it."""

    carried: dict[str, Abstract]
    counted: bool
    assigned: tuple[str, ...] = ()
    late: frozenset[str] = frozenset()
    """Carried names that have no value before the first trip."""
    conflicts: dict[str, Unusable] = field(default_factory=dict)
    left: dict[str, list[tuple[Abstract | None, Span]]] = field(default_factory=dict)
    """What each assigned name holds wherever the loop is left, and where that was assigned."""


class Frame(Struct):
    """The variables of one call of a function."""

    variables: dict[str, Abstract]
    locals: frozenset[str]
    is_kernel: bool = False
    closure: Frame | None = None
    loops: list[LoopFrame] = field(default_factory=list)
    places: dict[str, Span] = field(default_factory=dict)
    """Where each variable was assigned last."""
    span: Span = NOWHERE
    """The function's own place."""
    values: dict[int, Abstract] = field(default_factory=dict)
    """What each expression of the function stood for when it was last evaluated, by `id` of its node."""
    returns: bool = False
    """Whether a helper's `return` is a BREAK, for it can happen in a loop."""


Inline = Callable[["Context", Function, tuple[Abstract, ...], dict[str, Abstract]], Abstract]
_MAX_STEPS = 200_000


class _At:
    """A span in force for as long as a `with` lasts."""

    __slots__ = ("_before", "_ctx", "_span")

    def __init__(self, ctx: Context, span: Span) -> None:
        self._ctx, self._span = ctx, span

    def __enter__(self) -> None:
        self._before, self._ctx.span = self._ctx.span, self._span

    def __exit__(self, *_: object) -> None:
        self._ctx.span = self._before


class Context:
    """Everything a handler needs. `span` is the Python expression in hand: operations get it."""

    def __init__(self, module: Module, inline: Inline, syntax: dict[int, list[Finding]] | None = None) -> None:
        self.module = module
        self.spans = module.spans
        """The places found so far, for those who ask very often."""
        self.syntax = {} if syntax is None else syntax
        """Unsupported syntax of functions, by `id` of their node."""
        self.builder = Builder()
        self.inline = inline
        self.frame = Frame({}, frozenset())
        self.calls: list[tuple[ast.AST, dict[int, Abstract]]] = []
        """The functions interpreted, with the values in them."""
        self.depth = 0
        self.steps = 0
        self.span = NOWHERE
        self.rejected: set[int] = set()
        """Statements, by `id`, with syntax that is reported already."""
        self.linted: set[int] = set()
        """Functions, by `id` of their node, whose syntax was looked at."""
        self.module_frame = Frame({}, frozenset())
        """An empty frame: names are those of the module."""
        self.static_values: dict[str, object] = {}
        """Plain values of module-level constants, or why they have none."""
        self.diagnostics: list[Diagnostic] = []
        self.pinned: set[str] = set()
        self.specific = False
        """Whether a float of a type that the program says is stored in an array of an assumed one."""
        self.module_values: dict[str, Abstract] = {}
        self.callees: dict[int, str] = {}
        """How callees are written, by `id` of the call."""
        self.members: dict[str, Abstract] = {}
        """What attributes of other modules stand for, by their dotted names."""

    # diagnostics
    def refused(
        self, code: str, message: str, span: Span | None = None, related: tuple[tuple[Span, str], ...] = ()
    ) -> Refused:
        """The exception that refuses the expression in hand; to be raised."""
        return Refused(diagnostic(code, message, self.span if span is None else span, related=related))

    def unusable(self, value: Unusable, span: Span | None = None) -> Refused:
        """The exception that refuses the use of a name without one value; to be raised."""
        use = self.span if span is None else span
        if value.span == NOWHERE or value.span == use:
            return self.refused(value.code, value.reason, use)
        return self.refused(value.code, value.reason, value.span, ((use, "it is used here"),))

    def lint(self, function: ast.FunctionDef | ast.Lambda, names: frozenset[str]) -> None:
        """Reports unsupported syntax in a function, once. `names` are its own, which hide the module's."""
        if id(function) in self.linted:
            return
        self.linted.add(id(function))

        def resolve(node: ast.expr) -> str | None:
            root = node
            while isinstance(root, ast.Attribute):
                root = root.value
            hidden = isinstance(root, ast.Name) and root.id in names
            return None if hidden else self.module.resolve(node)

        found = self.syntax.get(id(function))
        if found is None:
            found = self.syntax[id(function)] = find_unsupported(function, resolve)
        for finding in found:
            self.report(self.refused("FT201", finding.message, self.module.span_of(finding.node)))
            if finding.statement is not None:
                self.rejected.add(id(finding.statement))

    def report(self, refused: Refused) -> None:
        found = refused.diagnostic
        if all((d.code, d.span) != (found.code, found.span) for d in self.diagnostics):
            self.diagnostics.append(found)

    def at(self, node: ast.AST) -> _At:
        """Sets the span to that of `node` inside the `with`."""
        return _At(self, self.spans.get(id(node)) or self.module.span_of(node))

    def tick(self) -> None:
        """Counts a step; refuses a kernel that takes too many."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise self.refused("FT301", "the kernel is too large to interpret")

    # what the expressions' module gives to those below it
    def look_up(self, node: ast.Name) -> Abstract:
        """What a name stands for; refused where it has no value."""
        from ferrotile.frontends.cutile.expressions import checked
        from ferrotile.frontends.cutile.names import lookup

        return checked(self, lookup(self, node), self.module.span_of(node))

    def usable(self, node: ast.expr) -> Abstract:
        """The value of an expression; refused where it has none."""
        from ferrotile.frontends.cutile.expressions import usable

        return usable(self, node)

    def is_local(self, name: str) -> bool:
        """Whether a name is a variable of the kernel or helper in hand, or of the functions around it."""
        from ferrotile.frontends.cutile.names import is_local

        return is_local(self, name)

    def attribute(self, base: Abstract, name: str) -> Abstract:
        """`base.name`."""
        from ferrotile.frontends.cutile.expressions import attribute_of

        return attribute_of(self, base, name)

    def call(self, callee: Abstract, made: Call) -> Abstract:
        """The result of a call."""
        from ferrotile.frontends.cutile.calls import call

        return call(self, callee, made)

    def header(self, span: Span) -> Span:
        """The first line of a compound statement, without its colon: what a message about all of it points at."""
        line = self.module.document.data[span.start : span.end].split(b"\n", 1)[0].rstrip().rstrip(b":")
        return Span(span.start, span.start + len(line))

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
