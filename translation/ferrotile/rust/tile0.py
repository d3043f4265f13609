"""Which operations on rank-0 values give rank-0 tiles in Rust, and which give Rust scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ferrotile.program.ir import Operation, Statement, Value
from ferrotile.rust.operators import floor_form, floor_is_plain, is_narrow, plain_operator
from ferrotile.rust.targets.cutile_0_5 import OPERATORS


def gives_tile0(operation: Operation, defined: Mapping[int, Statement], is_tile0: Callable[[Value], bool]) -> bool:
    """Whether the expression of an operation with a rank-0 result is a rank-0 tile, where `is_tile0` says which of
    its operands are held as such. An operator of scalars gives a scalar; functions of cutile give tiles."""
    if floor_form(operation, defined) is not None:
        return False
    match operation.opcode:
        case "block_id" | "tile_index" | "num_blocks" | "extent" | "num_tiles" | "stride":
            return False
        case "constant" | "const_param":
            return False
        case "assume_div_by":
            return False
        case "cmpi":
            return is_narrow(operation) or any(is_tile0(v) for v in operation.operands)
        case "cmpf":
            unordered = operation.attribute("ordering") == "unordered"
            return unordered or any(is_tile0(v) for v in operation.operands)
        case "mini" | "maxi" | "minf" | "maxf":
            special = is_narrow(operation) or operation.attribute("propagate_nan") or operation.attribute("ftz")
            return bool(special) or any(is_tile0(v) for v in operation.operands)
        case "divi":
            way = operation.attribute("rounding")
            plain = way in (None, "zero", "positive_inf") or floor_is_plain(operation, defined)
            plain = plain and not is_narrow(operation)
            return not plain or any(is_tile0(v) for v in operation.operands)
        case "itof" | "ftof" | "ftoi":
            return any(is_tile0(v) for v in operation.operands) or operation.attribute("rounding") not in (
                None,
                "nearest_even",
                "zero",
            )
        case code if code in OPERATORS:
            return not plain_operator(operation) or any(is_tile0(v) for v in operation.operands)
        case _:
            return True
