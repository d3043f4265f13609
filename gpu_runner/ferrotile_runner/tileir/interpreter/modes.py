"""The attributes of element-wise operations."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ferrotile_runner.tileir.interpreter.elements import Array


class Modes(Struct, frozen=True):
    """The attributes that element-wise operations read. `element` is the result's element type."""

    element: str = ""
    rounding: str = ""
    signed: bool = True
    ftz: bool = False
    propagate_nan: bool = False
    predicate: str = ""
    ordered: bool = True


Function = Callable[[tuple[Array, ...], Modes], Array]
