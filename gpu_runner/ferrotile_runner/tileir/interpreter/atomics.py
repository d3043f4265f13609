"""Atomic updates: lane by lane, block by block, or at once where that is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, as_unsigned
from ferrotile_runner.tileir.interpreter.memory import Buffer, Memory, tags_of

Combine = Callable[[Array, Array], Array]


def _unsigned_extreme(pick: Combine) -> Combine:
    return lambda old, new: pick(as_unsigned(old), as_unsigned(new)).view(old.dtype)


def _float_extreme(pick: Combine) -> Combine:
    def combine(old: Array, new: Array) -> Array:
        return pick(old, new)

    return combine


_COMBINE: Mapping[str, Combine] = MappingProxyType(
    {
        "add": np.add,
        "addf": lambda old, new: (old + new).astype(old.dtype),
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "max": _float_extreme(np.maximum),
        "min": _float_extreme(np.minimum),
        "umax": _unsigned_extreme(np.maximum),
        "umin": _unsigned_extreme(np.minimum),
        "xchg": lambda old, new: new,
    }
)


def update(
    memory: Memory,
    buffer: Buffer,
    offsets: Array,
    value: Array,
    mask: Array | None,
    mode: str,
    shape: tuple[int, ...],
    blocks: Array,
) -> Array:
    """Reads, modifies and writes in lane order; gives the old values. `shape`: that of the lanes of all blocks."""
    combine = _COMBINE.get(mode)
    if combine is None:
        raise UnsupportedOperation(f"atomic {mode}")
    lanes, places, values = _selected(memory, buffer, offsets, value, mask, shape, blocks)
    data = buffer.data
    old: Array = np.zeros(shape, data.dtype)
    with np.errstate(all="ignore"):
        if np.unique(places).size == places.size:
            before = data[places]
            data[places] = combine(before, values)
        else:
            before = np.empty(places.shape, data.dtype)
            for number, place in enumerate(places.tolist()):
                before[number] = data[place]
                data[place] = combine(data[place : place + 1], values[number : number + 1])[0]
    old[lanes] = before
    return old


def compare_and_swap(
    memory: Memory,
    buffer: Buffer,
    offsets: Array,
    expected: Array,
    value: Array,
    mask: Array | None,
    shape: tuple[int, ...],
    blocks: Array,
) -> Array:
    """Swaps where the old bits equal `expected`, in lane order; gives the old values."""
    lanes, places, values = _selected(memory, buffer, offsets, value, mask, shape, blocks)
    wanted = np.broadcast_to(expected, shape)[lanes]
    data = buffer.data
    old: Array = np.array(np.broadcast_to(expected, shape))
    before = np.empty(places.shape, data.dtype)
    for number, place in enumerate(places.tolist()):
        before[number] = data[place]
        if data[place].tobytes() == wanted[number].tobytes():
            data[place] = values[number]
    old[lanes] = before
    return old


def _selected(
    memory: Memory,
    buffer: Buffer,
    offsets: Array,
    value: Array,
    mask: Array | None,
    shape: tuple[int, ...],
    blocks: Array,
) -> tuple[Array, Array, Array]:
    """Lanes that take part, their elements and values, in order. The elements count as written, and as read."""
    lanes = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(mask, shape)
    places = np.broadcast_to(offsets, shape)[lanes]
    memory.check(buffer, places)
    if places.size:
        memory.note_unwritten(buffer, places)
        buffer.writers()[places] = np.broadcast_to(tags_of(blocks, lanes), shape)[lanes]
    return lanes, places, np.broadcast_to(value, shape)[lanes].astype(buffer.data.dtype)
