"""The names of rounds: what differs from round to round is named by the depth of its loop."""

from __future__ import annotations

from ferrotile_runner.tileir.terms import Term

Depths = dict[Term, frozenset[int]]
_LOOPS = frozenset({"for", "loop", "summary"})


def free_depths(term: Term, memo: Depths) -> frozenset[int]:
    """Depths of the loops on whose round a value depends: loops at one depth that are not inside each other have their
    names in common. What a loop gives depends on no round of its own."""
    found = memo.get(term)
    if found is None:
        found = frozenset[int]().union(*(free_depths(arg, memo) for arg in term.args))
        data = term.data if isinstance(term.data, tuple) else (term.data,)
        if term.op in {"iv", "turn", "carry", "entered"} and isinstance(data[0], int):
            found |= {data[0]}
        elif term.op in _LOOPS and len(data) > 1 and isinstance(data[1], int):
            found -= {data[1]}
        memo[term] = found
    return found
