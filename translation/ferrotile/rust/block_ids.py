"""Block ids that are bound one after the other: `let (i, j) = (program_id(0), program_id(1));`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrotile.program.ir import Block, Operation
from ferrotile.rust.carries import Carries
from ferrotile.rust.expressions import expression
from ferrotile.rust.layout import atom, call, tuple_of
from ferrotile.rust.values import Values
from ferrotile.syntax.span import Span

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body


def runs_of(block: Block, values: Values, carries: Carries) -> list[list[Operation]]:
    """Runs of block ids with nothing between them that is written: each is one statement."""
    runs: list[list[Operation]] = [[]]
    for s in block.statements:
        if isinstance(s, Operation) and s.opcode == "block_id" and carries.starting_as(s.result) is None:
            runs[-1].append(s)
        elif not isinstance(s, Operation) or not s.results or not values.is_inline(s.result):
            runs.append([])
    return [run for run in runs if len(run) > 1]


def bind(body: Body, run: Sequence[Operation]) -> None:
    """Writes one run."""
    names = []
    for s in run:
        body.at(s.span)
        variable = body.scope.declare(body.wish(s.result), body.now, body.values.lifetimes.lasting(s.result))
        body.variables[s.result.id] = variable
        names.append(atom(variable.name))
    body.writer.span = Span(min(s.span.start for s in run), max(s.span.end for s in run))
    codes = [expression(s, body.operands) for s in run]
    axes = [code.text for code in codes]
    if axes == [f"program_id({d})" for d in range(3)]:
        body.put(f"let {tuple_of(names).text} = ", call("get_tile_block_id"))
    else:
        body.put(f"let {tuple_of(names).text} = ", tuple_of(codes))
