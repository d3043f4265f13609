"""Outputs whose rows two block ids number together: `out[bid.y * n + bid.x, ...]` on a grid with n blocks along x.

The Rust grid has one axis for the two, whose id is that number; the Python's ids are its remainder and quotient by n.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.accesses import find_accesses
from ferrotile.passes.affine import Affine
from ferrotile.passes.counts import Counts, normal, product, text
from ferrotile.passes.disjoint import index_values
from ferrotile.passes.own_tiles import equal_counts
from ferrotile.passes.space import Space
from ferrotile.passes.uses import eliminate_dead, next_id, operations, substitute
from ferrotile.program.dtypes import I32
from ferrotile.program.ir import Block, Operation, Program, Value
from ferrotile.program.types import TileType
from ferrotile.signatures.model import GridFactor, Signature

_AXES = "xyz"


class Join(Struct, frozen=True):
    """Axis `inner` has `count` blocks; the id of axis `inner` in the Rust is `inner + count * outer` of the Python."""

    inner: int
    outer: int
    count: int

    def facts(self, axes: Sequence[int]) -> tuple[str, ...]:
        """The Python's ids in those of the Rust, whose axes are renamed by `axes`."""
        rust = f"bid.{_AXES[axes[self.inner]]}"
        return (
            f"python bid.{_AXES[self.inner]} = {rust} % {self.count}",
            f"python bid.{_AXES[self.outer]} = {rust} // {self.count}",
        )


class Joined(Struct, frozen=True):
    """The program and signature for the Rust launch, and what that assumes."""

    program: Program
    signature: Signature
    join: Join
    hypotheses: tuple[str, ...]


def joined_ids(program: Program, signature: Signature) -> Joined | None:
    """None where no output numbers its tiles so, outputs differ in that, or the grid is not known to fit."""
    space = Space(program, signature)
    counts = Counts(program, signature, space, True)
    names = {p.value.id: p.name for p in program.parameters}
    found: set[Join] = set()
    tiles: set[GridFactor] = set()
    for access in find_accesses(program):
        if not access.store or access.view is None or access.array not in names:
            continue
        for d, value in enumerate(index_values(access)):
            join = _join(space.form(value))
            if join is not None:
                found.add(join)
                tiles.add(counts.tiles(names[access.array], access.view.dim_map[d], access.view.tile[d].value))
    if len(found) != 1 or len(tiles) != 1:
        return None
    (join,), (total,) = found, tiles
    asked = {o.attribute("axis") for o in operations(program.body) if o.opcode == "num_blocks"}
    facts = None if asked & {join.inner, join.outer} else _fits(space, counts, signature, join, total)
    if facts is None:
        return None
    padded = [*(signature.grid or ()), *[()] * 3][:3]
    padded[join.inner], padded[join.outer] = normal((total,)), ()
    return Joined(_rewritten(program, space, join), replace(signature, grid=tuple(padded)), join, facts)


def _join(form: Affine) -> Join | None:
    """Of `bid.a + n * bid.b`."""
    if form.constant or len(form.terms) != 2 or not all(s.startswith("bid") for s, _ in form.terms):
        return None
    (a, one), (b, count) = sorted(form.terms, key=lambda term: term[1])
    return Join(int(a[3:]), int(b[3:]), count) if one == 1 and count > 1 else None


def _fits(space: Space, counts: Counts, signature: Signature, join: Join, total: GridFactor) -> tuple[str, ...] | None:
    """The facts under which the two axes have as many blocks as the output has tiles, `count` along the inner one."""
    number = (GridFactor(join.count),)
    if signature.grid is not None:
        inner, outer = counts.grid(signature, join.inner), counts.grid(signature, join.outer)
        along = equal_counts(inner or (), number, True)
        together = equal_counts(normal((*number, *(outer or ()))), normal((total,)), True)
        return None if along is None or together is None else (*along, *together)
    if space.used - {join.inner, join.outer} or total.tile != 1:
        return None
    blocks = (f"python grid.{_AXES[join.inner]} = {join.count}",)
    if isinstance(total.extent, int):
        rest, left = divmod(total.extent, join.count)
        return None if left else (*blocks, f"python grid.{_AXES[join.outer]} = {rest}")
    outer_blocks = product((GridFactor(total.extent, join.count),))
    return (*blocks, f"python grid.{_AXES[join.outer]} = {outer_blocks}", f"{text(total)} % {join.count} = 0")


def _rewritten(program: Program, space: Space, join: Join) -> Program:
    """The program with both ids, and their number, in terms of one id."""
    fresh = next_id(program)
    word = TileType(I32)
    number, count, inner, outer = (Value(fresh + n, word) for n in range(4))
    span = program.name_span
    made = (
        Operation("block_id", (), (number,), (("axis", join.inner),), span),
        Operation("constant", (), (count,), (("value", join.count),), span),
        Operation("remi", (number, count), (inner,), (), span),
        Operation("divi", (number, count), (outer,), (("rounding", "zero"),), span),
    )
    whole = Affine(0, tuple(sorted(((f"bid{join.inner}", 1), (f"bid{join.outer}", join.count)))))
    forms = {Affine(0, ((f"bid{join.inner}", 1),)): inner, Affine(0, ((f"bid{join.outer}", 1),)): outer, whole: number}
    mapping: dict[int, Value] = {}
    for value, source in space.defined.items():
        if isinstance(source, Operation) and len(source.results) == 1 and source.result.type == word:
            known = forms.get(space.form(source.result))
            if known is not None:
                mapping[value] = known
    body = substitute(program.body, mapping)
    # The number is written out, so that the program holds for it alone.
    constants = tuple(replace(c, pinned=c.pinned or c.value == join.count) for c in program.constants)
    body = Block((*made, *body.statements), body.terminator)
    return eliminate_dead(replace(program, body=body, constants=constants))
