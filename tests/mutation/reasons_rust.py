"""Why mutants of the Rust that no run tells from the original are the same program, or why no run can tell them.

Written by hand after a look at each; a row says for which kinds and which changes it holds."""

from __future__ import annotations

import re

_ROWS: tuple[tuple[str, str, str], ...] = (
    ("doubled store", ".*", "a plain store made twice in a row"),
    ("reordered stores", ".*", "stores to different arrays, exchanged"),
    ("swapped operands", "operands of `[*+]` .*", "operands of an operation that is commutative bit for bit"),
    (
        "swapped arguments",
        "arguments of `(min|max|mini|maxi|eq_tile|ne_tile|andi|ori|xori|addf|mulf|fma|fma_1|mul_add)` .*",
        "operands of an operation that is commutative bit for bit",
    ),
    ("padding", ".*", "padding that the original leaves open, or of a view that is only stored to"),
    ("bounds check", "loaded with a check", "a check that follows from the original's own access"),
    ("dropped token", ".*", "a token that the first load starts from: nothing is before it"),
    ("swapped shape", ".*", "the JIT takes the shape of `broadcast` from what the tile is used with; rustc refuses it"),
    ("other axis", "`program_id` .*", "in a helper or for a tile whose block id is 0 on both axes"),
    ("memory order", ".*", "beyond: memory order and scope: only blocks that run at once show them"),
    ("scope", ".*", "beyond: memory order and scope: only blocks that run at once show them"),
    ("overflow", ".*", "beyond: a promise of no overflow: undefined where it is broken, else nothing"),
)


def of_rust(kind: str, what: str) -> str:
    """The words of the first row for a kind and a change; empty where there is none."""
    return next((words for name, pattern, words in _ROWS if name == kind and re.fullmatch(pattern, what)), "")
