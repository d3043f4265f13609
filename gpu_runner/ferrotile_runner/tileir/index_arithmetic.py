"""What H6 speaks of: index arithmetic, as against what arrays hold."""

from __future__ import annotations

from collections.abc import Iterable

from ferrotile_runner.tileir.terms import Term

Needs = frozenset[str]
OVERFLOW = "index arithmetic does not overflow"
LOOPS_OVERFLOW = "index arithmetic does not overflow in loops as long as arrays say"
_ALWAYS = frozenset((OVERFLOW,))


def needs(t: Term, memo: dict[Term, Needs | None]) -> Needs | None:
    """The hypotheses under which a value does not wrap that is made of the launch's words, block ids, lanes and loop
    variables only, or kept between two such values; None for any other."""
    if t not in memo:
        memo[t] = _needs(t, memo)
    return memo[t]


def _needs(t: Term, memo: dict[Term, Needs | None]) -> Needs | None:
    match t.op:
        case "const" | "bid" | "grid" | "iota" | "fresh":
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
