"""Memory order: what the Python orders and safe Rust does not goes through tokens."""

from __future__ import annotations

from collections.abc import Sequence

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.passes.accesses import Access
from ferrotile.passes.plan import ArrayPlan
from ferrotile.passes.uses import walk
from ferrotile.program.ir import Block, For, If, Operation


def needs_tokens(array: ArrayPlan, own: Sequence[Access]) -> bool:
    """Whether the accesses of a written array need a token carried from one to the next: the order that safe
    Rust gives (a straight line of stores, loads through `load_first`) is not enough."""
    stores = [a for a in own if a.store]
    if not stores or (len(own) == 1 and (array.trips or _distinct_trips(own[0]))):
        return False
    if all(a.straight and a.view is not None for a in own):
        return False
    return array.ordered or not _disjoint(stores)


_FENCES = ("acquire", "release", "acq_rel")


def fenced(accesses: Sequence[Access]) -> frozenset[int]:
    """The arrays whose order among each other can be seen by other blocks: those that the kernel writes or accesses
    with a memory order, where there are several of them and an access acquires or releases. They all pass on one token,
    which orders more than the Python, never less."""
    shared = {a.array for a in accesses if a.store or _order(a) != "weak"}
    seen = len(shared) > 1 and any(_order(a) in _FENCES for a in accesses)
    return frozenset(shared) if seen else frozenset()


def _order(access: Access) -> object:
    return access.operation.attribute("memory_order") or "weak"


def notes(arrays: Sequence[ArrayPlan], accesses: Sequence[Access]) -> tuple[Diagnostic, ...]:
    """FT402 for every array whose accesses carry tokens."""
    found: list[Diagnostic] = []
    for array in arrays:
        if array.ordered or array.tokens:
            first = next(a for a in accesses if a.array == array.value)
            what = "read and written" if array.ordered else "written at several places"
            what = "ordered with other arrays" if array.fenced else what
            message = f"`{array.name}` is {what}: order tokens keep its accesses in the Python's order."
            found.append(Diagnostic("FT402", Severity.INFORMATION, message, first.operation.span))
    return tuple(found)


def _distinct_trips(access: Access) -> bool:
    """Whether an access stores a different tile on every trip of the loops around it, or runs at most once."""
    if access.view is None:
        return not any(hasattr(p, "arguments") for p in access.path)
    within = [[s for s, _ in form.terms if not s.startswith("bid")] for form in access.index]
    symbols = {own[0] for own in within if len(own) == 1}
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
            if exclusive_arms(a, b):
                continue
            if a.view is None or b.view is None or a.view.tile != b.view.tile:
                return False
            differences = [x.plus(y, -1).known for x, y in zip(a.index, b.index, strict=True)]
            if not any(d not in (None, 0) for d in differences):
                return False
    return True


def exclusive_arms(a: Access, b: Access) -> bool:
    """Whether two accesses are in different arms of a branch that a block takes once."""
    for p, q in zip(a.path, b.path, strict=False):
        if p is not q or not isinstance(p, If):
            return False
        if _inside(p.then, a.operation) != _inside(p.then, b.operation):
            return True
    return False


def _inside(block: Block, operation: Operation) -> bool:
    return any(s is operation for s in walk(block))
