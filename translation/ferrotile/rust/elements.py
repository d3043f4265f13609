"""Gathers, scatters and atomics of a kernel body: calls of helper functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ferrotile.passes.elements import ATOMICS, ElementAccess, element_access
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.program.ir import Operation, Value
from ferrotile.program.types import TileType
from ferrotile.rust.element_helpers import (
    Request,
    element_helper,
    padded_load_helper,
    padded_load_name,
    pads_lanes,
    scalar_padding,
    strides_helper,
)
from ferrotile.rust.layout import Code, atom, call
from ferrotile.rust.targets.cutile_0_5 import ZEROS

if TYPE_CHECKING:
    from ferrotile.rust.memory import Memory
    from ferrotile.rust.statements import Body


class Elements:
    """Emits element accesses for a `Body`."""

    def __init__(self, memory: Memory, body: Body) -> None:
        self._memory, self._body = memory, body
        self._made: dict[tuple[str, ...], bool] = body.journal.dict()

    def access(self, operation: Operation) -> None:
        """One gather, scatter or atomic."""
        body, memory = self._body, self._memory
        found = element_access(operation)
        plan = memory.array(found.array)
        used = bool(operation.results) and bool(body.values.consumers(operation.result))
        sizes = tuple(body.spelling.size(size) for size in found.shape)
        shared = plan.form is not Form.READ
        proved = self._proved(found, plan)
        request = Request(found, plan.dtype, plan.tokens, used, shared, proved, sizes)
        if pads_lanes(request):
            request = replace(request, zero=plan.dtype.name in ZEROS and self._is_zero(found.padding))
        name = self._helper(request)
        arguments = [atom(memory.reference(found.array)), *map(self._index, found.index)]
        arguments += [body.tile(v) for v in found.values]
        if found.padding is not None and not request.zero:
            arguments.append(
                self._padding(found.padding, plan) if scalar_padding(request) else body.tile(found.padding)
            )
        if found.mask is not None:
            arguments.append(body.tile(found.mask))
        token = memory.token(plan) if plan.tokens else None
        if token is not None:
            arguments.append(atom(token))
        self._write(operation, call(name, *arguments), token, used)

    def _write(self, operation: Operation, code: Code, token: str | None, used: bool) -> None:
        body = self._body
        if not used:
            body.put(f"{token} = " if token is not None else "", code)
        elif token is None:
            body.assign(operation.result, code, "")
        else:
            kind = operation.result.type
            assert isinstance(kind, TileType)
            plain = bool(kind.shape) or body.values.is_tile0(operation.result)
            name = body.name_result(operation.result, "found") if plain else body.scope.temporary("found")
            done = body.scope.temporary("done")
            typed = body.spelling.tile(kind.dtype, kind.shape)
            body.put(f"let ({name}, {done}): ({typed}, Token) = ", code)
            body.writer.line(f"{token} = {done};")
            if plain:
                body.settle(operation.result, name)
            else:
                body.assign(operation.result, atom(name), "")

    def _index(self, value: Value) -> Code:
        assert isinstance(value.type, TileType)
        if value.type.shape:
            return self._body.tile(value)
        code = self._body.scalar(value)
        return self._body.bind("at", str(value.type.dtype), code) if code.text.startswith("-") else code

    def _padding(self, value: Value, plan: ArrayPlan) -> Code:
        """A scalar padding; a literal says its type, which the helper is generic in."""
        code = self._body.scalar(value)
        plain = code.text.removeprefix("-").replace(".", "").replace("e", "").replace("-", "").isdigit()
        if plain:
            return Code(f"{code.text}{plan.dtype}", code.precedence)
        return code if code.text.isidentifier() else self._body.bind("padding", str(plan.dtype), code)

    def _is_zero(self, value: Value | None) -> bool:
        """Whether a padding is the constant 0, whose bits are all 0."""
        source = None if value is None else self._body.values.defined.get(value.id)
        if not isinstance(source, Operation) or source.opcode != "constant":
            return False
        number = source.attribute("value")
        return isinstance(number, (int, float)) and number == 0 and math.copysign(1.0, number) > 0

    def _proved(self, found: ElementAccess, plan: ArrayPlan) -> bool:
        """Whether the access is within the array by its mask, and cannot race with another."""
        if not found.bounds:
            return False
        if found.operation.opcode not in ATOMICS:
            return plan.form is Form.READ or (plan.form is Form.POINTER and plan.injective)
        others = [a for a in self._memory.access.values() if a.array == plan.value]
        return all(a.operation.opcode in ATOMICS for a in others)

    def _helper(self, request: Request) -> str:
        helpers = self._memory.helpers
        rank = request.access.rank
        if rank > 1 and not request.access.linear:
            helpers.get(("strides", rank), f"strides_of_{rank}", lambda name: strides_helper(rank))
        lanes = len(request.access.shape)
        if request.opcode == "gather" and pads_lanes(request):
            helpers.get(("padded", lanes), padded_load_name(lanes), lambda name: padded_load_helper(lanes))
        text = element_helper("?", request).lines
        if text not in self._made:
            self._made[text] = True
            self._memory.assumed += not request.proved
        return helpers.get(text, request.stem, lambda name: element_helper(name, request))
