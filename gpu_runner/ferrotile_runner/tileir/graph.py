"""One entry as terms and effects: the value graph of a program."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from msgspec import Struct, field

from ferrotile_runner.tileir import branches, effects, loops, obligations, reductions, shapes, slices
from ferrotile_runner.tileir.exits import Leaf, Tree
from ferrotile_runner.tileir.literals import LiteralError, literal
from ferrotile_runner.tileir.memory import Before, LoopFrame, Marker, View, count, tensor_view
from ferrotile_runner.tileir.model import (
    Entry,
    GatherScatterViewType,
    Location,
    Operation,
    PartitionViewType,
    PointerType,
    Region,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    Value,
    walk,
)
from ferrotile_runner.tileir.operations import NO_MEANING, TABLE, TERMINATORS, Effect
from ferrotile_runner.tileir.ordering import Strides
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Shape, Term
from ferrotile_runner.tileir.trace import PadKey, Path, Trace, Unsupported

_DEFAULT_ROUNDING = {"divi": "zero", "ftoi": "nearest_int_to_zero", "exp": "full", "tanh": "full"}
"""Nearest even elsewhere. `tileirdisasm` leaves the default out."""
_MOVES = frozenset({"reshape", "broadcast", "permute"})
"""Operations that are not where their value is computed."""
_PLACED = frozenset({"value", "permutation", "identities", "rounding", "overflow"})
"""Attributes that `attributes` or the operation's own rule takes care of."""


class Merged(Struct, frozen=True):
    """The Rust's words of an array whose leading axes it takes as one."""

    extents: tuple[Term, ...]
    strides: tuple[Term, ...]


class Copy(Struct, frozen=True):
    """A copy of an array, from before the launch: the array's pointer, the words of both (extents, then strides) and
    what the launcher answers for."""

    original: Term
    words: tuple[Term, ...]
    original_words: tuple[Term, ...]
    hypothesis: str


class Setting(Struct, frozen=True):
    """What is fixed for one reading of a program."""

    rewriter: Rewriter
    blocks: Mapping[str, Term]
    """Block ids by axis, as terms."""
    grids: Mapping[str, Term]
    """Numbers of blocks by axis."""
    by_pointer: frozenset[Term] = frozenset()
    """Arrays that one of the programs addresses by pointers."""
    paddings: Mapping[PadKey, str | None] = field(default_factory=dict)
    """Paddings that may be taken where this program leaves them undetermined (M2)."""
    orders: Mapping[int, int] = field(default_factory=dict)
    """Loop -> which of the orders of equal carried values to take (T6)."""
    merged: Mapping[Term, Merged] = field(default_factory=dict)
    replaced: Mapping[Term, Term] = field(default_factory=dict)
    """Index terms that are given fresh names (H8)."""
    copies: Mapping[Term, Copy] = field(default_factory=dict)
    """Pointers of copies."""
    is_original: bool = False
    """Whether the program is the Python's."""
    strides: Strides = field(default_factory=dict)
    shared: frozenset[Term] = frozenset()
    """Arrays that one of the programs writes: a synchronising access orders theirs (M9)."""


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
        self.own_places: dict[tuple[Term, Term], Hashable] = {}
        """An array and what a loop has left of it, as an effect -> where its rounds store, each elsewhere (M11)."""
        self.path: Path = frozenset()
        self.loops: tuple[LoopFrame, ...] = ()
        self.depth = 0
        self.nesting = 0
        self.conditions: list[tuple[int, Term]] = []
        """Of each `if` so far, with the number of `if`s around it."""
        for parameter, word in zip(entry.parameters, words, strict=True):
            if word is not None:
                self.values[parameter.number] = word
        self.used = _used(entry)
        self.region(entry.body)

    def region(self, region: Region) -> Tree:
        """Runs the operations; how the region ends."""
        return self.sequence(region.operations)

    def sequence(self, operations: Sequence[Operation]) -> Tree:
        """The same for a tail of a region's operations."""
        for place, operation in enumerate(operations):
            if operation.name in TERMINATORS:
                return self.leaf(operation.name, operation.named.get("values", ()))
            try:
                if operation.name == "if":
                    ending = branches.run(self, operation, operations[place + 1 :])
                    if ending is not None:
                        return ending
                else:
                    self.operation(operation)
            except (ValueError, KeyError) as error:
                raise Unsupported(f"{operation.name}: {error}", operation.location) from error
        return self.leaf("end", ())

    def leaf(self, kind: str, values: Sequence[Value]) -> Leaf:
        tokens = tuple(self.token(value) if isinstance(value.type, TokenType) else None for value in values)
        terms = tuple(None if isinstance(value.type, TokenType) else self.term(value) for value in values)
        return Leaf(kind, terms, tokens, len(self.trace.accesses), self.path)

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
        if operation.location is not None and (operation.name not in _MOVES or not self.places_of(term)):
            self.trace.place(term, operation.location)

    def places_of(self, term: Term | None) -> tuple[Location, ...]:
        """Where a term is computed; of one that was moved to another shape, where that it was made from is."""
        seen = set[Term]()
        while term is not None and term not in seen:
            found = self.trace.places.get(term)
            if found:
                return tuple(found)
            seen.add(term)
            term = self.store.origins.get(term)
        return ()

    def operation(self, operation: Operation) -> None:
        name = operation.name
        match TABLE[name].effect:
            case Effect.UNSUPPORTED:
                raise Unsupported(f"no rule for {name}", operation.location)
            case Effect.CONTROL:
                loops.run(self, operation)
            case Effect.LOAD | Effect.STORE | Effect.ATOMIC | Effect.PRINT | Effect.ASSERT | Effect.GRID:
                effects.run(self, operation)
            case Effect.TOKEN:
                joined = (self.token(value) for value in operation.named.get("token", ()))
                self.tokens[operation.results[0].number] = frozenset[int | Marker]().union(*joined)
            case Effect.ASSUME:
                source = self.term(operation.one("source"))
                self.values[operation.results[0].number] = source
                obligations.assume(self, operation, source)
            case Effect.NONE:
                self.pure(operation)

    def pure(self, operation: Operation) -> None:
        match operation.name:
            case "get_tile_block_id":
                for axis, value in zip("xyz", operation.results, strict=True):
                    self.bind(operation, value, self.setting.blocks[axis])
            case "get_num_tile_blocks":
                for axis, value in zip("xyz", operation.results, strict=True):
                    self.bind(operation, value, self.setting.grids[axis])
            case "make_tensor_view" | "get_index_space_shape" | "get_tensor_shape":
                self.view(operation)
            case "make_partition_view" | "make_strided_view" | "make_gather_scatter_view":
                self.view(operation)
            case "reduce" | "scan":
                reductions.reduction(self, operation)
            case _:
                self.bind(operation, operation.results[0], self.computed(operation))

    def computed(self, operation: Operation) -> Term:
        """The value of a pure operation with one result."""
        shape, element = tile_of(operation.results[0].type)
        args = self.terms(operation.operands)
        store, rewriter = self.store, self.rewriter
        match operation.name:
            case "constant" if operation.word("value").startswith("["):
                return store.term("dense", operation.word("value"), (), shape, element)
            case "constant":
                return store.const(constant(operation, element), shape, element)
            case "iota" if shape == (1,):
                return store.const(0, shape, element)
            case "iota":
                return store.term("iota", (), (), shape, element)
            case "reshape":
                return shapes.reshape(rewriter, args[0], shape)
            case "broadcast":
                return shapes.broadcast(rewriter, args[0], shape)
            case "permute":
                return shapes.permute(rewriter, args[0], operation.integers("permutation"))
            case "extract":
                obligations.part(self, operation, args[1:], shape, args[0].shape)
                return slices.extract(self, args[0], args[1:], shape)
            case name:
                words = attributes(operation)
                made = rewriter.make(name, words, args, shape, element)
                if name in {"shli", "shri"}:
                    obligations.shift(self, operation, args[1], element)
                if made.op == "trunci" and made.data:
                    obligations.oblige(self, store.term("fits", made.data, made.args, shape, "i1"), operation)
                if TABLE[name].partial:
                    obligations.division(self, operation, words, args, made)
                return made

    def view(self, operation: Operation) -> None:
        name = operation.name
        if name == "make_tensor_view":
            type_ = operation.results[0].type
            if not isinstance(type_, TensorViewType):
                raise Unsupported("make_tensor_view of another type", operation.location)
            shape, strides = self.terms(operation.named["shape"]), self.terms(operation.named["strides"])
            if any(word.element != "i32" for word in (*shape, *strides)):
                raise Unsupported("a view whose sizes have another type than i32", operation.location)
            base, shift = effects.pointer(self, self.term(operation.one("base")), operation)
            self.views[operation.results[0].number] = tensor_view(base, shift, shape, strides, type_, self.rewriter)
            return
        view = self.views[operation.one("view").number]
        kind = operation.results[0].type
        if isinstance(kind, PartitionViewType | StridedViewType | GatherScatterViewType):
            self.views[operation.results[0].number] = view.tiled(kind)
            return
        for axis, value in enumerate(operation.results):
            if tile_of(value.type) != ((), "i32"):
                raise Unsupported("a size of another type than i32", operation.location)
            size = count(self.rewriter, view, axis) if name == "get_index_space_shape" else view.extents[axis]
            self.bind(operation, value, size)


def constant(operation: Operation, element: str) -> int:
    """The splat of a constant. Raises Unsupported for a list of elements."""
    try:
        return literal(operation.word("value"), element)
    except LiteralError as error:
        raise Unsupported(f"constant {error}", operation.location) from error


def attributes(operation: Operation) -> str:
    """Attributes of a pure operation as words; defaults are left out, promises are kept: they matter."""
    words: list[str] = []
    first = ("predicate", "ordering", "signedness")
    for key in (*first, *sorted(set(operation.attributes) - set(first) - _PLACED - NO_MEANING)):
        found = operation.attributes.get(key)
        if found is not None and found is not False:
            words.append(key if found is True else f"{key}={found}" if key == "dim" else str(found))
    rounding = operation.word("rounding")
    if rounding and rounding != _DEFAULT_ROUNDING.get(operation.name, "nearest_even"):
        words.append(f"rounding<{rounding}>")
    overflow = operation.word("overflow")
    if overflow and overflow != "none":
        if operation.name != "trunci":
            raise Unsupported(f"{operation.name} that promises {overflow}", operation.location)
        words.append(overflow)
    return " ".join(words)


def _used(entry: Entry) -> frozenset[int]:
    """Numbers of the values that some operation takes."""
    return frozenset(value.number for operation in walk(entry.body) for value in operation.operands)


def tile_of(type_: Type) -> tuple[Shape, str]:
    """Shape and element of a tile; pointers have element `ptr`."""
    if not isinstance(type_, TileType):
        raise Unsupported(f"a tile was expected, not {type(type_).__name__}")
    element = type_.element
    return type_.shape, f"ptr<{element.pointee}>" if isinstance(element, PointerType) else element
