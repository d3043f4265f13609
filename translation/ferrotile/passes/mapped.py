"""Outputs whose tiles a block takes one after the other: cutile's mapped partitions, which mint each index once.

    for t in range(bid, tiles_m * tiles_n, num_blocks):       for tile in c.iter_indices() {
        i, j = t // tiles_n, t % tiles_n                          let (i, j) = tile.components();
        ...                                                       ...
        ct.store(c, (i, j), r)                                    c.store(r, tile);

Row by row is map `[1, 1]`. Groups of GROUP rows are map `[GROUP, 1]`: there a block may get other tiles than in the
Python, but every tile is still computed once, from its own index alone. A kernel with one tile a block gets the loop
as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.accesses import Access
from ferrotile.passes.counts import Counts, normal
from ferrotile.passes.disjoint import index_values
from ferrotile.passes.grouping import grouping
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.passes.space import Space
from ferrotile.passes.uses import count_uses, eliminate_dead, next_id, rewrite, substitute, walk
from ferrotile.program.dtypes import I32
from ferrotile.program.ir import Block, End, For, Operation, Program, Statement, Terminator, Value
from ferrotile.program.types import Size, TileType
from ferrotile.signatures.model import GridFactor, Signature

MAX_MAPPED_RANK = 3


class Mapped(Struct, frozen=True):
    """The program whose loop `plan.loop` runs over the tiles of the output. `same` says that a block gets the tiles
    that it gets in the Python."""

    program: Program
    plan: ArrayPlan
    same: bool


class _Schedule(Struct, frozen=True):
    """The tile number behind an index, how many there are, and the map that mints the same tiles."""

    tile: Value
    total: tuple[GridFactor, ...]
    map: tuple[Size, ...]
    same: bool = True


def find_mapped(
    program: Program, signature: Signature, plan: ArrayPlan, own: Sequence[Access], space: Space
) -> Mapped | None:
    """The mapped form of an output that is stored once, or None."""
    if len(own) != 1 or own[0].view is None or plan.rank > MAX_MAPPED_RANK or plan.rank < 1 or not space.many <= {0}:
        return None
    (store,) = own
    view = store.view
    assert view is not None
    if view.dim_map != tuple(range(plan.rank)) or len(store.path) > 1:
        return None
    counts = Counts(program, signature, space)
    schedule = _schedule(space, counts, plan, store, [s.value for s in view.tile])
    if schedule is None:
        return None
    loop = store.path[0] if store.path else None
    if loop is None:
        block = space.defined.get(schedule.tile.id)
        if not isinstance(block, Operation) or block.opcode != "block_id" or signature.grid is None:
            return None
        if counts.grid(signature, 0) != schedule.total:
            return None
        loop = None
    elif (
        not isinstance(loop, For)
        or loop not in program.body.statements
        or loop.initial
        or schedule.tile.id != loop.variable.id
        or not _strides(space, loop)
        or counts.total(loop.upper) != schedule.total
    ):
        return None
    program, loop = _wrapped(program) if loop is None else _unbounded(program, loop)
    made = _with_components(program, space, loop, index_values(store), schedule.tile)
    if made is None:
        return None
    reason = "every tile is minted once by the partition's map"
    plan = replace(
        plan, form=Form.MAPPED, tile=view.tile, map=schedule.map, loop=loop.variable.id, injective=True, trips=True,
        tokens=False, reason=reason,
    )  # fmt: skip
    return Mapped(made, plan, schedule.same)


def _schedule(space: Space, counts: Counts, plan: ArrayPlan, store: Access, tile: Sequence[int]) -> _Schedule | None:
    values = index_values(store)
    ones = tuple(Size(1) for _ in values)
    tiles = [counts.tiles(plan.name, d, size) for d, size in enumerate(tile)]
    if plan.rank == 1:
        return _Schedule(values[0], normal(tiles), ones)
    zeros = [d for d, v in enumerate(values) if space.form(v).known == 0 and normal((tiles[d],)) == ()]
    rest = [d for d in range(plan.rank) if d not in zeros]
    if len(rest) == 1:
        return _Schedule(values[rest[0]], normal(tiles), ones)
    if plan.rank != 2:
        return None
    a, b = (space.defined.get(v.id) for v in values)
    if isinstance(a, Operation) and isinstance(b, Operation) and (a.opcode, b.opcode) == ("divi", "remi"):
        same = all(space.same(x, y) for x, y in zip(a.operands, b.operands, strict=True))
        if same and a.attribute("rounding") != "positive_inf" and counts.of(a.operands[1]) == tiles[1]:
            return _Schedule(a.operands[0], normal(tiles), ones)
        return None
    found = grouping(space, *values)
    if found is None or found.columns is None or counts.of(found.rows) != tiles[0]:
        return None
    if counts.of(found.columns) != tiles[1]:
        return None
    return _Schedule(found.tile, normal(tiles), (found.size, Size(1)), found.nested)


def _strides(space: Space, loop: For) -> bool:
    """`range(bid(0), n, num_blocks(0))`"""
    lower, step = space.defined.get(loop.lower.id), space.defined.get(loop.step.id)
    return (
        isinstance(lower, Operation)
        and isinstance(step, Operation)
        and (lower.opcode, step.opcode) == ("block_id", "num_blocks")
        and lower.attribute("axis") == step.attribute("axis") == 0
    )


def _wrapped(program: Program) -> tuple[Program, For]:
    """The body as the only trip of a loop."""
    fresh = next_id(program)
    kind = TileType(I32)
    variable, zero, one = (Value(fresh + n, kind) for n in range(3))
    bounds = [Operation("constant", (), (v,), (("value", n),)) for n, v in enumerate((zero, one))]
    body = Block(program.body.statements, Terminator(End.YIELD))
    loop = For(variable, zero, one, one, (), (), body, (), program.name_span)
    return replace(program, body=Block((*bounds, loop), program.body.terminator)), loop


def _unbounded(program: Program, loop: For) -> tuple[Program, For]:
    """The loop without its bounds, which the map has."""
    fresh = next_id(program)
    zero, one = (Value(fresh + n, TileType(I32)) for n in range(2))
    bounds = [Operation("constant", (), (v,), (("value", n),)) for n, v in enumerate((zero, one))]
    free = replace(loop, lower=zero, upper=one, step=one)
    statements = (*bounds, *(free if s is loop else s for s in program.body.statements))
    return replace(program, body=Block(statements, program.body.terminator)), free


def _with_components(program: Program, space: Space, loop: For, values: Sequence[Value], tile: Value) -> Program | None:
    """The index components as what the loop mints; None where the tile's number is used for anything else."""
    fresh = next_id(program)
    kind = TileType(I32)
    made = [Value(fresh + d, kind, v.name) for d, v in enumerate(values)]
    by_key = {space.key(v): m for v, m in zip(values, made, strict=True) if space.form(v).known is None}
    mapping: dict[int, Value] = {}
    for statement in walk(loop.body):
        if isinstance(statement, Operation) and len(statement.results) == 1:
            known = by_key.get(space.key(statement.result))
            if known is not None:
                mapping[statement.result.id] = known
    if loop.variable.id == tile.id and space.key(tile) in by_key:
        mapping[tile.id] = by_key[space.key(tile)]
    minted = [Operation("tile_index", (), (m,), (("axis", d),), loop.span) for d, m in enumerate(made)]
    body = substitute(loop.body, mapping)
    body = Block((*minted, *body.statements), body.terminator)
    changed = replace(loop, body=body)

    def swap(s: Statement) -> Sequence[Statement]:
        return (changed,) if isinstance(s, For) and s.variable.id == loop.variable.id else (s,)

    program = eliminate_dead(replace(program, body=rewrite(program.body, swap)))
    if count_uses(program.body)[tile.id] and loop.variable.id == tile.id:
        return None
    block = {o.result.id for o in walk(program.body) if isinstance(o, Operation) and o.opcode == "block_id"}
    held = next((s for s in program.body.statements if isinstance(s, For) and s.variable.id == loop.variable.id), None)
    if held is None:
        return None
    outside = count_uses(held.body)
    return None if any(outside[b] for b in block) else program
