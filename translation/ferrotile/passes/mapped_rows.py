"""Outputs of which a block stores whole rows of tiles, as many as the array has: mapped partitions with owned axes.

    for j in range(num_tiles(y, 1)):              for row in y.iter_indices() {
        ct.store(y, (bid, j), t)                      let (i, _) = row.components();
                                                      for j in 0..num_tiles(&y, 1) { y.store(t, coord((i, j))); }

The launcher maps one row to each block, so that the outer loop has one trip and `i` is the block's id. Two outputs that
are stored in one loop share the rows (`iter_indices_with`); others have loops of their own inside, with one trip too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.accesses import Access
from ferrotile.passes.counts import Counts, product
from ferrotile.passes.memory_order import needs_tokens
from ferrotile.passes.own_tiles import equal_counts
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.passes.space import Space
from ferrotile.passes.uses import eliminate_dead, next_id, rewrite, substitute
from ferrotile.program.dtypes import I32
from ferrotile.program.ir import Block, End, For, Operation, Program, Statement, Terminator, Value
from ferrotile.program.types import Size, TileType, ViewType
from ferrotile.signatures.model import GridFactor, Signature

_OWNED, _STREAMED = Size(0), Size(1)


class MappedRows(Struct, frozen=True):
    """The program inside loops over rows, the plans of the arrays that these belong to, and what is assumed."""

    program: Program
    plans: Mapping[int, ArrayPlan]
    hypotheses: tuple[str, ...]


class _Row(Struct, frozen=True):
    """`streamed` is the axis that follows the block id; `loops` count the tiles along the others."""

    plan: ArrayPlan
    view: ViewType
    streamed: int
    loops: Mapping[int, For]
    facts: tuple[str, ...]


def mapped_rows(
    program: Program, signature: Signature, arrays: Sequence[ArrayPlan], accesses: Sequence[Access]
) -> MappedRows | None:
    """None where an output that no block owns has no such form, or an owned one has a row too or needs another
    grid."""
    space = Space(program, signature)
    counts = Counts(program, signature, space, True)
    if not space.many <= {0}:
        return None
    rows: list[_Row] = []
    for plan in arrays:
        own = [a for a in accesses if a.array == plan.value]
        if plan.form is Form.FULL:
            row = _row(space, counts, signature, plan, own)
            if row is None:
                return None
            rows.append(row)
        elif plan.form is not Form.READ and (plan.form is not Form.OWNED or any(plan.blocks)):
            return None
    groups = _groups(counts, rows)
    return None if not groups else _inside(program, space, groups)


def _groups(counts: Counts, rows: Sequence[_Row]) -> list[list[_Row]] | None:
    """Rows that share loops, at most two, which must have as many tiles along every axis."""
    groups: list[list[_Row]] = []
    for row in rows:
        mine = {id(loop) for loop in row.loops.values()}
        shared = [g for g in groups if mine & {id(loop) for loop in g[0].loops.values()}]
        if not shared:
            groups.append([row])
            continue
        (first,) = shared[0][:1]
        alike = row.view.tile == first.view.tile and row.plan.map == first.plan.map and row.loops == first.loops
        if len(shared) > 1 or len(shared[0]) > 1 or not alike or _tiles(counts, row) != _tiles(counts, first):
            return None
        shared[0].append(row)
    return groups


def _tiles(counts: Counts, row: _Row) -> list[GridFactor]:
    return [counts.tiles(row.plan.name, d, size.value) for d, size in enumerate(row.view.tile)]


def _row(space: Space, counts: Counts, signature: Signature, plan: ArrayPlan, own: Sequence[Access]) -> _Row | None:
    view = own[0].view
    if plan.rank not in (2, 3) or view is None or view.dim_map != tuple(range(plan.rank)):
        return None
    if any(not a.store or a.view != view or a.index != own[0].index for a in own):
        return None
    if any(a.operation.attribute("memory_order") not in (None, "weak") for a in own):
        return None
    streamed = [d for d, form in enumerate(own[0].index) if form.block_axis == 0]
    asked = any(
        isinstance(s, Operation) and s.opcode in ("extent", "stride") and s.operands[0].id == plan.value
        for s in space.defined.values()
    )
    if asked or len(streamed) != 1 or any(a.path != own[0].path for a in own):
        return None
    loops: dict[int, For] = {}
    for d, form in enumerate(own[0].index):
        if d != streamed[0]:
            loop = next((p for p in own[0].path if isinstance(p, For) and form.symbol == f"v{p.variable.id}"), None)
            if loop is None or not _over_tiles(space, counts, plan, d, view.tile[d].value, loop):
                return None
            loops[d] = loop
    around = [p for p in own[0].path if hasattr(p, "arguments")]
    if len(around) != len(loops) or needs_tokens(replace(plan, trips=True), own):
        return None
    wanted = (counts.tiles(plan.name, streamed[0], view.tile[streamed[0]].value),)
    given = counts.grid(signature, 0)
    facts = (f"grid.x = {product(wanted)}",) if given is None else equal_counts(given, wanted, True)
    if facts is None:
        return None
    made = replace(
        plan,
        form=Form.MAPPED,
        tile=view.tile,
        map=tuple(_STREAMED if d == streamed[0] else _OWNED for d in range(plan.rank)),
        injective=True,
        trips=True,
        tokens=False,
        reason="each block stores its own row, as many tiles as the array has",
    )
    return _Row(made, view, streamed[0], loops, facts)


def _over_tiles(space: Space, counts: Counts, plan: ArrayPlan, axis: int, tile: int, loop: For) -> bool:
    """Whether a loop counts the tiles along an axis of the array."""
    return (
        space.form(loop.lower).known == 0
        and space.form(loop.step).known == 1
        and counts.of(loop.upper) == counts.tiles(plan.name, axis, tile)
    )


def _inside(program: Program, space: Space, groups: Sequence[Sequence[_Row]]) -> MappedRows:
    """The kernel's body in a loop for each group, the first outermost, its loops bounded by the outputs' own tiles."""
    fresh = next_id(program)
    word = TileType(I32)
    parameters = {p.value.id: p.value for p in program.parameters}
    first: list[Statement] = []
    uppers: dict[int, Value] = {}
    plans: dict[int, ArrayPlan] = {}

    def emit(opcode: str, operands: tuple[Value, ...], kind: TileType | ViewType, **attributes: int) -> Operation:
        nonlocal fresh
        fresh += 1
        return Operation(opcode, operands, (Value(fresh - 1, kind),), tuple(attributes.items()), program.name_span)

    zero, one = emit("constant", (), word, value=0), emit("constant", (), word, value=1)
    for row, *_ in groups:
        view = emit("make_view", (parameters[row.plan.value],), row.view)
        first.append(view)
        for axis, loop in row.loops.items():
            tiles = emit("num_tiles", (view.result,), word, axis=axis)
            first.append(tiles)
            uppers[loop.variable.id] = tiles.result

    def bounded(s: Statement) -> Sequence[Statement]:
        upper = uppers.get(s.variable.id) if isinstance(s, For) else None
        return (replace(s, upper=upper),) if isinstance(s, For) and upper is not None else (s,)

    body = Block(rewrite(program.body, bounded).statements, Terminator(End.YIELD))
    number: Value | None = None
    for row, *others in reversed(groups):
        indices = [emit("tile_index", (), word, axis=axis) for axis in range(row.plan.rank)]
        number = indices[row.streamed].result
        variable = emit("constant", (), word, value=0).result
        body = Block((*indices, *body.statements), body.terminator)
        outer = For(variable, zero.result, one.result, one.result, (), (), body, (), program.name_span)
        plans.update((r.plan.value, replace(r.plan, loop=variable.id)) for r in (row, *others))
        body = Block((outer,), Terminator(End.YIELD))
    assert number is not None
    blocks = {i: number for i, s in space.defined.items() if isinstance(s, Operation) and s.opcode == "block_id"}
    whole = substitute(Block((zero, one, *first, *body.statements), program.body.terminator), blocks)
    facts = tuple(dict.fromkeys(f for group in groups for row in group for f in row.facts))
    return MappedRows(eliminate_dead(replace(program, body=whole)), plans, facts)
