"""Loads of what only their own round of a loop writes: they see the array as it was before the loop (rule M11)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.memory import Access, View
from ferrotile_runner.tileir.ordering import is_one_partition, own_tile, varies
from ferrotile_runner.tileir.polynomials import decode
from ferrotile_runner.tileir.terms import Term, squeeze, value_of

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program
    from ferrotile_runner.tileir.loops import Loop


def before_loop(
    program: Program, base: Term, view: View | None, index: tuple[Term, ...], offset: Term | None
) -> tuple[Term, ...]:
    """The effects that a load at a place sees. `offset`: of a load through pointers."""
    effects = program.trace.state(base)
    while len(effects) == 1 and (base, effects[0]) in program.own_places:
        wanted = program.own_places[base, effects[0]]
        if wanted != _place(program, view, index, offset):
            break
        effects = effects[0].args
    return effects


def _place(program: Program, view: View | None, index: tuple[Term, ...], offset: Term | None) -> Hashable:
    if offset is not None:
        return shapes.reshape(program.rewriter, offset, squeeze(offset.shape))
    return None if view is None else (view.key, index)


def learn(loop: Loop, first: int) -> None:
    """Of each array that the loop stores at one place in a round, and in each round at another, that place. `first`: of
    the loop's accesses."""
    program = loop.program
    inner = program.trace.accesses[first:]
    synchronises = any(access.acquires or access.releases for access in inner)
    for base in loop.written:
        stores = [access for access in inner if access.base is base and access.writes]
        found = None if synchronises or base in loop.shared_places else _common(loop, stores)
        if base in loop.places and found != loop.places[base]:
            del loop.places[base]
            loop.shared_places.add(base)
        elif found is not None:
            loop.places[base] = found


def _common(loop: Loop, stores: list[Access]) -> Hashable | None:
    program, variable = loop.program, loop.variable
    if not stores or variable.op != "iv" or any(access.kind != "store" for access in stores):
        return None
    outer = frozenset(frame.induction for frame in program.loops)
    if stores[0].by_pointer:
        offsets = {access.value.args[1] for access in stores if access.value.op == "store_ptr"}
        if len(offsets) != 1 or any(access.value.op != "store_ptr" for access in stores):
            return None
        (offset,) = offsets
        return offset if _apart(program, offset, variable, outer) else None
    first = stores[0]
    for access in stores:
        if not is_one_partition(first, access, program.setting.strides):
            return None
        if not own_tile(program.rewriter, first, access, variable, outer):
            return None
    return (first.view.key, first.index) if first.view is not None else None


def _apart(program: Program, offset: Term, variable: Term, outer: frozenset[Term]) -> bool:
    """Whether the lanes of two rounds have no offset in common: factor * variable + lanes + what is the same in all
    rounds and on all lanes, where the lanes reach less far than a step."""
    integers, step = program.rewriter.integers, value_of(variable.args[2]) or 0
    if offset.op != "poly" or step < 1:
        return False
    factor = reach = 0
    for product, coefficient in decode(offset).items():
        leaf = _bare(product[0]) if len(product) == 1 else None
        if leaf is variable:
            factor += coefficient
        elif leaf is not None and leaf.op == "iota":
            reach += abs(coefficient) * (leaf.shape[0] - 1)
        elif any(not _is_splat(atom) or varies(atom, outer) for atom in product):
            return False
    return reach < abs(factor) * step and integers.no_overflow(offset)


def _is_splat(term: Term) -> bool:
    """Whether all lanes surely hold one number."""
    if not squeeze(term.shape) or value_of(term) is not None:
        return True
    return (term.op in {"map", "poly"} or shapes.is_elementwise(term)) and all(map(_is_splat, term.args))


def _bare(term: Term) -> Term:
    """Without extensions and broadcasts."""
    while term.op == "map" or term.is_op("exti", "signed"):
        term = term.args[0]
    return term
