"""Launch facts as values: the texts of `Entry.hypotheses`, of which each becomes a check of the launcher.

The grammar is that of `passes/`, which write them: `cdiv(N, 1024) = 1`, `N = 1000`, `M = N`, `N % 64 = 0`, `bid.y = 0`,
`grid.x = cdiv(M, 64) * H`, `grid.x is Rust grid.y`, `out is contiguous`, `x is accessed within its bounds`.
"""

from __future__ import annotations

import re

from msgspec import Struct

Atom = str | int
"""A symbol, `x.shape[0]`, or a number."""


class Count(Struct, frozen=True):
    """`ceil(extent / tile)`."""

    extent: Atom
    tile: Atom = 1


Product = tuple[Count, ...]
"""Of no factors: 1."""


class Equal(Struct, frozen=True):
    left: Product
    right: Product


class Multiple(Struct, frozen=True):
    extent: Atom
    of: Atom


class GridIs(Struct, frozen=True):
    """The number of blocks of the Python's launch along an axis."""

    axis: int
    blocks: Product


class Renamed(Struct, frozen=True):
    """The Python's grid axis is another one in Rust."""

    python: int
    rust: int


class Rearranged(Struct, frozen=True):
    """Block ids of the two launches are quotients and remainders of each other."""


class Contiguous(Struct, frozen=True):
    array: str


class Copied(Struct, frozen=True):
    """A parameter is a copy of an array from before the launch."""

    copy: str
    of: str


class Within(Struct, frozen=True):
    """The Python promises that an array's accesses stay inside of it."""

    array: str


class Unread(Struct, frozen=True):
    """A fact that no check is known for."""

    text: str


Fact = Equal | Multiple | GridIs | Renamed | Rearranged | Contiguous | Copied | Within | Unread

_ATOM = r"[A-Za-z_]\w*(?:\.shape\[\d+\])?|\d+"
_COUNT = rf"(?:cdiv\((?:{_ATOM}), *(?:{_ATOM})\)|{_ATOM})"
_PRODUCT = rf"{_COUNT}(?: *\* *{_COUNT})*"
_AXIS = "xyz"


def atom(text: str) -> Atom:
    """A number, or a name as it is."""
    return int(text) if text.isdigit() else text


def count(text: str) -> Count:
    """Of `cdiv(M, 64)`, `M` or `8`."""
    divided = re.fullmatch(rf"cdiv\(({_ATOM}), *({_ATOM})\)", text)
    return Count(atom(divided[1]), atom(divided[2])) if divided else Count(atom(text))


def product(text: str) -> Product:
    """Of `cdiv(M, 64) * H`."""
    return tuple(count(part.strip()) for part in text.split(" * "))


def read_fact(text: str) -> Fact:
    """One launch fact; `Unread` where its form is not known."""
    text = text.strip()
    if found := re.fullmatch(r"bid\.([xyz]) = 0", text):
        return GridIs(_AXIS.index(found[1]), ())
    if found := re.fullmatch(rf"(?:python )?grid\.([xyz]) = ({_PRODUCT})", text):
        return GridIs(_AXIS.index(found[1]), product(found[2]))
    if found := re.fullmatch(r"grid\.([xyz]) is Rust grid\.([xyz])", text):
        return Renamed(_AXIS.index(found[1]), _AXIS.index(found[2]))
    if re.fullmatch(rf"python bid\.[xyz] = .*|bid\.[xyz] < (?:{_COUNT})", text):
        return Rearranged()
    if found := re.fullmatch(r"(\w+) is contiguous", text):
        return Contiguous(found[1])
    if found := re.fullmatch(r"(\w+) is a copy of (\w+) from before the launch", text):
        return Copied(found[1], found[2])
    if found := re.fullmatch(r"(\w+) is accessed within its bounds", text):
        return Within(found[1])
    if found := re.fullmatch(rf"({_ATOM}) % ({_ATOM}) = 0", text):
        return Multiple(atom(found[1]), atom(found[2]))
    if found := re.fullmatch(rf"({_PRODUCT}) = ({_PRODUCT})", text):
        return Equal(product(found[1]), product(found[2]))
    return Unread(text)
