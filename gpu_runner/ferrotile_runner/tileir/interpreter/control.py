"""Regions: structured control flow, reductions and scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter import reductions
from ferrotile_runner.tileir.interpreter.constants import parse_identities
from ferrotile_runner.tileir.interpreter.effects import EFFECTS
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation, element_dtype
from ferrotile_runner.tileir.interpreter.findings import FindingKind
from ferrotile_runner.tileir.interpreter.frame import (
    Datum,
    Endless,
    Ends,
    Frame,
    Signal,
    Step,
    bind,
    element_of,
    is_token,
)
from ferrotile_runner.tileir.interpreter.late_stores import ORDERED, ordered
from ferrotile_runner.tileir.interpreter.pure import PURE
from ferrotile_runner.tileir.interpreter.spinning import is_looked_at, state_of
from ferrotile_runner.tileir.model import Operation, Region, Value, walk
from ferrotile_runner.tileir.operations import TABLE, TERMINATORS, Effect

LOOP_LIMIT = 10_000_000
"""Rounds after which a loop counts as endless."""

NOTICED = frozenset({Effect.LOAD, Effect.STORE, Effect.ATOMIC, Effect.ASSERT})
"""Effects of operations that may make a finding."""

_SEVERAL_GPUS = "it works on the memories of several GPUs, of which a launch here has one"
WITHOUT_MEANING: Mapping[str, str] = MappingProxyType(
    {
        "get_global": "what a module's globals hold is not in the text of an entry",
        "alloca": "memory that a block makes itself; neither compiler makes it for what ferrotile translates",
        "multimem_load_reduce_view_tko": _SEVERAL_GPUS,
        "multimem_reduce_view_tko": _SEVERAL_GPUS,
        "multimem_store_view_tko": _SEVERAL_GPUS,
    }
)
"""The operations that the interpreter refuses, and why."""

Body = Callable[[Frame], Ends]


def decode_region(region: Region) -> Body:
    """All steps of a region as one. Raises UnsupportedOperation for an operation without a meaning here."""
    steps = tuple(zip(map(decode, region.operations), _last_uses(region), strict=True))

    def run(frame: Frame, start: int = 0) -> Ends:
        for place in range(start, len(steps)):
            step, dead = steps[place]
            ends = step(frame)
            if ends is None:
                frame.forget(dead)
                continue
            found: Ends = []
            for part, signal in ends:
                part.forget(dead)
                found += run(part, place + 1) if signal.kind == "next" else [(part, signal)]
            return found
        return [(frame, Signal("yield"))]

    return run


def _last_uses(region: Region) -> list[tuple[int, ...]]:
    """For each operation, the numbers of the region's values that are not needed after it: a batch of blocks then
    takes no more memory than what is still to be used."""
    last = {value.number: 0 for value in region.arguments}
    for place, operation in enumerate(region.operations):
        inner = (value for nested in operation.regions for other in walk(nested) for value in other.operands)
        used = {value.number for value in (*operation.operands, *inner)}
        last.update((number, place) for number in used if number in last)
        last.update((value.number, place) for value in operation.results)
    dead: list[list[int]] = [[] for _ in region.operations]
    for number, place in last.items():
        if dead:
            dead[place].append(number)
    return [tuple(numbers) for numbers in dead]


def decode(operation: Operation) -> Step:
    """The step of one operation. Raises UnsupportedOperation, with the line of the disassembly."""
    if operation.name in WITHOUT_MEANING:
        why = WITHOUT_MEANING[operation.name]
        raise UnsupportedOperation(f"operation {operation.name} (line {operation.text_line}): {why}")
    decoder = REGIONS.get(operation.name) or PURE.get(operation.name) or EFFECTS.get(operation.name)
    if decoder is None:
        raise UnsupportedOperation(f"operation {operation.name} (line {operation.text_line})")
    step, effect = decoder(operation), TABLE[operation.name].effect
    if effect not in NOTICED:
        return ordered(operation, step) if effect in ORDERED else step

    def noticed(frame: Frame) -> Ends | None:
        frame.memory.running = operation
        return step(frame)

    return ordered(operation, noticed) if effect in ORDERED else noticed


def _data(frame: Frame, values: Sequence[Value]) -> tuple[Datum | None, ...]:
    return tuple(frame.values.get(v.number) if is_token(v) else frame.values[v.number] for v in values)


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
                frame.memory.note(FindingKind.LOOP, "a loop's step is not positive")
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
            before = state_of(frame, state) if is_looked_at(number) else None
            bind(frame, region.arguments, state)
            ends = body(frame)
            if len(ends) == 1 and ends[0][1].kind in ("continue", "yield"):
                frame, signal = ends[0]
                state = signal.values
                if before is not None and before == state_of(frame, state):
                    raise Endless("a loop has no end: nothing changes from round to round", operation.text_line)
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
        combine = _combiner(frame, region, body)
        if frame.memory.shuffles:
            order = frame.memory.random.permutation(tiles[0].shape[dim + 1])
            tiles = [np.take(tile, order, axis=dim + 1) for tile in tiles]
        found = reductions.reduce(tiles, identities, dim + 1, combine)
        bind(frame, operation.results, _identified(frame, found, identities, combine))

    return step


def _identified(
    frame: Frame, found: Sequence[Array], identities: Sequence[Array], combine: reductions.Combiner
) -> Sequence[Array]:
    """Tile IR leaves open whether the identities are combined. Where that shows, it depends on the run's seed, as what
    undetermined lanes hold does."""
    combined = reductions.with_identity(found, identities, combine)
    if all(reductions.alike(one, other) for one, other in zip(found, combined, strict=True)):
        return found
    frame.memory.drawn = True
    return combined if frame.memory.identities else found


def _alike(tiles: Sequence[Array]) -> list[Array]:
    count = max(tile.shape[0] for tile in tiles)
    return [np.broadcast_to(tile, (count, *tile.shape[1:])) for tile in tiles]


def _scan(operation: Operation) -> Step:
    operands, region, dim = operation.named["operands"], operation.regions[0], _dim(operation)
    body = decode_region(region)
    reverse = operation.attributes.get("reverse") in (True, "true")
    identities = parse_identities(operation.attributes["identities"], [element_of(v) for v in operands])

    def step(frame: Frame) -> None:
        tiles = _alike([frame.tile(v) for v in operands])
        combine = _combiner(frame, region, body)
        found = reductions.scan(tiles, dim + 1, reverse, combine)
        bind(frame, operation.results, _identified(frame, found, identities, combine))

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
