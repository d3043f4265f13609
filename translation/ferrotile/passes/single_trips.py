"""Persistent loops with a block for every trip: `for t in range(bid, n, num_blocks)` on a grid of n blocks.

Where the grid is not known it may be taken to be that: each block then makes one trip, `t` is its id, and what it
stores can be its own. That the grid has n blocks becomes a launch fact.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.counts import Counts, product
from ferrotile.passes.own_tiles import equal_counts
from ferrotile.passes.space import Space
from ferrotile.passes.uses import eliminate_dead, loop_ends, rewrite, substitute
from ferrotile.program.ir import End, For, Operation, Program, Statement
from ferrotile.signatures.model import GridFactor, Signature

_AXES = "xyz"


class SingleTrips(Struct, frozen=True):
    """The program without the loops, the signature with the grid, and the launch facts."""

    program: Program
    signature: Signature
    hypotheses: tuple[str, ...]


def single_trips(program: Program, signature: Signature) -> SingleTrips | None:
    """None where no loop at the top of the kernel goes over the blocks of a grid that may be as large."""
    space = Space(program, signature)
    counts = Counts(program, signature, space)
    for loop in program.body.statements:
        if isinstance(loop, For) and loop.body.terminator.kind in (End.YIELD, End.CONTINUE):
            found = _grid_of(space, counts, signature, loop)
            if found is not None and all(t is loop.body.terminator for t in loop_ends(loop.body)):
                axis, total, facts = found
                grid = signature.grid or _unknown(space, axis)
                if grid is None:
                    continue
                padded = [*grid, *[()] * 3][:3]
                padded[axis] = total
                return SingleTrips(_once(program, loop), replace(signature, grid=tuple(padded)), facts)
    return None


def _unknown(space: Space, axis: int) -> tuple[tuple[GridFactor, ...], ...] | None:
    """A grid that is known along no axis but this one; None where the kernel uses another."""
    return None if space.used - {axis} else ((), (), ())


def _grid_of(
    space: Space, counts: Counts, signature: Signature, loop: For
) -> tuple[int, tuple[GridFactor, ...], tuple[str, ...]] | None:
    """The grid axis that the loop goes over, how many blocks make it one trip each, and what that assumes."""
    axis = space.form(loop.lower).block_axis
    total = counts.total(loop.upper)
    if axis is None or total is None:
        return None
    step = space.defined.get(loop.step.id)
    whole = isinstance(step, Operation) and step.opcode == "num_blocks" and step.attribute("axis") == axis
    number, most = space.form(loop.step).known, counts.known(loop.upper)
    if not whole and (number is None or most is None or number < most):
        return None
    given = counts.grid(signature, axis)
    if given is None:
        return axis, total, (f"grid.{_AXES[axis]} = {product(total)}",)
    facts = equal_counts(given, total, True)
    return None if facts is None else (axis, total, facts)


def _once(program: Program, loop: For) -> Program:
    """The loop's one trip in its place."""
    started = dict(zip((a.id for a in loop.arguments), loop.initial, strict=True))
    started[loop.variable.id] = loop.lower
    body = substitute(loop.body, started)

    def inline(s: Statement) -> Sequence[Statement]:
        return body.statements if s is loop else (s,)

    ends = dict(zip((r.id for r in loop.results), body.terminator.values, strict=True))
    whole = rewrite(program.body, inline)
    return eliminate_dead(replace(program, body=substitute(whole, ends) if ends else whole))
