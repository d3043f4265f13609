"""Emission that goes back: a statement came out too wide, so that a value in it needs a local of its own.

Statements are written in one pass, and values that are read once are inlined. Only when a statement is laid out does
it turn out that one of them must come out, and its `let` belongs further up. Emission then

1. looks for the first statement of the block that is written otherwise once the value has a local,
2. takes everything back to the mark in front of that statement: lines, names in use, helpers, comments told,
3. goes on from there, now with the local.

That is the text of a fresh start only where all that stands before comes out as it did. Where it would not (the `let`
belongs to another block, a loop would choose other variables), the value stays in `Crowding.left`: emission goes on
to find more of the kind, and `emit.py` then starts the whole kernel anew with all of them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile.program.ir import Block, Operation
from ferrotile.rust.block_ids import runs_of
from ferrotile.rust.scope import Variable
from ferrotile.syntax.span import Span

if TYPE_CHECKING:
    from ferrotile.rust.statements import Body


class Mark(Struct, frozen=True):
    """The state in front of a statement: how far each list had come, and what plain fields held. The dicts of `Body`
    and of what belongs to it are in the journal."""

    journal: int
    scope: int
    lines: int
    hoisted: int
    comments: tuple[int, ...]
    top: int
    assumed: int
    span: Span
    targets: list[Variable]


class Resuming:
    """Marks states of a `Body` and takes it back to them."""

    def __init__(self, body: Body) -> None:
        self._body = body

    def mark(self) -> Mark:
        """The state now."""
        body, memory = self._body, self._body.memory
        return Mark(
            body.journal.mark(), body.scope.mark(), len(body.writer.lines), len(memory.hoisted), body.comments.mark(),
            memory.top, memory.assumed, body.writer.span, body.branches.mark(),
        )  # fmt: skip

    def next(self, block: Block, runs: Sequence[Sequence[Operation]], marks: list[Mark]) -> int:
        """Where to go on after a statement that crowds: the next one, or the first that becomes another when the
        values that must come out have locals. `marks` has the state in front of each statement of the block so
        far; `runs` has its block ids that are bound together."""
        values, crowding, forced = self._body.values, self._body.crowding, self._body.forced
        new = crowding.found - crowding.left
        places = {id(s): k for k, s in enumerate(block.statements[: len(marks)])}
        sources = [s for v in new if isinstance(s := values.defined.get(v), Operation) and id(s) in places]
        if len(sources) == len(new):
            forced |= new
            change = values.named(sources)
            if all(id(s) in places for s in change.statements):
                start = min(places[id(s)] for s in change.statements)
                if self._same_ids(block, runs, start) and self._stands(change.moved):
                    crowding.found -= new
                    names = {v.name for i in change.moved if (v := self._body.variables.get(i)) is not None}
                    self._back_to(marks[start], names)
                    del marks[start:]
                    return start
            forced -= new
            values.forget()
        crowding.left |= new
        return len(marks)

    def _back_to(self, mark: Mark, names: Set[str]) -> None:
        """Takes back what was written since; how long the variables of these names are needed is asked again."""
        body, memory = self._body, self._body.memory
        lines, spans = body.writer.lines, body.writer.spans
        for at, count in reversed(memory.hoisted[mark.hoisted :]):
            del lines[at : at + count], spans[at : at + count]
        del lines[mark.lines :], spans[mark.lines :], memory.hoisted[mark.hoisted :]
        body.journal.back_to(mark.journal)
        body.scope.back_to(mark.scope, names)
        body.comments.back_to(mark.comments)
        memory.top, memory.assumed, body.writer.span = mark.top, mark.assumed, mark.span
        body.branches.back_to(mark.targets)

    def _stands(self, moved: Set[int]) -> bool:
        """Whether all that was decided for the loops and branches in hand is as it would be decided now that these
        values are needed for another time."""
        body = self._body
        if all(isinstance(body.values.defined.get(v), Operation) for v in moved):
            return True
        return body.loops.stand() and body.branches.stand()

    def _same_ids(self, block: Block, runs: Sequence[Sequence[Operation]], start: int) -> bool:
        """Whether block ids are still bound together as they were; only what stands between them parts them."""
        position = self._body.values.position
        if not runs or position[id(runs[-1][-1])] < position[id(block.statements[start])]:
            return True
        now = runs_of(block, self._body.values, self._body.carries)
        return [[*map(id, run)] for run in now] == [[*map(id, run)] for run in runs]
