"""Where the loads between two stores of one array start from: one token, so that they may overlap.

Loads that wait for each other are slower, and `tileiras` 13.4 fails without a reason on two of large tiles that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile.passes.plan import ArrayPlan
from ferrotile.program.ir import Operation
from ferrotile.rust.layout import Code, atom, method

if TYPE_CHECKING:
    from ferrotile.rust.memory import Memory
    from ferrotile.rust.statements import Body


class Starts:
    """Locals that keep an array's token in front of several loads in a row."""

    def __init__(self, memory: Memory, body: Body) -> None:
        self._memory, self._body = memory, body
        self._names: dict[int, str] = body.journal.dict()
        """By the first load of a row."""

    def of(self, operation: Operation, plan: ArrayPlan) -> Code | None:
        """The token for a load; None where it stands alone, and the array's own token will do."""
        row: list[Operation] = []
        for access in self._memory.access.values():
            if access.array != plan.value:
                continue
            if access.store:
                if any(one is operation for one in row):
                    break
                row = []
            else:
                row.append(access.operation)
        if len(row) < 2 or not any(one is operation for one in row):
            return None
        first = id(row[0])
        if first not in self._names:
            self._names[first] = self._body.scope.temporary(f"{plan.name}_start")
            self._memory.hoist(f"let {self._names[first]} = ", method(atom(plan.name), "token"), False, None)
        return atom(self._names[first])
