"""Memory order: what the Python orders and safe Rust does not is either loaded with tokens or refused."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.passes.accesses import Access
from ferrotile.passes.plan import ArrayPlan
from ferrotile.program.ir import For


def check(arrays: Sequence[ArrayPlan], accesses: Sequence[Access]) -> tuple[Diagnostic, ...]:
    """FT304 for every array whose accesses need an order that this target cannot state; FT402 where tokens do it."""
    found: list[Diagnostic] = []
    for array in arrays:
        own = [a for a in accesses if a.array == array.value]
        stores = [a for a in own if a.store]
        if not stores or (len(own) == 1 and (array.injective or _distinct_trips(own[0]))):
            continue
        spot = next((a for a in own if not a.straight), None)
        if spot is None and not any(a.view is None for a in own):
            if array.ordered:
                message = f"`{array.name}` is read and written: its loads carry order tokens."
                found.append(Diagnostic("FT402", Severity.INFORMATION, message, own[0].operation.span))
            continue
        if not array.ordered and _disjoint(stores):
            continue
        spot = spot or own[0]
        what = "read and written" if array.ordered else "written at several places"
        found.append(
            Diagnostic(
                "FT304",
                Severity.ERROR,
                f"`{array.name}` is {what}, here in a loop, branch or through a pointer: cutile 0.5 cannot state that order. "
                "Load before the loop and store after it, or write to another array.",
                spot.operation.span,
            )
        )
    return tuple(found)


def _distinct_trips(access: Access) -> bool:
    """Whether an access stores a different tile on every trip of the loops around it, or runs at most once."""
    if access.view is None:
        return not any(hasattr(p, "arguments") for p in access.path)
    symbols = {form.terms[0][0] for form in access.index if len(form.terms) == 1}
    for statement in access.path:
        if isinstance(statement, For):
            if f"v{statement.variable.id}" not in symbols:
                return False
        elif hasattr(statement, "arguments"):
            return False
    return True


def _disjoint(stores: Sequence[Access]) -> bool:
    """Whether the stores never touch the same tile: on some axis they differ by a constant."""
    if not all(_distinct_trips(s) and s.view is not None for s in stores):
        return False
    for i, a in enumerate(stores):
        for b in stores[:i]:
            if a.view is None or b.view is None or a.view.tile != b.view.tile:
                return False
            differences = [x.plus(y, -1).known for x, y in zip(a.index, b.index, strict=True)]
            if not any(d not in (None, 0) for d in differences):
                return False
    return True
