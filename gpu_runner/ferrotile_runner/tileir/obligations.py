"""What an operation is undefined without: it must hold where the Rust does the operation and the Python need not.

An obligation of the Python is a fact about every launch for which it is defined.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ferrotile_runner.tileir.model import Operation
from ferrotile_runner.tileir.terms import Shape, Term, value_of
from ferrotile_runner.tileir.trace import Obligation

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program

_BOUNDED = re.compile(r"bounded<(-?\d+|\?),(-?\d+|\?)>")


def oblige(program: Program, term: Term, operation: Operation) -> None:
    """Notes a condition of the operation, if it is not known to hold."""
    if value_of(term) != 1:
        program.trace.obligations.append(Obligation(term, program.path, program.loops, operation.location))


def shift(program: Program, operation: Operation, amount: Term, element: str) -> None:
    """A shift by at least the width is undefined."""
    width, known = int(element[1:]), value_of(amount)
    if known is None or not 0 <= known < width:
        oblige(program, program.store.term("shift", width, (amount,), amount.shape, "i1"), operation)


def division(program: Program, operation: Operation, data: str, args: tuple[Term, ...], made: Term) -> None:
    """A division by 0 is undefined, and one whose quotient the type does not hold: least number / -1. `made`: what the
    division was simplified to; others than these need no divisor but one that is known."""
    store, (a, b) = program.store, args
    if made.op not in {"div", "cdiv", operation.name, "poly"}:
        return
    if not program.rewriter.integers.positive(b):
        oblige(program, store.term("nonzero", (), (b,), b.shape, "i1"), operation)
    if "unsigned" not in data and _may_overflow(program, a, b):
        oblige(program, store.term("quotient", (), (a, b), b.shape, "i1"), operation)


def _may_overflow(program: Program, a: Term, b: Term) -> bool:
    integers, divisor = program.rewriter.integers, value_of(b)
    if (divisor is not None and divisor != -1) or integers.nonnegative(b) or integers.positive(b):
        return False
    return _may_be_least(a) and not (integers.nonnegative(a) or integers.positive(a))


def _may_be_least(a: Term) -> bool:
    """Whether a number may be the least of its type, for all that its form says."""
    known = value_of(a)
    if known is not None:
        return known == -(1 << (int(a.element[1:]) - 1))
    if a.op == "select":
        return any(map(_may_be_least, a.args[1:]))
    return a.op != "exti"


def part(program: Program, operation: Operation, place: tuple[Term, ...], size: Shape, whole: Shape) -> None:
    """A slice must lie within its tile."""
    compare, const = program.rewriter.compare, program.store.const
    for offset, one, total in zip(place, size, whole, strict=True):
        count = const(total // one, (), offset.element)
        oblige(program, compare("less_than_or_equal signed", (const(0, (), offset.element), offset), ()), operation)
        oblige(program, compare("less_than signed", (offset, count), ()), operation)


def step(program: Program, operation: Operation, size: Term) -> None:
    """A `for` counts up."""
    if not (program.rewriter.integers.positive(size) or size.op == "grid"):
        zero = program.store.const(0, (), size.element)
        oblige(program, program.rewriter.compare("less_than signed", (zero, size), ()), operation)


def assume(program: Program, operation: Operation, source: Term) -> None:
    """What an `assume` says must hold, by itself or because the other program says so."""
    said = operation.word("predicate")
    if not _within(program, source, said):
        oblige(program, program.store.term("assumed", said, (source,), source.shape, "i1"), operation)


def _within(program: Program, source: Term, said: str) -> bool:
    """Whether `bounded<low, high>` follows from what the number is."""
    match = _BOUNDED.fullmatch(said.replace(" ", ""))
    if match is None:
        return False
    low, high = (None if word == "?" else program.store.const(int(word), source.shape, source.element)
                 for word in match.groups())  # fmt: skip
    sides = [(low, source)] if low is not None else []
    sides += [(source, high)] if high is not None else []
    compare = program.rewriter.compare
    return all(value_of(compare("less_than_or_equal signed", side, source.shape)) == 1 for side in sides)


def words(term: Term, show: Callable[[Term], str]) -> tuple[str, str]:
    """What the Rust does that lacks an obligation, as a sentence, and the name of the operation."""
    args = [show(arg) for arg in term.args]
    match term.op:
        case "assumed":
            return f"the Rust assumes `{term.data}` of `{args[0]}`, which nothing shows", "assume"
        case "nonzero":
            return f"the Rust divides by `{args[0]}`, which may be 0, where the Python may not", "divi"
        case "quotient":
            return f"the Rust divides `{args[0]}` by `{args[1]}`, which may overflow, where the Python may not", "divi"
        case "shift":
            return f"the Rust shifts by `{args[0]}` where the Python may not", "shli"
        case "fits":
            return f"the Rust promises that `{args[0]}` fits a narrower type, which nothing shows", "trunci"
        case "terminates":
            return "the Rust makes a loop that the Python does not, and nothing shows that it ends", "loop"
        case "const":
            return "the Rust is undefined here: a slice lies outside its tile, or a step is not positive", ""
        case _:
            return f"the Rust is undefined unless `{show(term)}`, which the Python does not imply", ""
