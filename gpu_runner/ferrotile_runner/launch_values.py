"""With which values a kernel is launched: how arrays are filled, and what scalars are that say no size."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from ferrotile.program.dtypes import DType, Kind
from ferrotile.signatures.model import ScalarArgument
from msgspec import Struct

from ferrotile_runner.entry_hints import Hints
from ferrotile_runner.fillings import (
    Fill,
    around,
    ends,
    equal,
    far,
    hard,
    largest,
    lowest,
    negative,
    numpy_dtype,
    ordinary,
    placed,
    positive,
    roots,
    special,
    tiny,
    wide,
    wild,
)
from ferrotile_runner.tileir.interpreter.elements import limits


class Values(Struct, frozen=True):
    """How arrays are filled, and what scalars are that say no size: the first scalar of a kernel is the first of them,
    the second the second, and so on, round and round, so that two are mostly different. Integers: `large` where that
    makes no loop longer; none: small random ones, and random floats."""

    fill: Fill
    integers: tuple[int, ...] = ()
    large: tuple[int, ...] = ()
    floats: tuple[float, ...] = ()
    booleans: tuple[bool, ...] = (True,)
    least: bool = False
    """Scalars where loops end are the least integer of their type: there are no rounds."""
    turn: int = -1
    """Scalars that are compared with constants are the how-manieth of those, or next to it."""


class Plan(Struct, frozen=True):
    """How the arrays of a case are made: from which values, with gaps after every row or none. `large`: whether
    integers may be; `counting`: those that may not, `ending`: of these those that may be large negative numbers.
    `beyond`: indices may lie outside of some arrays. `constants`: numbers that are among the elements, as the scalars
    then are. `turns`: what scalars are compared with."""

    values: Values
    strided: bool
    seed: int
    large: bool = False
    counting: frozenset[str] = frozenset()
    beyond: bool = False
    constants: tuple[float, ...] = ()
    ending: frozenset[str] = frozenset()
    turns: Mapping[str, tuple[float, ...]] = MappingProxyType({})
    share: float = 0.1
    """Of the elements that `constants` and scalars are."""


ORDINARY = Values(ordinary)
HARD = Values(hard, floats=(0.0, -2.5, 1e-30), booleans=(False, True))
"""Floats are finite, so that not every result is NaN."""
WIDE = Values(wide, floats=(3e5, -7e-3, 41.0))
FAR = Values(far, floats=(3e5, -7e-3, 41.0))
"""As `WIDE`, with indices of all elements, where no loop may end at them."""
TENTATIVE: tuple[tuple[str, Values], ...] = (
    ("tiny values", Values(tiny, (0, 2, 1), (0, -2, 200), (0.3, -0.7, 2e-38), (False, True))),
    ("special values and ties", Values(special, (-3, 0, 5), (-3, 0, 5), (-1.5, 0.0, 2.5, -0.0), (False,))),
    (
        "integers and floats of every size",
        Values(wild, (37, 2, 11), (46870123, -1073754821, 3), (16777217.0, -3e-39, 1e30), (True, False)),
    ),
    ("equal numbers", Values(equal, (0, 0, 1), (0, 0, -1), (0.0, 1.0), (False,))),
    (
        "powers at the ends of the range, indices that differ",
        Values(ends, (7, 1, 3), (77, 6, -129), (0.9, -1.1, 3e-39), (True, False)),
    ),
)
"""Further launches, small ones: few elements are enough where all of them are chosen."""
AGAIN: tuple[tuple[str, Values], ...] = (
    ("products that are tiny", Values(roots, (1, 0, 2), (1, 0, -3), (1.0, 2e-20, -0.7), (True, False))),
    ("special values again", Values(special, (5, -3, 0), (5, -3, 0), (math.nan, 1.0, -math.inf, math.inf), (True,))),
    (
        "positive numbers",
        Values(positive, (2, 29, 1), (46870121, 1717986919, 255), (-0.1, 65519.0, 1e-3), (False, True)),
    ),
    ("negative numbers", Values(negative, (3, 0, 8), (-46870122, -7, 255), (0.7, -2e-6), (True,), least=True)),
    ("numbers around 0", Values(around, (-1, 4, 2), (-1, 4, 2), (6.5, -12.0), (False, True))),
    ("places in order", Values(placed, (3, 1, 2), (3, 1, 2), (3.0, 1.5), (True, False))),
    ("special values once more", Values(special, (2, 7, 1), (-2, 7, 1), (0.25, -3.5), (False, True))),
    ("powers again", Values(ends, (1, 5, 0), (2049, 1, 0), (1.0, math.nan, 0.1), (False,))),
)
"""The same with other numbers, where arrays are so small, or scalars so many, that every value is an accident."""
FIRST = (around, placed)
"""What fills the smallest launch: there is a tail, and no second block does once more what a first one has done."""
ROUNDS: tuple[tuple[str, Values], ...] = (
    ("loops of some rounds", Values(ordinary, (29, 2), (29, 2), (0.5, 1.5))),
    ("loops of many rounds", Values(ordinary, (4101, 2), (4101, 2), (0.5, 1.5))),
)
"""What is doubled in each round is no f16 any more, nor are the counters, in steps of 2 too."""
UNIFORM: tuple[tuple[str, Values], ...] = (
    ("the largest numbers", Values(largest, (1, 2, 3), (1, 2, 3), (1.0, 0.5), (True,))),
    ("the lowest numbers", Values(lowest, (2, 1, 3), (2, 1, 3), (1.0, 2.0), (True,))),
)
"""Launches of whole tiles, so that no padding is among the elements."""
_FILLS = (ordinary, special, tiny)


def about(hints: Hints, extents: Mapping[str, int], number: int) -> Values:
    """Scalars that are the kernel's own constants or extents, or next to them; the number-th of such launches."""
    numbers = dict.fromkeys([*extents.values(), *hints.integers])
    near = [number + d for d in (0, 1, -1) for number in numbers] or [0, 1]
    # Each pair of places has the numbers of each launch at another distance.
    integers = tuple(near[(number + place * (number + 1)) % len(near)] for place in range(len(near)))
    floats = [c for c in hints.floats if abs(c) > 1e-30] or [0.5]
    chosen = tuple(floats[(number + place) % len(floats)] for place in range(len(floats) + 1))
    return Values(_FILLS[number % len(_FILLS)], integers, integers, chosen, (number % 2 == 0, number % 3 == 0))


def by_chance(seed: int, number: int) -> tuple[str, Values]:
    """A launch with scalars at random: floats of middle size, so that what is rounded twice shows in some lane; small
    integers, in every other launch such of all bits and either sign, beside which most floats vanish."""
    rng = np.random.default_rng([seed, number])
    small, large = rng.permutation(9), rng.integers(-(1 << 31), 1 << 31, 5)
    magnitudes = 2.0 ** ((np.arange(7) + number) % 7 - 1)
    floats = rng.uniform(1.0, 2.0, 7) * magnitudes * np.where((np.arange(7) + number) % 3 == 2, -1.0, 1.0)
    chosen = tuple(map(float, floats.astype(np.float32)))
    few, many = tuple(map(int, small)), tuple(map(int, large))
    values = Values(
        (ordinary, wide, wild)[(number + number // 3) % 3], few, many if number % 2 else few, chosen, (True, False)
    )
    return f"scalars by chance {number}", values


_BESIDE = (0, 1, -1)


def turning(hints: Hints) -> tuple[tuple[str, Values], ...]:
    """Launches with scalars about the numbers that they are compared with."""
    numbers = max((len(turns) for turns in hints.turns.values()), default=0)
    fills = (_FILLS[number % len(_FILLS)] for number in range(len(_BESIDE) * numbers))
    return tuple(
        (f"scalars that conditions turn at {number}", Values(fill, (2, 1), (2, 1), (0.5, 1.5), turn=number))
        for number, fill in enumerate(fills)
    )


def scalar(argument: ScalarArgument, place: int, plan: Plan) -> int | float | bool:
    """The value of the place-th scalar."""
    values, dtype = plan.values, argument.dtype
    turns = plan.turns.get(argument.name, ()) if values.turn >= 0 else ()
    if turns and dtype.kind is not Kind.BOOL:
        number = turns[values.turn // len(_BESIDE) % len(turns)] + _BESIDE[values.turn % len(_BESIDE)]
        return _fitting(round(number), dtype, True) if dtype.is_integer else number
    if dtype.kind is Kind.BOOL:
        return values.booleans[place % len(values.booleans)]
    if dtype.is_integer:
        if values.least and argument.name in plan.ending and dtype.kind is Kind.SIGNED:
            return -(1 << (dtype.bits - 1))
        large = plan.large and argument.name not in plan.counting
        chosen = values.large if large and values.large else values.integers
        if not chosen:
            small = np.random.default_rng(plan.seed).permutation(3) + 1
            return int(small[place % 3])
        return _fitting(chosen[place % len(chosen)], dtype, large)
    if not values.floats:
        rng = np.random.default_rng([plan.seed, zlib.crc32(argument.name.encode())])
        return float(np.float32(rng.uniform(0.05, 0.95)))
    number = values.floats[place % len(values.floats)]
    most = limits(numpy_dtype(dtype)).largest / 7
    return number if not math.isfinite(number) else max(-most, min(number, most))


def _fitting(number: int, dtype: DType, wraps: bool) -> int:
    """As a number of the type. `wraps`: a negative one is a large one where there is no sign."""
    signed = dtype.kind is Kind.SIGNED
    if not signed and not wraps:
        number = abs(number)
    half = 1 << (dtype.bits - 1)
    return (number + half) % (2 * half) - half if signed else number % (2 * half)
