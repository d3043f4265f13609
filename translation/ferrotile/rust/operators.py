"""When a Rust operator says exactly what an operation means, and what is called where it does not."""

from __future__ import annotations

from collections.abc import Mapping

from ferrotile.passes.affine import non_negative
from ferrotile.program.ir import Operation, Statement
from ferrotile.program.types import TileType
from ferrotile.rust.targets.cutile_0_5 import WIDE_INTEGERS


def plain_operator(operation: Operation) -> bool:
    """Whether the Rust operator says exactly this."""
    kind = operation.operands[0].type
    if not isinstance(kind, TileType) or operation.attribute("ftz"):
        return False
    if operation.attribute("rounding") not in (None, "nearest_even"):
        return False
    return not kind.dtype.is_integer or kind.dtype.name in WIDE_INTEGERS


def is_narrow(operation: Operation) -> bool:
    """Whether the operands are 16-bit integers, which have functions of tiles only."""
    kind = operation.operands[0].type
    return isinstance(kind, TileType) and kind.dtype.is_integer and kind.dtype.name not in WIDE_INTEGERS


def floor_form(operation: Operation, defined: Mapping[int, Statement]) -> str | None:
    """The helper function of a `//` or `%` of i32 scalars that Rust's operator does not say."""
    kind = operation.operands[0].type if operation.operands else None
    if not isinstance(kind, TileType) or kind.shape or operation.attribute("rounding") != "negative_inf":
        return None
    if kind.dtype.name != "i32" or operation.opcode not in ("divi", "remi"):
        return None
    if operation.opcode == "divi":
        return None if floor_is_plain(operation, defined) else "floor_div"
    return "floor_mod"


def floor_is_plain(operation: Operation, defined: Mapping[int, Statement]) -> bool:
    """Whether floor and truncated division agree on these operands."""
    kind = operation.operands[0].type
    unsigned = isinstance(kind, TileType) and kind.dtype.name.startswith("u")
    return unsigned or all(non_negative(v, defined) for v in operation.operands)
