"""Order of conflicting accesses (rules M6, M7, M9): tokens or different tiles, never a data dependence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ferrotile_runner.tileir.memory import Access, Before, Marker
from ferrotile_runner.tileir.rounds import Depths, free_depths
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, value_of
from ferrotile_runner.tileir.tile_maps import TILE, visits_once
from ferrotile_runner.tileir.trace import Path

Strides = Mapping[str, frozenset[tuple[Term, ...]]]
"""Array, by name -> its strides, as the launch gives them: along these no two elements lie at one address."""
_VARYING = frozenset(
    {"fresh", "load", "load_ptr", "carry", "turn", "atomic", "for", "loop", "if", "entered", "undetermined"}
)


class Conflict(Struct, frozen=True):
    """`earlier` comes before `later` in the program; `ordered`: tokens or their tiles keep it so in the machine."""

    earlier: Access
    later: Access
    across_rounds: bool
    ordered: bool

    @property
    def key(self) -> tuple[Term, Term, bool]:
        """The same for the two programs of a proof."""
        return (self.earlier.value, self.later.value, self.across_rounds)


def conflicts(
    rewriter: Rewriter,
    accesses: Sequence[Access],
    carried: Mapping[Marker, Before],
    shared: frozenset[Term],
    strides: Strides,
) -> Iterator[Conflict]:
    """Pairs whose order can be seen: of one array, at least one a write; and of a synchronising access and one of an
    array in `shared`, which other blocks may synchronise on."""
    memo: Depths = {}
    for later_number, later in enumerate(accesses):
        for earlier_number, earlier in enumerate(accesses):
            same = earlier.base is later.base and (earlier.writes or later.writes)
            if not same and not _synchronised(earlier, later, shared):
                continue
            apart = same and is_one_partition(earlier, later, strides)
            if earlier_number < later_number and not exclusive(earlier, later, memo):
                ordered = earlier_number in later.before or (apart and different(rewriter, earlier, later, memo))
                yield Conflict(earlier, later, False, ordered)
            for frame in later.loops:
                if frame not in earlier.loops:
                    continue
                ordered = any(
                    earlier_number in carried.get(marker, frozenset())
                    for marker in later.before
                    if not isinstance(marker, int) and marker[1] == frame.ordinal
                )
                if not ordered and apart:
                    outer = frozenset(f.induction for f in later.loops[: later.loops.index(frame)])
                    ordered = own_tile(rewriter, earlier, later, frame.induction, outer)
                    ordered = ordered or _apart(rewriter, earlier, later, outer)
                yield Conflict(earlier, later, True, ordered)


def _synchronised(earlier: Access, later: Access, shared: frozenset[Term]) -> bool:
    return (later.releases and earlier.base in shared) or (earlier.acquires and later.base in shared)


def exclusive(a: Access, b: Access, memo: Depths) -> bool:
    """On different sides of one `if`, in one round."""
    return any((condition, not taken) in b.path and _is_one(condition, a, b, memo) for condition, taken in a.path)


def _is_one(term: Term, a: Access, b: Access, memo: Depths) -> bool:
    """Whether the term is one value at both accesses, in one round of the loops around both: loops that are not have
    names in common, which stand for other rounds."""
    common = {frame.induction.data for frame in a.loops if frame in b.loops}
    return free_depths(term, memo) <= common


def is_one_partition(a: Access, b: Access, strides: Strides) -> bool:
    """Whether tiles with different indices have no element in common: of one partition along the array's strides."""
    if a.view is None or b.view is None or a.view.key != b.view.key or not a.view.is_partition:
        return False
    base = a.view.base
    return isinstance(base.data, tuple) and a.view.strides in strides.get(str(base.data[1]), ())


def different(rewriter: Rewriter, a: Access, b: Access, memo: Depths) -> bool:
    """Tiles of one partition whose indices differ by a constant on some axis, in one round of the loops around both."""
    return any(
        bool(value_of(rewriter.integers.subtract(x, y))) and all(_is_one(part, a, b, memo) for part in (x, y))
        for x, y in zip(a.index, b.index, strict=True)
    )


def own_tile(rewriter: Rewriter, a: Access, b: Access, induction: Term, outer: frozenset[Term]) -> bool:
    """Both accesses use the same tile in a round, and each round another one."""
    if a.index != b.index or induction.op != "iv":
        return False
    if {place.data for place in a.index if place.op == "fresh"} == set(TILE):
        return True  # the index is one to one in the variable of the only loop around the store (H8)
    integers = rewriter.integers
    for place in a.index:
        p = integers.polynomial(place)
        step = p.get((induction,), 0)
        others = (atom for m in p if m != (induction,) for atom in m)
        if step and abs(step) < 1 << 15 and not any(varies(atom, outer) for atom in others):
            return step == 1 or integers.no_overflow(place)
    return visits_once(rewriter, a, induction, lambda atom: varies(atom, outer))


def _apart(rewriter: Rewriter, a: Access, b: Access, outer: frozenset[Term]) -> bool:
    """Tiles of one partition that differ on some axis in any two rounds: their numbers there are the same in each."""
    integers = rewriter.integers
    for x, y in zip(a.index, b.index, strict=True):
        atoms = integers.polynomial_atoms(x) | integers.polynomial_atoms(y)
        if value_of(integers.subtract(x, y)) and not any(varies(atom, outer) for atom in atoms):
            return True
    return False


def varies(atom: Term, outer: frozenset[Term]) -> bool:
    """Whether the atom may change between rounds: all but loop variables of loops further out may."""
    if atom.op == "iv":
        return atom not in outer
    if atom.op in _VARYING:
        return True
    return any(varies(arg, outer) for arg in atom.args)


# Tokens that loops carry


class Round(Struct, frozen=True):
    """How a round ends: what the tokens that it passes on stand behind, after how many accesses, on which way."""

    tokens: tuple[Before, ...]
    position: int
    path: Path

    def makes(self, number: int, access: Access) -> bool:
        """Whether a round that ends so may have made an access."""
        apart = any((condition, not taken) in self.path for condition, taken in access.path)
        return number < self.position and not apart


def behind_rounds(
    loop: int, tokens: Sequence[int], rounds: Sequence[Round], inner: Sequence[Access], first: int
) -> dict[int, frozenset[int]]:
    """For each carried token the accesses of *all* earlier rounds that it stands behind: the greatest sets with
    "passed on by the last round, and by some token of the round before, and so on"."""
    found: dict[int, frozenset[int]] = {k: frozenset(range(first, first + len(inner))) for k in tokens}
    while True:
        smaller = {
            k: frozenset(n for n in found[k] if all(_kept(loop, n, k, way, inner, first, found) for way in rounds))
            for k in tokens
        }
        if smaller == found:
            return found
        found = smaller


def _kept(
    loop: int, number: int, k: int, way: Round, inner: Sequence[Access], first: int, found: Mapping[int, frozenset[int]]
) -> bool:
    if k >= len(way.tokens):
        return False
    passed = way.tokens[k]
    if number not in passed and way.makes(number, inner[number - first]):
        return False
    return any(("carried", loop, j) in passed and number in found[j] for j in found)


def behind_results(
    loop: int,
    k: int,
    stops: Sequence[Round],
    found: Mapping[int, frozenset[int]],
    inner: Sequence[Access],
    first: int,
) -> Before:
    """What a token stands behind that a `loop` gives when it breaks."""
    ways: list[Before] = []
    for way in stops:
        passed = way.tokens[k] if k < len(way.tokens) else frozenset()
        outside = frozenset(item for item in passed if _is_outside(item, loop, first))
        kept = frozenset(m for m in range(first, first + len(inner)) if _kept(loop, m, k, way, inner, first, found))
        ways.append(outside | kept)
    return frozenset[int | Marker].intersection(*ways) if ways else frozenset()


def _is_outside(item: int | Marker, loop: int, first: int) -> bool:
    return item < first if isinstance(item, int) else item[1] != loop
