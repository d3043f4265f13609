"""Kernels without `return` inside loops and branches: cutile has it as the last statement only.

A `return` in a loop leaves the loop with a flag, as cuTile Python's own compiler does it, and what follows an `if`
that may return runs in the branch that did not, or under a flag where several paths go on."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ferrotile.passes.uses import next_id, regions, substitute
from ferrotile.program.dtypes import BOOL
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Program, Statement, Terminator, Value
from ferrotile.program.types import TileType, Type
from ferrotile.syntax.span import NOWHERE, Span

_BOOL = TileType(BOOL)
_IDLE = Block((), Terminator(End.YIELD))


def structure_returns(program: Program) -> Program:
    """The same kernel with one RETURN, at its end."""
    if not _inside(program.body):
        return program
    lowering = _Lowering(next_id(program))
    body = lowering.region(lowering.loops(program.body), None)
    return replace(program, body=Block(body.statements, Terminator(End.RETURN)))


def _inside(block: Block) -> bool:
    """Whether any statement of the block can return."""
    return any(_returns(region) for s in block.statements for region in regions(s))


def _returns(block: Block) -> bool:
    return block.terminator.kind is End.RETURN or _inside(block)


class _Lowering:
    def __init__(self, fresh: int) -> None:
        self._fresh = fresh

    def _new(self, type_: Type, name: str | None = None) -> Value:
        self._fresh += 1
        return Value(self._fresh - 1, type_, name)

    def _constant(self, value: bool | int | float, type_: TileType, span: Span) -> Operation:
        return Operation("constant", (), (self._new(type_),), (("value", value),), span)

    # loops

    def loops(self, block: Block) -> Block:
        """No loop in the block has a RETURN any more: inner loops first, each with a guard behind it."""
        out: list[Statement] = []
        for s in block.statements:
            match s:
                case If():
                    out.append(replace(s, then=self.loops(s.then), otherwise=self.loops(s.otherwise)))
                case For() | Loop():
                    out.extend(self._loop(replace(s, body=self.loops(s.body))))
                case Operation():
                    out.append(s)
        return Block(tuple(out), block.terminator)

    def _loop(self, loop: For | Loop) -> Sequence[Statement]:
        if not _returns(loop.body):
            return (loop,)
        start = self._constant(False, _BOOL, loop.span)
        argument, result = self._new(_BOOL, "returned"), self._new(_BOOL, "returned")
        changed = replace(
            loop,
            initial=(*loop.initial, start.result),
            arguments=(*loop.arguments, argument),
            body=self._leave(loop.body, loop, argument),
            results=(*loop.results, result),
        )
        return (start, changed, If(result, Block((), Terminator(End.RETURN)), _IDLE, (), loop.span))

    def _leave(self, block: Block, loop: For | Loop, flag: Value) -> Block:
        """Every RETURN is a BREAK with the flag set; the loop's other ends hand the flag on."""
        statements = tuple(
            replace(s, then=self._leave(s.then, loop, flag), otherwise=self._leave(s.otherwise, loop, flag))
            if isinstance(s, If)
            else s
            for s in block.statements
        )
        end = block.terminator
        if end.kind is End.RETURN:
            done = self._constant(True, _BOOL, loop.span)
            return Block((*statements, done), Terminator(End.BREAK, (*loop.arguments, done.result)))
        if end.kind in (End.BREAK, End.CONTINUE) or block is loop.body:
            end = Terminator(end.kind, (*end.values, flag))
        return Block(statements, end)

    # branches

    def region(self, block: Block, types: tuple[Type, ...] | None) -> Block:
        """The block without RETURN. It YIELDs values of `types` and a flag, whether it returned; nothing at the top
        level, where `types` is None and the block's end is the kernel's."""
        at = next((k for k, s in enumerate(block.statements) if any(map(_returns, regions(s)))), None)
        if at is None:
            return self._leaf(block, types)
        statement = block.statements[at]
        assert isinstance(statement, If)
        rest = Block(block.statements[at + 1 :], block.terminator)
        before = block.statements[:at]
        sides = (statement.then, statement.otherwise)
        gone = [side.terminator.kind is End.RETURN for side in sides]
        last = types is None and not rest.statements
        if not any(gone) and not last:
            return self._flagged(before, statement, rest, types)
        made: list[Block] = []
        for side, done in zip(sides, gone, strict=True):
            whole = side if done or last else self._with_rest(statement, side, rest)
            if last and not done:
                whole = replace(side, terminator=Terminator(End.RETURN))
            made.append(self.region(whole, types))
        kinds = () if types is None else (*types, _BOOL)
        results = tuple(self._new(t) for t in kinds)
        joined = replace(statement, then=made[0], otherwise=made[1], results=results)
        return Block((*before, joined), Terminator(End.YIELD, results))

    def _with_rest(self, statement: If, side: Block, rest: Block) -> Block:
        """The branch that goes on, with what follows the `if`."""
        mapping = {r.id: v for r, v in zip(statement.results, side.terminator.values, strict=True)}
        follow = substitute(rest, mapping)
        return Block((*side.statements, *follow.statements), follow.terminator)

    def _flagged(
        self, before: Sequence[Statement], statement: If, rest: Block, types: tuple[Type, ...] | None
    ) -> Block:
        """Both branches can go on, and at least one can return: the `if` says by a flag what happened."""
        inner = tuple(r.type for r in statement.results)
        flag = self._new(_BOOL, "returned")
        marked = replace(
            statement,
            then=self.region(statement.then, inner),
            otherwise=self.region(statement.otherwise, inner),
            results=(*statement.results, flag),
        )
        guard = If(flag, Block((), Terminator(End.RETURN)), _IDLE, (), statement.span)
        tail = self.region(Block((guard, *rest.statements), rest.terminator), types)
        return Block((*before, marked, *tail.statements), tail.terminator)

    def _leaf(self, block: Block, types: tuple[Type, ...] | None) -> Block:
        """A block that goes to its end."""
        if types is None:
            return replace(block, terminator=Terminator(End.YIELD))
        returned = block.terminator.kind is End.RETURN
        statements: list[Statement] = list(block.statements)
        values = list(block.terminator.values)
        if returned:
            # Nobody reads what a branch that returned leaves behind.
            for type_ in types:
                assert isinstance(type_, TileType)
                zero = 0.0 if type_.dtype.is_float else 0
                idle = self._constant(bool(zero) if type_.dtype == BOOL else zero, type_, NOWHERE)
                statements.append(idle)
                values.append(idle.result)
        flag = self._constant(returned, _BOOL, NOWHERE)
        statements.append(flag)
        return Block(tuple(statements), Terminator(End.YIELD, (*values, flag.result)))
