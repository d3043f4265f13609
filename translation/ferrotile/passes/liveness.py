"""Which values a program needs: what cuTile Python's dead code elimination keeps.

A loop's carried value may be needed only by itself (`a = a + p` that nobody reads behind the loop): counting uses
would keep it, following them from the effects does not.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Program, Statement, Terminator, Value
from ferrotile.program.operations import OPERATIONS, Effect


class Liveness(Struct):
    """`values` are the ids of needed values; `statements` those (by `id`) of needed `if`s and loops. A loop without
    effects whose results nobody needs is not needed, whatever it does."""

    values: set[int] = field(default_factory=set)
    statements: set[int] = field(default_factory=set)

    def runs(self, statement: Statement) -> bool:
        """Whether the statement stays."""
        if isinstance(statement, Operation):
            if statement.opcode in _EFFECTS:
                return True
            values = self.values
            for result in statement.results:  # noqa: SIM110 - asked of every operation by every pass
                if result.id in values:
                    return True
            return False
        return id(statement) in self.statements

    def carries(self, loop: For | Loop, k: int) -> bool:
        """Whether the loop's k-th carried value stays."""
        return loop.arguments[k].id in self.values or loop.results[k].id in self.values


_EFFECTS = frozenset(name for name, info in OPERATIONS.items() if info.effect not in (Effect.PURE, Effect.READ))
"""Operations that do something even if nobody reads their results."""


_Node = int
"""A value by its id, or a statement by the complement of its identity, which is negative."""


class _Graph(Struct):
    """What each needed thing needs in turn. `whole`: a carried value that stays needs all that it may be."""

    whole: bool
    edges: dict[_Node, list[_Node]] = field(default_factory=dict)
    roots: list[_Node] = field(default_factory=list)

    def _add(self, node: _Node, *needs: _Node) -> None:
        self.edges.setdefault(node, []).extend(needs)

    def block(self, block: Block, inside: tuple[_Node, ...], loop: For | Loop | None, branch: If | None) -> None:
        for statement in block.statements:
            self._statement(statement, inside, loop)
        self._end(block.terminator, inside, loop, branch)

    def _statement(self, statement: Statement, inside: tuple[_Node, ...], loop: For | Loop | None) -> None:
        if isinstance(statement, Operation):
            needs = [v.id for v in statement.operands]
            needs += inside
            if statement.opcode in _EFFECTS:
                self.roots += needs
            edges = self.edges
            for result in statement.results:
                edges[result.id] = needs  # nothing else defines it
            return
        own = ~id(statement)
        self._add(own, *inside)
        for result in statement.results:
            self._add(result.id, own)
        if isinstance(statement, If):
            self._add(own, statement.condition.id)
            self.block(statement.then, (own,), loop, statement)
            self.block(statement.otherwise, (own,), loop, statement)
            return
        for argument, start, result in zip(statement.arguments, statement.initial, statement.results, strict=True):
            self._add(argument.id, start.id, own)
            if isinstance(statement, For):
                self._add(result.id, start.id)
            if self.whole:
                self._add(result.id, argument.id)
        if isinstance(statement, For):
            self._add(own, *[v.id for v in (statement.lower, statement.upper, statement.step)])
            self._add(statement.variable.id, own)
        self.block(statement.body, (own,), statement, None)

    def _end(self, end: Terminator, inside: tuple[_Node, ...], loop: For | Loop | None, branch: If | None) -> None:
        if isinstance(loop, For) and end.kind in (End.BREAK, End.RETURN):
            for argument, result in zip(loop.arguments, loop.results, strict=True):
                self._add(result.id, argument.id)  # what idle rounds hand on
        if end.kind is End.RETURN:
            self.roots.extend(inside)
        elif end.kind is End.YIELD and branch is not None:
            for result, value in zip(branch.results, end.values, strict=True):
                self._add(result.id, value.id)
        elif loop is not None:
            self._add(~id(loop), *inside)
            again = end.kind is not End.BREAK
            for argument, result, value in zip(loop.arguments, loop.results, end.values, strict=True):
                # A `for` that is left early counts on with the values that it was left with.
                if again or isinstance(loop, For) or self.whole:
                    self._add(argument.id, value.id)
                if not again or isinstance(loop, For):
                    self._add(result.id, value.id)

    def reached(self) -> set[_Node]:
        found = set(self.roots)
        pending = list(found)
        while pending:
            for need in self.edges.get(pending.pop(), ()):
                if need not in found:
                    found.add(need)
                    pending.append(need)
        return found


def liveness(body: Block, whole: bool = False) -> Liveness:
    """What the body needs. With `whole`, a carried value that is needed needs its start and the values at all ends,
    so that those that stay are defined; without, exactly what cuTile Python keeps, which puts placeholders there."""
    graph = _Graph(whole)
    graph.block(body, (), None, None)
    reached = graph.reached()
    return Liveness({n for n in reached if n >= 0}, {~n for n in reached if n < 0})


def live_uses(program: Program) -> Counter[int]:
    """How often each value is read by what is needed."""
    live = liveness(program.body)
    counts: Counter[int] = Counter()

    def ends(values: tuple[Value, ...], kept: list[bool]) -> None:
        counts.update(v.id for v, k in zip(values, kept, strict=True) if k and v.id in live.values)

    def visit(block: Block, carried: list[bool], yielded: list[bool]) -> None:
        for s in block.statements:
            if not live.runs(s):
                continue
            match s:
                case Operation():
                    counts.update(v.id for v in s.operands)
                case If():
                    counts[s.condition.id] += 1
                    kept = [r.id in live.values for r in s.results]
                    visit(s.then, carried, kept)
                    visit(s.otherwise, carried, kept)
                case For() | Loop():
                    kept = [live.carries(s, k) for k in range(len(s.arguments))]
                    ends(s.initial, kept)
                    if isinstance(s, For):
                        counts.update(v.id for v in (s.lower, s.upper, s.step))
                    visit(s.body, kept, kept)
        if block.terminator.kind is not End.RETURN:
            kept = yielded if block.terminator.kind is End.YIELD else carried
            ends(block.terminator.values, kept)

    visit(program.body, [], [])
    return counts
