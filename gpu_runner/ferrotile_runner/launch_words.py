"""The words of a launch: what each parameter of a Tile IR entry is, for the arrays and scalars of a case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ferrotile_runner.inputs import Case
from ferrotile_runner.launch_grid import merged
from ferrotile_runner.parameter_words import ParameterWord, Role
from ferrotile_runner.tileir.interpreter import Storage, Word


def words_of(parameters: Sequence[ParameterWord], case: Case) -> tuple[Word, ...]:
    """One word a parameter. An array of lower rank in the entry than in the case has its leading axes
    merged."""
    return tuple(_word(word, case) for word in parameters)


def _word(word: ParameterWord, case: Case) -> Word:
    if word.role is Role.SCALAR:
        return case.scalars[word.argument]
    if word.role is Role.NUMBER:
        return word.number
    array = case.arrays[word.argument]
    strides = [s // array.itemsize for s in array.strides]
    match word.role:
        case Role.POINTER:
            # Seen whole: the storage behind a strided array begins where the array does.
            whole = array if array.flags.c_contiguous or not isinstance(array.base, np.ndarray) else array.base
            name, blank = word.argument, word.argument in case.blank
            # No gap is behind the last row: there may be nothing at all.
            size = 1 + sum(s * (e - 1) for s, e in zip(strides, array.shape, strict=True)) if array.size else 0
            if word.copy:
                return Storage(f"{name} before", whole.copy(), blank, size)
            return Storage(name, whole, blank, size)
        case Role.EXTENT:
            return merged(array.shape, word.rank)[word.axis]
        case Role.STRIDE:
            return strides[max(array.ndim - word.rank, 0) + word.axis]
        case _:
            return 0
