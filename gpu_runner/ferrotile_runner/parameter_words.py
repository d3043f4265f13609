"""Which parameter of a Tile IR entry is which word of which argument, on both sides.

An array is its pointer, its extents and its strides (one an axis each). cuTile Rust appends the partition
of a `&mut` array, two more words an axis, which no kernel reads. Constants have no word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature
from ferrotile.translation import ArrayWord, Entry, RustParameter
from msgspec import Struct


class Role(Enum):
    POINTER = "pointer"
    EXTENT = "extent"
    STRIDE = "stride"
    PARTITION = "partition"
    SCALAR = "scalar"
    NUMBER = "number"


class ParameterWord(Struct, frozen=True):
    """`axis` counts array axes, of `rank`; a partition's words are numbered through. `copy`: of a copy of the argument
    that was made before the launch. `number`: what every launch passes for a NUMBER."""

    argument: str
    role: Role
    axis: int = 0
    rank: int = 0
    copy: bool = False
    number: int | float = 0
    dtype: str = ""
    """Of a word that is passed as a scalar of its own, whose width is another than a word's."""


def _array(name: str, rank: int, copy: bool = False) -> Iterator[ParameterWord]:
    yield ParameterWord(name, Role.POINTER, 0, rank, copy)
    yield from (ParameterWord(name, Role.EXTENT, axis, rank) for axis in range(rank))
    yield from (ParameterWord(name, Role.STRIDE, axis, rank) for axis in range(rank))


def python_words(signature: Signature) -> tuple[ParameterWord, ...]:
    """Of the original's entry."""
    words: list[ParameterWord] = []
    for argument in signature.arguments:
        match argument:
            case ArrayArgument(name=name, extents=extents):
                words.extend(_array(name, len(extents)))
            case ScalarArgument(name=name):
                words.append(ParameterWord(name, Role.SCALAR))
            case ConstantArgument():
                pass
    return tuple(words)


def rust_words(entry: Entry) -> tuple[ParameterWord, ...]:
    """Of the translation's entry."""
    return tuple(word for parameter in entry.parameters for word in words_of_parameter(parameter))


def words_of_parameter(parameter: RustParameter) -> Iterator[ParameterWord]:
    """Of one parameter of the translation's entry."""
    match parameter.kind:
        case "scalar":
            match parameter.passed:
                case None:
                    yield ParameterWord(parameter.name, Role.SCALAR)
                case ArrayWord(array=array, axis=axis, stride=stride):
                    role = Role.STRIDE if stride else Role.EXTENT
                    yield ParameterWord(array, role, axis, parameter.rank, dtype=parameter.dtype)
                case number:
                    yield ParameterWord(parameter.name, Role.NUMBER, number=number, dtype=parameter.dtype)
        case "pointer":
            yield ParameterWord(parameter.name, Role.POINTER, 0, parameter.rank)
        case "tensor_mut":
            yield from _array(parameter.name, parameter.rank)
            for axis in range(2 * parameter.rank):
                yield ParameterWord(parameter.name, Role.PARTITION, axis, parameter.rank)
        case _:
            copied = parameter.copy_of
            yield from _array(copied or parameter.name, parameter.rank, copied is not None)


def ranks(signature: Signature) -> Mapping[str, int]:
    """The rank of each array of the signature."""
    return {a.name: len(a.extents) for a in signature.arguments if isinstance(a, ArrayArgument)}
