"""Which block of the Python's launch a block of the Rust's is, where the grids differ: axes renamed, split or joined.

Any one-to-one map between the blocks of both launches may be tried: that the grids have equally many blocks is a fact
of the launch, and the proof is of each block under its map.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, Signature

from ferrotile_runner.candidate_error import CandidateError

Axis = tuple[GridFactor, ...]
_AXES = "xyz"
_TERM = re.compile(r"cdiv\(\s*(\w+)\s*,\s*(\w+)\s*\)|(\w+)(?:\s*//?\s*(\w+))?")


def block_maps(rust: Sequence[Axis], python: Sequence[Axis]) -> list[tuple[str, ...]]:
    """Facts for the prover, one set for each map; empty where no axis of one side is the product of axes of the other.
    Both have three axes in normal form."""
    found = dict.fromkeys((*_split(rust, python), *_joined(rust, python)))
    return list(found)


def _split(rust: Sequence[Axis], python: Sequence[Axis]) -> Iterator[tuple[str, ...]]:
    """An axis of the Python is several of the Rust's."""
    used = [axis for axis in range(3) if rust[axis]]
    for home in product(range(3), repeat=len(used)):
        groups = [[axis for axis, at in zip(used, home, strict=True) if at == k] for k in range(3)]
        counted = [_sorted(f for axis in group for f in rust[axis]) for group in groups]
        if counted != list(map(_sorted, python)):
            continue
        sizes = tuple(f"grid.{_AXES[axis]} = {text_of(rust[axis])}" for axis in used)
        below = tuple(f"bid.{_AXES[axis]} < {text_of(rust[axis])}" for axis in used)
        for orders in product(*(permutations(group) for group in groups)):
            ids = (f"python bid.{_AXES[k]} = {_number(order, rust)}" for k, order in enumerate(orders))
            yield (*ids, *sizes, *below)


def _number(order: Sequence[int], rust: Sequence[Axis]) -> str:
    """The number of a block among those of several axes, the last of which counts fastest."""
    terms: list[str] = []
    for place, axis in enumerate(order):
        factors = [text_of(rust[inner]) for inner in order[place + 1 :]]
        terms.append(" * ".join((*factors, f"bid.{_AXES[axis]}")))
    return " + ".join(terms) or "0"


def _joined(rust: Sequence[Axis], python: Sequence[Axis]) -> Iterator[tuple[str, ...]]:
    """Two axes of the Python are one of the Rust's, and it has no other."""
    several = [axis for axis in range(3) if python[axis]]
    own = [axis for axis in range(3) if rust[axis]]
    if len(several) != 2 or len(own) != 1:
        return
    (axis,) = own
    if _sorted(rust[axis]) != _sorted(f for k in several for f in python[k]):
        return
    rest = tuple(f"python bid.{_AXES[k]} = 0" for k in range(3) if k not in several)
    block, size = f"bid.{_AXES[axis]}", f"grid.{_AXES[axis]} = {text_of(rust[axis])}"
    for outer, inner in permutations(several):
        count = text_of(python[inner])
        count = f"({count})" if len(python[inner]) > 1 else count
        yield (
            f"python bid.{_AXES[outer]} = {block} // {count}",
            f"python bid.{_AXES[inner]} = {block} % {count}",
            *rest,
            size,
            f"{block} < {text_of(rust[axis])}",
        )


def _sorted(factors: Iterable[GridFactor]) -> list[str]:
    return sorted(map(factor_text, factors))


def factor_text(factor: GridFactor) -> str:
    """`cdiv(M, 64)`, `M` or `8`."""
    return str(factor.extent) if factor.tile == 1 else f"cdiv({factor.extent}, {factor.tile})"


def text_of(axis: Axis) -> str:
    """`cdiv(M, 64) * 8`; `1` for no factors."""
    return " * ".join(map(factor_text, axis)) or "1"


def normal(axis: Axis, fixed: Mapping[str, int]) -> Axis:
    """Without factors that are 1; numbers are one factor. `fixed`: extents that are numbers."""
    number, symbols = 1, list[GridFactor]()
    for factor in axis:
        extent = fixed.get(factor.extent, factor.extent) if isinstance(factor.extent, str) else factor.extent
        if isinstance(extent, int):
            number *= -(-extent // factor.tile)
        else:
            symbols.append(GridFactor(extent, factor.tile))
    return (*symbols, *([GridFactor(number)] if number != 1 else []))


def read_grid(text: str, signature: Signature, generics: Mapping[str, object]) -> list[Axis]:
    """`M/64, cdiv(N, TN) * 8` in extents of the signature, its constants, and const generics. Raises CandidateError."""
    extents = {e for a in signature.arguments if isinstance(a, ArrayArgument) for e in a.extents}
    constants = {a.name: a.value for a in signature.arguments if isinstance(a, ConstantArgument)}

    def number(name: str) -> int | None:
        value = int(name) if name.isdigit() else constants.get(name, generics.get(name))
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    axes: list[Axis] = []
    for part in _parts(text.strip().removeprefix("(").removesuffix(")") if _is_tuple(text) else text, ","):
        factors: list[GridFactor] = []
        for term in _parts(part, "*"):
            match = _TERM.fullmatch(term)
            if match is None:
                raise CandidateError(f"`--grid`: `{term}` is no extent, number, `M/64` or `cdiv(M, 64)`")
            name, tile = match[1] or match[3], match[2] or match[4] or "1"
            extent: int | str | None = name if name in extents else number(name)
            by = number(tile)
            if extent is None or by is None or by < 1:
                raise CandidateError(f"`--grid`: what `{term}` is the signature does not say")
            factors.append(GridFactor(extent, by))
        axes.append(tuple(factors))
    if not 1 <= len(axes) <= 3:
        raise CandidateError("`--grid`: a grid has 1 to 3 axes")
    return axes


def _is_tuple(text: str) -> bool:
    """Whether one pair of brackets is around the whole text."""
    inner = text.strip()
    if not (inner.startswith("(") and inner.endswith(")")):
        return False
    depth = 0
    for place, character in enumerate(inner):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place == len(inner) - 1
    return False


def _parts(text: str, mark: str) -> list[str]:
    """The parts between marks outside of brackets."""
    parts, depth, last = list[str](), 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == mark and depth == 0:
            parts.append(last.strip())
            last = ""
        else:
            last += character
    return [*parts, last.strip()] if last.strip() else parts
