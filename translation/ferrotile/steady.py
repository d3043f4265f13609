"""What an edit left alone: results of kernels whose text and surroundings are as they were at the last key, found
without looking at their text again."""

from __future__ import annotations

from msgspec import Struct

from ferrotile.dependencies import Dependencies
from ferrotile.relocate import Entry, MovedKernel, Places, Results, Shift
from ferrotile.syntax.module import FunctionSource
from ferrotile.syntax.span import Span


class _Kept(Struct):
    """`text` and `above` are those of the kernel's item and of the item above it, known again by identity; `gap` is
    what stands between; `rest` is the rest of the kernel's last line, to and with its end. `lead`, `length`: of the
    kernel's own place, from the comments above it on."""

    text: str
    above: str | None
    gap: bytes
    rest: bytes
    before: int
    name: str
    words: frozenset[str]
    lead: int
    length: int
    entry: Entry
    start: int
    spans: tuple[Span, ...]
    results: Results


class Steady:
    """Of one document after another. What holds for all of its kernels is compared once a document: `context`. Not
    for use by two threads at once."""

    def __init__(self) -> None:
        self._kept: dict[int, _Kept] = {}
        self._known: frozenset[str] = frozenset()
        """Names of kernels that no kept kernel mentions, but for its own."""
        self._context: object = None
        self._spans: tuple[Span, ...] = ()
        self._doubled: frozenset[str] = frozenset()
        self._round = 0
        self._now: Dependencies | None = None

    def begin(self, dependencies: Dependencies, context: object, round_: int) -> None:
        """The next document. `context`: all that its kernels depend on together."""
        whole = (context, dependencies.texts)
        known = dependencies.known
        if whole != self._context or len(self._known) > 2 * len(known) + 64 or len(self._kept) > 2 * len(known) + 64:
            self._kept.clear()
            self._known = known
        elif fresh := known - self._known:
            self._kept = {n: k for n, k in self._kept.items() if k.words.isdisjoint(fresh)}
            self._known |= fresh
        self._context = whole
        self._spans = self._spans if dependencies.spans == self._spans else dependencies.spans
        self._doubled = dependencies.doubled
        self._round = round_
        self._now = None if dependencies.always else dependencies

    def get(self, kernel: FunctionSource) -> Results | None:
        """The results of a kernel where it now stands; None where they are to be looked for in full."""
        item = kernel.item
        kept = self._kept.get(id(item.text))
        now = self._now
        if kept is None or now is None or kept.name != kernel.name or kept.name in self._doubled:
            return None
        before, above = now.surroundings[id(item)]
        start = item.span.start
        end = 0 if above is None else above.span.end
        if kept.before != before or kept.above is not (None if above is None else above.text):
            return None
        if now.data[end:start] != kept.gap or not now.data.startswith(kept.rest, kernel.span.end):
            return None
        entry = kept.entry
        start = kernel.span.start - kept.lead
        if kept.start != start or (entry.wide and kept.spans is not self._spans):
            if not entry.movable:
                return None
            kernels, parts = entry.results
            shift = Shift(entry.places, Places(Span(start, start + kept.length), self._spans))
            kept.results = tuple([MovedKernel.of(k, shift) for k in kernels]), parts
            kept.start, kept.spans = start, self._spans
        entry.used = self._round
        return kept.results

    def put(self, kernel: FunctionSource, places: Places, entry: Entry, results: Results) -> None:
        """Keep what was looked for in full, if nothing but the kernel's text and the context matters to it."""
        now, item = self._now, kernel.item
        if now is None or not now.stands_alone(kernel):
            return
        before, above = now.surroundings[id(item)]
        own = places.own
        rest = now.data[kernel.span.end : own.end + 1]
        if not rest.endswith((b"\n", b"\r")):  # the file's last line can grow
            return
        self._kept[id(item.text)] = _Kept(
            item.text,
            None if above is None else above.text,
            now.data[0 if above is None else above.span.end : item.span.start],
            rest,
            before,
            kernel.name,
            now.words(item),
            kernel.span.start - own.start,
            own.end - own.start,
            entry,
            own.start,
            self._spans,
            results,
        )
