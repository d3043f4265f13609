"""What a proof may assume of the launch, and how parameters match. All of it ends up in the verdict.

Texts that `parse` reads (block ids are the Rust launch's unless `python` is written in front):

    bid.y = 0                         the grid's axis has one block
    N = 1000                          an extent
    cdiv(N, 1024) = 1                 a tile count
    rust bid.x = python bid.y         axes renamed
    python bid.y = 32 * bid.z + bid.y a grid axis split in the Rust launch
    python bid.x = bid.x % 32         two grid axes joined in the Rust launch
    python grid.x = 32                the size of such an axis, of which a proof needs nothing
    grid.x = cdiv(M, 128) * cdiv(N, 128)
    bid.y < 32                        also with an extent: bid.x < R
    N <= 1024
    extents >= 1
    index arithmetic does not overflow
    out is contiguous                 over the axes that its Rust parameter merges
    x is accessed within its bounds   what `check_bounds=False` promises of every access of x
    M = N                             two extents are equal
    x_before is a copy of x from before the launch
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

Axis = str


class Number(Struct, frozen=True):
    value: int


class Name(Struct, frozen=True):
    """An extent's symbol, `bid.x` or `grid.x`."""

    text: str


class Apply(Struct, frozen=True):
    """`*`, `+`, `//`, `%` or `cdiv` of expressions; what is divided is not negative."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Number | Name | Apply


class HypothesisError(ValueError):
    """A text that states no fact this module knows."""


class Hypotheses(Struct, frozen=True):
    """Facts about every launch that the claim is made for."""

    unit_axes: frozenset[Axis] = frozenset()
    extents: Mapping[str, int] = field(default_factory=dict)
    extent_leq: tuple[tuple[str, int], ...] = ()
    """(symbol, tile): 1 <= extent <= tile, so that there is one tile."""
    python_axes: Mapping[Axis, Expression] = field(default_factory=dict)
    """The Python launch's block id on an axis, in block ids of the Rust launch."""
    grid: Mapping[Axis, tuple[Expression, ...]] = field(default_factory=dict)
    """Blocks on an axis, in every way that is known."""
    below: tuple[tuple[str, Expression], ...] = ()
    """(`bid.y`, bound): the block id is smaller than the bound."""
    at_most: tuple[tuple[str, int], ...] = ()
    """(symbol, bound): the extent is no larger."""
    contiguous: frozenset[str] = frozenset()
    within: frozenset[str] = frozenset()
    """Arrays that are accessed without bounds checks, and only within their extents."""
    same: tuple[tuple[str, str], ...] = ()
    """Extents that are equal."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the Rust alone -> the array that they hold a copy of, made before the launch."""
    positive_extents: bool = False
    no_overflow: bool = False

    def symbol(self, name: str) -> str:
        """The name that stands for all extents that are known to equal this one."""
        known = {name}
        grown = True
        while grown:
            grown = False
            for pair in self.same:
                if known & set(pair) and not known >= set(pair):
                    known |= set(pair)
                    grown = True
        fixed = [one for one in sorted(known) if one in self.extents]
        return fixed[0] if fixed else min(known)


class Array(Struct, frozen=True):
    """A parameter of `1 + 2 rank` words: pointer, extents, strides. `rust_is_mut`: `2 rank` more in the Rust.

    `rust_extents` is given when the Rust view of it has merged leading axes (`contiguous`), `copy` where the Rust has a
    copy of the array, by that name, as the next parameter."""

    name: str
    extents: tuple[str | int, ...]
    dtype: str = "f32"
    rust_is_mut: bool = False
    rust_extents: tuple[str | int, ...] | None = None
    copy: str | None = None


class Scalar(Struct, frozen=True):
    """A parameter of one word, the same in both entries. `extent`: every launch passes this extent of an array for it,
    by its symbol or its value."""

    name: str
    extent: str | int | None = None


class ParameterMap(Struct, frozen=True):
    """Parameters in Python order, which is also the Rust's; constants have no word."""

    parameters: tuple[Array | Scalar, ...]


_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][\w.]*)|(//|[*+%(),]))")


def expression(text: str) -> Expression:
    """`cdiv(M, 128) * N + 2`. Raises HypothesisError."""
    words: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise HypothesisError(f"cannot read {text[at:]!r} in {text!r}")
        words.append(match[0].strip())
        at = match.end()
    found, rest = _sum(words)
    if rest:
        raise HypothesisError(f"unexpected {rest[0]!r} in {text!r}")
    return found


def _sum(words: list[str]) -> tuple[Expression, list[str]]:
    left, words = _product(words)
    while words and words[0] == "+":
        right, words = _product(words[1:])
        left = Apply("+", (left, right))
    return left, words


def _product(words: list[str]) -> tuple[Expression, list[str]]:
    left, words = _atom(words)
    while words and words[0] in ("*", "//", "%"):
        function = words[0]
        right, words = _atom(words[1:])
        left = Apply(function, (left, right))
    return left, words


def _atom(words: list[str]) -> tuple[Expression, list[str]]:
    if not words:
        raise HypothesisError("an expression ends too early")
    first, rest = words[0], words[1:]
    if first.isdigit():
        return Number(int(first)), rest
    if first == "(":
        inner, rest = _sum(rest)
        return inner, _close(rest)
    if first == "cdiv" and rest[:1] == ["("]:
        a, rest = _sum(rest[1:])
        if rest[:1] != [","]:
            raise HypothesisError("cdiv takes two arguments")
        b, rest = _sum(rest[1:])
        return Apply("cdiv", (a, b)), _close(rest)
    if first[0].isalpha() or first[0] == "_":
        return Name(first), rest
    raise HypothesisError(f"unexpected {first!r}")


def _close(words: list[str]) -> list[str]:
    if words[:1] != [")"]:
        raise HypothesisError("a parenthesis is not closed")
    return words[1:]


def parse(texts: Iterable[str]) -> Hypotheses:
    """Hypotheses from their texts. Raises HypothesisError on one that it does not know."""
    found = Hypotheses()
    for text in texts:
        found = _with(found, " ".join(text.split()))
    return found


def _with(h: Hypotheses, text: str) -> Hypotheses:
    if text in {"extents >= 1", "extents are at least 1"}:
        return replace(h, positive_extents=True)
    if text == "index arithmetic does not overflow":
        return replace(h, no_overflow=True)
    if match := re.fullmatch(r"(\w+) is accessed within its bounds", text):
        return replace(h, within=h.within | {match[1]})
    if match := re.fullmatch(r"(\w+) is contiguous", text):
        return replace(h, contiguous=h.contiguous | {match[1]})
    if match := re.fullmatch(r"bid\.([xyz]) = 0", text):
        return replace(h, unit_axes=h.unit_axes | {match[1]})
    if match := re.fullmatch(r"rust bid\.([xyz]) = python bid\.([xyz])", text):
        return replace(h, python_axes={**h.python_axes, match[2]: Name(f"bid.{match[1]}")})
    if re.fullmatch(r"python grid\.[xyz] = .+", text):
        return h
    if match := re.fullmatch(r"python bid\.([xyz]) = (.+)", text):
        return replace(h, python_axes={**h.python_axes, match[1]: expression(match[2])})
    if match := re.fullmatch(r"grid\.([xyz]) = (.+)", text):
        sizes = (*h.grid.get(match[1], ()), expression(match[2]))
        return replace(h, grid={**h.grid, match[1]: sizes})
    if match := re.fullmatch(r"(bid\.[xyz]) < (.+)", text):
        return replace(h, below=(*h.below, (match[1], expression(match[2]))))
    if match := re.fullmatch(r"cdiv\((\w+), ?(\d+)\) = 1", text):
        return replace(h, extent_leq=(*h.extent_leq, (match[1], int(match[2]))))
    if match := re.fullmatch(r"([A-Za-z_]\w*) <= (\d+)", text):
        return replace(h, at_most=(*h.at_most, (match[1], int(match[2]))))
    if match := re.fullmatch(r"(\w+) is a copy of (\w+) from before the launch", text):
        return replace(h, copies={**h.copies, match[1]: match[2]})
    if match := re.fullmatch(r"([A-Za-z_]\w*) = ([A-Za-z_]\w*)", text):
        return replace(h, same=(*h.same, (match[1], match[2])))
    if match := re.fullmatch(r"([A-Za-z_]\w*) = (\d+)", text):
        return replace(h, extents={**h.extents, match[1]: int(match[2])})
    raise HypothesisError(f"{text!r} states no fact that is known here")
