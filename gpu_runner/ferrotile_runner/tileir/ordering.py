"""Order of conflicting accesses (rules M6, M7): tokens or different tiles, never a data dependence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ferrotile_runner.tileir.memory import Access, Before
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term, value_of


@dataclass(frozen=True, slots=True)
class Unordered:
    """`earlier` comes before `later` in the program, and nothing keeps it so in the machine."""

    earlier: Access
    later: Access
    across_iterations: bool


def unordered(rewriter: Rewriter, accesses: Sequence[Access], carried: Mapping[int, Before]) -> list[Unordered]:
    """Pairs of one array, at least one a write. `carried`: loop -> accesses behind the token it passes on."""
    found: list[Unordered] = []
    for later_number, later in enumerate(accesses):
        for earlier_number, earlier in enumerate(accesses):
            if earlier.base is not later.base or earlier.kind == later.kind == "load":
                continue
            if earlier.kind == later.kind == "atomic":
                continue
            if (
                earlier_number < later_number
                and earlier_number not in later.before
                and not exclusive(earlier, later)
                and not different(rewriter, earlier, later)
            ):
                found.append(Unordered(earlier, later, False))
            for frame in later.loops:
                if frame not in earlier.loops or _carried(frame.ordinal, earlier_number, later.before, carried):
                    continue
                outer = frozenset(f.induction for f in later.loops[: later.loops.index(frame)])
                if not _own_tile(rewriter, earlier, later, frame.induction, outer):
                    found.append(Unordered(earlier, later, True))
    return found


def exclusive(a: Access, b: Access) -> bool:
    """On different sides of one `if`, in one iteration."""
    return any((condition, not taken) in b.path for condition, taken in a.path)


def _carried(loop: int, earlier: int, before: Before, carried: Mapping[int, Before]) -> bool:
    passed = carried.get(loop, frozenset())
    return ("carried", loop) in before and ("carried", loop) in passed and earlier in passed


def different(rewriter: Rewriter, a: Access, b: Access) -> bool:
    """Tiles of one partition whose indices differ by a constant on some axis."""
    if a.view is None or b.view is None or a.view.key != b.view.key:
        return False
    return any(bool(value_of(rewriter.integers.subtract(x, y))) for x, y in zip(a.index, b.index, strict=True))


def _own_tile(rewriter: Rewriter, a: Access, b: Access, induction: Term, outer: frozenset[Term]) -> bool:
    """Both accesses use the same tile in an iteration, and each iteration another one."""
    if a.view is None or b.view is None or a.view.key != b.view.key or a.index != b.index:
        return False
    integers = rewriter.integers
    for place in a.index:
        p = integers.polynomial(place)
        step = p.get((induction,), 0)
        others = (atom for m in p if m != (induction,) for atom in m)
        if step and abs(step) < 1 << 15 and not any(_varies(atom, outer) for atom in others):
            return integers.no_overflow() or step == 1
        if place.op == "div" and place.args[0] is induction and not _varies(place.args[1], outer):
            rest = integers.subtract(induction, integers.multiply(place, place.args[1]))
            if rest in a.index:
                return True
    return False


def _varies(atom: Term, outer: frozenset[Term]) -> bool:
    """Whether the atom may change between iterations: all but loop variables of loops further out may."""
    if atom.op == "iv":
        return atom not in outer
    if atom.op in {"load", "load_ptr", "carry", "atomic", "for", "if"}:
        return True
    return any(_varies(arg, outer) for arg in atom.args)
