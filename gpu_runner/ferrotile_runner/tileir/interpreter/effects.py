"""Steps of views and memory operations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation
from ferrotile_runner.tileir.interpreter.frame import Decoder, Frame, Step
from ferrotile_runner.tileir.interpreter.memory import PartitionView, TensorView
from ferrotile_runner.tileir.model import Operation, PartitionViewType, TensorViewType, Value


def _tensor_view(operation: Operation) -> Step:
    kind, base, result = operation.results[0].type, operation.one("base"), operation.results[0].number
    if not isinstance(kind, TensorViewType):
        raise UnsupportedOperation("make_tensor_view of another type")
    shape_operands, stride_operands = operation.named.get("shape", ()), operation.named.get("strides", ())

    def step(frame: Frame) -> None:
        pointer = frame.pointers(base)
        shape = _words(frame, kind.shape, shape_operands)
        strides = _words(frame, kind.strides, stride_operands)
        frame.values[result] = TensorView(pointer.buffer, int(pointer.offsets), shape, strides)

    return step


def _words(frame: Frame, known: tuple[int | None, ...], operands: tuple[Value, ...]) -> tuple[int, ...]:
    given = iter(operands)
    return tuple(frame.integer(next(given)) if word is None else word for word in known)


def _partition_view(operation: Operation) -> Step:
    kind, view, result = operation.results[0].type, operation.one("view"), operation.results[0].number
    if not isinstance(kind, PartitionViewType):
        raise UnsupportedOperation(operation.name)

    def step(frame: Frame) -> None:
        tensor = frame.values[view.number]
        if not isinstance(tensor, TensorView):
            raise UnsupportedOperation("make_partition_view of no tensor view")
        frame.values[result] = PartitionView(tensor, kind.tile, kind.dim_map, kind.padding)

    return step


def _index_space(operation: Operation) -> Step:
    view = operation.one("view")

    def step(frame: Frame) -> None:
        space = frame.partition(view).index_space
        for result, size in zip(operation.results, space, strict=True):
            frame.values[result.number] = np.asarray(np.int32(size))

    return step


def _tensor_shape(operation: Operation) -> Step:
    view = operation.one("view")

    def step(frame: Frame) -> None:
        found = frame.values[view.number]
        tensor = found.view if isinstance(found, PartitionView) else found
        if not isinstance(tensor, TensorView):
            raise UnsupportedOperation("get_tensor_shape of no view")
        for result, size in zip(operation.results, tensor.shape, strict=True):
            frame.values[result.number] = np.asarray(np.int32(size))

    return step


def _load_view(operation: Operation) -> Step:
    view, indices, result = operation.one("view"), operation.named["index"], operation.results[0].number

    def step(frame: Frame) -> None:
        at = [frame.integer(v) for v in indices]
        frame.values[result] = frame.memory.load_view(frame.partition(view), at)

    return step


def _store_view(operation: Operation) -> Step:
    view, indices, value = operation.one("view"), operation.named["index"], operation.one("value")

    def step(frame: Frame) -> None:
        at = [frame.integer(v) for v in indices]
        frame.memory.store_view(frame.partition(view), at, frame.tile(value))

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
            frame.pointers(pointer), _optional(frame, mask), _optional(frame, padding)
        )

    return step


def _store_pointers(operation: Operation) -> Step:
    pointer, value, mask = operation.one("pointer"), operation.one("value"), operation.optional("mask")

    def step(frame: Frame) -> None:
        frame.memory.store_pointers(frame.pointers(pointer), frame.tile(value), _optional(frame, mask))

    return step


def _atomic(operation: Operation) -> Step:
    pointer, value, mask = operation.one("pointer"), operation.one("value"), operation.optional("mask")
    mode = operation.word("mode")

    def step(frame: Frame) -> None:
        frame.values[operation.results[0].number] = frame.memory.atomic(
            frame.pointers(pointer), frame.tile(value), _optional(frame, mask), mode
        )

    return step


def _compare_and_swap(operation: Operation) -> Step:
    pointer, mask = operation.one("pointer"), operation.optional("mask")
    expected, desired = operation.one("expected"), operation.one("desired")

    def step(frame: Frame) -> None:
        frame.values[operation.results[0].number] = frame.memory.compare_and_swap(
            frame.pointers(pointer), frame.tile(expected), frame.tile(desired), _optional(frame, mask)
        )

    return step


def _assert(operation: Operation) -> Step:
    condition, message = operation.one("condition"), operation.word("message", "assertion")

    def step(frame: Frame) -> None:
        if not bool(np.all(frame.tile(condition))):
            frame.memory.note(f"assert failed: {message}")

    return step


def _nothing(operation: Operation) -> Step:
    return lambda frame: None


EFFECTS: Mapping[str, Decoder] = MappingProxyType(
    {
        "make_tensor_view": _tensor_view,
        "make_partition_view": _partition_view,
        "get_index_space_shape": _index_space,
        "get_tensor_shape": _tensor_shape,
        "load_view_tko": _load_view,
        "store_view_tko": _store_view,
        "load_ptr_tko": _load_pointers,
        "store_ptr_tko": _store_pointers,
        "atomic_rmw_tko": _atomic,
        "atomic_cas_tko": _compare_and_swap,
        "assert": _assert,
        "print_tko": _nothing,
        "make_token": _nothing,
        "join_tokens": _nothing,
    }
)
