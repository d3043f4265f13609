"""How a region ends: a tree of `yield`, `continue`, `break` and `return` under conditions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.memory import Before
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Term
from ferrotile_runner.tileir.trace import Path

FALLS = frozenset({"yield", "end"})
"""Endings after which the operations behind the region come next; `end` is a terminator that the text leaves out."""


class Leaf(Struct, frozen=True):
    """One ending. `values` has None for tokens, `tokens` None for values; `position` counts the accesses before."""

    kind: str
    values: tuple[Term | None, ...]
    tokens: tuple[Before | None, ...]
    position: int
    path: Path


class Choice(Struct, frozen=True):
    condition: Term
    then: Tree
    other: Tree


Tree = Leaf | Choice


def leaves(tree: Tree) -> Iterator[Leaf]:
    """From left to right."""
    match tree:
        case Leaf():
            yield tree
        case Choice(then=then, other=other):
            yield from leaves(then)
            yield from leaves(other)


def kinds(tree: Tree) -> frozenset[str]:
    return frozenset(leaf.kind for leaf in leaves(tree))


def graft(tree: Tree, rest: Tree) -> Tree:
    """`tree` with what comes next in the place of the endings that fall through."""
    match tree:
        case Leaf(kind=kind):
            return rest if kind in FALLS else tree
        case Choice(condition, then, other):
            return Choice(condition, graft(then, rest), graft(other, rest))


def taken(rewriter: Rewriter, tree: Tree, wanted: frozenset[str]) -> Term:
    """When the region ends in one of the kinds."""
    match tree:
        case Leaf(kind=kind):
            return rewriter.store.const(int(kind in wanted), (), "i1")
        case Choice(condition, then, other):
            a, b = taken(rewriter, then, wanted), taken(rewriter, other, wanted)
            if a is b:
                return a
            no = rewriter.exclusive((condition, rewriter.store.const(1, (), "i1")), ())
            left = rewriter.connective("andi", (condition, a), ())
            right = rewriter.connective("andi", (no, b), ())
            return rewriter.connective("ori", (left, right), ())


def merged(rewriter: Rewriter, tree: Tree, wanted: frozenset[str], place: int) -> Term | None:
    """The value in a place, of the endings of the wanted kinds; None where there is no such ending."""
    match tree:
        case Leaf(kind=kind, values=values):
            return values[place] if kind in wanted and place < len(values) else None
        case Choice(condition, then, other):
            a, b = merged(rewriter, then, wanted, place), merged(rewriter, other, wanted, place)
            if a is None or b is None or a is b:
                return b if a is None else a
            mask = shapes.splat(rewriter, condition, a.shape)
            return rewriter.select((mask, a, b), a.shape, a.element)
