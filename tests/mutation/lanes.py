"""What a lane of a value is, evaluated on many samples at once: without the prover, and without a launch.

A value that element-wise operations compute is evaluated from its *leaves*: what is loaded, carried by a loop, reduced
or moved between lanes, and the parameters. Each leaf may be any number of its type that its place in the program
allows, whatever the other leaves are: so two lanes that are alike on all samples are alike in more programs than this.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from ferrotile_runner.tileir.interpreter.arithmetic import ELEMENTWISE
from ferrotile_runner.tileir.interpreter.constants import parse_literal
from ferrotile_runner.tileir.interpreter.elements import Array, element_dtype, is_float, limits
from ferrotile_runner.tileir.interpreter.promises import overflowing
from ferrotile_runner.tileir.interpreter.pure import modes_of
from ferrotile_runner.tileir.model import Operation, PointerType, TileType, Value
from known import Known

SAMPLES = 30_000
"""At most so many combinations of special numbers, and as many of drawn ones."""
DEPTH = 60
_PASSED = frozenset(["broadcast", "reshape"])
_EXTENTS = (*range(1, 10), 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 1000, (1 << 24) + 2, (1 << 24) + 4)


class Unknown(Exception):
    """A value that has no lanes."""


def element(value: Value) -> str:
    """The name of its element type; `ptr` for pointers. Raises Unknown for what is no tile."""
    if not isinstance(value.type, TileType):
        raise Unknown
    return "ptr" if isinstance(value.type.element, PointerType) else value.type.element


def is_lanewise(operation: Operation) -> bool:
    """Whether each lane of its result is computed from the same lanes of its operands."""
    if operation.name in _PASSED:
        kind = operation.operands[0].type
        return isinstance(kind, TileType) and math.prod(kind.shape) == 1
    if operation.name == "constant":
        return not operation.word("value").startswith("[")
    if operation.name == "if":
        inner = [op for region in operation.regions for op in region.operations]
        return bool(operation.results) and all(op.name == "yield" or is_lanewise(op) for op in inner)
    return operation.name in ELEMENTWISE or operation.name in {"assume", "offset"}


def leaves(known: Known, value: Value, found: dict[int, Value], depth: int = 0) -> None:
    """Adds those of a value, by number."""
    made = known.definitions.get(value.number)
    if depth > DEPTH:
        raise Unknown
    if made is None or not is_lanewise(made):
        element(value)
        found[value.number] = value
        return
    for operand in taken(made, value):
        leaves(known, operand, found, depth + 1)


def taken(made: Operation, value: Value) -> tuple[Value, ...]:
    """What a value is computed from: the operands, or the condition of a branch and what it gives either way."""
    if made.name != "if":
        return made.operands
    place = [r.number for r in made.results].index(value.number)
    return made.one("condition"), *(region.operations[-1].named["values"][place] for region in made.regions)


class Samples:
    """Lanes of one entry's values under given leaves. `valid`: the samples for which all that was evaluated has a
    meaning: no division by zero, no broken promise, no assumption that does not hold, no block outside the grid."""

    def __init__(self, known: Known, given: dict[int, Array]) -> None:
        self.known = known
        self.values = dict(given)
        count = next((a.size for a in given.values()), 1)
        self.valid: Array = np.ones(count, np.bool_)
        for number, array in given.items():
            for size, tile in self._limits(number, given):
                self.valid = self.valid & (array.astype(np.int64) * tile < size)

    def _limits(self, number: int, given: dict[int, Array]) -> Iterator[tuple[Array, int]]:
        """Of a block id the number of elements that there is a block for, where that is a given leaf, and of how many
        one block is."""
        made = self.known.definitions.get(number)
        if made is None or made.name != "get_tile_block_id":
            return
        factor = self.known.grid.get([r.number for r in made.results].index(number))
        for leaf, array in given.items():
            if factor is not None and self.known.names.get(leaf) == str(factor.extent):
                yield array.astype(np.int64), factor.tile

    def of(self, value: Value) -> Array:
        if value.number not in self.values:
            made = self.known.definitions[value.number]
            with np.errstate(all="ignore"):
                self.values[value.number] = self._computed(made, value)
        return self.values[value.number]

    def _computed(self, made: Operation, value: Value) -> Array:
        if made.name == "constant":
            lane = parse_literal(made.word("value"), element(made.results[0]))
            return np.broadcast_to(lane, self.valid.shape)
        args = tuple(self.of(operand) for operand in taken(made, value))
        match made.name:
            case "if":
                return np.where(*args)
            case "offset":
                return np.asarray(args[0] + args[1].astype(np.int64))
            case "assume":
                self.valid = self.valid & _holds(made, args[0])
                return args[0]
            case "broadcast" | "reshape":
                return args[0]
            case "select" if element(made.results[0]) == "ptr":
                return np.where(args[0], args[1], args[2])
            case "divi" | "remi":
                self.valid = self.valid & (args[1] != 0)
                if made.word("signedness", "signed") == "signed":
                    self.valid = self.valid & ~((args[1] == -1) & (args[0] == np.iinfo(args[0].dtype).min))
        result = np.asarray(ELEMENTWISE[made.name](args, modes_of(made)))
        if made.word("overflow") not in {"", "none"}:
            self.valid = self.valid & ~overflowing(made.name, args, result, made.word("overflow"))
        return result


def _holds(assume: Operation, value: Array) -> Array:
    """Raises Unknown for an assumption that is not read here."""
    name, _, text = assume.word("predicate").replace(" ", "").rstrip(">").partition("<")
    words = text.split(",")
    holds: Array = np.ones(value.shape, np.bool_)
    match name, words:
        case "bounded", [low, high]:
            holds = holds & (value >= int(low)) if low != "?" else holds
            return holds & (value <= int(high)) if high != "?" else holds
        case "div_by", [divisor]:
            return np.asarray(value % int(divisor) == 0)
        case _:
            raise Unknown


def drawn(known: Known, found: Sequence[Value], numbers: Sequence[float], seed: int) -> dict[int, Array]:
    """Samples of leaves: special numbers of each in all combinations, or as many as `SAMPLES`, then drawn ones.
    `numbers`: of the program, which are special too."""
    random = np.random.default_rng(seed)
    picks = [_special(known, leaf, numbers) for leaf in found]
    if not found:
        return {}
    if math.prod(p.size for p in picks) <= SAMPLES:
        rows = np.array(list(product(*(range(p.size) for p in picks))), np.int64)
    else:
        rows = np.stack([random.integers(0, p.size, SAMPLES) for p in picks], axis=1)
    whole: dict[int, Array] = {}
    for place, (leaf, pick) in enumerate(zip(found, picks, strict=True)):
        more = _any(known, leaf, pick, random)
        whole[leaf.number] = np.concatenate([pick[rows[:, place]], more])
    named: dict[str, Array] = {}
    for leaf in found:  # sizes of one name are one
        name = known.size_name(leaf) if leaf.number in known.sizes else None
        if name is not None:
            whole[leaf.number] = named.setdefault(name, whole[leaf.number])
    return whole


def _special(known: Known, leaf: Value, numbers: Sequence[float]) -> Array:
    """The numbers of a leaf that are tried in all combinations."""
    name = element(leaf)
    if name == "ptr":
        return np.array([leaf.number << 40], np.int64)
    dtype = element_dtype(name)
    if dtype == np.bool_:
        return np.array([False, True])
    if is_float(dtype):
        with np.errstate(all="ignore"):
            has = limits(dtype)
            own = [math.nan, math.inf, -math.inf, 0.0, -0.0, has.largest, has.lowest, has.tiny, has.denormal]
            own += [-has.denormal, 3 * has.denormal, 0.5, 1.0, -1.0, 1.5, 2.0, 3.0, -2.5, 1e-3, 1234.5]
            wide = np.array([*own, *numbers, *(-n for n in numbers)], np.float64)
            return _unique(wide.astype(np.float32 if dtype.itemsize < 4 else dtype).astype(dtype))
    low, high = _range(known, leaf, dtype)
    near = [int(n) + d for n in numbers if abs(n) < 2**40 for d in (-1, 0, 1)]
    found = [*range(-9, 18), *near, *(-n for n in near), low, low + 1, high - 1, high, high // 2, low // 2]
    if known.size_name(leaf) is not None and leaf.number in known.sizes:
        found = [*_EXTENTS, *(n for n in near if n < 1 << 20)]
    return np.array(sorted({n for n in found if low <= n <= high}), dtype)


def _unique(values: Array) -> Array:
    bits = values.view(f"u{values.itemsize}")
    return np.asarray(values[np.unique(bits, return_index=True)[1]])


def _range(known: Known, leaf: Value, dtype: np.dtype[np.generic]) -> tuple[int, int]:
    """The least and the largest that an integer leaf may be."""
    bits = 8 * dtype.itemsize - 1
    low, high = -(1 << bits), (1 << bits) - 1
    made = known.definitions.get(leaf.number)
    if leaf.number in known.sizes:
        return 1, (1 << 25) + 3
    if made is not None and made.name in {"get_tile_block_id", "get_num_tile_blocks", "get_index_space_shape"}:
        return int(made.name != "get_tile_block_id"), 1 << 20
    if made is not None and made.name == "iota" and isinstance(made.results[0].type, TileType):
        return 0, made.results[0].type.shape[0] - 1
    if made is not None and made.name == "reduce" and (places := _places(known, made)) is not None:
        return 0, places - 1
    loop = known.loops.get(leaf.number)
    if loop is not None:
        ends = [known.definitions.get(loop.one(role).number) for role in ("lower", "upper")]
        found = [int(op.word("value"), 0) if op is not None and op.name == "constant" else None for op in ends]
        low = found[0] if found[0] is not None else 0 if known.never_negative(loop.one("lower")) else low
        end = found[1] if found[1] is not None else known.most(loop.one("upper"))
        return low, high if math.isinf(end) else max(low, int(end) - 1)
    return (0, high) if known.never_negative(leaf) else (low, high)


def _places(known: Known, reduction: Operation) -> int | None:
    """How many places there are, of a reduction to the least place of those elements that equal the extreme of all:
    integers are ordered, so there is one."""
    if len(reduction.results) != 1 or not any(op.name == "mini" for op in reduction.regions[0].operations):
        return None
    chosen = known.definitions.get(unspread(known, reduction.operands[0]).number)
    if chosen is None or chosen.name != "select":
        return None
    equal = known.definitions.get(unspread(known, chosen.one("condition")).number)
    places = known.definitions.get(unspread(known, chosen.one("lhs")).number)
    if equal is None or equal.name != "cmpi" or equal.word("predicate") != "equal" or places is None:
        return None
    if places.name != "iota" or not isinstance(places.results[0].type, TileType):
        return None
    for one, other in (equal.operands[:2], equal.operands[1::-1]):
        extreme = known.definitions.get(unspread(known, one).number)
        if extreme is not None and extreme.name == "reduce" and extreme.operands[0] == other:
            return places.results[0].type.shape[0]
    return None


def unspread(known: Known, value: Value) -> Value:
    """The value before broadcasts and reshapes."""
    while (made := known.definitions.get(value.number)) is not None and made.name in _PASSED:
        value = made.operands[0]
    return value


def _any(known: Known, leaf: Value, pick: Array, random: np.random.Generator) -> Array:
    """Drawn numbers of a leaf."""
    name = element(leaf)
    if name in {"ptr", "i1"}:
        return pick[random.integers(0, pick.size, SAMPLES)]
    dtype = element_dtype(name)
    if is_float(dtype):
        reach = random.choice([1.0, 8.0, 60.0, 300.0], SAMPLES)
        floats = random.standard_normal(SAMPLES) * 2.0 ** (random.uniform(-1, 1, SAMPLES) * reach)
        with np.errstate(all="ignore"):
            return floats.astype(np.float32 if dtype.itemsize < 4 else dtype).astype(dtype)
    low, high = _range(known, leaf, dtype)
    wide = random.integers(low, high, SAMPLES, np.int64, endpoint=True)
    wide >>= random.integers(0, 8 * dtype.itemsize - 2, SAMPLES)
    near = random.integers(-40, 200, SAMPLES)
    return np.clip(np.where(random.random(SAMPLES) < 0.5, wide, near), low, high).astype(dtype)


def constants(known: Known) -> Iterator[float]:
    """The numbers of a program."""
    for operation in known.definitions.values():
        text = operation.word("value")
        if operation.name == "constant" and not text.startswith(("[", "0x")) and text not in {"true", "false"}:
            number = float(text) if "." in text or "e" in text or "n" in text else float(int(text, 0))
            if math.isfinite(number):
                yield number
