"""Parts of arrays: their extents, strides and tile counts in terms of the array that they are parts of."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ferrotile.passes.uses import definitions, eliminate_dead, next_id, operations, rewrite
from ferrotile.program.dtypes import I32
from ferrotile.program.ir import Operation, Program, Statement, Value
from ferrotile.program.types import TileType, ViewType

_WORD = TileType(I32)


def resolve_slices(program: Program) -> Program:
    """The program with `extent`, `stride` and `num_tiles` of array parameters only."""
    if not any(o.opcode == "slice" for o in operations(program.body)):
        return program
    resolver = _Resolver(program)
    return eliminate_dead(replace(program, body=rewrite(program.body, resolver.rewrite)))


class _Resolver:
    def __init__(self, program: Program) -> None:
        self._defined = dict(definitions(program.body))
        self._next = next_id(program)
        self._made: list[Operation] = []

    def _emit(self, like: Operation, opcode: str, operands: tuple[Value, ...], **attributes: int | str) -> Value:
        value = Value(self._next, _WORD)
        self._next += 1
        self._made.append(Operation(opcode, operands, (value,), tuple(attributes.items()), like.span))
        return value

    def rewrite(self, s: Statement) -> Sequence[Statement]:
        if not isinstance(s, Operation) or s.opcode not in ("extent", "stride", "num_tiles"):
            return (s,)
        self._made = []
        axis = int(str(s.attribute("axis")))
        match s.opcode:
            case "extent":
                found = self._extent(s, s.operands[0], axis)
            case "stride":
                found = self._stride(s, s.operands[0], axis)
            case _:
                found = self._count(s, axis)
        return (s,) if found is None else (*self._made[:-1], replace(self._made[-1], results=s.results))

    def _slice(self, array: Value) -> Operation | None:
        source = self._defined.get(array.id)
        return source if isinstance(source, Operation) and source.opcode == "slice" else None

    def _extent(self, like: Operation, array: Value, axis: int) -> Value | None:
        part = self._slice(array)
        if part is None:
            return None
        whole, start, stop = part.operands
        if part.attribute("axis") == axis:
            return self._emit(like, "subi", (stop, start))
        return self._extent(like, whole, axis) or self._emit(like, "extent", (whole,), axis=axis)

    def _stride(self, like: Operation, array: Value, axis: int) -> Value | None:
        part = self._slice(array)
        if part is None:
            return None
        whole = part.operands[0]
        return self._stride(like, whole, axis) or self._emit(like, "stride", (whole,), axis=axis)

    def _count(self, like: Operation, axis: int) -> Value | None:
        view = self._defined.get(like.operands[0].id)
        kind = like.operands[0].type
        if not isinstance(view, Operation) or not isinstance(kind, ViewType):
            return None
        extent = self._extent(like, view.operands[0], kind.dim_map[axis])
        if extent is None:
            return None
        size = kind.tile[axis]
        if size.symbol is not None:
            tile = self._emit(like, "const_param", (), name=size.symbol)
        else:
            tile = self._emit(like, "constant", (), value=size.value)
        return self._emit(like, "divi", (extent, tile), rounding="positive_inf")
