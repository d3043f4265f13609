"""What is assumed of a parameter that nothing gives: chosen by how the kernel uses it, so that the kernel is likely to
be a valid one, and always told (`Source.ASSUMED`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ferrotile.program.dtypes import BOOL, F16, F32, I32, DType
from ferrotile.signatures.annotations import Annotation
from ferrotile.signatures.usage import Use
from ferrotile.signatures.values import Constant, FloatValue, Int, Known, Ratio, Tensor, Unknown, Value

REPRESENTATIVES = (64, 32, 16, 128, 8, 256, 4, 2)
"""Values assumed for tile sizes that nothing gives: distinct, so that a mix-up of two shows."""

_LONGEST_TILE = 4096
_LARGEST_TILE = 128 * 128
"""Elements of a tile with two assumed sizes: the assembler takes minutes for matrix tiles that no author chooses."""
_SHORTEST_TILE = 16
_COUNT = 8
_ROUNDS = 4
_EXTENT = 256
_REAL = 0.5
_KEYWORDS: dict[str, Constant] = {"latency": 2, "axis": 0, "occupancy": 1, "num_ctas": 1, "allow_tma": True}
"""What a parameter that is passed on under one of these names may be."""


def constant(use: Use, annotation: Annotation, value: Value | None, free: Iterator[int]) -> Constant:
    """A value for a `ct.Constant` parameter; `free` gives tile sizes that are not taken yet."""
    guess = value.guess if isinstance(value, Int) else None
    if use.tile:
        power = guess is not None and 0 < guess <= _LONGEST_TILE and guess & (guess - 1) == 0
        return guess if power else next(free, REPRESENTATIVES[0])
    if annotation.python == "bool" or (isinstance(value, Unknown) and value.kind == "bool"):
        likely = value.likely if isinstance(value, Unknown) else bool(guess)
        return bool(likely) if annotation.python != "int" else int(bool(likely))
    if guess is not None:
        return guess
    fitting = [c for c in use.compared if _fits(c, annotation.python)]
    if fitting:
        return fitting[0]
    if use.dtype:
        return F32
    if use.keyword in _KEYWORDS:
        return _KEYWORDS[use.keyword]
    if use.items:
        return tuple(range(use.items)) if use.keyword in ("order", "axes") else tuple(REPRESENTATIVES[: use.items])
    match annotation.python:
        case "str":
            return ""
        case "float":
            return _REAL
        case "int":
            return _integer(use)
        case _:
            if use.none and not (use.whole or use.real or use.index):
                return None
            if use.condition and not (use.whole or use.real or use.index or use.bound):
                return False
            return _REAL if use.real and not use.whole else _integer(use)


def fitting(assumed: Mapping[str, int], known: Iterable[int]) -> dict[str, int]:
    """Assumed tile sizes, halved until no two sizes, those that are `known` among them, make too large a tile. Equal
    ones stay equal, since one kernel often needs them so."""
    sizes, fixed = dict(assumed), list(known)
    while sizes:
        longest = max(sizes.values())
        others = sorted((*(s for n, s in sizes.items() if n != max(sizes, key=sizes.__getitem__)), *fixed))
        if longest <= _SHORTEST_TILE or not others or longest * others[-1] <= _LARGEST_TILE:
            break
        sizes = {name: size // 2 if size == longest else size for name, size in sizes.items()}
    return sizes


def _fits(value: object, python: str | None) -> bool:
    match python:
        case "int":
            return isinstance(value, int)
        case "float":
            return isinstance(value, int | float)
        case "str":
            return isinstance(value, str)
        case _:
            return value is not None


def _integer(use: Use) -> int:
    if use.unrolled:
        return _ROUNDS
    if use.condition and not (use.bound or use.index or use.divisor):
        return 0
    if use.bound or use.real:
        return _EXTENT
    return _COUNT if use.divisor or use.whole else 1


def scalar(use: Use, value: Value | None) -> tuple[DType, bool]:
    """The type of a run-time scalar, and whether the launch gives it."""
    match value:
        case Int():
            return I32, True
        case Known(value=bool()) | Unknown(kind="bool"):
            return BOOL, True
        case Known(value=float()) | FloatValue() | Ratio():
            return F32, True
        case _:
            pass
    if use.index or use.bound or use.whole:
        return I32, False
    if use.real:
        return F32, False
    if any(isinstance(c, int) for c in use.compared):
        return I32, False
    return (BOOL if use.condition else I32), False


def element_type(use: Use, tensor: Tensor, known: list[DType]) -> tuple[DType, str]:
    """The element type of an array, and why; `known` are those that the launch gives for the other arrays."""
    if tensor.candidates:
        return tensor.candidates[0], "which the host code allows"
    if use.element_index:
        return I32, "since its elements are used as indices"
    if use.element_bits:
        return I32, "since its elements are used as integers"
    if use.element_condition:
        return BOOL, "since its elements are used as conditions"
    if use.element is not None:
        return use.element, "like what the kernel stores or pads with"
    floats = [d for d in known if d.is_float and d.bits >= 16]
    if use.element_matrix:  # products of f32 are no work for tensor cores: the assembler takes minutes
        halves = [d for d in floats if d.bits == 16]
        return max(halves, key=halves.count, default=F16), "since its elements are multiplied as matrices"
    return (max(floats, key=floats.count), "like the others") if floats else (F32, "")
