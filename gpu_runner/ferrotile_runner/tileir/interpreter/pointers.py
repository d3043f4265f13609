"""Steps of the operations on pointers; `assume` is one that changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import UnsupportedOperation, element_dtype
from ferrotile_runner.tileir.interpreter.frame import Decoder, Frame, Step, element_of
from ferrotile_runner.tileir.interpreter.memory import Pointers
from ferrotile_runner.tileir.interpreter.promises import assumed
from ferrotile_runner.tileir.model import Operation


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


def _address(operation: Operation) -> Step:
    source, result = operation.one("source"), operation.results[0].number

    def step(frame: Frame) -> None:
        found = frame.pointers(source)
        frame.values[result] = found.buffer.base + found.offsets * found.buffer.data.itemsize

    return step


def _pointer(operation: Operation) -> Step:
    source, result = operation.one("source"), operation.results[0]
    dtype = element_dtype(element_of(result))

    def step(frame: Frame) -> None:
        frame.values[result.number] = frame.memory.pointers_to(frame.tile(source), dtype)

    return step


POINTERS: Mapping[str, Decoder] = MappingProxyType(
    {
        "offset": _offset,
        "assume": lambda operation: assumed(operation, _same(operation)),
        "ptr_to_ptr": _same,
        "ptr_to_int": _address,
        "int_to_ptr": _pointer,
    }
)
