"""Gathers and scatters: pointer tiles, masks, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile.passes.plan import Form
from ferrotile.passes.uses import array_of
from ferrotile.program.ir import Operation, Value
from ferrotile.rust.expressions import tile_type
from ferrotile.rust.layout import Code, atom, call, method
from ferrotile.rust.types import literal

if TYPE_CHECKING:
    from ferrotile.rust.memory import Memory
    from ferrotile.rust.statements import Body


class Pointers:
    """Emits pointer operations for a `Body`."""

    def __init__(self, memory: Memory, body: Body) -> None:
        self._memory, self._body = memory, body
        self._defined = body.values.defined

    def pointer_type(self, value: Value) -> str:
        """`PointerTile<*const f32, { [16] }>`, mutable for arrays that are written."""
        kind = tile_type(value)
        return self._body.spelling.pointers(kind.dtype, kind.shape, self._mutable(value))

    def _mutable(self, value: Value) -> bool:
        found = array_of(value, self._defined)
        return found is not None and self._memory.plan.array(found.id).form is Form.POINTER

    def base(self, operation: Operation) -> Code:
        """The base pointer of an array."""
        array_ = operation.operands[0]
        pointer = method(atom(self._body.variables[array_.id].name), "as_ptr")
        if self._mutable(operation.result):
            pointer = call("cast_mut", pointer)
        return call("pointer_to_tile", pointer)

    def pads_inside(self, operation: Operation) -> bool:
        """Whether a gather's padding is its argument rather than a `select`."""
        if len(operation.operands) < 3 or len(tile_type(operation.result).shape) >= 2:
            return False
        source = self._defined.get(operation.operands[2].id)
        number = source.attribute("value") if isinstance(source, Operation) else None
        dtype = tile_type(operation.result).dtype
        return isinstance(number, (int, float)) and literal(number, dtype, False) is not None

    def load_pointer(self, operation: Operation) -> None:
        """A masked gather; rank 2 and up pads by `select`."""
        body = self._body
        pointers, *rest = operation.operands
        plan = self._memory.array(pointers)
        token = atom(f"Some({self._memory.token(plan)})" if plan.tokens else "None")
        mask = rest[0] if rest else None
        padding = rest[1] if len(rest) > 1 else None
        kind = tile_type(operation.result)
        typed = body.spelling.tile(kind.dtype, kind.shape)
        pad, late = atom("None"), padding is not None
        if padding is not None and len(kind.shape) < 2:
            source = self._defined.get(padding.id)
            if isinstance(source, Operation) and source.opcode == "constant":
                number = source.attribute("value")
                assert isinstance(number, (int, float))
                text = literal(number, kind.dtype, False)
                if text is not None and kind.dtype.name == "f32":
                    text += "f32"
                if text is not None:
                    pad, late = atom(f"Some({text})"), False
        condition = atom("None") if mask is None else call("Some", body.tile(mask))
        code = call(
            "load_ptr_tko", body.raw(pointers), atom("ordering::Weak"), atom("None::<scope::TileBlock>"), condition,
            pad, token, atom(f"Latency::<{operation.attribute('latency') or 0}>"),
        )  # fmt: skip
        self._memory.assumed += 1
        body.writer.line("// SAFETY: as in the Python, lanes that are not masked lie inside the array.")
        plain = not late and (bool(kind.shape) or body.values.is_tile0(operation.result))
        name = body.name_result(operation.result, "found") if plain else body.scope.temporary("found")
        done = body.scope.temporary("done") if plan.tokens else "_"
        body.put(f"let ({name}, {done}): ({typed}, Token) = ", code, unsafe=True)
        if plan.tokens:
            body.writer.line(f"{self._memory.token(plan)} = {done};")
        if plain:
            body.settle(operation.result, name)
            return
        result = atom(name)
        if late and padding is not None and mask is not None:
            fill = body.tile(padding)
            if "(" in fill.text:
                fill = body.bind("fill", typed, fill)
            result = call("select", body.tile(mask), result, fill)
        if not kind.shape and not body.values.is_tile0(operation.result):
            result = call("tile_to_scalar", result)
        body.assign(operation.result, result, "")

    def store_pointer(self, operation: Operation) -> None:
        """A masked scatter."""
        body = self._body
        pointers, tile, *mask = operation.operands
        plan = self._memory.array(pointers)
        token = atom(f"Some({self._memory.token(plan)})" if plan.tokens else "None")
        condition = call("Some", body.tile(mask[0])) if mask else atom("None")
        code = call(
            "store_ptr_tko", body.raw(pointers), body.tile(tile), atom("ordering::Weak"),
            atom("None::<scope::TileBlock>"), condition, token, atom("Latency::<0>"),
        )  # fmt: skip
        self._memory.assumed += 1
        body.writer.line("// SAFETY: as in the Python, lanes that are not masked lie inside the array.")
        body.put(f"{self._memory.token(plan)} = " if plan.tokens else "", code, unsafe=True)
