"""FT401: stores that two blocks can make to the same tile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.passes.accesses import Access
from ferrotile.passes.affine import Affine
from ferrotile.passes.disjoint import Verdict, apart, index_values
from ferrotile.passes.elements import ATOMICS
from ferrotile.passes.space import DATA, Space
from ferrotile.program.ir import Operation, Value

_AXES = "xyz"
_FOLDS = {"divi": "divides", "remi": "wraps", "mini": "clamps", "maxi": "clamps", "andi": "masks", "shri": "shifts"}


def find_races(
    space: Space, names: dict[int, str], stores: Sequence[Access], verdicts: Sequence[Verdict]
) -> tuple[Diagnostic, ...]:
    """One warning a store whose tile two blocks can share, as far as that is known. A kernel with atomics may keep
    its blocks apart by a lock; nothing is said of it."""
    if any(isinstance(s, Operation) and s.opcode in ATOMICS for s in space.defined.values()):
        return ()
    found: list[Diagnostic] = []
    for store, verdict in zip(stores, verdicts, strict=True):
        why = None if store.view is None else _repeats(space, store, verdict)
        if why is not None:
            message = f"two blocks can write the same tile of `{names[store.array]}`: {why}"
            found.append(diagnostic("FT401", message, store.operation.span))
    for number, store in enumerate(stores):
        for other in stores[:number]:
            if other.array == store.array and _shifted(space, store, other):
                message = f"two blocks can write the same tile of `{names[store.array]}`: this store of one block "
                message += "and an earlier one of another have the same index"
                related = ((other.operation.span, "the other store"),)
                found.append(diagnostic("FT401", message, store.operation.span, related=related))
    return tuple(found)


def _repeats(space: Space, store: Access, verdict: Verdict) -> str | None:
    """Why the index of a store repeats between blocks, if it is known to or may."""
    values = index_values(store)
    conditions = [g.statement.condition for g in space.guards.get(id(store.operation), ())]
    inside = frozenset[str]().union(*(space.dependencies(v) for v in values))
    around = frozenset[str]().union(*(space.dependencies(v) for v in conditions))
    for axis in sorted(verdict.open):
        block = f"bid{axis}"
        if block in around or DATA in around:
            continue
        if block not in inside and DATA not in inside:
            return f"its index does not depend on `ct.bid({axis})`, and the grid has several blocks along {_AXES[axis]}"
        if block not in inside:
            return f"its index is data and does not depend on `ct.bid({axis})`: equal values collide"
        how = _folded(space, block, values)
        if how is not None:
            return f"its index {how} `ct.bid({axis})`, so that blocks share a tile"
    return None


def _folded(space: Space, block: str, values: Iterable[Value]) -> str | None:
    """How every component loses a block id that it depends on, where each does so in its outermost operation."""
    how: str | None = None
    for value in values:
        if block not in space.dependencies(value):
            continue
        form = space.form(value)
        carriers = [s for s, _ in form.terms if s == block or _depends(space, s, block)]
        for symbol in carriers:
            source = space.source(symbol)
            if not isinstance(source, Operation) or source.opcode not in _FOLDS:
                return None
            if not any(space.form(v) == Affine(0, ((block, 1),)) for v in source.operands):
                return None
            how = _FOLDS[source.opcode]
    return how


def _depends(space: Space, symbol: str, block: str) -> bool:
    source = space.source(symbol)
    return isinstance(source, Operation) and block in space.dependencies(source.result)


def _shifted(space: Space, a: Access, b: Access) -> bool:
    """Whether one store hits the other's tile from a block a constant number of blocks away."""
    if a.view is None or b.view is None or a.view != b.view or apart(space, a, b):
        return False
    shift: dict[str, int] = {}
    for x, y in zip(index_values(a), index_values(b), strict=True):
        left, right = space.form(x), space.form(y)
        if left.terms != right.terms or len(left.terms) > 1:
            return False
        difference = left.constant - right.constant
        if not left.terms:
            if difference:
                return False
            continue
        ((symbol, k),) = left.terms
        if not symbol.startswith("bid") or difference % k:
            return False
        if shift.setdefault(symbol, difference // k) != difference // k:
            return False
    return any(shift.values())
