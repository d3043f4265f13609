"""The attributes of element-wise operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ferrotile_runner.tileir.interpreter.elements import Array


@dataclass(frozen=True, slots=True)
class Modes:
    """The attributes that element-wise operations read. `element` is the result's element type."""

    element: str = ""
    rounding: str = ""
    signed: bool = True
    ftz: bool = False
    propagate_nan: bool = False
    predicate: str = ""
    ordered: bool = True


Function = Callable[[tuple[Array, ...], Modes], Array]
