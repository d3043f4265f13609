"""Facts of a program that is left alone, and walks that give back what they do not change."""

from __future__ import annotations

from ferrotile.passes.facts import facts_of
from ferrotile.passes.uses import eliminate_dead, rewrite, substitute
from ferrotile.program.dtypes import BOOL, I32
from ferrotile.program.ir import Block, End, If, Operation, Program, Terminator, Value
from ferrotile.program.types import TileType

X, C, UNUSED = Value(0, TileType(I32)), Value(1, TileType(BOOL)), Value(3, TileType(I32))
MADE = Operation("constant", (), (X,), (("value", 1),))
TEST = Operation("cmpi", (X, X), (C,), (("predicate", "less_than"),))
TOLD = Operation("print", (X,), (), (("format", "%d"),))
LEFT = Operation("addi", (X, X), (UNUSED,))
BRANCH = If(C, Block((TOLD,), Terminator(End.YIELD)), Block((), Terminator(End.YIELD)))
BODY = Block((MADE, TEST, BRANCH), Terminator(End.RETURN))
PROGRAM = Program("k", (), (), BODY)


def test_facts_number_statements_in_program_order() -> None:
    facts = facts_of(PROGRAM)
    order = [facts.position[id(s)] for s in (MADE, TEST, BRANCH, TOLD)]
    assert order == sorted(order)
    assert facts.end[id(BRANCH)] > facts.end[id(TOLD)]
    assert facts.blocks[id(TOLD)] == id(BRANCH.then)
    assert facts.counts[X.id] == 3
    assert list(facts.consumers[X.id]) == [TEST, TEST, TOLD]
    assert facts.defined[C.id] is TEST


def test_what_changes_nothing_gives_back_the_same_block() -> None:
    assert rewrite(BODY, lambda s: (s,)) is BODY
    assert substitute(BODY, {UNUSED.id: X}) is BODY
    assert eliminate_dead(PROGRAM) is PROGRAM


def test_a_change_inside_a_branch_leaves_the_statements_around_it() -> None:
    changed = rewrite(BODY, lambda s: () if s is TOLD else (s,))
    assert changed.statements[:2] == (MADE, TEST)
    assert changed.statements[0] is MADE
    inner = changed.statements[2]
    assert isinstance(inner, If)
    assert inner.then.statements == ()


def test_a_dead_operation_goes() -> None:
    assert eliminate_dead(Program("k", (), (), Block((MADE, LEFT, TEST, BRANCH), BODY.terminator))).body == BODY
