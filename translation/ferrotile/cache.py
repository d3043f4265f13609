"""What translations of one document after another share."""

from __future__ import annotations

from ferrotile.dependencies import Words
from ferrotile.relocate import Entry, MovedKernel, Places, Results, Shift, Unplaced
from ferrotile.signatures.launch import Launches
from ferrotile.steady import Steady
from ferrotile.syntax.parsed import SPARE, ParseCache

FEW = 4
"""Of how many texts of the host code the launch sites are kept."""


class Cache:
    """What translations of one document after another share: best one cache a file. It keeps what the last text
    needs and a few texts before it, so that undoing is quick. Not for use by two threads at once."""

    def __init__(self, limit: int = 1024) -> None:
        self.parsed = ParseCache()
        self._limit = limit
        self._round = 0
        self._entries: dict[tuple[object, ...], Entry] = {}
        self._launches: dict[object, Launches] = {}
        self.steady = Steady()
        self.words = Words()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def round(self) -> int:
        """How many documents are done."""
        return self._round

    def get(self, key: tuple[object, ...], places: Places) -> tuple[Entry, Results] | None:
        """What is kept under `key`, and its results moved to `places`."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        entry.used = self._round
        was = entry.places
        if was.own.start == places.own.start and (not entry.wide or was == places):
            return entry, entry.results
        if not entry.movable:
            return None
        shift = Shift(entry.places, places)
        kernels, parts = entry.results
        return entry, (tuple([MovedKernel.of(k, shift) for k in kernels]), parts)

    def put(self, key: tuple[object, ...], places: Places, results: Results) -> Entry:
        """Keep results; the least recently used ones of other documents go."""
        movable = places.own.start != 0  # `NOWHERE` and the file's beginning are not to be told apart
        here = Shift(places, places)
        try:
            here.of(results[0])
        except Unplaced:
            movable = False
        made = self._entries[key] = Entry(places, results, movable, here.wide or not movable, self._round)
        if len(self._entries) > self._limit:
            oldest = min(self._entries, key=lambda k: self._entries[k].used)
            if self._entries[oldest].used != self._round:
                del self._entries[oldest]
        return made

    def end_round(self) -> None:
        """A document is done: what was not used for long goes."""
        live = sum([e.used == self._round for e in self._entries.values()])
        if len(self._entries) > live + 2 * SPARE:
            oldest = sorted(self._entries, key=lambda k: self._entries[k].used)
            for key in oldest[: len(oldest) - live - SPARE]:
                del self._entries[key]
        self._round += 1
        self.words.keep(2 * self.parsed.end_round() + 8 * SPARE)

    def launches(self, key: object) -> Launches | None:
        """The launch sites of one of the last documents, where it had the same host code."""
        return self._launches.get(key)

    def put_launches(self, key: object, launches: Launches) -> None:
        """Keep them, for a kernel that does not parse at every other key as well."""
        self._launches.pop(key, None)
        self._launches[key] = launches
        if len(self._launches) > FEW:
            del self._launches[next(iter(self._launches))]
