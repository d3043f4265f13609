"""Loads of a kernel body: checked where that is free, else without a check; before a store; with any padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ferrotile.passes.hints import check_is_free
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.program.ir import Operation
from ferrotile.program.types import ViewType
from ferrotile.rust import safety
from ferrotile.rust.expressions import Unsupported, tile_type
from ferrotile.rust.layout import Code, atom, call, method
from ferrotile.rust.masked_loads import masked_load
from ferrotile.rust.targets.cutile_0_5 import PADDING

if TYPE_CHECKING:
    from ferrotile.rust.memory import Memory
    from ferrotile.rust.statements import Body

_INSIDE = 40
"""A longer view has a local of its own."""


class Loads:
    """Emits loads for a `Body`."""

    def __init__(self, memory: Memory, body: Body) -> None:
        self._memory, self._body = memory, body

    def checked(self, operation: Operation) -> bool:
        """Whether a load stays `.load(..)`: its check costs nothing, or the options keep it."""
        access = self._memory.access[id(operation)]
        free = self._memory.tma.allows(access) and check_is_free(access, self._memory.defined)
        return free or self._memory.plan.options.checks == "keep"

    def code(self, operation: Operation) -> Code:
        """A load as an expression."""
        view = operation.operands[0].type
        assert isinstance(view, ViewType)
        if self._memory.plan.options.unsafe == "never" and view.padding not in (None, "zero"):
            return masked_load(self._memory, self._body, operation, view)
        return self.plain(operation)

    def plain(self, operation: Operation) -> Code:
        """A load as an expression, with the padding of its view."""
        view, index = operation.operands[0], operation.operands[1:]
        plan = self._memory.array(view)
        assert isinstance(view.type, ViewType)
        if operation.attribute("memory_order") not in (None, "weak"):
            raise Unsupported("FT301", "Loads with a memory order have no translation yet.", operation.span)
        if plan.ordered:
            return self._ordered(operation, plan, view.type)
        if self.checked(operation):
            latency = operation.attribute("latency")
            name = "load" if latency is None else f"load_pipelined::<{latency}>"
            made = self._straight_view(operation) or atom(self._memory.view(view))
            return method(made, name, self._memory.index(index, False))
        rank, hints = self._kind(operation)
        shape = atom(self._body.spelling.shape(view.type.tile))
        if self._plain_tile(operation):
            return method(atom(plan.name), "load_tile", shape, self._memory.index(index, False))
        at = self._memory.index(index, True)
        if not self._infers(operation):
            made = self._straight_view(operation) or atom(self._memory.view(view))
            wish = safety.load_wish(rank, hints)
            name = self._memory.helpers.get(("load", rank, hints), wish, lambda name: safety.load(name, rank, hints))
            return call(name, replace(made, text=f"&{made.text}"), at)
        padding, fixed = str(view.type.padding), plan.value in self._memory.extents
        wish = f"{'load_at' if hints.tma else 'load_row'}{hints.suffix}_{padding}"
        name = self._memory.helpers.get(
            ("load", rank, hints, padding, fixed),
            wish,
            lambda name: safety.load_padded(name, rank, hints, PADDING[padding], fixed),
        )
        return call(name, atom(plan.name), shape, at)

    def _straight_view(self, operation: Operation) -> Code | None:
        """The view of an access outside of loops that no other one shares, made where it is used; None: hoisted."""
        view = operation.operands[0]
        assert isinstance(view.type, ViewType)
        alone = self._memory.wants.get(self._memory.key(view)) == 1 and self._memory.access[id(operation)].straight
        if not alone or view.type.padding not in (None, "zero"):
            return None
        code, _ = self._memory.partition(view.type, self._memory.array(view).name)
        return code if len(code.text) <= _INSIDE else None

    def _plain_tile(self, operation: Operation) -> bool:
        """Whether the core's `load_tile`, which has no check either, is this load."""
        view = operation.operands[0].type
        assert isinstance(view, ViewType)
        straight = view.dim_map == tuple(range(len(view.dim_map)))
        return straight and view.padding in (None, "zero") and self._memory.hints(operation) == safety.Access()

    def _infers(self, operation: Operation) -> bool:
        """Whether the JIT finds the type of an unchecked load: from the tile's shape as an argument."""
        view = operation.operands[0].type
        assert isinstance(view, ViewType)
        padded = view.padding not in (None, "zero") and view.dim_map == tuple(range(len(view.dim_map)))
        return padded or self._plain_tile(operation)

    def _kind(self, operation: Operation) -> tuple[int, safety.Access]:
        """What two loads must agree in to be one helper's: rank and hints."""
        return len(tile_type(operation.result).shape), self._memory.hints(operation)

    def _ordered(self, operation: Operation, plan: ArrayPlan, view: ViewType) -> Code:
        owned = plan.form is Form.OWNED
        identity = view.dim_map == tuple(range(len(view.dim_map)))
        if not identity:
            raise Unsupported("FT304", f"`{plan.name}` is also written: load it without `order`.", operation.span)
        rank, access = len(view.tile), self._memory.hints(operation)
        padding = "None" if view.padding is None else PADDING[view.padding]
        start = self._memory.starts.of(operation, plan)
        several = start is not None
        name = self._memory.helpers.get(
            ("load_first", rank, owned, access, padding, several),
            ("load_early" if several else "load_first") + access.suffix + (f"_{view.padding}" if view.padding else ""),
            lambda name: safety.load_first(name, rank, owned, access, padding, several),
        )
        after = () if start is None else (start,)
        if owned:
            return call(name, atom(plan.name), *after)
        shape = atom(self._body.spelling.shape(view.tile))
        return call(name, atom(plan.name), shape, self._memory.index(operation.operands[1:], True), *after)

    def inlines(self, operation: Operation) -> bool:
        """Whether a load may stand inside an expression: others need a typed local (JIT)."""
        plain = not self._memory.special.handles(operation) and not self._memory.array(operation.operands[0]).ordered
        return plain and (self.checked(operation) or self._infers(operation))

    def apart(self) -> set[int]:
        """The results of loads that would be inlined, but may not be."""
        loads = (a.operation for a in self._memory.access.values() if a.operation.opcode == "load_view")
        return {o.result.id for o in loads if self._body.values.is_inline(o.result) and not self.inlines(o)}

    def load(self, operation: Operation) -> None:
        """A load into a local."""
        plan = self._memory.array(operation.operands[0])
        if self._memory.special.handles(operation):
            self._memory.special.load(operation)
            return
        if plan.tokens:
            self._memory.ordered.load(operation, plan)
            return
        kind = tile_type(operation.result)
        bare = not self.inlines(operation) and not plan.ordered
        note = f": {self._body.spelling.tile(kind.dtype, kind.shape)}" if bare else ""
        self._body.assign(operation.result, self.code(operation), note)
