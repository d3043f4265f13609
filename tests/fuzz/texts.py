"""Texts that are nearly Python: kernels cut short, with pieces doubled, dropped, swapped or replaced by others."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_STRANGE = (
    "",
    "(",
    ")",
    "[",
    "]",
    ":",
    ",",
    "*",
    "**",
    "@",
    "\n",
    "\n    ",
    "\t",
    "\\\n",
    '"""',
    "'",
    "f'{",
    "#",
    "lambda",
    "match x:",
    "None",
    "...",
    "0",
    "-1",
    "1" * 40,
    "1e999",
    "nan",
    "\u00e9",
    "\U0001f600",
    "\x00",
    "\r",
    "\ufeff",
    "\ud800",
    "# ferrotile:",
    "# ferrotile: x: f32[",
    "@ct.kernel",
    "ct",
    "ct.load",
    "ct.Constant[int]",
    "async",
    "yield",
    "global i",
    "del i",
    "class K:",
    "def f(",
    "return",
    "while True:",
)


def mutated(text: str, seed: int) -> str:
    """`text` with one to six changes, decided by the seed alone."""
    rng = random.Random(seed)
    pieces = _PIECE.findall(text)
    for _ in range(rng.randrange(1, 7)):
        if pieces:
            rng.choice(_CHANGES)(pieces, rng)
    return "".join(pieces)


def _cut(pieces: list[str], rng: random.Random) -> None:
    del pieces[rng.randrange(len(pieces)) :]


def _drop(pieces: list[str], rng: random.Random) -> None:
    start = rng.randrange(len(pieces))
    del pieces[start : start + rng.randrange(1, 12)]


def _double(pieces: list[str], rng: random.Random) -> None:
    start = rng.randrange(len(pieces))
    run = pieces[start : start + rng.randrange(1, 12)]
    pieces[start:start] = run


def _swap(pieces: list[str], rng: random.Random) -> None:
    one, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    pieces[one], pieces[other] = pieces[other], pieces[one]


def _insert(pieces: list[str], rng: random.Random) -> None:
    pieces.insert(rng.randrange(len(pieces)), rng.choice(_STRANGE))


def _replace(pieces: list[str], rng: random.Random) -> None:
    pieces[rng.randrange(len(pieces))] = rng.choice(_STRANGE)


def _rename(pieces: list[str], rng: random.Random) -> None:
    """A word becomes another word of the text, which mostly still parses."""
    words = [n for n, piece in enumerate(pieces) if piece[:1].isalnum()]
    if words:
        pieces[rng.choice(words)] = pieces[rng.choice(words)]


def _call(pieces: list[str], rng: random.Random) -> None:
    """Another function of cuTile is called."""
    names = [n for n, piece in enumerate(pieces) if piece[:1].isalpha() and pieces[max(n - 1, 0)] == "."]
    if names:
        pieces[rng.choice(names)] = rng.choice(_FUNCTIONS)


_FUNCTIONS = (
    "load", "store", "gather", "scatter", "full", "zeros", "arange", "where", "sum", "max", "argmax", "cumsum", "scan",
    "reduce", "mma", "mma_scaled", "cat", "extract", "reshape", "permute", "broadcast_to", "astype", "bitcast", "pack",
    "atomic_add", "atomic_cas", "bid", "num_tiles", "cdiv", "static_eval", "static_iter", "assert_", "printf", "shape",
    "dtype", "tiled_view", "slice", "item", "nothing",
)  # fmt: skip
_CHANGES: tuple[Callable[[list[str], random.Random], None], ...] = (
    *(_cut, _drop, _double, _swap, _insert, _replace),
    *(_rename,) * 12,
    *(_call,) * 4,
)
