"""Other choices for what a signature assumes, to be tried where the kernel is not valid under the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from ferrotile.program.dtypes import BF16, F16, F32, DType, Kind
from ferrotile.signatures.assume import REPRESENTATIVES
from ferrotile.signatures.model import Argument, ArrayArgument, ConstantArgument, Signature, Source

Change = Callable[[Argument], Argument]


def alternatives(signature: Signature) -> Iterator[Signature]:
    """Signatures that differ in assumed parts only: one size for all assumed tiles, another float type for all arrays
    of assumed type, then both."""
    changes: list[Change] = [_tiles, *(_floats(d) for d in (F16, BF16, F32))]
    seen = [signature]
    for first in changes:
        for made in (_changed(signature, first), _changed(_changed(signature, first), _tiles)):
            if made not in seen:
                seen.append(made)
                yield made


def _changed(signature: Signature, change: Change) -> Signature:
    return replace(signature, arguments=tuple(change(a) for a in signature.arguments))


def _tiles(argument: Argument) -> Argument:
    match argument:
        case ConstantArgument(value=int(value), source=Source.ASSUMED) if value in REPRESENTATIVES:
            return replace(argument, value=REPRESENTATIVES[0])
        case _:
            return argument


def _floats(dtype: DType) -> Change:
    def change(argument: Argument) -> Argument:
        match argument:
            case ArrayArgument(source=Source.ASSUMED, dtype=DType(kind=Kind.FLOAT)):
                return replace(argument, dtype=dtype)
            case _:
                return argument

    return change
