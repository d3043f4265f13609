"""Conversions of one element type to another, and comparisons of float constants (rule T3)."""

from __future__ import annotations

from typing import Protocol

from ferrotile_runner.tileir import combining
from ferrotile_runner.tileir.literals import compare_floats, convert_float, integer_to_float, recast
from ferrotile_runner.tileir.terms import Shape, Term, is_integer, value_of


class Rules(combining.Rules, Protocol):
    """What these rules need of the rewriter."""


def convert(rules: Rules, op: str, data: str, a: Term, shape: Shape, element: str) -> Term:
    """`itof`, `ftof` or `bitcast`."""
    flushes = "flush_to_zero" in data  # denormals: of constants too
    if a.element == element and op in {"bitcast", "ftof"} and not flushes:
        return a
    if op == "bitcast" and a.op == "bitcast":  # the same bits all along
        return convert(rules, op, data, a.args[0], shape, element)
    known = value_of(a)
    value: int | None = None
    if known is not None:
        match op:
            case "itof" if "unsigned" not in data and is_integer(a.element):
                value = integer_to_float(known, element)
            case "ftof" if not flushes and ("rounding" not in data or "nearest_even" in data):
                value = convert_float(known, a.element, element)
            case "bitcast":
                value = recast(known, a.element, element)
    if value is not None:
        return rules.store.const(value, shape, element)
    if op == "bitcast":
        made = combining.recast(rules, a, element)
        if made is not None:
            return made
    return rules.store.term(op, data, (a,), shape, element)


def compared(rules: Rules, data: str, args: tuple[Term, ...], shape: Shape) -> Term:
    """`cmpf`; of two constants its truth value."""
    x, y = (value_of(arg) for arg in args)
    if x is not None and y is not None:
        known = compare_floats(data, x, y, args[0].element)
        if known is not None:
            return rules.store.const(int(known), shape, "i1")
    return rules.store.term("cmpf", data, args, shape, "i1")
