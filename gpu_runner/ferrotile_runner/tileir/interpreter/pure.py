"""Steps of the operations that compute and move tiles."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter import shapes
from ferrotile_runner.tileir.interpreter.arithmetic import ELEMENTWISE, elementwise
from ferrotile_runner.tileir.interpreter.constants import parse_constant
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, element_dtype
from ferrotile_runner.tileir.interpreter.frame import (
    Datum,
    Decoder,
    Frame,
    Step,
    element_of,
    is_pointer,
    tile_type,
)
from ferrotile_runner.tileir.interpreter.memory import Pointers
from ferrotile_runner.tileir.interpreter.modes import Modes
from ferrotile_runner.tileir.model import Operation, Value


def modes_of(operation: Operation) -> Modes:
    """The attributes that element-wise operations read."""
    return Modes(
        element=element_of(operation.results[0]),
        rounding=operation.word("rounding"),
        signed=operation.word("signedness", "signed") != "unsigned",
        ftz=operation.flag("flush_to_zero"),
        propagate_nan=operation.flag("propagate_nan"),
        predicate=operation.word("predicate"),
        ordered=operation.word("ordering", "ordered") == "ordered",
    )


def decode_elementwise(operation: Operation) -> Step:
    """An operation of `arithmetic.ELEMENTWISE`."""
    name, modes, operands, result = (
        operation.name,
        modes_of(operation),
        operation.operands,
        operation.results[0],
    )
    if name not in ELEMENTWISE:
        raise UnsupportedOperation(f"operation {name}")

    def step(frame: Frame) -> None:
        frame.values[result.number] = elementwise(name, tuple(frame.tile(v) for v in operands), modes)

    return step


def _select(operation: Operation) -> Step:
    if not is_pointer(operation.results[0]):
        return decode_elementwise(operation)
    condition, left, right = (operation.one(r) for r in ("condition", "lhs", "rhs"))

    def step(frame: Frame) -> None:
        a, b = frame.pointers(left), frame.pointers(right)
        if a.buffer is not b.buffer:
            raise UnsupportedOperation("select between pointers into two arrays")
        offsets = np.where(frame.tile(condition), a.offsets, b.offsets)
        frame.values[operation.results[0].number] = Pointers(a.buffer, offsets)

    return step


def _constant(operation: Operation) -> Step:
    kind = tile_type(operation.results[0])
    value = np.broadcast_to(parse_constant(operation.attributes["value"], element_of(operation.results[0])), kind.shape)
    return lambda frame: frame.values.__setitem__(operation.results[0].number, value)


def _iota(operation: Operation) -> Step:
    kind = tile_type(operation.results[0])
    value = np.arange(kind.shape[0]).astype(element_dtype(element_of(operation.results[0])))
    return lambda frame: frame.values.__setitem__(operation.results[0].number, value)


def _moved(frame: Frame, value: Value, move: Mover) -> Datum:
    found = frame.values[value.number]
    if isinstance(found, Pointers):
        return Pointers(found.buffer, move(found.offsets))
    return move(frame.tile(value))


class Mover:
    """A function that moves elements, whatever they are."""

    def __init__(self, operation: Operation) -> None:
        self._name = operation.name
        self._shape = tile_type(operation.results[0]).shape
        self._permutation = operation.integers("permutation")

    def __call__(self, tile: Array) -> Array:
        match self._name:
            case "reshape":
                return shapes.reshape(tile, self._shape)
            case "broadcast":
                return shapes.broadcast(tile, self._shape)
            case _:
                return shapes.permute(tile, self._permutation)


def _shape(operation: Operation) -> Step:
    move, source, result = Mover(operation), operation.one("source"), operation.results[0].number

    def step(frame: Frame) -> None:
        frame.values[result] = _moved(frame, source, move)

    return step


def _cat(operation: Operation) -> Step:
    dim = operation.attributes["dim"]
    if not isinstance(dim, int):
        raise UnsupportedOperation("cat without dim")

    def step(frame: Frame) -> None:
        parts = [frame.tile(v) for v in operation.operands]
        frame.values[operation.results[0].number] = shapes.concatenate(parts, dim)

    return step


def _extract(operation: Operation) -> Step:
    source, indices, result = operation.one("source"), operation.named["index"], operation.results[0]
    shape = tile_type(result).shape

    def step(frame: Frame) -> None:
        at = [frame.integer(v) for v in indices]
        frame.values[result.number] = shapes.extract(frame.tile(source), at, shape)

    return step


def _mmaf(operation: Operation) -> Step:
    roles = [operation.one(r) for r in ("lhs", "rhs", "acc")]

    def step(frame: Frame) -> None:
        frame.values[operation.results[0].number] = shapes.mmaf(*(frame.tile(v) for v in roles))

    return step


def _signs(operation: Operation) -> tuple[bool, bool]:
    """Whether the left and the right operand of `mmai` are signed: two words, in the order of the operands."""
    words = operation.word("signedness").split()
    if len(words) != 2 or not set(words) <= {"signed", "unsigned"}:
        raise UnsupportedOperation(f"the signedness of mmai (line {operation.text_line})")
    return words[0] == "signed", words[1] == "signed"


def _mmai(operation: Operation) -> Step:
    roles = [operation.one(r) for r in ("lhs", "rhs", "acc")]
    left, right = _signs(operation)

    def step(frame: Frame) -> None:
        a, b, c = (frame.tile(v) for v in roles)
        frame.values[operation.results[0].number] = shapes.mmai(a, b, c, left, right)

    return step


def _offset(operation: Operation) -> Step:
    pointer, offset, result = operation.one("pointer"), operation.one("offset"), operation.results[0].number

    def step(frame: Frame) -> None:
        base = frame.pointers(pointer)
        frame.values[result] = Pointers(base.buffer, base.offsets + frame.tile(offset).astype(np.int64))

    return step


def _same(operation: Operation) -> Step:
    """`assume`, and a pointer cast that changes nothing."""
    source = operation.one("source")
    if element_of(source) != element_of(operation.results[0]):
        raise UnsupportedOperation(f"{operation.name} to another element type")

    def step(frame: Frame) -> None:
        frame.values[operation.results[0].number] = frame.values[source.number]

    return step


def _block_id(operation: Operation) -> Step:
    def step(frame: Frame) -> None:
        for result, at in zip(operation.results, frame.block, strict=True):
            frame.values[result.number] = np.asarray(np.int32(at))

    return step


def _grid(operation: Operation) -> Step:
    def step(frame: Frame) -> None:
        for result, size in zip(operation.results, frame.grid, strict=True):
            frame.values[result.number] = np.asarray(np.int32(size))

    return step


PURE: Mapping[str, Decoder] = MappingProxyType(
    {
        **dict.fromkeys(ELEMENTWISE, decode_elementwise),
        "select": _select,
        "constant": _constant,
        "iota": _iota,
        "reshape": _shape,
        "broadcast": _shape,
        "permute": _shape,
        "cat": _cat,
        "extract": _extract,
        "mmaf": _mmaf,
        "mmai": _mmai,
        "offset": _offset,
        "assume": _same,
        "ptr_to_ptr": _same,
        "get_tile_block_id": _block_id,
        "get_num_tile_blocks": _grid,
    }
)
