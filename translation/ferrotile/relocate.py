"""Translations kept between edits, and moved to where their source now stands."""

from __future__ import annotations

from bisect import bisect_right
from operator import is_
from typing import Generic, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.diagnostics.model import Diagnostic, Fix
from ferrotile.program.dtypes import DType
from ferrotile.program.ir import For, If, Loop, Operation, Program, Terminator, Value
from ferrotile.rust.emit import Parts
from ferrotile.signatures.model import Signature
from ferrotile.syntax.span import NOWHERE, Span
from ferrotile.translation import KernelTranslation, SourceMap

T = TypeVar("T")
Results = tuple[tuple[KernelTranslation, ...], tuple[Parts | None, ...]]


class Unplaced(Exception):
    """A span that lies in nothing that the translation depends on."""


class Places(Struct, frozen=True):
    """Where a kernel (with the comments above it) and the items that it may refer to stand."""

    own: Span
    items: tuple[Span, ...]


class Shift:
    """Moves each span along with the place that it lies in."""

    __slots__ = ("_after", "_before", "_delta", "_names", "_order")

    def __init__(self, before: Places, after: Places) -> None:
        self._before = before
        self._after = after
        self._delta = after.own.start - before.own.start
        self._order: list[tuple[int, int, int]] | None = None
        self._names: dict[type, tuple[str, ...]] = {}

    @property
    def wide(self) -> bool:
        """Whether anything that was moved lay outside the kernel."""
        return self._order is not None

    def of(self, value: T) -> T:
        """`value` with every span in it moved."""
        return self._moved(value)  # type: ignore[return-value]

    def _moved(self, value: object) -> object:
        kind = type(value)
        if kind is Span:
            return self.span(value)  # type: ignore[arg-type]
        if kind is tuple:
            moved = tuple([self._moved(v) for v in value])  # type: ignore[attr-defined]
            return value if all(map(is_, moved, value)) else moved  # type: ignore[call-overload]
        names = self._names.get(kind)
        if names is None:
            names = self._names[kind] = _field_names(value)
        changed = {}
        for name in names:
            old = getattr(value, name)
            new = self._moved(old)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value  # type: ignore[type-var]

    def diagnostic(self, found: Diagnostic) -> Diagnostic:
        """`found` moved."""
        fix = found.fix
        if fix is not None:
            fix = Fix(fix.title, self.span(fix.span), fix.text)
        related = tuple([(self.span(span), text) for span, text in found.related]) if found.related else ()
        return Diagnostic(found.code, found.severity, found.message, self.span(found.span), related, fix)

    def span(self, span: Span) -> Span:
        """`span` moved."""
        if span == NOWHERE:
            return span
        own = self._before.own
        if own.start <= span.start and span.end <= own.end:
            return span if not self._delta else Span(span.start + self._delta, span.end + self._delta)
        if self._order is None:
            pairs = zip(self._before.items, self._after.items, strict=True)
            self._order = sorted((b.start, b.end, a.start - b.start) for b, a in pairs)
        at = bisect_right(self._order, (span.start, 1 << 62, 0)) - 1
        if at < 0 or span.end > self._order[at][1]:
            raise Unplaced
        delta = self._order[at][2]
        return span if not delta else Span(span.start + delta, span.end + delta)


_PLAIN = frozenset(
    ("opcode", "attributes", "operands", "results", "condition", "variable", "lower", "upper", "step", "initial",
     "arguments", "kind", "values")
)  # fmt: skip
"""Fields of statements and terminators that hold words, numbers and values only: most of a program, without a place."""


def _field_names(value: object) -> tuple[str, ...]:
    """The fields that can hold a span."""
    if not isinstance(value, Struct) or isinstance(value, (Value, DType)):
        return ()
    if isinstance(value, (Operation, If, For, Loop, Terminator)):
        return tuple(n for n in value.__struct_fields__ if n not in _PLAIN)
    return value.__struct_fields__


class _Lazy(Generic[T]):
    """A field of a moved record that is costly to move: moved when it is first asked for, which is rare."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: MovedKernel, kind: type) -> T:
        moved = record.moved
        if self._name not in moved:
            moved[self._name] = record.shift.of(getattr(record.unmoved, self._name))
        return cast(T, moved[self._name])


class MovedKernel(KernelTranslation, frozen=True, kw_only=True, eq=False):
    """An equal of `unmoved` where its source now stands."""

    unmoved: KernelTranslation
    shift: Shift
    moved: dict[str, object]

    signature = _Lazy[Signature | None]("signature")
    program = _Lazy[Program | None]("program")
    source_map = _Lazy[SourceMap]("source_map")

    @classmethod
    def of(cls, unmoved: KernelTranslation, shift: Shift) -> MovedKernel:
        """`unmoved` moved."""
        return cls(
            unmoved.name,
            unmoved.dialect,
            shift.span(unmoved.span),
            shift.span(unmoved.name_span),
            None,
            None,
            unmoved.rust,
            unmoved.entry,
            unmoved.outputs,
            unmoved.unsafe,
            SourceMap(),
            tuple([shift.diagnostic(d) for d in unmoved.diagnostics]) if unmoved.diagnostics else (),
            unmoved.readings,
            unmoved=unmoved,
            shift=shift,
            moved={},
        )

    def __eq__(self, other: object) -> bool:
        fields = KernelTranslation.__struct_fields__
        return isinstance(other, KernelTranslation) and all(getattr(self, f) == getattr(other, f) for f in fields)


class Entry(Struct):
    """Results, and where their source stood. `wide`: they have places outside the kernel. `used`: the last round."""

    places: Places
    results: Results
    movable: bool
    wide: bool
    used: int
