"""Loops of one round: their body in the place of them (rules H3, C6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile_runner.tileir import exits
from ferrotile_runner.tileir.exits import Tree
from ferrotile_runner.tileir.memory import Before, Marker
from ferrotile_runner.tileir.model import Operation, TokenType
from ferrotile_runner.tileir.terms import value_of
from ferrotile_runner.tileir.trace import Unsupported

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program

ROUND = frozenset({"continue", "end"})
STOP = frozenset({"break"})


def is_persistent_once(program: Program, operation: Operation) -> bool:
    """From the block id up to the grid's size, in steps of the grid's size or of a number that is no smaller (H3)."""
    lower, upper, step = (program.term(operation.one(role)) for role in ("lower", "upper", "step"))
    grid = program.rewriter.integers.facts.grid
    if lower.op != "bid" or not isinstance(lower.data, str):
        return False
    most, by = value_of(upper), value_of(step)
    far = most is not None and by is not None and by >= most  # a step from any block leads out of the loop
    if not step.is_op("grid", lower.data) and not far:
        return False
    if upper not in grid.get(lower.data, ()):
        return False
    return program.store.use(f"grid.{lower.data} is the number of tiles: the persistent loop runs once")


def once(program: Program, operation: Operation) -> None:
    """A loop that runs once, or a `loop` that always breaks: its body in the place of it (C6)."""
    region = operation.regions[0]
    arguments = region.arguments
    ending = STOP
    if operation.name == "for":
        program.values[arguments[0].number] = program.term(operation.one("lower"))
        arguments, ending = arguments[1:], ROUND
    for argument, start in zip(arguments, operation.named["initial"], strict=True):
        if isinstance(argument.type, TokenType):
            program.tokens[argument.number] = program.token(start)
        else:
            program.values[argument.number] = program.term(start)
    bind_round(program, operation, program.region(region), ending)


def bind_round(program: Program, operation: Operation, tree: Tree, ending: frozenset[str]) -> None:
    """What the one round passes on is what the loop gives."""
    if not exits.kinds(tree) <= ending:
        raise Unsupported("an early exit from a loop that runs once", operation.location)
    for place, result in enumerate(operation.results):
        if isinstance(result.type, TokenType):
            program.tokens[result.number] = _common(tree, ending, place)
            continue
        value = exits.merged(program.rewriter, tree, ending, place)
        if value is None:
            raise Unsupported("a loop that passes on too little", operation.location)
        program.bind(operation, result, value)


def _common(tree: Tree, wanted: frozenset[str], place: int) -> Before:
    found = [leaf.tokens[place] or frozenset() for leaf in exits.leaves(tree) if leaf.kind in wanted]
    return frozenset[int | Marker].intersection(*found) if found else frozenset()
