"""Memory order: what the Python orders and safe Rust does not goes through tokens."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.passes.accesses import Access
from ferrotile.passes.plan import ArrayPlan
from ferrotile.program.ir import For


def needs_tokens(array: ArrayPlan, own: Sequence[Access]) -> bool:
    """Whether the accesses of a written array need a token carried from one to the next: the order that safe
    Rust gives (a straight line of stores, loads through `load_first`) is not enough."""
    stores = [a for a in own if a.store]
    if not stores or (len(own) == 1 and (array.injective or _distinct_trips(own[0]))):
        return False
    if all(a.straight and a.view is not None for a in own):
        return False
    return array.ordered or not _disjoint(stores)


def notes(arrays: Sequence[ArrayPlan], accesses: Sequence[Access]) -> tuple[Diagnostic, ...]:
    """FT402 for every array whose accesses carry tokens."""
    found: list[Diagnostic] = []
    for array in arrays:
        if array.ordered or array.tokens:
            first = next(a for a in accesses if a.array == array.value)
            what = "read and written" if array.ordered else "written at several places"
            message = f"`{array.name}` is {what}: order tokens keep its accesses in the Python's order."
            found.append(Diagnostic("FT402", Severity.INFORMATION, message, first.operation.span))
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
