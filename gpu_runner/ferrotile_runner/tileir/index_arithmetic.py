"""What H6 speaks of: index arithmetic, as against what arrays hold."""

from __future__ import annotations

from collections.abc import Iterable

from ferrotile_runner.tileir.polynomials import decode
from ferrotile_runner.tileir.terms import Term, value_of

Needs = frozenset[str]
OVERFLOW = "index arithmetic does not overflow"
LOOPS_OVERFLOW = "index arithmetic does not overflow in loops as long as arrays say"
_ALWAYS = frozenset((OVERFLOW,))
Range = tuple[int, int]
SMALL: Range = (0, 2)
"""What block ids, extents, strides and counts may be in a launch of a few blocks."""


def needs(t: Term, memo: dict[Term, Needs | None]) -> Needs | None:
    """The hypotheses under which a value does not wrap that is made of the launch's words, block ids, lanes and loop
    variables only, or kept between two such values; None for any other."""
    if t not in memo:
        memo[t] = _needs(t, memo)
    return memo[t]


def _needs(t: Term, memo: dict[Term, Needs | None]) -> Needs | None:
    match t.op:
        case "const" | "bid" | "grid" | "fresh":
            return _ALWAYS
        case "param":
            if isinstance(t.data, tuple) and t.data[0] == "scalar":
                return _ALWAYS | {f"arithmetic with the scalar {t.data[1]} does not overflow"}
            return _ALWAYS
        case "maxi" if not t.data:  # max(min(x, a), b), with any x
            low = [found for arg in t.args if (found := needs(arg, memo)) is not None]
            inner = [arg for arg in t.args if arg.op == "mini"]
            high = [found for arg in inner for part in arg.args if (found := needs(part, memo)) is not None]
            return _all(low if len(low) == len(t.args) else [*low, *high]) if low and (len(low) > 1 or high) else None
        case "iv":
            lower, upper, step = (needs(arg, memo) for arg in t.args)
            return _all((lower, frozenset((LOOPS_OVERFLOW,)) if upper is None else upper, step))
        case "poly" | "iota" if _wraps(t):
            return None
        case "iota":
            return _ALWAYS
        case "poly" | "div" | "cdiv" | "mini" | "maxi" | "exti" | "map" | "tiles" | "divi" | "remi":
            return _all(needs(arg, memo) for arg in t.args)
        case "select":
            return _all(needs(arg, memo) for arg in t.args[1:])
        case _:
            return None


def _all(parts: Iterable[Needs | None]) -> Needs | None:
    found = _ALWAYS
    for part in parts:
        if part is None:
            return None
        found |= part
    return found


def _wraps(t: Term) -> bool:
    """Whether lanes alone, or the first few blocks, make it wrap, as a hash of them does: that is no arithmetic of
    which H6 speaks, and assuming it would rule out every launch."""
    low, high = _range(t, {})
    half = 1 << (int(t.element[1:]) - 1)
    return not -half <= low <= high < half


def _range(t: Term, memo: dict[Term, Range]) -> Range:
    """Between which numbers a value is in small launches, without wrapping."""
    if t not in memo:
        memo[t] = _range_of(t, memo)
    return memo[t]


def _range_of(t: Term, memo: dict[Term, Range]) -> Range:
    match t.op:
        case "const":
            return value_of(t) or 0, value_of(t) or 0
        case "iota":
            return 0, t.shape[0] - 1
        case "map":
            return _range(t.args[0], memo)
        case "exti":
            inner = _range(t.args[0], memo)
            return inner if t.data == "signed" or inner[0] >= 0 else (0, (1 << int(t.args[0].element[1:])) - 1)
        case "iv":
            start, end, step = map(value_of, t.args)
            if start is not None and end is not None and step is not None and step > 0 and end > start:
                return start, start + (end - start - 1) // step * step
            low, high = _range(t.args[0], memo)
            return low, max(high, _range(t.args[1], memo)[1] - 1)
        case "poly":
            low = high = 0
            for product, factor in decode(t).items():
                part = (factor, factor)
                for atom in product:
                    ends = [x * y for x in part for y in _range(atom, memo)]
                    part = min(ends), max(ends)
                low, high = low + part[0], high + part[1]
            return low, high
        case "divi" | "remi" if "unsigned" in str(t.data) and any(_range(arg, memo)[0] < 0 for arg in t.args):
            half = 1 << (int(t.element[1:]) - 1)
            return -half, half - 1
        case "div" | "cdiv" | "divi" if (by := value_of(t.args[1])) is not None and by > 0:
            low, high = _range(t.args[0], memo)
            return low // by, -(-high // by)
        case "div" | "cdiv" | "divi" | "remi":  # by a number that may be 1 or, of a remainder, large
            most = max(map(abs, _range(t.args[0], memo)))
            return -most, most
        case "mini" | "maxi" if not t.data:
            lows, highs = zip(*(_range(arg, memo) for arg in t.args), strict=True)
            choose = min if t.op == "mini" else max
            return choose(lows), choose(highs)
        case "select" | "mini" | "maxi":  # one of them
            lows, highs = zip(*(_range(arg, memo) for arg in t.args[t.op == "select" :]), strict=True)
            return min(lows), max(highs)
        case _:
            return SMALL
