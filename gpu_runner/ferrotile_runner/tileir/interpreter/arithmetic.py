"""The element-wise operations of Tile IR by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ferrotile_runner.tileir.interpreter.conversions import CONVERSIONS
from ferrotile_runner.tileir.interpreter.elements import Array, UnsupportedOperation
from ferrotile_runner.tileir.interpreter.floats import FLOATS
from ferrotile_runner.tileir.interpreter.integers import INTEGERS
from ferrotile_runner.tileir.interpreter.modes import Function, Modes

ELEMENTWISE: Mapping[str, Function] = MappingProxyType({**CONVERSIONS, **INTEGERS, **FLOATS})


def elementwise(opcode: str, args: tuple[Array, ...], modes: Modes) -> Array:
    """Applies one element-wise operation. Raises UnsupportedOperation for one that is not in `ELEMENTWISE`."""
    function = ELEMENTWISE.get(opcode)
    if function is None:
        raise UnsupportedOperation(f"operation {opcode}")
    with np.errstate(all="ignore"):
        return np.asarray(function(args, modes))
