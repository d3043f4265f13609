"""Which of the signatures that launch sites give are kept: the best known ones, each structure once."""

from __future__ import annotations

from collections.abc import Callable

from ferrotile.signatures.model import Argument, ArrayArgument, ConstantArgument, ScalarArgument, Signature, Source

LIMIT = 4
"""Signatures of one kernel that are translated."""


def select(
    candidates: list[Signature], structural: Callable[[ConstantArgument], bool]
) -> tuple[list[Signature], list[Signature]]:
    """The signatures to translate, in the order found, and those left out: by the limit, or since they differ from
    another one in sizes only (`structural` tells which constants are no mere sizes). One that differs from another only
    in what is assumed is neither."""
    ranked = sorted(enumerate(candidates), key=lambda one: _assumptions(one[1]))
    kept: list[tuple[int, Signature]] = []
    left_out: list[Signature] = []
    for position, signature in ranked:
        if any(_covered(signature, other) for _, other in kept):
            continue
        if len(kept) < LIMIT and not any(_same_structure(signature, other, structural) for _, other in kept):
            kept.append((position, signature))
        else:
            left_out.append(signature)
    return [s for _, s in sorted(kept, key=lambda one: one[0])], left_out


def _same_structure(a: Signature, b: Signature, structural: Callable[[ConstantArgument], bool]) -> bool:
    return all(_alike(x, y, structural) for x, y in zip(a.arguments, b.arguments, strict=True))


def _alike(a: Argument, b: Argument, structural: Callable[[ConstantArgument], bool]) -> bool:
    match a, b:
        case ArrayArgument(), ArrayArgument():
            return a.dtype == b.dtype and a.extents == b.extents
        case ScalarArgument(), ScalarArgument():
            return a.dtype == b.dtype
        case ConstantArgument(), ConstantArgument():
            if type(a.value) is int and type(b.value) is int and not structural(a):
                return True
            return type(a.value) is type(b.value) and a.value == b.value
        case _:
            return False


def _assumptions(signature: Signature) -> int:
    count = 0 if signature.grid is not None else 1
    for argument in signature.arguments:
        count += 2 * (argument.source is Source.ASSUMED)
        count += 2 * (isinstance(argument, ArrayArgument) and argument.rank_source is Source.ASSUMED)
    return count


def _covered(signature: Signature, other: Signature) -> bool:
    """Whether `other` says all that `signature` knows, or is the same launch in an earlier round of its loop."""
    if signature.site is not None and signature.site == other.site and _refined(signature, other):
        return True
    if signature.grid is not None and signature.grid != other.grid:
        return False
    return all(_agrees(a, b) for a, b in zip(signature.arguments, other.arguments, strict=True))


def _agrees(a: Argument, b: Argument) -> bool:
    match a, b:
        case ArrayArgument(), ArrayArgument():
            same_type = a.source is Source.ASSUMED or a.dtype == b.dtype
            if a.rank_source is Source.ASSUMED:
                return same_type
            return same_type and a.extents == b.extents
        case ScalarArgument(), ScalarArgument():
            return a.source is Source.ASSUMED or a.dtype == b.dtype
        case ConstantArgument(), ConstantArgument():
            return a.source is Source.ASSUMED or (type(a.value) is type(b.value) and a.value == b.value)
        case _:
            return a.source is Source.ASSUMED


def _refined(signature: Signature, other: Signature) -> bool:
    """Whether `other` differs from `signature` in knowing more extents to be equal."""
    named: dict[str | int, str | int] = {}
    for a, b in zip(signature.arguments, other.arguments, strict=True):
        if not isinstance(a, ArrayArgument) or not isinstance(b, ArrayArgument):
            if not _agrees(a, b):
                return False
            continue
        if (a.dtype != b.dtype and a.source is not Source.ASSUMED) or len(a.extents) != len(b.extents):
            return False
        if any(named.setdefault(x, y) != y for x, y in zip(a.extents, b.extents, strict=True)):
            return False
    return True
