"""Other block -> tile maps (H8): the tile of the only store may be visited by another block.

A schedule maps numbers 0 <= v < rows * columns onto the tiles of a grid of `rows` by `columns`, each tile once. In the
launch v is the block id, or the variable of a loop from the block id in steps of the grid's size: either way each v
comes once. Where both programs use such a map, the index of the store is a fresh name in both; the programs do the
same when everything they do depends on the tile alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Set

from msgspec import Struct

from ferrotile_runner.tileir.memory import Access, count
from ferrotile_runner.tileir.refinement import Sides
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, subterms, value_of
from ferrotile_runner.tileir.tile_maps import TILE, is_bijection
from ferrotile_runner.tileir.trace import Trace

LEMMA = "H8: both programs visit each tile once, in another order"


class Scheduled(Struct, frozen=True):
    """Index terms and the fresh names that stand for them, for each program; name -> its bound."""

    python: Mapping[Term, Term]
    rust: Mapping[Term, Term]
    bounds: Mapping[Term, Term]


def same_tiles(rewriter: Rewriter, sides: Sides) -> Scheduled | None:
    """Fresh names for the tile that both programs store, where both schedules are of a known family."""
    found: list[tuple[Term, Term]] = []
    grid: list[tuple[Term, Term]] = []
    for program in (sides.python, sides.rust):
        store = _only_store(program.trace)
        if store is None:
            return None
        place = _place(rewriter, store)
        if place is None:
            return None
        i, j, rows, columns = place
        total = rewriter.integers.multiply(rows, columns)
        numbers = _numbers(rewriter, program.trace, store, total)
        if not any(is_bijection(rewriter, i, j, v, rows, columns) for v in numbers):
            return None
        if value_of(total) is None and not rewriter.integers.no_overflow(total):
            return None
        found.append((i, j))
        grid.append((rows, columns))
    if grid[0] != grid[1]:
        return None
    names = tuple(rewriter.store.term("fresh", axis) for axis in TILE)
    python, rust = (dict(zip(pair, names, strict=True)) for pair in found)
    return Scheduled(python, rust, dict(zip(names, grid[0], strict=True)))


def _only_store(trace: Trace) -> Access | None:
    writes = [access for access in trace.accesses if access.writes]
    return writes[0] if len(writes) == 1 and writes[0].view is not None and writes[0].kind == "store" else None


def _place(rewriter: Rewriter, store: Access) -> tuple[Term, Term, Term, Term] | None:
    """The two moving index components and the tile counts along them."""
    view = store.view
    if view is None or not view.is_partition:
        return None
    moving = [axis for axis, place in enumerate(store.index) if value_of(place) is None]
    if len(moving) != 2:
        return None
    first, second = moving
    counts = count(rewriter, view, first), count(rewriter, view, second)
    return store.index[first], store.index[second], counts[0], counts[1]


def _numbers(rewriter: Rewriter, trace: Trace, store: Access, total: Term) -> Iterator[Term]:
    """Terms that take each value from 0 up to `total`, the number of tiles, once over the launch."""
    grid = rewriter.integers.facts.grid
    frames = store.loops
    if not frames:
        if total in grid.get("x", ()):
            yield rewriter.store.term("bid", "x")
        return
    induction = frames[0].induction
    summary = trace.summaries.get(frames[0].ordinal)
    if len(frames) != 1 or induction.op != "iv" or summary is None or summary.stops:
        return
    lower, upper, step = induction.args
    if upper is total and lower.is_op("bid", "x") and step.is_op("grid", "x"):
        yield induction


def ranges(rewriter: Rewriter, scheduled: Scheduled) -> Iterator[Term]:
    """0 <= name < its bound."""
    zero = rewriter.store.const(0)
    for name, bound in scheduled.bounds.items():
        yield rewriter.compare("less_than_or_equal signed", (zero, name), ())
        yield rewriter.compare("less_than signed", (name, bound), ())


def block_free(sides: Sides) -> bool:
    """Whether all that the programs do depends on the tile alone, not on the block that does it, nor on what the rounds
    before it left: carried values, and arrays that the loop writes."""
    for program in (sides.python, sides.rust):
        seen: set[int] = set()
        trace = program.trace
        loops = {access.loops[0].induction for access in trace.accesses if access.writes and access.loops}
        depths = {induction.data for induction in loops}
        terms = [effect for _, effect in trace.effects] if not loops else []
        for access in trace.accesses:
            terms += [access.value] if loops else []
            terms += [condition for condition, _ in access.path]
        terms += [item.condition for item in trace.assertions]
        for term in terms:
            if any(item.op == "bid" or item in loops or _is_left(item, depths) for item in subterms(term, seen)):
                return False
    return True


def _is_left(term: Term, depths: Set[Hashable]) -> bool:
    """Whether rounds of loops at these depths pass it on: each program makes its rounds in another order."""
    if term.op == "carry":
        return isinstance(term.data, tuple) and term.data[0] in depths
    return term.op == "entered" and term.data in depths
