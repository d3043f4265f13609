"""Operations that only an `unsafe` function says, for the setting that allows none."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ferrotile.diagnostics.model import Diagnostic
from ferrotile.passes.plan import error
from ferrotile.passes.uses import eliminate_dead, operations, rewrite, substitute
from ferrotile.program.ir import Operation, Program, Statement, Value
from ferrotile.rust.unsafe_forms import unsafe_reason


def without_assumptions(program: Program) -> Program:
    """The program without what the author promised about values: promises change no result."""
    mapping: dict[int, Value] = {}

    def drop(s: Statement) -> Sequence[Statement]:
        if not isinstance(s, Operation) or s.opcode != "assume_div_by":
            return (s,)
        mapping[s.result.id] = s.operands[0]
        return ()

    body = rewrite(program.body, drop, ("assume_div_by",))
    return eliminate_dead(replace(program, body=substitute(body, mapping)))


def unsafe_operations(program: Program) -> list[Diagnostic]:
    """FT303 for every operation whose only form is unsafe."""
    return [
        error("FT303", f"`{o.opcode}` in this mode has no form without `unsafe`. Set `unsafe` to `proved`.", o.span)
        for o in operations(program.body)
        if unsafe_reason(o) is not None
    ]
