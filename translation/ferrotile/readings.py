"""What the front end read in each expression of a kernel, for those who read the Python: kept as it was found, and put
into words when it is asked for, which is rare."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ferrotile.program.types import TileType


class Reading(Struct, frozen=True):
    """What an expression stands for. `text`: as directives write it, `f32[TM, 1]`, `f16[*, *]` for an array, `= 64` for
    a constant, `(i32, 64)` for a tuple. `type`: of a tile or a scalar. `array`: whether it is an array parameter."""

    text: str
    type: TileType | None = None
    array: bool = False


class Readings:
    """The readings of one lowering. `calls`: each function that was interpreted, the kernel first, with the values of
    its expressions by `id` of their nodes; a helper is there once a call. The nodes live as long as this does.

    All are equal to one another: they follow from what stands beside them in a translation."""

    __slots__ = ("_assigned", "_calls", "_nodes", "_read")

    def __init__(
        self,
        calls: Sequence[tuple[ast.AST, Mapping[int, object]]],
        read: Callable[[object], Reading | None],
    ) -> None:
        self._calls = calls
        self._read = read
        self._nodes: dict[int, tuple[ast.expr, ...]] = {}
        self._assigned: dict[int, tuple[tuple[ast.Name, Reading], ...]] = {}

    def of(self, function: ast.AST, node: ast.AST) -> Reading | None:
        """What `node` of `function`, the kernel or a helper, stands for; None where that is unknown, or differs between
        the helper's calls."""
        found: Reading | None = None
        for root, values in self._calls:
            if root is function and (value := values.get(id(node))) is not None:
                reading = self._read(value)
                if reading is None or (found is not None and found != reading):
                    return None
                found = reading
        return found

    def covers(self, function: ast.AST) -> bool:
        """Whether `function` was interpreted."""
        return any(root is function for root, _ in self._calls)

    def nodes(self, function: ast.AST) -> tuple[ast.expr, ...]:
        """The expressions of a function that were evaluated or assigned, in the order of the source."""
        known = self._nodes.get(id(function))
        if known is None:
            seen = {one for root, values in self._calls if root is function for one in values}
            inside = [n for n in ast.walk(function) if isinstance(n, ast.expr) and id(n) in seen]
            known = tuple(sorted(inside, key=lambda n: (n.lineno, n.col_offset)))
            if self.covers(function):  # which keeps the node, and with it its `id`
                self._nodes[id(function)] = known
        return known

    def assigned(self, function: ast.AST) -> tuple[tuple[ast.Name, Reading], ...]:
        """The variables of a function wherever they get a value, with that value, in the order of the source."""
        known = self._assigned.get(id(function))
        if known is None:
            stored = (n for n in self.nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
            known = tuple((n, reading) for n in stored if (reading := self.of(function, n)) is not None)
            if self.covers(function):
                self._assigned[id(function)] = known
        return known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Readings)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "Readings()"
