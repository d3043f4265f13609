"""Loops that have no end because nothing is another from one round to the next.

A run is deterministic: a round that begins with the memory, the carried values and the source of garbage of the round
before it does what that one did, and so does every later round. Blocks run one after the other, so nobody else comes to
change what a spinning block waits for."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from ferrotile_runner.tileir.interpreter.frame import Datum, Frame
from ferrotile_runner.tileir.interpreter.memory import Pointers
from ferrotile_runner.tileir.interpreter.views import TensorView, TileView

FIRST = 64
"""The round before which the state is first looked at; then before each that is a power of two."""


def is_looked_at(number: int) -> bool:
    """Whether the state before round `number`, from 0, is compared with the one after it."""
    return number >= FIRST and number & (number - 1) == 0


def state_of(frame: Frame, carried: Iterable[Datum | None]) -> bytes | None:
    """A digest of all that a round may depend on; None where that is not known: with stores that are put off."""
    if frame.memory.queue is not None:
        return None
    state = blake2b(repr(frame.memory.random.bit_generator.state).encode(), digest_size=16)
    for buffer in frame.memory.buffers:
        if not buffer.fixed:
            state.update(buffer.data.tobytes())
    for datum in carried:
        match datum:
            case None:
                pass
            case Pointers(buffer, offsets):
                state.update(buffer.name.encode() + offsets.tobytes())
            case frozenset():
                state.update(repr(sorted(datum)).encode())
            case TensorView() | TileView():
                return None
            case _:
                state.update(datum.tobytes())
    return state.digest()
