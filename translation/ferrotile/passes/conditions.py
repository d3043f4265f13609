"""Conditions that always hold: a block id or a loop counter from 0 is not negative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ferrotile.passes.affine import non_negative
from ferrotile.passes.uses import definitions, eliminate_dead, rewrite, substitute
from ferrotile.program.dtypes import BOOL
from ferrotile.program.ir import For, Operation, Program, Statement, Value
from ferrotile.program.types import TileType


def drop_known_conditions(program: Program) -> Program:
    """`0 <= i and c` is `c`."""
    defined = definitions(program.body)
    mapping: dict[int, Value] = {}

    def find(s: Statement) -> Sequence[Statement]:
        if isinstance(s, Operation) and s.opcode == "andi" and s.result.type == TileType(BOOL):
            a, b = s.operands
            if _holds(a, defined):
                mapping[s.result.id] = b
            elif _holds(b, defined):
                mapping[s.result.id] = a
        return (s,)

    rewrite(program.body, find, ("andi",))
    if not mapping:
        return program
    return eliminate_dead(replace(program, body=substitute(program.body, mapping)))


def _holds(value: Value, defined: Mapping[int, Statement]) -> bool:
    test = defined.get(value.id)
    if not isinstance(test, Operation) or test.opcode != "cmpi":
        return False
    a, b = test.operands
    match test.attribute("predicate"):
        case "greater_than_or_equal":
            return _counts(a, defined) and _is_zero(b, defined)
        case "less_than_or_equal":
            return _is_zero(a, defined) and _counts(b, defined)
    return False


def _is_zero(value: Value, defined: Mapping[int, Statement]) -> bool:
    source = defined.get(value.id)
    return isinstance(source, Operation) and source.opcode == "constant" and source.attribute("value") == 0


def _counts(value: Value, defined: Mapping[int, Statement]) -> bool:
    """Whether a value is a block id or a counter from 0 on, which no arithmetic can have wrapped."""
    source = defined.get(value.id)
    if isinstance(source, For):
        return value.id == source.variable.id and _is_zero(source.lower, defined)
    return isinstance(source, Operation) and source.opcode == "block_id" and non_negative(value, defined)
