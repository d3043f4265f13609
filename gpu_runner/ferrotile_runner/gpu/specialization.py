"""What a launcher specialises a kernel on: divisors of extents, strides and addresses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ferrotile.signatures.model import ArrayArgument, Signature

from ferrotile_runner.host import Specialization

DIVISOR = 16
"""The largest divisor that both dispatchers look for: of extents and outer strides in elements, of addresses in
bytes."""


def specialization(signature: Signature, sizes: Mapping[str, int]) -> dict[str, Specialization]:
    """What the sizes of contiguous arrays divide by, as both dispatchers find it for aligned memory, per array."""
    found = {}
    for argument in signature.arguments:
        if isinstance(argument, ArrayArgument):
            shape = [e if isinstance(e, int) else sizes[e] for e in argument.extents]
            strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
            found[argument.name] = Specialization(_divisors(shape), _divisors(strides), DIVISOR)
    return found


def _divisors(numbers: Sequence[int]) -> tuple[int, ...]:
    return tuple(math.gcd(number, DIVISOR) for number in numbers)


def merged_divisors(of: Specialization, rank: int) -> Specialization:
    """Of a tensor of lower `rank` that has the array's leading axes as one."""
    first = len(of.shape_div) - rank
    leading = math.gcd(math.prod(of.shape_div[: first + 1]), DIVISOR)
    return Specialization((leading, *of.shape_div[first + 1 :]), of.stride_div[first:], of.ptr_div)
