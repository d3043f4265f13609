"""Translations kept between edits, and moved to where their source now stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import is_
from typing import Generic, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.program.dtypes import DType
from ferrotile.program.ir import For, If, Loop, Operation, Program, Terminator, Value
from ferrotile.rust.emit import Parts
from ferrotile.signatures.launch import Launches
from ferrotile.signatures.model import Signature
from ferrotile.syntax.document import Document, Item, ItemKind
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.parsed import SPARE, ParseCache
from ferrotile.syntax.span import NOWHERE, Span
from ferrotile.translation import KernelTranslation, SourceMap

T = TypeVar("T")
Results = tuple[tuple[KernelTranslation, ...], tuple[Parts | None, ...]]

_NAME = re.compile(r"[^\W\d]\w*")
_ALIAS = re.compile(r"\b([^\W\d]\w*+)\s*+=\s*+([^\W\d]\w*+)(?!\s*[(.\[])")
_DEFINITIONS = (ItemKind.FUNCTION, ItemKind.CLASS)
_CALLED = re.compile(r"\b([^\W\d]\w*+)\s*+\(")


class _Unplaced(Exception):
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
            raise _Unplaced
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
            moved[self._name] = record.shift.of(getattr(record.origin, self._name))
        return cast(T, moved[self._name])


class MovedKernel(KernelTranslation, frozen=True, kw_only=True, eq=False):
    """An equal of `origin` where its source now stands."""

    origin: KernelTranslation
    shift: Shift
    moved: dict[str, object]

    signature = _Lazy[Signature | None]("signature")
    program = _Lazy[Program | None]("program")
    source_map = _Lazy[SourceMap]("source_map")

    @classmethod
    def of(cls, origin: KernelTranslation, shift: Shift) -> MovedKernel:
        """`origin` moved."""
        return cls(
            origin.name,
            origin.dialect,
            shift.span(origin.span),
            shift.span(origin.name_span),
            None,
            None,
            origin.rust,
            origin.entry,
            origin.outputs,
            origin.unsafe,
            SourceMap(),
            shift.of(origin.diagnostics) if origin.diagnostics else (),
            origin.readings,
            origin=origin,
            shift=shift,
            moved={},
        )

    def __eq__(self, other: object) -> bool:
        fields = KernelTranslation.__struct_fields__
        return isinstance(other, KernelTranslation) and all(getattr(self, f) == getattr(other, f) for f in fields)


class _Entry(Struct):
    places: Places
    results: Results
    movable: bool
    used: int


class Cache:
    """What translations of one document after another share: best one cache a file. It keeps what the last text
    needs and a few texts before it, so that undoing is quick. Not for use by two threads at once."""

    def __init__(self, limit: int = 1024) -> None:
        self.parsed = ParseCache()
        self._limit = limit
        self._round = 0
        self._entries: dict[tuple[object, ...], _Entry] = {}
        self._alone: tuple[object, set[tuple[bytes, str]]] = (None, set())
        self._launches: tuple[object, Launches] | None = None
        self._words: dict[bytes, frozenset[str]] = {}
        self._called: dict[bytes, frozenset[str]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: tuple[object, ...], places: Places) -> Results | None:
        """What is kept under `key`, moved to `places`."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry.used = self._round
        was = entry.places
        if was.own.start == places.own.start and was == places:
            return entry.results
        if not entry.movable:
            return None
        shift = Shift(entry.places, places)
        kernels, parts = entry.results
        return tuple([MovedKernel.of(k, shift) for k in kernels]), parts

    def put(self, key: tuple[object, ...], places: Places, results: Results) -> None:
        """Keep results; the least recently used ones go."""
        movable = places.own.start != 0  # `NOWHERE` and the file's beginning are not to be told apart
        try:
            Shift(places, places).of(results[0])
        except _Unplaced:
            movable = False
        self._entries[key] = _Entry(places, results, movable, self._round)
        if len(self._entries) > self._limit:
            del self._entries[min(self._entries, key=lambda k: self._entries[k].used)]

    def end_round(self) -> None:
        """A document is done: what was not used for long goes."""
        live = sum(1 for e in self._entries.values() if e.used == self._round)
        if len(self._entries) > live + 2 * SPARE:
            oldest = sorted(self._entries, key=lambda k: self._entries[k].used)
            for key in oldest[: len(oldest) - live - SPARE]:
                del self._entries[key]
        if len(self._words) > 2 * live + 8 * SPARE:
            self._words.clear()
            self._called.clear()
        self._round += 1
        self.parsed.end_round()

    def launches(self, key: object) -> Launches | None:
        """The launch sites of the last document, where it had the same host code."""
        return self._launches[1] if self._launches is not None and self._launches[0] == key else None

    def put_launches(self, key: object, launches: Launches) -> None:
        self._launches = (key, launches)

    def alone(self, names: object) -> set[tuple[bytes, str]]:
        """Digest and name of the kernels that refer to no other, as long as the kernels' `names` are the same."""
        if self._alone[0] != names:
            self._alone = (names, set())
        return self._alone[1]

    def words(self, item: Item) -> frozenset[str]:
        """The names in an item's text."""
        found = self._words.get(item.digest)
        if found is None:
            found = self._words[item.digest] = frozenset(_NAME.findall(item.text))
        return found

    def called(self, item: Item) -> frozenset[str]:
        """Those of them that are called, under an alias too."""
        found = self._called.get(item.digest)
        if found is None:
            called = frozenset(_CALLED.findall(item.text))
            meant = {value for name, value in _ALIAS.findall(item.text) if name in called}
            found = self._called[item.digest] = called | meant
        return found


class Dependencies:
    """What each kernel of a document depends on: its own text; every item that is no plain kernel (helpers,
    constants, imports, launch sites); and the other kernels that those or itself mention."""

    def __init__(self, module: Module, kernels: tuple[FunctionSource, ...], cache: Cache) -> None:
        self._module = module
        self._cache = cache
        plain = {id(k.item): k for k in kernels if module.stands_alone(k) and "launch" not in k.item.text}
        self._shared: list[Item] = []
        self._before: dict[int, int] = {}
        for item in module.items:
            self._before[id(item)] = len(self._shared)
            if id(item) not in plain and module.parses(item):
                self._shared.append(item)
        self._plain = list(plain.values())
        self._place = {id(k.item): n for n, k in enumerate(self._plain)}
        helpers: set[str] = set()
        for item in self._shared:
            # A function that launches mentions its kernels without depending on what they do.
            launches = "launch" in item.text and item.kind in _DEFINITIONS
            helpers |= cache.called(item) if launches else cache.words(item)
            helpers.update(item.names)
        self._by_name: dict[str, list[FunctionSource]] = {}
        for kernel in self._plain:
            self._by_name.setdefault(kernel.name, []).append(kernel)
        self._known = frozenset(self._by_name)
        self._always = [n for n in self._by_name if n in helpers]
        self._alone = cache.alone(([(n, len(k)) for n, k in self._by_name.items()], self._always))
        digests = tuple(i.digest for i in self._shared)
        data = module.document.data
        self._texts = (b"launch" in data, b"exhaustive_search" in data, digests, self._content(self._always))
        self._spans = tuple(i.span for i in self._shared)

    def _content(self, names: list[str]) -> tuple[bytes, ...]:
        return tuple(k.item.digest for n in names for k in self._by_name[n])

    @property
    def host(self) -> object:
        """What launch sites depend on; with where it stands, for they hold places."""
        arities = sorted((k.name, len(k.node.args.args)) for k in self._plain)
        return self._texts, self._spans, tuple(arities)

    def of(self, kernel: FunctionSource) -> tuple[tuple[object, ...], Places]:
        """What the translation of `kernel` is kept under, and the places that it may refer to."""
        document = self._module.document
        own = _region(document, kernel.span)
        plain = id(kernel.item) in self._place
        others = self._others(kernel)
        named = self._module.binding_of(kernel)
        binding = Span(0, 0) if named is None else _region(document, Span(named.span.start, named.span.start))
        key = (
            kernel.name,
            document.data[own.start : own.end],
            kernel.span.start - own.start,
            None if plain else kernel.span.start - kernel.item.span.start,
            self._before[id(kernel.item)],
            document.data[binding.start : binding.end],
            tuple([(o.item.digest, o.span.start < kernel.span.start) for o in others]),
            self._texts,
        )
        if not others and named is None:
            return key, Places(own, self._spans)
        comments = () if named is None else (binding,)
        return key, Places(own, (*self._spans, *[o.item.span for o in others], *comments))

    def _others(self, kernel: FunctionSource) -> list[FunctionSource]:
        """The other plain kernels that this one may refer to, in file order."""
        others: list[FunctionSource] = []
        if (kernel.item.digest, kernel.name) in self._alone:
            return others
        mentioned = self._cache.words(kernel.item) & self._known
        same = self._by_name.get(kernel.name)
        alone = same is None or (len(same) == 1 and same[0].item is kernel.item)
        if alone and not self._always and len(mentioned) == (kernel.name in mentioned):
            self._alone.add((kernel.item.digest, kernel.name))
            return others
        mentioned |= {kernel.name}
        seen: set[str] = set()
        queue = [*self._always, *sorted(mentioned)]
        while queue:
            name = queue.pop()
            if name in seen:
                continue
            seen.add(name)
            for other in self._by_name.get(name, ()):
                if other.item is not kernel.item:
                    others.append(other)
                    queue.extend(self._cache.words(other.item) & self._known)
        others.sort(key=lambda k: k.span.start)
        return others


def _region(document: Document, span: Span) -> Span:
    """A kernel from the line of the first comment above it."""
    return Span(document.lines.block_start(span.start), span.end)
