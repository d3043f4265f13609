"""Steps of views and memory operations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter import atomics, views
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, element_dtype
from ferrotile_runner.tileir.interpreter.findings import FindingKind
from ferrotile_runner.tileir.interpreter.frame import Decoder, Frame, Step, element_of, tile_type
from ferrotile_runner.tileir.interpreter.views import TensorView, TileView
from ferrotile_runner.tileir.model import (
    GatherScatterViewType,
    Operation,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    Value,
)


def _tensor_view(operation: Operation) -> Step:
    kind, base, result = operation.results[0].type, operation.one("base"), operation.results[0].number
    if not isinstance(kind, TensorViewType):
        raise UnsupportedOperation("make_tensor_view of another type")
    shape_operands, stride_operands = operation.named.get("shape", ()), operation.named.get("strides", ())

    def step(frame: Frame) -> None:
        pointer = frame.pointers(base)
        shape = _words(frame, kind.shape, shape_operands)
        strides = _words(frame, kind.strides, stride_operands)
        frame.values[result] = TensorView(pointer.buffer, pointer.offsets.reshape(-1), shape, strides)

    return step


def _words(frame: Frame, known: tuple[int | None, ...], operands: tuple[Value, ...]) -> tuple[Array, ...]:
    given = iter(operands)
    return tuple(
        frame.integers(next(given)).reshape(-1) if word is None else np.asarray([word], np.int64) for word in known
    )


def _tile_view(operation: Operation) -> Step:
    kind, view, result = operation.results[0].type, operation.one("view"), operation.results[0].number
    match kind:
        case PartitionViewType(tile=tile, dim_map=dim_map):
            steps, sparse = tile, None
        case StridedViewType(tile=tile, traversal_strides=steps, dim_map=dim_map):
            sparse = None
        case GatherScatterViewType(tile=tile, sparse_dim=sparse):
            steps, dim_map = (1,) * len(tile), tuple(range(len(tile)))
        case _:
            raise UnsupportedOperation(operation.name)
    padding = kind.padding

    def step(frame: Frame) -> None:
        tensor = frame.values[view.number]
        if not isinstance(tensor, TensorView):
            raise UnsupportedOperation(f"{operation.name} of no tensor view")
        frame.values[result] = TileView(tensor, tile, steps, dim_map, padding, sparse)

    return step


def _sizes(operation: Operation) -> Step:
    view = operation.one("view")

    def step(frame: Frame) -> None:
        found = frame.values[view.number]
        if operation.name == "get_index_space_shape":
            sizes = frame.view(view).index_space
        else:
            tensor = found.view if isinstance(found, TileView) else found
            if not isinstance(tensor, TensorView):
                raise UnsupportedOperation("get_tensor_shape of no view")
            sizes = tensor.shape
        for result, size in zip(operation.results, sizes, strict=True):
            frame.values[result.number] = size.astype(element_dtype(element_of(result)))

    return step


def _load_view(operation: Operation) -> Step:
    view, indices, result = operation.one("view"), operation.named["index"], operation.results[0].number

    def step(frame: Frame) -> None:
        at = [frame.integers(v) for v in indices]
        frame.values[result] = views.load(frame.memory, frame.view(view), at, frame.blocks)

    return step


def _store_view(operation: Operation) -> Step:
    view, indices, value = operation.one("view"), operation.named["index"], operation.one("value")

    def step(frame: Frame) -> None:
        at = [frame.integers(v) for v in indices]
        views.store(frame.memory, frame.view(view), at, frame.tile(value), frame.blocks)

    return step


def _update_view(operation: Operation) -> Step:
    view, indices, value = operation.one("view"), operation.named["index"], operation.one("value")
    mode = operation.word("mode")

    def step(frame: Frame) -> None:
        into = frame.view(view)
        offsets, inside = views.places(frame.memory, into, [frame.integers(v) for v in indices])
        shape = (frame.count, *into.tile)
        tile = frame.tile(value).reshape((-1, *into.tile))
        atomics.update(frame.memory, into.view.buffer, offsets, tile, inside, mode, shape, frame.blocks)

    return step


def _optional(frame: Frame, value: Value | None) -> Array | None:
    return None if value is None else frame.tile(value)


def _load_pointers(operation: Operation) -> Step:
    pointer, mask, padding = (
        operation.one("pointer"),
        operation.optional("mask"),
        operation.optional("padding"),
    )

    def step(frame: Frame) -> None:
        frame.values[operation.results[0].number] = frame.memory.load_pointers(
            frame.pointers(pointer), _optional(frame, mask), _optional(frame, padding), frame.blocks
        )

    return step


def _store_pointers(operation: Operation) -> Step:
    pointer, value, mask = operation.one("pointer"), operation.one("value"), operation.optional("mask")

    def step(frame: Frame) -> None:
        frame.memory.store_pointers(frame.pointers(pointer), frame.tile(value), _optional(frame, mask), frame.blocks)

    return step


def _atomic(operation: Operation) -> Step:
    pointer, value, mask = operation.one("pointer"), operation.one("value"), operation.optional("mask")
    mode, lanes = operation.word("mode"), tile_type(pointer).shape

    def step(frame: Frame) -> None:
        into = frame.pointers(pointer)
        frame.values[operation.results[0].number] = atomics.update(
            frame.memory,
            into.buffer,
            into.offsets,
            frame.tile(value),
            _optional(frame, mask),
            mode,
            (frame.count, *lanes),
            frame.blocks,
        )

    return step


def _compare_and_swap(operation: Operation) -> Step:
    pointer, mask = operation.one("pointer"), operation.optional("mask")
    expected, desired = operation.one("expected"), operation.one("desired")
    lanes = tile_type(pointer).shape

    def step(frame: Frame) -> None:
        into = frame.pointers(pointer)
        frame.values[operation.results[0].number] = atomics.compare_and_swap(
            frame.memory,
            into.buffer,
            into.offsets,
            frame.tile(expected),
            frame.tile(desired),
            _optional(frame, mask),
            (frame.count, *lanes),
            frame.blocks,
        )

    return step


def _assert(operation: Operation) -> Step:
    condition, message = operation.one("condition"), operation.word("message", "assertion")

    def step(frame: Frame) -> None:
        if not bool(np.all(frame.tile(condition))):
            frame.memory.note(FindingKind.ASSERT, f"assert failed: {message}")

    return step


def _print(operation: Operation) -> Step:
    text, arguments = operation.word("message"), operation.named.get("arguments", ())

    def step(frame: Frame) -> None:
        tiles = [frame.whole(value) for value in arguments]
        for place, block in enumerate(frame.blocks.tolist()):
            shown = ", ".join(str(tile[place].tolist()) for tile in tiles)
            frame.memory.printed.append((block, f"{text} {shown}".rstrip()))

    return step


def _nothing(operation: Operation) -> Step:
    return lambda frame: None


EFFECTS: Mapping[str, Decoder] = MappingProxyType(
    {
        "make_tensor_view": _tensor_view,
        "make_partition_view": _tile_view,
        "make_strided_view": _tile_view,
        "make_gather_scatter_view": _tile_view,
        "get_index_space_shape": _sizes,
        "get_tensor_shape": _sizes,
        "load_view_tko": _load_view,
        "store_view_tko": _store_view,
        "load_ptr_tko": _load_pointers,
        "store_ptr_tko": _store_pointers,
        "atomic_rmw_tko": _atomic,
        "atomic_cas_tko": _compare_and_swap,
        "assert": _assert,
        "atomic_red_view_tko": _update_view,
        "print_tko": _print,
        "gdc_wait_tko": _nothing,
        "gdc_launch_dependents_tko": _nothing,
        "memory_fence_alias_tko": _nothing,
        "make_token": _nothing,
        "join_tokens": _nothing,
    }
)
