"""Regions: structured control flow, reductions and scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter import reductions
from ferrotile_runner.tileir.interpreter.constants import parse_identities
from ferrotile_runner.tileir.interpreter.effects import EFFECTS
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, element_dtype
from ferrotile_runner.tileir.interpreter.frame import Datum, Ends, Frame, Signal, Step, bind, element_of, is_token
from ferrotile_runner.tileir.interpreter.pure import PURE
from ferrotile_runner.tileir.model import Operation, Region, Value
from ferrotile_runner.tileir.operations import TERMINATORS

LOOP_LIMIT = 10_000_000
"""Rounds after which a loop counts as endless."""

Body = Callable[[Frame], Ends]


def decode_region(region: Region) -> Body:
    """All steps of a region as one. Raises UnsupportedOperation for an operation without a meaning here."""
    steps = tuple(decode(operation) for operation in region.operations)

    def run(frame: Frame, start: int = 0) -> Ends:
        for place in range(start, len(steps)):
            ends = steps[place](frame)
            if ends is None:
                continue
            found: Ends = []
            for part, signal in ends:
                found += run(part, place + 1) if signal.kind == "next" else [(part, signal)]
            return found
        return [(frame, Signal("yield"))]

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
    return lambda frame: [(frame, Signal(kind, _data(frame, values)))]


NEXT = Signal("next")


def _merged(frame: Frame, ends: Ends) -> Ends | None:
    """None where all blocks go on together."""
    if len(ends) == 1 and ends[0][1] is NEXT and ends[0][0] is frame:
        return None
    return ends


def _for(operation: Operation) -> Step:
    lower, upper, stride = (operation.one(r) for r in ("lower", "upper", "step"))
    initial, region = operation.named.get("initial", ()), operation.regions[0]
    variable, carried = region.arguments[0], region.arguments[1:]
    body, unsigned = decode_region(region), operation.flag("unsigned")

    def rounds(frame: Frame, state: tuple[Datum | None, ...], start: int, stop: int, increment: int) -> Ends:
        kind = element_dtype(element_of(variable))
        bits = kind.itemsize * 8
        for at in range(start, stop, increment):
            frame.check_time()
            wrapped = at - 2**bits if at >= 2 ** (bits - 1) else at
            frame.values[variable.number] = np.asarray([wrapped]).astype(kind)
            bind(frame, carried, state)
            ends = body(frame)
            if len(ends) == 1 and ends[0][1].kind in ("continue", "yield"):
                frame, signal = ends[0]
                state = signal.values
                continue
            found: Ends = []
            for part, signal in ends:
                if signal.kind in ("continue", "yield"):
                    found += rounds(part, signal.values, at + increment, stop, increment)
                else:
                    found += _left(part, signal, operation)
            return found
        bind(frame, operation.results, state)
        return [(frame, NEXT)]

    def step(frame: Frame) -> Ends | None:
        keys = [frame.integers(v).reshape(-1) for v in (lower, upper, stride)]
        if unsigned:
            keys = [key % 2 ** (element_dtype(element_of(variable)).itemsize * 8) for key in keys]
        found: Ends = []
        for (start, stop, increment), part in frame.groups(keys):
            if increment <= 0:
                frame.memory.note("a loop's step is not positive")
                increment = 1
            found += rounds(part, _data(part, initial), start, stop, increment)
        return _merged(frame, found)

    return step


def _left(frame: Frame, signal: Signal, operation: Operation) -> Ends:
    """What follows a loop for blocks that left it."""
    if signal.kind != "break":
        return [(frame, signal)]
    bind(frame, operation.results, signal.values)
    return [(frame, NEXT)]


def _loop(operation: Operation) -> Step:
    initial, region = operation.named.get("initial", ()), operation.regions[0]
    body = decode_region(region)

    def rounds(frame: Frame, state: tuple[Datum | None, ...], left: int) -> Ends:
        for number in range(left):
            frame.check_time()
            bind(frame, region.arguments, state)
            ends = body(frame)
            if len(ends) == 1 and ends[0][1].kind in ("continue", "yield"):
                frame, signal = ends[0]
                state = signal.values
                continue
            found: Ends = []
            for part, signal in ends:
                if signal.kind in ("continue", "yield"):
                    found += rounds(part, signal.values, left - number - 1)
                else:
                    found += _left(part, signal, operation)
            return found
        raise UnsupportedOperation(f"a loop of more than {LOOP_LIMIT} rounds (line {operation.text_line})")

    return lambda frame: _merged(frame, rounds(frame, _data(frame, initial), LOOP_LIMIT))


def _if(operation: Operation) -> Step:
    condition = operation.one("condition")
    branches = [decode_region(region) for region in operation.regions]

    def step(frame: Frame) -> Ends | None:
        found: Ends = []
        for (taken,), part in frame.groups([frame.tile(condition).reshape(-1)]):
            number = 0 if taken else 1
            if number >= len(branches):
                found.append((part, NEXT))
                continue
            for last, signal in branches[number](part):
                if signal.kind == "yield":
                    bind(last, operation.results, signal.values)
                    signal = NEXT
                found.append((last, signal))
        return _merged(frame, found)

    return step


def _combiner(frame: Frame, region: Region, body: Body) -> reductions.Combiner:
    """Region arguments alternate: left and right of the first operand, of the second, ..."""

    def combine(left: Sequence[Array], right: Sequence[Array]) -> Sequence[Array]:
        pairs = [x for pair in zip(left, right, strict=True) for x in pair]
        bind(frame, region.arguments, pairs)
        ends = body(frame)
        if len(ends) != 1 or ends[0][1].kind != "yield":
            raise UnsupportedOperation("a reduction whose lanes part")
        return [value for value in ends[0][1].values if isinstance(value, np.ndarray)]

    return combine


def _reduce(operation: Operation) -> Step:
    operands, region, dim = operation.named["operands"], operation.regions[0], _dim(operation)
    body = decode_region(region)
    identities = parse_identities(operation.attributes["identities"], [element_of(v) for v in operands])

    def step(frame: Frame) -> None:
        tiles = _alike([frame.tile(v) for v in operands])
        found = reductions.reduce(tiles, identities, dim + 1, _combiner(frame, region, body))
        bind(frame, operation.results, found)

    return step


def _alike(tiles: Sequence[Array]) -> list[Array]:
    count = max(tile.shape[0] for tile in tiles)
    return [np.broadcast_to(tile, (count, *tile.shape[1:])) for tile in tiles]


def _scan(operation: Operation) -> Step:
    operands, region, dim = operation.named["operands"], operation.regions[0], _dim(operation)
    body = decode_region(region)
    reverse = operation.attributes.get("reverse") in (True, "true")

    def step(frame: Frame) -> None:
        tiles = _alike([frame.tile(v) for v in operands])
        found = reductions.scan(tiles, dim + 1, reverse, _combiner(frame, region, body))
        bind(frame, operation.results, found)

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
