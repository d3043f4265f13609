"""Loads and stores of arrays whose every access passes a token to the next one, across control flow too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile.passes.plan import ArrayPlan
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import ViewType
from ferrotile.rust.expressions import tile_type
from ferrotile.rust.layout import Code, array, atom, call, method
from ferrotile.rust.targets.cutile_0_5 import PADDING

if TYPE_CHECKING:
    from ferrotile.rust.memory import Memory
    from ferrotile.rust.statements import Body


class Ordered:
    """Emits token-ordered accesses for a `Body`."""

    def __init__(self, memory: Memory, body: Body) -> None:
        self._memory, self._body = memory, body
        self._defined = body.values.defined

    def _raw_view(self, value: Value, plan: ArrayPlan, write: bool = False) -> str:
        """The view through which a token-ordered array is read and written. The padding of a written one is free."""
        key = self._memory.key(value)
        if write:
            key = next((k for k in self._memory.views if k[:3] == key[:3]), key)
        if key not in self._memory.views:
            view = value.type
            assert isinstance(view, ViewType)
            name = self._memory.views[key] = self._body.scope.temporary(f"p{plan.name}")
            shape = atom(self._body.spelling.shape(view.tile))
            identity = view.dim_map == tuple(range(len(view.dim_map)))
            if identity and view.padding == "zero":
                self._memory.hoist(f"let {name} = ", method(atom(plan.name), "partition", shape), False, None)
                return name
            order = "dim_map::Identity" if identity else f"const_array![{', '.join(map(str, view.dim_map))}]"
            pad = "None" if view.padding is None else PADDING[view.padding]
            code = call(
                "make_partition_view",
                *(atom(plan.name), shape, atom(f"padding::{pad}"), atom(order), atom(f"{plan.name}.token()")),
            )
            kind = f"Partition<{view.dtype}, {self._body.spelling.braces(view.tile)}>"
            note = f"// SAFETY: every access of `{plan.name}` waits for the one before."
            self._memory.hoist(f"let {name}: {kind} = ", code, True, note)
        return self._memory.views[key]

    def _raw_modes(self, operation: Operation, rank: int) -> tuple[Code, ...]:
        tma = self._memory.tma.allows(self._memory.access[id(operation)])
        return (
            atom("ordering::Weak"),
            atom("scope::TileBlock"),
            atom(f"tma::{'Enabled' if tma else 'Disabled'}"),
            atom("None"),
            array(*[atom("false")] * rank),
        )

    def load(self, operation: Operation, plan: ArrayPlan) -> None:
        """A load that waits for the array's last access."""
        body = self._body
        view = operation.operands[0]
        kind = tile_type(operation.result)
        name, token = self._raw_view(view, plan), self._memory.token(plan)
        shape = atom(body.spelling.shape(kind.shape))
        index = self._memory.index(operation.operands[1:], True)
        modes = self._raw_modes(operation, len(kind.shape))
        code = call("load_view_raw", atom(f"&{name}"), index, atom(f"Some({token})"), *modes, shape)
        result, done = body.name_result(operation.result, "loaded"), body.scope.temporary("done")
        typed = body.spelling.tile(kind.dtype, kind.shape)
        body.put(f"let ({result}, {done}): ({typed}, Token) = ", code, unsafe=True)
        body.writer.line(f"{token} = {done};")
        body.settle(operation.result, result)

    def store(self, operation: Operation, plan: ArrayPlan, code: Code) -> None:
        """A store that waits for the array's last access."""
        body = self._body
        view = operation.operands[0]
        name, token = self._raw_view(view, plan, True), self._memory.token(plan)
        index = self._memory.index(operation.operands[2:], True)
        modes = self._raw_modes(operation, plan.rank)
        if not code.text.isidentifier():
            kind = tile_type(operation.operands[1])
            code = body.bind("value", body.spelling.tile(kind.dtype, kind.shape), code)
        self._memory.note(plan)
        whole = call("store_view_raw", atom(f"&{name}"), code, index, atom(f"Some({token})"), *modes)
        body.put(f"{token} = ", whole, unsafe=True)
