"""Steps of the operations that compute and move tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter import shapes
from ferrotile_runner.tileir.interpreter.arithmetic import ELEMENTWISE
from ferrotile_runner.tileir.interpreter.constants import parse_constant
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, element_dtype, flush
from ferrotile_runner.tileir.interpreter.frame import (
    Decoder,
    Frame,
    Step,
    element_of,
    is_pointer,
    tile_type,
)
from ferrotile_runner.tileir.interpreter.memory import Pointers
from ferrotile_runner.tileir.interpreter.modes import Modes
from ferrotile_runner.tileir.interpreter.pointers import POINTERS
from ferrotile_runner.tileir.interpreter.promises import promised
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

    function, number = ELEMENTWISE[name], result.number
    if len(operands) == 1:
        source = operands[0]

        def unary(frame: Frame) -> None:
            frame.values[number] = np.asarray(function((frame.tile(source),), modes))

        return promised(operation, unary)

    def step(frame: Frame) -> None:
        frame.values[number] = np.asarray(function(tuple(frame.tile(v) for v in operands), modes))

    return promised(operation, step)


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
    parsed = parse_constant(operation.attributes["value"], element_of(operation.results[0]))
    value = np.broadcast_to(parsed, kind.shape)[np.newaxis]
    return lambda frame: frame.values.__setitem__(operation.results[0].number, value)


def _iota(operation: Operation) -> Step:
    kind = tile_type(operation.results[0])
    value = np.arange(kind.shape[0]).astype(element_dtype(element_of(operation.results[0])))[np.newaxis]
    return lambda frame: frame.values.__setitem__(operation.results[0].number, value)


def _mover(operation: Operation) -> Callable[[Array], Array]:
    """What moves the elements of every block."""
    shape = tile_type(operation.results[0]).shape
    match operation.name:
        case "reshape":
            return lambda tile: shapes.reshape(tile, (tile.shape[0], *shape))
        case "broadcast":
            return lambda tile: shapes.broadcast(tile, (tile.shape[0], *shape))
        case _:
            order = (0, *(axis + 1 for axis in operation.integers("permutation")))
            return lambda tile: shapes.permute(tile, order)


def _shape(operation: Operation) -> Step:
    move, source, result = _mover(operation), operation.one("source"), operation.results[0].number

    def step(frame: Frame) -> None:
        found = frame.values[source.number]
        if isinstance(found, Pointers):
            frame.values[result] = Pointers(found.buffer, move(found.offsets))
        else:
            frame.values[result] = move(frame.tile(source))

    return step


def _aligned(tiles: Sequence[Array]) -> list[Array]:
    """The tiles with one element a block where one of them has."""
    count = max(tile.shape[0] for tile in tiles)
    return [np.broadcast_to(tile, (count, *tile.shape[1:])) for tile in tiles]


def _cat(operation: Operation) -> Step:
    dim = operation.attributes["dim"]
    if not isinstance(dim, int):
        raise UnsupportedOperation("cat without dim")

    def step(frame: Frame) -> None:
        parts = _aligned([frame.tile(v) for v in operation.operands])
        frame.values[operation.results[0].number] = shapes.concatenate(parts, dim + 1)

    return step


def _each(frame: Frame, index: Sequence[Value], *tiles: Array) -> Iterator[tuple[list[int], list[Array]]]:
    """Index and tiles of one block after the other; once where all blocks have the same."""
    words = [frame.integers(value).reshape(-1) for value in index]
    count = max([word.size for word in words] + [tile.shape[0] for tile in tiles])
    for block in range(count):
        at = [int(word[block if word.size > 1 else 0]) for word in words]
        yield at, [tile[block if tile.shape[0] > 1 else 0] for tile in tiles]


def _extract(operation: Operation) -> Step:
    source, indices, result = operation.one("source"), operation.named["index"], operation.results[0]
    shape, line = tile_type(result).shape, operation.text_line

    def step(frame: Frame) -> None:
        words = [frame.integers(value) for value in indices]
        tile = frame.tile(source)
        if all(word.size == 1 for word in words):
            at = [0, *(int(word.reshape(-1)[0]) for word in words)]
            frame.values[result.number] = shapes.extract(tile, at, (tile.shape[0], *shape), line)
            return
        parts = [shapes.extract(one, at, shape, line) for at, (one,) in _each(frame, indices, tile)]
        frame.values[result.number] = np.stack(parts)

    return step


def _insert(operation: Operation) -> Step:
    source, dest, indices = operation.one("source"), operation.one("dest"), operation.named["index"]

    def step(frame: Frame) -> None:
        made: list[Array] = []
        for at, (part, whole) in _each(frame, indices, frame.tile(source), frame.tile(dest)):
            copy = np.array(whole)
            shapes.extract(copy, at, part.shape, operation.text_line)[...] = part
            made.append(copy)
        frame.values[operation.results[0].number] = np.stack(made)

    return step


def _bytes(operation: Operation) -> Step:
    source, result = operation.one("source"), operation.results[0]
    dtype = element_dtype(element_of(result))

    def step(frame: Frame) -> None:
        tile = frame.tile(source)
        frame.values[result.number] = shapes.pack(tile) if operation.name == "pack" else shapes.unpack(tile, dtype)

    return step


def _kept(operation: Operation) -> Callable[[Array], Array]:
    """What a product takes and gives: denormals flushed, or all."""
    return flush if operation.flag("flush_to_zero") else np.asarray


def _mmaf(operation: Operation) -> Step:
    roles = [operation.one(r) for r in ("lhs", "rhs", "acc")]
    keep = _kept(operation)

    def step(frame: Frame) -> None:
        a, b, c = (keep(frame.tile(v)) for v in roles)
        frame.values[operation.results[0].number] = keep(shapes.mmaf(a, b, c))

    return step


def _mmaf_scaled(operation: Operation) -> Step:
    roles = [operation.one(r) for r in ("lhs", "rhs", "acc", "lhs_scale", "rhs_scale")]
    keep = _kept(operation)

    def step(frame: Frame) -> None:
        a, b, c, left, right = (frame.tile(v) for v in roles)
        scaled = shapes.scaled(a, left, a.ndim - 1), shapes.scaled(b, right, b.ndim - 2)
        frame.values[operation.results[0].number] = keep(shapes.mmaf(*scaled, keep(c)))

    return step


def _signs(operation: Operation) -> tuple[bool, bool]:
    """Whether the operands of `mmai` are signed. Raises UnsupportedOperation unless both are given."""
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


def _block_id(operation: Operation) -> Step:
    def step(frame: Frame) -> None:
        for axis, result in enumerate(operation.results):
            ids = frame.ids[axis].astype(np.int32)
            frame.values[result.number] = ids[:1] if bool((ids == ids[0]).all()) else ids

    return step


def _grid(operation: Operation) -> Step:
    def step(frame: Frame) -> None:
        for result, size in zip(operation.results, frame.grid, strict=True):
            frame.values[result.number] = np.asarray([size], np.int32)

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
        "insert": _insert,
        "pack": _bytes,
        "unpack": _bytes,
        "mmaf": _mmaf,
        "mmaf_scaled": _mmaf_scaled,
        "mmai": _mmai,
        **POINTERS,
        "get_tile_block_id": _block_id,
        "get_num_tile_blocks": _grid,
    }
)
