"""What the tests of drafts share: a kernel that no rule translates, the Rust of it, and a ladder that reads."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

from ferrotile_server.drafting.judgement import Judgement
from ferrotile_server.drafting.model import Say

REFUSED = '''\
"""A kernel that no rule translates: it compares records at run time."""

from dataclasses import dataclass

import cuda.tile as ct


@dataclass(frozen=True)
class Place:
    row: int
    column: int


# ferrotile: x: f32[M, N], y: f32[M, N], row: i32, column: i32, TILE=32, grid=(M/TILE, N/TILE)
@ct.kernel
def clear_tile(x, y, row, column, TILE: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(i, j), shape=(TILE, TILE))
    here = Place(i, j) == Place(row, column)
    ct.store(y, index=(i, j), tile=ct.where(here, 0.0, t))
'''
EASY = """

# ferrotile: x: f32[N], y: f32[N], TILE=32, grid=(N/TILE,)
@ct.kernel
def easy(x, y, TILE: ct.Constant[int]):
    ct.store(y, index=ct.bid(0), tile=ct.load(x, index=ct.bid(0), shape=(TILE,)))
"""
KERNEL = (
    REFUSED
    + EASY
    + """

@ct.kernel
def unknown(x: ct.IndexedWithInt64, y):
    ct.store(y, index=ct.bid(0), tile=ct.load(x, index=ct.bid(0), shape=(32,)))


# ferrotile: x: f32[N], y: f32[N], TILE=32, grid=(N/TILE,)
@ct.kernel
def mistaken(x, y, TILE: ct.Constant[int]):
    ct.store(y, index=ct.bid(0), tile=ct.sigmoid(ct.load(x, index=ct.bid(0), shape=(TILE,))))
"""
)


RIGHT = """\
#[cutile::module]
mod clear_tile {
    use cutile::core::*;

    #[cutile::entry()]
    fn clear_tile<const TILE: i32>(
        x: &Tensor<f32, { [-1, -1] }>,
        y: &mut Tensor<f32, { [TILE, TILE] }>,
        row: i32,
        column: i32,
    ) {
        let (i, j) = (program_id(0), program_id(1));
        let t = x.partition(shape![TILE, TILE]).load([i, j]);
        let here = (i == row) & (j == column);
        let here = here.broadcast(shape![TILE, TILE]);
        y.store(select(here, 0.0f32.broadcast(shape![TILE, TILE]), t));
    }
}
"""
WRONG = RIGHT.replace("(i == row) & (j == column)", "(i == row) | (j == column)")
"""Clears a whole cross."""


def reading_ladder(*_: object) -> Callable[[str, Say, Event], Judgement]:
    """In the place of `ladder_of`: `RIGHT` is proved, all else is not, at the line that differs."""

    def climb(rust: str, say: Say, stop: Event) -> Judgement:
        say("clear_tile: proved")
        if rust == RIGHT:
            return Judgement("proved", (("assembled", "passed"), ("proved", "passed")), score=9)
        words = "proved failed: y: the Python computes `and`, the Rust `or`"
        told = "Rust line 14: `(i == row) | (j == column)`"
        return Judgement("", (("assembled", "passed"), ("proved", "failed")), words, told, 3)

    return climb
