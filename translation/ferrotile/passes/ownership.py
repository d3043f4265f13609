"""Output ownership: which arrays each block owns a tile of, and under which launch facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.passes import memory_order
from ferrotile.passes.accesses import Access
from ferrotile.passes.counts import Counts
from ferrotile.passes.disjoint import Verdict, apart, strides, verdict
from ferrotile.passes.disjoint_elements import element_strides, exclusive
from ferrotile.passes.own_tiles import MAX_OWNED_RANK, Owned, equal_counts, own_tiles
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.passes.races import find_races
from ferrotile.passes.space import Space
from ferrotile.program.ir import Program
from ferrotile.program.types import ArrayType, Size
from ferrotile.signatures.model import GridFactor, Signature

_AXES = "xyz"


class Ownership(Struct, frozen=True):
    arrays: tuple[ArrayPlan, ...]
    axes: tuple[int, int, int]
    hypotheses: tuple[str, ...]
    races: tuple[Diagnostic, ...]


class _Decision:
    """Decides array by array; owned arrays share one renaming of block axes."""

    def __init__(
        self,
        program: Program,
        signature: Signature,
        accesses: Sequence[Access],
        ranks: Mapping[int, int],
        safe: bool,
    ) -> None:
        self._program, self._signature, self._accesses, self._ranks = program, signature, accesses, ranks
        self._space = Space(program, signature)
        self._counts = Counts(program, signature, self._space, safe)
        self._renaming: dict[int, int] = {}
        self._rows: dict[int, str] = {}
        self.hypotheses: dict[str, None] = {}
        stores = [a for a in accesses if a.store]
        self._fenced = memory_order.fenced(accesses)
        self._verdicts = {id(s.operation): verdict(self._space, s) for s in stores}

    def arrays(self) -> tuple[ArrayPlan, ...]:
        """The form of every array parameter."""
        return tuple(
            self._array(p.name, p.value.id, p.value.type)
            for p in self._program.parameters
            if isinstance(p.value.type, ArrayType)
        )

    def races(self, arrays: Sequence[ArrayPlan]) -> tuple[Diagnostic, ...]:
        """Warnings for stores of arrays that no block is known to own a part of."""
        loose = {a.value: a.name for a in arrays if a.form is Form.FULL and not a.injective}
        stores = [a for a in self._accesses if a.store and a.array in loose]
        return find_races(self._space, loose, stores, [self._verdicts[id(s.operation)] for s in stores])

    def _array(self, name: str, value: int, kind: ArrayType) -> ArrayPlan:
        own = [a for a in self._accesses if a.array == value]
        stores = [a for a in own if a.store]
        rank = self._ranks.get(value, kind.rank)
        plan = ArrayPlan(name, value, kind.dtype, rank, Form.READ)
        if not stores:
            fenced = value in self._fenced
            return replace(plan, tokens=fenced, fenced=fenced)
        plan = replace(plan, ordered=len(own) > len(stores))
        if value in self._fenced:
            form = Form.POINTER if any(a.view is None for a in stores) else Form.FULL
            disjoint = self._disjoint(stores, [self._verdicts[id(s.operation)] for s in stores])
            reason = "other blocks see its order with other arrays"
            return replace(plan, form=form, injective=disjoint, tokens=True, fenced=True, reason=reason)
        if any(a.view is None for a in stores):
            wanted = element_strides(self._space, own)
            apart_ = self._proved(wanted, lambda: exclusive(self._space, own))
            plan = replace(plan, form=Form.POINTER, injective=apart_, reason="stored through pointers")
            return replace(plan, tokens=memory_order.needs_tokens(plan, own))
        candidate = self._owned(plan, own, stores)
        if isinstance(candidate, Owned):
            return candidate.plan
        verdicts = [self._verdicts[id(s.operation)] for s in stores]
        wanted = {k: n for s in stores for k, n in strides(self._space, s, s.index).items()}
        plan = replace(
            plan,
            form=Form.FULL,
            injective=self._proved(wanted, lambda: self._disjoint(stores, [verdict(self._space, s) for s in stores])),
            trips=all(v.trips for v in verdicts),
            reason=candidate,
        )
        return replace(plan, tokens=memory_order.needs_tokens(plan, own))

    def _proved(self, wanted: dict[int, int], proof: Callable[[], bool]) -> bool:
        """Whether a proof holds, if need be for a grid of which nothing is known yet but the blocks that it wants;
        what those are becomes a launch fact."""
        if proof():
            return True
        facts = {k: self._blocks(k, n) for k, n in wanted.items() if self._space.blocks(k) is None}
        if not facts or None in facts.values():
            return False
        self._space.assumed = {k: wanted[k] for k in facts}
        holds = proof()
        self._space.assumed = {}
        if holds:
            self.hypotheses.update((fact, None) for fact in facts.values() if fact is not None)
        return holds

    def _blocks(self, axis: int, number: int) -> str | None:
        """The fact that makes a grid axis so many blocks, where nothing is known of them or one extent is not."""
        given = self._counts.grid(self._signature, axis)
        if given is None:
            return f"grid.{_AXES[axis]} = {number}"
        facts = equal_counts(given, (GridFactor(number),), True)
        return facts[0] if facts is not None and len(facts) == 1 else None

    def _disjoint(self, stores: Sequence[Access], verdicts: Sequence[Verdict]) -> bool:
        pairs = [(a, b) for i, a in enumerate(stores) for b in stores[:i]]
        return all(v.blocks for v in verdicts) and all(apart(self._space, a, b) for a, b in pairs)

    def _owned(self, plan: ArrayPlan, own: Sequence[Access], stores: Sequence[Access]) -> Owned | str:
        """The owned form, with the renaming and facts that it needs, or why there is none."""
        found = own_tiles(plan, own, stores, self._signature, self._counts, self._space)
        if isinstance(found, str):
            return found
        if memory_order.needs_tokens(found.plan, own):
            return "its accesses need order tokens"
        merged = _merge(self._renaming, found.plan.blocks)
        if merged is None:
            return "its grid differs from another output's"
        self._renaming = merged
        self.hypotheses.update(dict.fromkeys(found.hypotheses))
        tile = tuple(self._named(s, c) for s, c in zip(found.plan.tile, found.plan.counts, strict=True))
        return replace(found, plan=replace(found.plan, tile=tile))

    def _named(self, size: Size, count: int) -> Size:
        """An owned extent of several tiles is a const generic."""
        if count == 1:
            return size
        name = self._rows.setdefault(size.value, "ROW" if not self._rows else f"ROW{len(self._rows) + 1}")
        return Size(size.value, name)

    def axes(self) -> tuple[int, int, int]:
        """The Rust program axis of each of Python's block axes."""
        return _complete(self._renaming)


def decide(
    program: Program,
    signature: Signature,
    accesses: Sequence[Access],
    ranks: Mapping[int, int] | None = None,
    safe: bool = False,
) -> Ownership:
    """The form of every array, block axes renamed so that owned arrays follow their own axes. `ranks` has the rank of
    arrays that the launcher passes as a view of another rank; `safe` as for `Counts`."""
    decision = _Decision(program, signature, accesses, ranks or {}, safe)
    arrays = decision.arrays()
    axes = decision.axes()
    hypotheses = list(decision.hypotheses)
    if axes != (0, 1, 2) and any(a.form in (Form.OWNED, Form.OWNED_ROW) for a in arrays):
        hypotheses.extend(f"grid.{_AXES[k]} is Rust grid.{_AXES[d]}" for k, d in enumerate(axes) if k != d)
    else:
        axes = (0, 1, 2)
    return Ownership(arrays, axes, tuple(hypotheses), decision.races(arrays))


def _merge(renaming: Mapping[int, int], blocks: Sequence[int | None]) -> dict[int, int] | None:
    """The renaming of block axes to array axes, extended, or None where two outputs disagree."""
    merged = dict(renaming)
    for d, k in enumerate(blocks):
        if k is None:
            if d in merged.values():
                return None
        elif merged.get(k, d) != d or any(other == d and j != k for j, other in merged.items()):
            return None
        else:
            merged[k] = d
    return merged


def _complete(renaming: Mapping[int, int]) -> tuple[int, int, int]:
    """A permutation of the three axes that extends the renaming."""
    free = [d for d in range(3) if d not in renaming.values()]
    filled = dict(renaming)
    for k in range(3):
        if k not in filled:
            filled[k] = k if k in free else free[0]
            free.remove(filled[k])
    return (filled[0], filled[1], filled[2])


__all__ = ["MAX_OWNED_RANK", "Ownership", "decide"]
