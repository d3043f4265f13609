"""Reshape, broadcast and permute, moved to the leaves (rule T4).

A leaf seen through them is `map`: for each non-unit axis of the result the non-unit axis of the leaf behind it,
or -1 where it is broadcast. A reshape that merges or splits real axes is no such map and stays opaque.
"""

from __future__ import annotations

from typing import Protocol

from ferrotile_runner.tileir.integers import Arithmetic
from ferrotile_runner.tileir.operations import TABLE, Kind
from ferrotile_runner.tileir.polynomials import Polynomial, decode, monomial
from ferrotile_runner.tileir.terms import Shape, Store, Term, squeeze, value_of

Axes = tuple[int, ...]
NORMAL_FORMS = frozenset({"div", "cdiv", "mini", "maxi", "cmpi", "select", "andi", "ori", "xori", "exti", "offset"})


class Rules(Protocol):
    """What the shape rules need of the rewriter."""

    store: Store
    integers: Arithmetic

    def make(self, op: str, data: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        """An element-wise operation, simplified."""
        ...


def is_elementwise(term: Term) -> bool:
    row = TABLE.get(term.op)
    return term.op in NORMAL_FORMS or (row is not None and row.kind is Kind.ELEMENTWISE)


def sink(rules: Rules, term: Term, shape: Shape, axes: Axes) -> Term:
    """`term` seen with `shape`; `axes[i]` is the non-unit axis of `term` behind non-unit axis i of the result."""
    if shape == term.shape and axes == tuple(range(len(axes))):
        return term
    key = (term.number, shape, axes)
    made = rules.store.moved.get(key)
    if made is None:
        made = rules.store.moved[key] = _sunk(rules, term, shape, axes)
    rules.store.origins.setdefault(made, term)
    return made


def _sunk(rules: Rules, term: Term, shape: Shape, axes: Axes) -> Term:
    store = rules.store
    known = value_of(term)
    if known is not None:
        return store.const(known, shape, term.element)
    if term.op == "map" and isinstance(term.data, tuple):
        inner = tuple(-1 if axis < 0 else term.data[axis] for axis in axes)
        return sink(rules, term.args[0], shape, inner)
    if term.op == "poly":
        moved: Polynomial = {}
        for m, c in decode(term).items():
            key = monomial(*(sink(rules, atom, shape, axes) for atom in m))
            moved[key] = moved.get(key, 0) + c
        return rules.integers.build(moved, shape, term.element)
    if term.op == "load_ptr":
        base, offset, state = term.args
        args = (base, sink(rules, offset, shape, axes), state)
        return store.term("load_ptr", term.data, args, shape, term.element)
    if is_elementwise(term) and isinstance(term.data, str):
        moved_args = tuple(sink(rules, arg, shape, axes) for arg in term.args)
        return rules.make(term.op, term.data, moved_args, shape, term.element)
    return store.term("map", axes, (term,), shape, term.element)


def reshape(rules: Rules, term: Term, shape: Shape) -> Term:
    """Row-major reinterpretation."""
    if squeeze(shape) == squeeze(term.shape):
        return sink(rules, term, shape, tuple(range(len(squeeze(shape)))))
    known = value_of(term)
    if known is not None:
        return rules.store.const(known, shape, term.element)
    if term.op == "reshape":
        return reshape(rules, term.args[0], shape)
    return rules.store.term("reshape", (), (term,), shape, term.element)


def broadcast(rules: Rules, term: Term, shape: Shape) -> Term:
    """Stretches unit axes; ranks are equal."""
    axes: list[int] = []
    place = 0
    for size, old in zip(shape, term.shape, strict=True):
        if size != 1:
            axes.append(place if old != 1 else -1)
        place += old != 1
    return sink(rules, term, shape, tuple(axes))


def permute(rules: Rules, term: Term, permutation: tuple[int, ...]) -> Term:
    """Axis i of the result is axis `permutation[i]` of the operand."""
    place: dict[int, int] = {}
    for axis, size in enumerate(term.shape):
        if size != 1:
            place[axis] = len(place)
    shape = tuple(term.shape[axis] for axis in permutation)
    return sink(rules, term, shape, tuple(place[axis] for axis in permutation if axis in place))


def splat(rules: Rules, term: Term, shape: Shape) -> Term:
    """A scalar on every lane."""
    return sink(rules, term, shape, (-1,) * len(squeeze(shape)))


def unsplat(rules: Rules, term: Term) -> Term | None:
    """The scalar that every lane of `term` holds, where that shows; else None."""
    if not term.shape:
        return term
    known = value_of(term)
    if known is not None:
        return rules.store.const(known, (), term.element)
    if not squeeze(term.shape):
        return sink(rules, term, (), ())
    if term.op == "map" and isinstance(term.data, tuple) and set(term.data) <= {-1} and not squeeze(term.args[0].shape):
        return sink(rules, term.args[0], (), ())
    return None
