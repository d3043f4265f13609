"""The kinds of mutations: what each changes, in which text, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from edit import Edit, Site
from msgspec import Struct

TILE_IR = "Tile IR"
RUST = "Rust"


class TileIrKind(Struct, frozen=True):
    """A change of one operation of a Tile IR entry. `edits` gives nothing where it does not fit."""

    name: str
    change: str
    edits: Callable[[Site], Iterator[Edit]]
    text: str = TILE_IR


class RustEdit(Struct, frozen=True):
    """The bytes `start..end` of a Rust text become `becomes`; `also`: other pieces of it."""

    what: str
    start: int
    end: int
    becomes: str
    also: tuple[tuple[int, int, str], ...] = ()
