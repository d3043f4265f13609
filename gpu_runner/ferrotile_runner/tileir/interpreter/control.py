"""Regions: structured control flow, reductions and scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter import reductions
from ferrotile_runner.tileir.interpreter.constants import parse_identities
from ferrotile_runner.tileir.interpreter.effects import EFFECTS
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation
from ferrotile_runner.tileir.interpreter.frame import Datum, Frame, Signal, Step, bind, element_of, is_token
from ferrotile_runner.tileir.interpreter.pure import PURE
from ferrotile_runner.tileir.model import Operation, Region, Value
from ferrotile_runner.tileir.operations import TERMINATORS

LOOP_LIMIT = 10_000_000
"""Rounds after which a loop counts as endless."""

Body = Callable[[Frame], Signal]


def decode_region(region: Region) -> Body:
    """All steps of a region as one. Raises UnsupportedOperation for an operation without a meaning here."""
    steps = tuple(decode(operation) for operation in region.operations)

    def run(frame: Frame) -> Signal:
        for step in steps:
            signal = step(frame)
            if signal is not None:
                return signal
        return Signal("yield")

    return run


def decode(operation: Operation) -> Step:
    """The step of one operation. Raises UnsupportedOperation, with the line of the disassembly."""
    decoder = REGIONS.get(operation.name) or PURE.get(operation.name) or EFFECTS.get(operation.name)
    if decoder is None:
        raise UnsupportedOperation(f"operation {operation.name} (line {operation.text_line})")
    return decoder(operation)


def _data(frame: Frame, values: Sequence[Value]) -> tuple[Datum | None, ...]:
    return tuple(None if is_token(v) else frame.values[v.number] for v in values)


def _terminator(operation: Operation) -> Step:
    kind, values = operation.name, operation.named.get("values", ())
    return lambda frame: Signal(kind, _data(frame, values))


def _for(operation: Operation) -> Step:
    lower, upper, stride = (operation.one(r) for r in ("lower", "upper", "step"))
    initial, region = operation.named.get("initial", ()), operation.regions[0]
    variable, carried = region.arguments[0], region.arguments[1:]
    body, unsigned = decode_region(region), operation.flag("unsigned")

    def step(frame: Frame) -> Signal | None:
        first, last, by = (frame.tile(v) for v in (lower, upper, stride))
        kind = first.dtype.type
        bits = first.dtype.itemsize * 8
        start, stop, increment = (int(x) % 2**bits if unsigned else int(x) for x in (first, last, by))
        if increment <= 0:
            frame.memory.note("a loop's step is not positive")
            increment = 1
        state = _data(frame, initial)
        for at in range(start, stop, increment):
            frame.check_time()
            wrapped = at - 2**bits if at >= 2 ** (bits - 1) else at
            frame.values[variable.number] = np.asarray(kind(wrapped))
            bind(frame, carried, state)
            signal = body(frame)
            match signal.kind:
                case "continue" | "yield":
                    state = signal.values
                case "break":
                    state = signal.values
                    break
                case _:
                    return signal
        bind(frame, operation.results, state)
        return None

    return step


def _loop(operation: Operation) -> Step:
    initial, region = operation.named.get("initial", ()), operation.regions[0]
    body = decode_region(region)

    def step(frame: Frame) -> Signal | None:
        state = _data(frame, initial)
        for _ in range(LOOP_LIMIT):
            frame.check_time()
            bind(frame, region.arguments, state)
            signal = body(frame)
            match signal.kind:
                case "continue" | "yield":
                    state = signal.values
                case "break":
                    bind(frame, operation.results, signal.values)
                    return None
                case _:
                    return signal
        raise UnsupportedOperation(f"a loop of more than {LOOP_LIMIT} rounds (line {operation.text_line})")

    return step


def _if(operation: Operation) -> Step:
    condition = operation.one("condition")
    branches = [decode_region(region) for region in operation.regions]

    def step(frame: Frame) -> Signal | None:
        taken = 0 if bool(frame.tile(condition)) else 1
        if taken >= len(branches):
            return None
        signal = branches[taken](frame)
        if signal.kind != "yield":
            return signal
        if operation.results:
            bind(frame, operation.results, signal.values)
        return None

    return step


def _combiner(frame: Frame, region: Region, body: Body) -> reductions.Combiner:
    """Region arguments alternate: left and right of the first operand, of the second, ..."""

    def combine(left: Sequence[Array], right: Sequence[Array]) -> Sequence[Array]:
        pairs = [x for pair in zip(left, right, strict=True) for x in pair]
        bind(frame, region.arguments, pairs)
        signal = body(frame)
        last = region.operations[-1]
        return [frame.tile(v) for v in last.named.get("values", ())] if signal.kind == "yield" else []

    return combine


def _reduce(operation: Operation) -> Step:
    operands, region, dim = operation.named["operands"], operation.regions[0], _dim(operation)
    body = decode_region(region)
    identities = parse_identities(operation.attributes["identities"], [element_of(v) for v in operands])

    def step(frame: Frame) -> None:
        tiles = [frame.tile(v) for v in operands]
        bind(
            frame,
            operation.results,
            reductions.reduce(tiles, identities, dim, _combiner(frame, region, body)),
        )

    return step


def _scan(operation: Operation) -> Step:
    operands, region, dim = operation.named["operands"], operation.regions[0], _dim(operation)
    body = decode_region(region)
    reverse = operation.attributes.get("reverse") in (True, "true")

    def step(frame: Frame) -> None:
        tiles = [frame.tile(v) for v in operands]
        bind(frame, operation.results, reductions.scan(tiles, dim, reverse, _combiner(frame, region, body)))

    return step


def _dim(operation: Operation) -> int:
    dim = operation.attributes.get("dim")
    if not isinstance(dim, int):
        raise UnsupportedOperation(f"{operation.name} without dim (line {operation.text_line})")
    return dim


REGIONS: Mapping[str, Callable[[Operation], Step]] = MappingProxyType(
    {
        **dict.fromkeys(TERMINATORS, _terminator),
        "for": _for,
        "loop": _loop,
        "if": _if,
        "reduce": _reduce,
        "scan": _scan,
    }
)
