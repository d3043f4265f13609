"""Pure operations whose only form in cutile 0.5 is an `unsafe` function, and why each call is sound."""

from __future__ import annotations

from ferrotile.program.ir import Operation


def unsafe_reason(operation: Operation) -> str | None:
    """The SAFETY line of an operation that needs an `unsafe` block; None for any other."""
    match operation.opcode:
        case "mmaf" if operation.attribute("fast_acc"):
            return "8-bit floats support fast accumulation."
        case "insert":
            return "as in the Python, the index lies inside the tile."
        case "assume_div_by":
            return f"as in the Python, the value is a multiple of {operation.attribute('divisor')}."
        case _:
            return None
