"""Multiply-add contraction, as cuTile Python's compiler does it: a single-use product in an add or subtract.

The compiler looks at one product only: the left operand where that is one, else the right. If that product has another
use or other modes, nothing is fused, though the other operand be a product too. Uses are counted after its dead code
elimination.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ferrotile.passes.liveness import live_uses
from ferrotile.passes.uses import definitions, eliminate_dead, next_id, rewrite
from ferrotile.program.dtypes import Kind
from ferrotile.program.ir import Operation, Program, Statement, Value
from ferrotile.program.types import TileType

_MODES = ("rounding", "ftz")


def _mode(operation: Operation) -> tuple[object, ...]:
    return (operation.attribute("rounding") or "nearest_even", bool(operation.attribute("ftz")))


def contract(program: Program) -> Program:
    """`a*b + c`, `c + a*b`, `a*b - c`, `c - a*b` as one `fma`, and no dead code. The program is as the front end made
    it: a carried value that never changes still counts as a use."""
    defined = definitions(program.body)
    counts = live_uses(program)
    fresh = next_id(program)

    def product(value: Value) -> Operation | None:
        source = defined.get(value.id)
        return source if isinstance(source, Operation) and source.opcode == "mulf" else None

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
        on_left = product(left)
        multiply = on_left or product(right)
        if multiply is None or counts[multiply.result.id] != 1 or _mode(multiply) != _mode(statement):
            return (statement,)
        (a, b), c = multiply.operands, left if on_left is None else right
        before: list[Statement] = []
        if statement.opcode == "subf":
            before.append(negate(a if on_left is None else c, statement))
            (negated,) = before[0].results
            a, c = (negated, c) if on_left is None else (a, negated)
        modes = tuple((k, v) for k, v in statement.attributes if k in _MODES)
        return (*before, Operation("fma", (a, b, c), statement.results, modes, statement.span))

    return eliminate_dead(replace(program, body=rewrite(program.body, fuse, ("addf", "subf"))))
