"""Abstract values in words, for readers of the Python."""

from __future__ import annotations

from ferrotile.frontends.cutile.values import Array, Const, DTypeOf, Tile, TupleOf
from ferrotile.readings import Reading
from ferrotile.tiles import type_text

_LONGEST = 60


def read(value: object) -> Reading | None:
    """What a value is; None for what readers need not be told, as functions and modules."""
    match value:
        case Tile():
            return Reading(type_text(value.type), value.type)
        case Array():
            return Reading(f"{value.type.dtype}[{', '.join('*' * value.type.rank)}]", array=True)
        case Const(value=constant, dtype=None) if len(shown := repr(constant)) <= _LONGEST:
            return Reading(f"= {shown}")
        case Const(value=constant, dtype=dtype) if dtype is not None:
            return Reading(f"{dtype} = {constant!r}")
        case DTypeOf(dtype=dtype):
            return Reading(f"= {dtype}")
        case TupleOf(items=items):
            parts = [read(item) for item in items]
            known = [p.text.removeprefix("= ") for p in parts if p is not None]
            text = f"({', '.join(known)}{',' if len(known) == 1 else ''})"
            return Reading(text) if len(known) == len(parts) and len(text) <= _LONGEST else None
        case _:
            return None
