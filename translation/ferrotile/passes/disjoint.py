"""Whether different blocks (and trips of a loop) store different tiles: from equal indices, equal block ids follow.

Two instances of a store are taken to have equal indices. Each index component is an equation between the two; what the
equations determine is equal in both. A component that is affine in one undetermined symbol determines it; so does a sum
whose terms are digits of a mixed radix; `t // n` and `t % n` together determine `t`; and so does the pair of indices
that cuTile's usual grouping of blocks computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from ferrotile.passes.accesses import Access
from ferrotile.passes.affine import Affine
from ferrotile.passes.grouping import grouped
from ferrotile.passes.space import DATA, Space
from ferrotile.program.ir import For, If, Loop, Operation, Value


class Verdict(Struct, frozen=True):
    """`blocks`: different blocks store different tiles. `trips`: so do different trips of the loops in one block.
    `open` are the block axes that the index does not determine."""

    blocks: bool
    trips: bool
    open: frozenset[int] = frozenset()


class _System(Struct):
    """Equations between two instances and what follows from them."""

    space: Space
    needed: frozenset[str]
    equations: list[Affine]
    bounds: Mapping[str, int]
    """Symbols known to be at least 0 and below a number."""
    determined: set[str] = field(default_factory=set)
    _quotients: list[tuple[str, Value, Value]] = field(default_factory=list)

    def solve(self) -> None:
        """Determines all that follows."""
        again = True
        while again:
            before = (len(self.determined), len(self.equations))
            for equation in tuple(self.equations):
                self._use(equation)
            again = (len(self.determined), len(self.equations)) != before

    def _fixed(self, symbol: str) -> bool:
        if symbol in self.determined:
            return True
        if symbol.startswith("bid"):
            return int(symbol[3:]) not in self.space.many
        if symbol.startswith(("trip", "lane")):
            return False
        source = self.space.source(symbol)
        if source is None:
            return True
        return isinstance(source, Operation) and self._fixed_value(source.result)

    def _fixed_value(self, value: Value) -> bool:
        """Whether a value is the same in both instances because all that it depends on is."""
        depends = self.space.dependencies(value)
        return DATA not in depends and all(d in self.determined for d in depends if d in self.needed or d[0] == "v")

    def _use(self, equation: Affine) -> None:
        left = [(s, k) for s, k in equation.terms if not self._fixed(s)]
        left.sort(key=lambda term: abs(term[1]))
        reach = 0
        for symbol, k in left[:-1]:
            bound = self.bounds.get(symbol)
            if bound is None or (reach and abs(k) <= reach):
                return
            reach += abs(k) * (bound - 1)
        if left and (len(left) == 1 or abs(left[-1][1]) > reach):
            for symbol, _ in left:
                self._determine(symbol)

    def _determine(self, symbol: str) -> None:
        if symbol in self.determined:
            return
        self.determined.add(symbol)
        source = self.space.source(symbol)
        if isinstance(source, For) and symbol == f"v{source.variable.id}":
            self._grid_stride(source)
        if not isinstance(source, Operation) or len(source.results) != 1:
            return
        remainder = self.space.remainder(source.result)
        if remainder is None and source.opcode != "divi":
            return
        kind = "divi" if remainder is None else "remi"
        a, b = remainder or source.operands
        if not self._fixed_value(b):
            return
        for opcode, other, divisor in self._quotients:
            if opcode != kind and self.space.same(other, a) and self.space.same(divisor, b):
                self.equations.append(self.space.form(a))
        self._quotients.append((kind, a, b))

    def _grid_stride(self, loop: For) -> None:
        """`range(bid, n, num_blocks)`, or with a step of at least as much: blocks and trips take different numbers."""
        axis = self.space.form(loop.lower).block_axis
        if axis is None:
            return
        step, blocks = self.space.form(loop.step).known, self.space.blocks(axis)
        source = self.space.defined.get(loop.step.id)
        whole = isinstance(source, Operation) and source.opcode == "num_blocks" and source.attribute("axis") == axis
        if whole or (step is not None and blocks is not None and blocks <= step):
            self.determined.add(f"bid{axis}")


def _bounds(space: Space, access: Access, forms: Iterable[Affine]) -> dict[str, int]:
    found = {f"bid{k}": n for k in space.many if (n := space.blocks(k)) is not None}
    for loop in access.path:
        if isinstance(loop, For):
            lower, upper = space.form(loop.lower).known, _most(space, loop.upper)
            if lower is not None and upper is not None and lower >= 0:
                found[f"v{loop.variable.id}"] = upper
    for form in forms:
        for symbol, _ in form.terms:
            source = space.source(symbol)
            if isinstance(source, Operation) and source.opcode == "remi":
                divisor = space.form(source.operands[1]).known
                if divisor is not None and divisor > 0:
                    found[symbol] = divisor
    return found


def _most(space: Space, value: Value) -> int | None:
    """The largest number that a value can be, short of overflow, where that is known."""
    known = space.form(value).known
    source = space.defined.get(value.id)
    if known is not None or not isinstance(source, Operation):
        return known
    match source.opcode:
        case "mini":
            found = [n for v in source.operands if (n := _most(space, v)) is not None]
            return min(found, default=None)
        case "divi":
            most, by = _most(space, source.operands[0]), space.form(source.operands[1]).known
            if most is None or by is None or by < 1:
                return None
            # Below 0 the quotient towards 0 is not the largest.
            return -(-most // by) if source.attribute("rounding") == "positive_inf" else max(most // by, 0)
        case _:
            return None


def _start_at_blocks(space: Space, access: Access, forms: list[Affine]) -> tuple[list[Affine], dict[str, int]]:
    """Counters of loops from a block's own start over a constant count, as that start plus a bounded trip."""
    bounds: dict[str, int] = {}
    for loop in access.path:
        if not isinstance(loop, For):
            continue
        lower = space.form(loop.lower)
        count = space.form(loop.upper).plus(lower, -1).known
        if lower.known is not None or count is None or space.form(loop.step).known != 1:
            continue
        name, trip = f"v{loop.variable.id}", f"trip{loop.variable.id}"
        bounds[trip] = count
        start = lower.plus(Affine(0, ((trip, 1),)))
        for number, form in enumerate(forms):
            k = dict(form.terms).get(name)
            if k is not None:
                rest = Affine(form.constant, tuple(t for t in form.terms if t[0] != name))
                forms[number] = rest.plus(start.times(k))
    return forms, bounds


def strides(space: Space, access: Access, index: Sequence[Affine]) -> dict[int, int]:
    """What the grid's axes would have to be for an index to be one to one: a block id stays below the stride of the
    next larger term, and a loop that starts at a block id goes in steps of that many."""
    found: dict[int, int] = {}
    for form in index:
        terms = sorted(((abs(k), s) for s, k in form.terms if s.startswith("bid") or space.source(s) is not None))
        for (k, symbol), (more, _) in pairwise(terms):
            if symbol.startswith("bid") and more % k == 0 and more > k:
                found[int(symbol[3:])] = more // k
    for loop in access.path:
        if isinstance(loop, For):
            axis, step = space.form(loop.lower).block_axis, space.form(loop.step).known
            if axis is not None and step is not None and step > 1:
                found[axis] = step
    return found


def index_values(access: Access) -> tuple[Value, ...]:
    """The tile index of a view access."""
    return access.operation.operands[2 if access.store else 1 :]


def _guard_equations(space: Space, access: Access) -> list[Affine]:
    """`if i == c:` makes `i` equal in both instances, where `c` is."""
    found: list[Affine] = []
    for guard in space.guards.get(id(access.operation), ()):
        test = space.defined.get(guard.statement.condition.id)
        if isinstance(test, Operation) and test.opcode == "cmpi":
            wanted = "equal" if guard.then else "not_equal"
            if test.attribute("predicate") == wanted:
                a, b = (space.form(v) for v in test.operands)
                found.append(a.plus(b, -1))
    return found


def _solve(space: Space, access: Access, values: Sequence[Value]) -> _System:
    system = _begun(space, access, [space.form(v) for v in values], {})
    _regroup(system, access, values)
    return system


def _begun(space: Space, access: Access, index: Sequence[Affine], lanes: Mapping[str, int]) -> _System:
    loops = [p for p in access.path if isinstance(p, (For, Loop))]
    counters = {f"v{p.variable.id}" for p in loops if isinstance(p, For)}
    forms, trips = _start_at_blocks(space, access, list(index))
    needed = frozenset({f"bid{k}" for k in space.many} | counters)
    bounds = {**_bounds(space, access, forms), **trips, **lanes}
    system = _System(space, needed, [*forms, *_guard_equations(space, access)], bounds)
    system.solve()
    return system


def _regroup(system: _System, access: Access, values: Sequence[Value]) -> None:
    """What follows from the tile numbers that the values, equal in both instances, are computed from by grouping.

    Beyond the last tile the arithmetic of grouping is undefined or collides. An access on every path of a block shows
    that no tile number is beyond it; one under a condition does not."""
    if any(isinstance(p, If) for p in access.path):
        return
    for tile in grouped(system.space, values):
        system.equations.append(system.space.form(tile))
    system.solve()


def determined(space: Space, access: Access, index: Sequence[Affine], lanes: Mapping[str, int]) -> frozenset[str]:
    """The symbols that equal indices determine. `lanes` are counters of their own, each from 0 to below its extent."""
    system = _begun(space, access, index, lanes)
    made = [space.source(s) for s in sorted(system.determined)]
    _regroup(system, access, [s.result for s in made if isinstance(s, Operation) and len(s.results) == 1])
    return frozenset(system.determined)


def verdict(space: Space, access: Access) -> Verdict:
    """What is proved of one store of a view."""
    if access.view is None:
        return Verdict(False, False, space.many)
    system = _solve(space, access, index_values(access))
    open_ = frozenset(k for k in space.many if f"bid{k}" not in system.determined)
    counters = [p for p in access.path if isinstance(p, For)]
    trips = not any(isinstance(p, Loop) for p in access.path) and all(
        f"v{p.variable.id}" in system.determined or f"trip{p.variable.id}" in system.determined for p in counters
    )
    return Verdict(not open_, trips, open_)


def apart(space: Space, a: Access, b: Access) -> bool:
    """Whether two stores of one array never touch the same tile from different blocks."""
    if a.view is None or b.view is None or a.view != b.view:
        return False
    pairs = list(zip(index_values(a), index_values(b), strict=True))
    same = [x for x, y in pairs if space.form(x) == space.form(y)]
    system = _solve(space, a, same)
    if all(f"bid{k}" in system.determined for k in space.many):
        return True
    return any(_never_equal(space.form(x), space.form(y)) for x, y in pairs)


def _never_equal(a: Affine, b: Affine) -> bool:
    """Two sums of block ids whose constants differ by no multiple of their common stride."""
    strides = {abs(k) for s, k in (*a.terms, *b.terms)}
    if not all(s.startswith("bid") for s, _ in (*a.terms, *b.terms)) or len(strides) > 1:
        return False
    difference = a.constant - b.constant
    return difference % strides.pop() != 0 if strides else difference != 0
