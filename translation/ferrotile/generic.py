"""Type parameters for arrays whose element type nothing gives: one Rust entry for f16, bf16 and f32.

A kernel is generic only where that is a fact and no hope: it is translated with every such array's type marked as a
variable, which notes whether anything looked at the instance. Where something did, it is translated once for each
instance, and the texts must be equal byte for byte. Whatever asks which type it is
(`x.dtype == ct.float16`, two variables that meet in one operation) ends the attempt or makes the two variables one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle, islice
from typing import TypeVar

from msgspec.structs import replace

from ferrotile.passes.uses import operations
from ferrotile.program.dtypes import BF16, F16, F32, DType, DTypeVariableError, Kind, TypeVariable
from ferrotile.program.ir import Program
from ferrotile.program.types import TileType
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, Signature, Source

INSTANCES = (F16, F32, BF16)
"""What a variable stands for; the first is the instance that is verified: it is the one with the most conversions."""

Result = TypeVar("Result")

_NAMES = ("X", "Y", "Z", "U", "V", "W", "G", "H")
"""None is a type parameter in cutile's core: in a call of `ceil_div<E>` the JIT takes a literal for the entry's `E`."""


def variables(signature: Signature) -> tuple[str, ...]:
    """The arrays whose element type is assumed to be a float: candidates for a type parameter."""
    return tuple(
        a.name
        for a in signature.arguments
        if isinstance(a, ArrayArgument) and a.source is Source.ASSUMED and a.dtype.kind is Kind.FLOAT
    )


def generalise(
    signature: Signature,
    translate: Callable[[Signature], tuple[str, Result] | None],
    meetings: Iterable[tuple[str, str]] = (),
) -> tuple[Signature, Result] | None:
    """The signature with type variables and its translation, or None where the kernel is not generic in them.

    `translate` gives a Rust text and anything beside it for one instance, None where it refuses; it may raise
    `DTypeVariableError`. `meetings` are pairs of arrays that are known to need one variable; others are found."""
    arrays = variables(signature)
    if not arrays:
        return None
    groups = {name: name for name in arrays}
    for left, right in meetings:
        groups = _joined(groups, groups[left], groups[right])
    for _ in arrays:
        try:
            return _attempt(signature, groups, translate)
        except DTypeVariableError as met:
            if met.left.variable is None or met.right.variable is None:
                return None
            names = _names(signature, groups)
            left, right = (next(g for g in names if names[g] == v.variable) for v in (met.left, met.right))
            groups = _joined(groups, left, right)
    return None


def _joined(groups: Mapping[str, str], left: str, right: str) -> dict[str, str]:
    """The groups with two of them made one."""
    return {name: left if group == right else group for name, group in groups.items()}


def _attempt(
    signature: Signature, groups: Mapping[str, str], translate: Callable[[Signature], tuple[str, Result] | None]
) -> tuple[Signature, Result] | None:
    first: tuple[Signature, str, Result] | None = None
    asked: set[str] = set()
    for chosen in _instances(len(set(groups.values()))):
        instance = _instance(signature, groups, chosen, asked)
        found = translate(instance)
        if found is None:
            return None
        if first is None:
            first = instance, *found
            if not asked:
                break
        elif first[1] != found[0]:
            return None
    return None if first is None else (first[0], first[2])


def _instances(count: int) -> Iterator[tuple[DType, ...]]:
    """Each variable as each type; of two variables, both alike and each beside the types of the other."""
    if count == 1:
        yield from ((dtype,) for dtype in INSTANCES)
        return
    yield (INSTANCES[0],) * count
    for start in range(len(INSTANCES)):
        yield tuple(islice(cycle(INSTANCES), start, start + count))


def _names(signature: Signature, groups: Mapping[str, str]) -> dict[str, str]:
    """Group -> the name of its type parameter, free of the constants' names."""
    taken = {a.name for a in signature.arguments if isinstance(a, ConstantArgument)}
    free = [n for n in (*_NAMES, *(f"E{k}" for k in range(2, 100))) if n not in taken]
    return dict(zip(dict.fromkeys(groups.values()), free, strict=False))


def _instance(signature: Signature, groups: Mapping[str, str], chosen: tuple[DType, ...], asked: set[str]) -> Signature:
    names = _names(signature, groups)
    types = {g: TypeVariable(d.name, d.kind, d.bits, names[g], asked) for g, d in zip(names, chosen, strict=True)}
    return replace(
        signature,
        arguments=tuple(
            replace(a, dtype=types[groups[a.name]]) if isinstance(a, ArrayArgument) and a.name in groups else a
            for a in signature.arguments
        ),
    )


def has_scalar_variable(program: Program) -> bool:
    """Whether a scalar has a variable's type: Rust has no arithmetic for a scalar of a type parameter."""
    results = (value.type for operation in operations(program.body) for value in operation.results)
    return any(
        isinstance(t, TileType) and not t.shape and not t.pointer and t.dtype.variable is not None for t in results
    )
