"""One entry as terms and effects: the value graph of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ferrotile_runner.tileir import control, effects, shapes
from ferrotile_runner.tileir.literals import LiteralError, literal
from ferrotile_runner.tileir.memory import Before, LoopFrame, View, count, tensor_view
from ferrotile_runner.tileir.model import (
    Entry,
    Operation,
    PartitionViewType,
    PointerType,
    Region,
    TensorViewType,
    TileType,
    Type,
    Value,
)
from ferrotile_runner.tileir.operations import TABLE, TERMINATORS, Effect
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Shape, Term
from ferrotile_runner.tileir.trace import Obligation, PadKey, Path, Trace, Unsupported

IMPLICIT = Operation("end", MappingProxyType({}), (), MappingProxyType({}), (), None, 0)
"""The terminator of a region that passes nothing on; the text leaves it out."""
_DEFAULT_ROUNDING = frozenset({"nearest_even", "zero"})


@dataclass(frozen=True, slots=True)
class Merged:
    """The Rust's words of an array whose leading axes it takes as one."""

    extents: tuple[Term, ...]
    strides: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is fixed for one reading of a program."""

    rewriter: Rewriter
    blocks: Mapping[str, Term]
    """Block ids by axis, as terms."""
    by_pointer: frozenset[Term] = frozenset()
    """Arrays that one of the programs addresses by pointers."""
    paddings: Mapping[PadKey, str | None] = field(default_factory=dict)
    """Paddings that may be taken where this program leaves them undetermined (M2)."""
    orders: Mapping[int, int] = field(default_factory=dict)
    """Loop -> which of the orders of equal carried values to take (T6)."""
    merged: Mapping[Term, Merged] = field(default_factory=dict)
    replaced: Mapping[Term, Term] = field(default_factory=dict)
    """Index terms that are given fresh names (H8)."""
    reads: frozenset[str] = frozenset()


class Program:
    """Interprets an entry symbolically. Raises Unsupported."""

    def __init__(self, entry: Entry, words: Iterable[Term | None], setting: Setting) -> None:
        self.setting = setting
        self.rewriter = setting.rewriter
        self.store = setting.rewriter.store
        self.trace = Trace()
        self.values: dict[int, Term] = {}
        self.views: dict[int, View] = {}
        self.tokens: dict[int, Before] = {}
        self.path: Path = frozenset()
        self.loops: tuple[LoopFrame, ...] = ()
        self.depth = 0
        for parameter, word in zip(entry.parameters, words, strict=True):
            if word is not None:
                self.values[parameter.number] = word
        self.region(entry.body)

    def region(self, region: Region) -> Operation:
        """Runs the operations; returns the terminator, `continue` or `yield` of nothing when the text has none."""
        for operation in region.operations:
            if operation.name in TERMINATORS:
                return operation
            try:
                self.operation(operation)
            except (ValueError, KeyError) as error:
                raise Unsupported(f"{operation.name}: {error}", operation.location) from error
        return IMPLICIT

    def term(self, value: Value) -> Term:
        found = self.values.get(value.number)
        if found is None:
            raise Unsupported(f"{value.name} has no value here (a word of the calling convention that is read?)")
        return found

    def terms(self, values: Iterable[Value]) -> tuple[Term, ...]:
        return tuple(self.term(value) for value in values)

    def token(self, value: Value | None) -> Before:
        return frozenset() if value is None else self.tokens.get(value.number, frozenset())

    def bind(self, operation: Operation, value: Value, term: Term) -> None:
        term = self.setting.replaced.get(term, term)
        self.values[value.number] = term
        if operation.location is not None:
            self.trace.places.setdefault(term, operation.location)

    def operation(self, operation: Operation) -> None:
        name = operation.name
        match TABLE[name].effect:
            case Effect.UNSUPPORTED:
                raise Unsupported(f"no rule for {name}", operation.location)
            case Effect.CONTROL:
                control.run(self, operation)
            case Effect.LOAD | Effect.STORE | Effect.ATOMIC | Effect.PRINT | Effect.ASSERT:
                effects.run(self, operation)
            case Effect.TOKEN:
                joined = (self.token(value) for value in operation.named.get("token", ()))
                self.tokens[operation.results[0].number] = frozenset[int | tuple[str, int]]().union(*joined)
            case Effect.ASSUME:
                self.values[operation.results[0].number] = self.term(operation.one("source"))
            case Effect.NONE:
                self.pure(operation)

    def pure(self, operation: Operation) -> None:
        name, store = operation.name, self.store
        match name:
            case "get_tile_block_id":
                for axis, value in zip("xyz", operation.results, strict=True):
                    self.bind(operation, value, self.setting.blocks[axis])
            case "get_num_tile_blocks":
                for axis, value in zip("xyz", operation.results, strict=True):
                    self.bind(operation, value, store.term("grid", axis))
            case "make_tensor_view" | "make_partition_view" | "get_index_space_shape" | "get_tensor_shape":
                self.view(operation)
            case "make_strided_view" | "make_gather_scatter_view":
                raise Unsupported(f"no rule for {name}", operation.location)
            case "reduce" | "scan":
                control.reduction(self, operation)
            case _:
                self.bind(operation, operation.results[0], self.computed(operation))

    def computed(self, operation: Operation) -> Term:
        """The value of a pure operation with one result."""
        shape, element = tile_of(operation.results[0].type)
        args = self.terms(operation.operands)
        store, rewriter = self.store, self.rewriter
        match operation.name:
            case "constant":
                return store.const(constant(operation, element), shape, element)
            case "iota":
                return store.term("iota", (), (), shape, element)
            case "reshape":
                return shapes.reshape(rewriter, args[0], shape)
            case "broadcast":
                return shapes.broadcast(rewriter, args[0], shape)
            case "permute":
                return shapes.permute(rewriter, args[0], operation.integers("permutation"))
            case "extract":
                return effects.extract(self, args[0], args[1:], shape, element)
            case name:
                words = attributes(operation)
                made = rewriter.make(name, words, args, shape, element)
                if TABLE[name].partial and made.op in {"div", "cdiv", name, "poly"}:
                    self.partial(operation, args[1])
                return made

    def partial(self, operation: Operation, divisor: Term) -> None:
        if not self.rewriter.integers.positive(divisor):
            term = self.store.term("nonzero", (), (divisor,), divisor.shape, "i1")
            self.trace.obligations.append(Obligation(term, self.path, self.loops, operation.location))

    def view(self, operation: Operation) -> None:
        name = operation.name
        if name == "make_tensor_view":
            type_ = operation.results[0].type
            if not isinstance(type_, TensorViewType):
                raise Unsupported("make_tensor_view of another type", operation.location)
            shape, strides = self.terms(operation.named["shape"]), self.terms(operation.named["strides"])
            base = self.term(operation.one("base"))
            self.views[operation.results[0].number] = tensor_view(base, shape, strides, type_, self.rewriter)
            return
        view = self.views[operation.one("view").number]
        if name == "make_partition_view":
            kind = operation.results[0].type
            if not isinstance(kind, PartitionViewType):
                raise Unsupported("make_partition_view of another type", operation.location)
            self.views[operation.results[0].number] = view.partition(kind)
            return
        for axis, value in enumerate(operation.results):
            size = count(self.rewriter, view, axis) if name == "get_index_space_shape" else view.extents[axis]
            self.bind(operation, value, size)


def constant(operation: Operation, element: str) -> int:
    """The splat of a constant. Raises Unsupported for a list of elements."""
    try:
        return literal(operation.word("value"), element)
    except LiteralError as error:
        raise Unsupported(f"constant {error}", operation.location) from error


def attributes(operation: Operation) -> str:
    """Attributes of a pure operation as words; defaults are left out. Overflow promises are kept: they matter."""
    words: list[str] = []
    for key in ("predicate", "ordering", "signedness", "flush_to_zero", "propagate_nan", "mode"):
        if key in operation.attributes:
            words.append(key if operation.attributes[key] is True else str(operation.attributes[key]))
    rounding = operation.word("rounding")
    if rounding and rounding not in _DEFAULT_ROUNDING:
        words.append(f"rounding<{rounding}>")
    if rounding == "zero" and operation.name not in {"divi", "ftoi"}:
        words.append("rounding<zero>")
    if "dim" in operation.attributes:
        words.append(f"dim={operation.attributes['dim']}")
    overflow = operation.word("overflow")
    if overflow and overflow != "none":
        raise Unsupported(f"{operation.name} that promises {overflow}", operation.location)
    return " ".join(words)


def tile_of(type_: Type) -> tuple[Shape, str]:
    """Shape and element of a tile; pointers have element `ptr`."""
    if not isinstance(type_, TileType):
        raise Unsupported(f"a tile was expected, not {type(type_).__name__}")
    element = type_.element
    return type_.shape, f"ptr<{element.pointee}>" if isinstance(element, PointerType) else element
