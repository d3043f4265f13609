"""Multiply-add contraction, as cuTile Python's compiler does it: a single-use product in an add or subtract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ferrotile.passes.uses import count_uses, definitions, eliminate_dead, next_id, rewrite
from ferrotile.program.dtypes import Kind
from ferrotile.program.ir import Operation, Program, Statement, Value
from ferrotile.program.types import TileType

_MODES = ("rounding", "ftz")


def _mode(operation: Operation) -> tuple[object, ...]:
    return (operation.attribute("rounding") or "nearest_even", bool(operation.attribute("ftz")))


def contract(program: Program) -> Program:
    """`a*b + c`, `c + a*b`, `a*b - c`, `c - a*b` as one `fma`; of two products the left one is fused."""
    defined = definitions(program.body)
    counts = count_uses(program.body)
    fresh = next_id(program)

    def product(value: Value, consumer: Operation) -> Operation | None:
        source = defined.get(value.id)
        if not isinstance(source, Operation) or source.opcode != "mulf" or counts[value.id] != 1:
            return None
        return source if _mode(source) == _mode(consumer) else None

    def negate(value: Value, span_of: Operation) -> Operation:
        nonlocal fresh
        result = Value(fresh, value.type)
        fresh += 1
        return Operation("negf", (value,), (result,), (), span_of.span)

    def fuse(statement: Statement) -> Sequence[Statement]:
        if not isinstance(statement, Operation) or statement.opcode not in ("addf", "subf"):
            return (statement,)
        kind = statement.result.type
        if not isinstance(kind, TileType) or kind.dtype.kind is not Kind.FLOAT:
            return (statement,)
        left, right = statement.operands
        minus = statement.opcode == "subf"
        modes = tuple((k, v) for k, v in statement.attributes if k in _MODES)
        before: list[Statement] = []
        if (mul := product(left, statement)) is not None:
            a, b = mul.operands
            c = right
            if minus:
                before.append(negate(right, statement))
                c = before[-1].results[0]
        elif (mul := product(right, statement)) is not None:
            a, b = mul.operands
            c = left
            if minus:
                before.append(negate(a, statement))
                a = before[-1].results[0]
        else:
            return (statement,)
        return (*before, Operation("fma", (a, b, c), statement.results, modes, statement.span))

    return eliminate_dead(replace(program, body=rewrite(program.body, fuse)))
