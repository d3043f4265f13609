"""What an operation promises and does not keep: lanes that overflow where `overflow` says they do not, and assumptions
that do not hold. Tile IR gives neither a meaning."""

from __future__ import annotations

import re

import numpy as np

from ferrotile_runner.tileir.interpreter.elements import Array, as_signed, as_unsigned, width
from ferrotile_runner.tileir.interpreter.findings import FindingKind
from ferrotile_runner.tileir.interpreter.frame import Frame, Step
from ferrotile_runner.tileir.interpreter.memory import Pointers
from ferrotile_runner.tileir.model import Operation

_WORDS = {"no_signed_wrap": (True,), "no_unsigned_wrap": (False,), "no_wrap": (True, False)}
_EXACT = {"addi": np.add, "subi": np.subtract, "muli": np.multiply}


def overflowing(name: str, args: tuple[Array, ...], result: Array, promise: str) -> Array:
    """The lanes of a sum, difference, product, shift or cut that the promise does not hold for."""
    broken: Array = np.zeros(result.shape, np.bool_)
    for signed in _WORDS.get(promise, ()):
        read = as_signed if signed else as_unsigned
        found = read(result).astype(object if width(args[0]) > 32 else np.int64)
        operands = [read(arg).astype(found.dtype) for arg in args]
        if name == "trunci":
            exact = operands[0]
        elif name == "shli":
            exact = operands[0] * 2 ** np.minimum(as_unsigned(args[1]).astype(found.dtype), width(args[0]))
        else:
            exact = _EXACT[name](*operands)
        broken = broken | np.asarray(exact != found).astype(np.bool_)
    return broken


def promised(operation: Operation, step: Step) -> Step:
    """The step; lanes that break its promise hold anything."""
    promise, operands, result = operation.word("overflow"), operation.operands, operation.results[0].number
    if promise not in _WORDS:
        return step

    def kept(frame: Frame) -> None:
        step(frame)
        args, value = tuple(frame.tile(v) for v in operands), frame.tile(operation.results[0])
        broken = overflowing(operation.name, args, value, promise)
        if bool(broken.any()):
            frame.values[result] = np.where(broken, frame.memory.garbage(value.shape, value.dtype), value)

    return kept


_BOUNDS = re.compile(r"bounded<\s*(-?\d+|\?)\s*,\s*(-?\d+|\?)\s*>")
_DIVISOR = re.compile(r"div_by<\s*(\d+)\s*>")


def assumed(operation: Operation, step: Step) -> Step:
    """The step; an assumption about numbers that does not hold is a finding."""
    predicate, source = operation.word("predicate"), operation.one("source")
    bounds, divisor = _BOUNDS.fullmatch(predicate), _DIVISOR.fullmatch(predicate)
    if bounds is None and divisor is None:
        return step
    ends = ("?", "?") if bounds is None else bounds.groups()
    low, high = (None if word == "?" else int(word) for word in ends)
    number = 1 if divisor is None else int(divisor[1])
    shown = predicate.replace(" ,", ",")

    def noted(frame: Frame) -> None:
        step(frame)
        value = frame.values[source.number]
        if isinstance(value, Pointers) or not isinstance(value, np.ndarray):
            return
        least, most = int(value.min()), int(value.max())
        inside = (low is None or least >= low) and (high is None or most <= high)
        if not inside or (number > 1 and bool((value % number).any())):
            frame.memory.running = operation
            frame.memory.note(FindingKind.ASSUME, f"assume {shown} does not hold")

    return noted
