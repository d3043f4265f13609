"""Python's `a % b`, recognised: the remainder, corrected where it is not zero and its sign is not the divisor's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ferrotile.passes.uses import definitions, eliminate_dead, rewrite
from ferrotile.program.dtypes import I32
from ferrotile.program.ir import Operation, Program, Statement, Value
from ferrotile.program.types import TileType

_FLOOR = (("rounding", "negative_inf"),)


def python_remainder(select: Statement | None, defined: Mapping[int, Statement]) -> Operation | None:
    """The `remi` behind `select((r < 0) xor (b < 0) and r != 0, r + b, r)`, where b may be a number above 0 without its
    test; None for every other choice between `r + b` and `r`, which is no remainder."""
    if not isinstance(select, Operation) or select.opcode != "select" or len(select.operands) != 3:
        return None
    wrong, fixed, plain = select.operands
    remainder, added = (_operation(v, code, defined) for v, code in ((plain, "remi"), (fixed, "addi")))
    if remainder is None or added is None:
        return None
    divisor = remainder.operands[1]
    if {v.id for v in added.operands} != {plain.id, divisor.id}:
        return None
    both = _operation(wrong, "andi", defined)
    if both is None or not _against_zero(both.operands[1], plain, "not_equal", defined):
        return None
    differ = _operation(both.operands[0], "xori", defined)
    if differ is None:
        known = _operation(divisor, "constant", defined)
        number = None if known is None else known.attribute("value")
        positive = isinstance(number, int) and number > 0
        return remainder if positive and _against_zero(both.operands[0], plain, "less_than", defined) else None
    signs = zip(differ.operands, (plain, divisor), strict=True)
    return remainder if all(_against_zero(test, v, "less_than", defined) for test, v in signs) else None


def floor_remainders(program: Program) -> Program:
    """Each `a % b` of i32 scalars as one `remi`, rounding `negative_inf`."""
    defined = definitions(program.body)

    def recognise(s: Statement) -> Sequence[Statement]:
        if not isinstance(s, Operation) or s.opcode != "select" or s.result.type != TileType(I32):
            return (s,)
        source = python_remainder(s, defined)
        return (s if source is None else replace(source, results=s.results, attributes=_FLOOR),)

    body = rewrite(program.body, recognise, ("select",))
    return program if body is program.body else eliminate_dead(replace(program, body=body))


def _operation(value: Value, opcode: str, defined: Mapping[int, Statement]) -> Operation | None:
    source = defined.get(value.id)
    return source if isinstance(source, Operation) and source.opcode == opcode else None


def _against_zero(test: Value, value: Value, predicate: str, defined: Mapping[int, Statement]) -> bool:
    compare = _operation(test, "cmpi", defined)
    if compare is None or compare.attribute("predicate") != predicate or compare.operands[0].id != value.id:
        return False
    zero = defined.get(compare.operands[1].id)
    while isinstance(zero, Operation) and zero.opcode in ("reshape", "broadcast"):
        zero = defined.get(zero.operands[0].id)
    return isinstance(zero, Operation) and zero.opcode == "constant" and zero.attribute("value") == 0
