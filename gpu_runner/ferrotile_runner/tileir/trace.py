"""What one program does, gathered while its terms are made."""

from __future__ import annotations

from msgspec import Struct, field

from ferrotile_runner.tileir.memory import Access, Before, LoopFrame, Marker, View
from ferrotile_runner.tileir.model import Location
from ferrotile_runner.tileir.terms import Term

Path = frozenset[tuple[Term, bool]]


class Unsupported(Exception):
    """The comparison has no rule for a construct: no verdict, never a yes."""

    def __init__(self, reason: str, location: Location | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.location = location
        self.side = ""
        """`Python` or `Rust`, once it is known."""


class Assertion(Struct, frozen=True):
    """A condition that stops the program when false."""

    condition: Term
    path: Path
    loops: tuple[LoopFrame, ...]
    location: Location | None


class Obligation(Struct, frozen=True):
    """Something that is undefined for some operands: a division. It must not be done where the Python does not."""

    term: Term
    path: Path
    loops: tuple[LoopFrame, ...]
    location: Location | None


class Fact(Struct, frozen=True):
    """A condition that holds because the program is defined."""

    condition: Term
    path: Path
    loops: tuple[LoopFrame, ...]


class Loaded(Struct, frozen=True):
    """A tile that came from a view, for slices of it (M4)."""

    view: View
    index: tuple[Term, ...]
    state: Term
    pad: Term
    semantics: str


class Summary(Struct, frozen=True):
    """What a loop is, once its body is known: `term` is the same for loops that do the same rounds with the same
    values; `stops` = rounds may be left out (an early exit); `counted` = the rounds are those of a `for`."""

    term: Term
    stops: bool
    counted: bool


PadKey = tuple[object, ...]


class Trace(Struct):
    """Grows in program order; `mark` and `rollback` undo a loop body that is evaluated again."""

    effects: list[tuple[Term, Term]] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    assertions: list[Assertion] = field(default_factory=list)
    obligations: list[Obligation] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    states: dict[Term, tuple[Term, ...]] = field(default_factory=dict)
    carried: dict[Marker, Before] = field(default_factory=dict)
    """Carried token -> the accesses of all earlier rounds that it stands behind."""
    summaries: dict[int, Summary] = field(default_factory=dict)
    paddings: dict[PadKey, str | None] = field(default_factory=dict)
    occurrences: dict[PadKey, int] = field(default_factory=dict)
    loaded: dict[Term, Loaded] = field(default_factory=dict)
    slices: dict[Term, set[Term]] = field(default_factory=dict)
    """A loaded tile -> the finer loads that slices of it are."""
    places: dict[Term, dict[Location, None]] = field(default_factory=dict)
    """Where a term is computed; in several places, if the program does so."""
    pointers: set[Term] = field(default_factory=set)
    loop_count: int = 0
    ties: dict[int, int] = field(default_factory=dict)
    """Loop -> number of orders of its carried values that its sorting leaves open."""

    def place(self, term: Term, location: Location | None) -> None:
        """Notes where a term is computed."""
        if location is not None:
            self.places.setdefault(term, {})[location] = None

    def mark(self) -> tuple[int, ...]:
        lists = (self.effects, self.accesses, self.assertions, self.obligations, self.facts)
        return (*(len(items) for items in lists), self.loop_count)

    def memory(self) -> Memory:
        """What is to be put back when a body is evaluated again."""
        return Memory(dict(self.states), dict(self.occurrences))

    def rollback(self, mark: tuple[int, ...], memory: Memory) -> None:
        del self.effects[mark[0] :]
        del self.accesses[mark[1] :]
        del self.assertions[mark[2] :]
        del self.obligations[mark[3] :]
        del self.facts[mark[4] :]
        self.loop_count = mark[5]
        self.states = dict(memory.states)
        self.occurrences = dict(memory.occurrences)

    def state(self, base: Term) -> tuple[Term, ...]:
        """The effects on an array so far."""
        return self.states.get(base, ())


class Memory(Struct, frozen=True):
    """A copy of a trace's states."""

    states: dict[Term, tuple[Term, ...]]
    occurrences: dict[PadKey, int]
