"""The variables that loops and branches assign: declared with `let mut`, then written at the ends of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrotile.program.ir import Value
from ferrotile.rust.expressions import tile_type
from ferrotile.rust.layout import Code, atom
from ferrotile.rust.scope import Last, Variable

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body


class Assigned:
    """Declares and assigns mutable variables for a `Body`."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._holds: dict[int, list[Value]] = {}
        """What a carried variable, by its `id`, may hold."""

    def declare(self, value: Value, wish: str, last: Last, initial: Code) -> Variable:
        """`let mut name: type = initial;` for a value."""
        variable = self._body.scope.declare(wish, self._body.now, last, mutable=True)
        kind = self._body.spelling.value(tile_type(value))
        self._body.put(f"let mut {variable.name}: {kind} = ", initial)
        self._body.variables[value.id] = variable
        return variable

    def code(self, value: Value) -> Code:
        """A value as a variable holds it: numbers as scalars, tiles as they are."""
        return self._body.raw(value) if tile_type(value).shape else self._body.scalar(value)

    def may_hold(self, variable: Variable, values: Sequence[Value]) -> None:
        """Notes what a carried variable may hold."""
        self._holds.setdefault(id(variable), []).extend(values)

    def held(self, variable: Variable) -> list[Value]:
        """What a carried variable may hold, as far as that is noted by now."""
        return list(self._holds.get(id(variable), ()))

    def assign(self, variables: Sequence[Variable], values: Sequence[Value]) -> None:
        """Assigns all at once: no variable is overwritten while another still reads it."""
        pending: list[tuple[Variable, Code]] = []
        for variable, value in zip(variables, values, strict=True):
            if self._body.variables.get(value.id) is not variable:
                pending.append((variable, self.code(value)))
        while pending:
            reads = [c.text for _, c in pending]
            ready = next((p for p in pending if p[0].name not in (t for t in reads if t != p[1].text)), None)
            if ready is None:
                variable, _code = pending[0]
                saved = self._body.scope.temporary(variable.name)
                self._body.writer.line(f"let {saved} = {variable.name};")
                pending = [(v, atom(saved) if c.text == variable.name else c) for v, c in pending]
                continue
            pending.remove(ready)
            self._body.put(f"{ready[0].name} = ", ready[1])
