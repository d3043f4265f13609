"""Static facts of a program that stays as it is: found once, shared by all who ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from ferrotile.passes.accesses import Access, find_accesses
from ferrotile.passes.uses import count_uses, definitions, operands, regions
from ferrotile.program.ir import Block, Program, Statement


class Facts(Struct, frozen=True):
    """`position` and `end` number statements (by `id`) in program order, `blocks` has the `id` of the block around
    each, `consumers` the statements that read a value, or the position of the terminator that does."""

    program: Program
    defined: Mapping[int, Statement]
    counts: Counter[int]
    accesses: Mapping[int, Access]
    position: Mapping[int, int]
    end: Mapping[int, int]
    blocks: Mapping[int, int]
    consumers: Mapping[int, Sequence[Statement | int]]


def facts_of(program: Program) -> Facts:
    """The facts of one program; they hold its statements, so that an `id` stays theirs."""
    numbers = _Numbers()
    numbers.block(program.body)
    accesses = {id(a.operation): a for a in find_accesses(program)}
    defined, counts = definitions(program.body), count_uses(program.body)
    return Facts(program, defined, counts, accesses, numbers.position, numbers.end, numbers.blocks, numbers.consumers)


class _Numbers(Struct):
    """One walk over the program."""

    last: int = 0
    position: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    blocks: dict[int, int] = field(default_factory=dict)
    consumers: dict[int, list[Statement | int]] = field(default_factory=dict)

    def block(self, block: Block) -> None:
        for statement in block.statements:
            self.last += 1
            self.position[id(statement)] = self.last
            self.blocks[id(statement)] = id(block)
            for value in operands(statement):
                self.consumers.setdefault(value.id, []).append(statement)
            for region in regions(statement):
                self.block(region)
            self.last += 1
            self.end[id(statement)] = self.last
        self.last += 1
        for value in block.terminator.values:
            self.consumers.setdefault(value.id, []).append(self.last)
