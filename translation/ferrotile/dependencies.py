"""What the translation of each kernel of a document depends on, besides its own text."""

from __future__ import annotations

import re

from ferrotile.relocate import Places
from ferrotile.syntax.document import Document, Item, ItemKind
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.span import Span

_NAME = re.compile(r"[^\W\d]\w*")
_ALIAS = re.compile(r"\b([^\W\d]\w*+)\s*+=\s*+([^\W\d]\w*+)(?!\s*[(.\[])")
_DEFINITIONS = (ItemKind.FUNCTION, ItemKind.CLASS)
_CALLED = re.compile(r"\b([^\W\d]\w*+)\s*+\(")


class Words:
    """The names in the texts of items, by digest."""

    def __init__(self) -> None:
        self._words: dict[bytes, frozenset[str]] = {}
        self._called: dict[bytes, frozenset[str]] = {}

    def keep(self, most: int) -> None:
        """Forget all, where it is more than so many items."""
        if len(self._words) > most:
            self._words.clear()
            self._called.clear()

    def of(self, item: Item) -> frozenset[str]:
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

    def __init__(self, module: Module, kernels: tuple[FunctionSource, ...], words: Words) -> None:
        self._module = module
        self.data = module.document.data
        self._words = words
        plain = {id(k.item): k for k in kernels if k.alone and not k.item.launches}
        shared: list[Item] = []
        self.surroundings: dict[int, tuple[int, Item | None]] = {}
        """By the `id` of an item: how many shared ones stand before it, and the item above it."""
        above: Item | None = None
        for item in module.items:
            key = id(item)
            self.surroundings[key] = (len(shared), above)
            if key not in plain and module.parses(item):
                shared.append(item)
            above = item
        self._plain = plain
        helpers: set[str] = set()
        for item in shared:
            # A function that launches mentions its kernels without depending on what they do.
            launches = item.launches and item.kind in _DEFINITIONS
            helpers |= words.called(item) if launches else words.of(item)
            helpers.update(item.names)
        self._by_name: dict[str, list[FunctionSource]] = {}
        for kernel in plain.values():
            self._by_name.setdefault(kernel.name, []).append(kernel)
        self.known = frozenset(self._by_name)
        several = len(self._by_name) != len(plain)
        self.doubled = frozenset([n for n, k in self._by_name.items() if len(k) > 1] if several else ())
        self.always = [n for n in self._by_name if n in helpers]
        """Kernels that something that every kernel depends on mentions."""
        digests = tuple([i.digest for i in shared])
        data = self.data
        self.texts = (b"launch" in data, b"exhaustive_search" in data, digests, self._content(self.always))
        self.spans = tuple([i.span for i in shared])

    def _content(self, names: list[str]) -> tuple[bytes, ...]:
        return tuple(k.item.digest for n in names for k in self._by_name[n])

    @property
    def host(self) -> object:
        """What launch sites depend on; with where it stands, for they hold places."""
        arities = sorted([(k.name, len(k.node.args.args)) for k in self._plain.values()])
        return self.texts, self.spans, tuple(arities)

    def words(self, item: Item) -> frozenset[str]:
        """The names in an item's text."""
        return self._words.of(item)

    def stands_alone(self, kernel: FunctionSource) -> bool:
        """Whether the translation of `kernel` depends on its own text and on what is shared, and on no other kernel."""
        if self.always or id(kernel.item) not in self._plain or self._module.binding_of(kernel) is not None:
            return False
        return self._mentions_none(kernel)

    def _mentions_none(self, kernel: FunctionSource) -> bool:
        same = self._by_name.get(kernel.name)
        alone = same is None or (len(same) == 1 and same[0].item is kernel.item)
        mentioned = self._words.of(kernel.item) & self.known
        return alone and not self.always and len(mentioned) == (kernel.name in mentioned)

    def of(self, kernel: FunctionSource) -> tuple[tuple[object, ...], Places]:
        """What the translation of `kernel` is kept under, and the places that it may refer to."""
        document = self._module.document
        own = _region(document, kernel.span)
        plain = id(kernel.item) in self._plain
        others = self._others(kernel)
        named = self._module.binding_of(kernel)
        above = 0 if named is None else document.lines.block_start(named.span.start)
        binding = Span(0, 0) if named is None else Span(above, named.span.start)
        key = (
            kernel.name,
            document.data[own.start : own.end],
            kernel.span.start - own.start,
            None if plain else kernel.span.start - kernel.item.span.start,
            self.surroundings[id(kernel.item)][0],
            document.data[binding.start : binding.end],
            tuple([(o.item.digest, o.span.start < kernel.span.start) for o in others]),
            self.texts,
        )
        if not others and named is None:
            return key, Places(own, self.spans)
        comments = () if named is None else (binding,)
        return key, Places(own, (*self.spans, *[o.item.span for o in others], *comments))

    def _others(self, kernel: FunctionSource) -> list[FunctionSource]:
        """The other plain kernels that this one may refer to, in file order."""
        others: list[FunctionSource] = []
        if self._mentions_none(kernel):
            return others
        mentioned = (self._words.of(kernel.item) & self.known) | {kernel.name}
        seen: set[str] = set()
        queue = [*self.always, *sorted(mentioned)]
        while queue:
            name = queue.pop()
            if name in seen:
                continue
            seen.add(name)
            for other in self._by_name.get(name, ()):
                if other.item is not kernel.item:
                    others.append(other)
                    queue.extend(self._words.of(other.item) & self.known)
        others.sort(key=lambda k: k.span.start)
        return others


def _region(document: Document, span: Span) -> Span:
    """A kernel from the line of the first comment above it to the end of its last line, which may have a comment."""
    lines = document.lines
    return Span(lines.block_start(span.start), max(span.end, lines.line_end(lines.line_of(span.end))))
