"""Outputs that a block owns after a change of view or grid that the launcher makes.

*Merge.* `out[b, h, m, 0]` with `b = t // H`, `h = t % H` of one block id t and `H = out.shape[1]`: the launcher passes
`out` with its two leading axes as one, and the block stores tile `[t, m, 0]`. `out` must be contiguous over these axes.

*Split.* `c[t // n, t % n]` with n tiles along the second axis: the Rust grid has an axis for each, so that quotient and
remainder are block ids themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.accesses import Access, find_accesses
from ferrotile.passes.counts import Counts, text
from ferrotile.passes.disjoint import index_values
from ferrotile.passes.own_tiles import MAX_OWNED_RANK
from ferrotile.passes.space import Space
from ferrotile.passes.uses import definitions, next_id, operands, operations, rewrite, terminators, walk
from ferrotile.program.ir import Operation, Program, Statement, Value
from ferrotile.program.types import ArrayType, TileType, ViewType
from ferrotile.signatures.model import GridFactor, Signature

_AXES = "xyz"


class Regridded(Struct, frozen=True):
    """A program and signature for the Rust launch. `ranks`: arrays passed as a view of lower rank. `split`: a grid axis
    of the Python, the axis that takes its remainders, and their number."""

    program: Program
    signature: Signature
    ranks: Mapping[int, int]
    hypotheses: tuple[str, ...] = ()
    split: tuple[int, int, GridFactor] | None = None


def regrid(program: Program, signature: Signature) -> Regridded:
    """Merges and splits where that gives a block its own tile; else the program as it is."""
    merged = _merge(program, signature)
    split = _split(merged.program, signature, merged)
    return merged if split is None else split


def _pair(space: Space, quotient: Value, remainder: Value) -> tuple[Operation, Value] | None:
    """The block id t and the n of `t // n` and `t % n`, which are the plain ones for a positive n."""
    a, b = space.defined.get(quotient.id), space.remainder(remainder)
    if not isinstance(a, Operation) or a.opcode != "divi" or b is None:
        return None
    if not space.same(a.operands[0], b[0]) or not space.same(a.operands[1], b[1]):
        return None
    block = space.defined.get(a.operands[0].id)
    if a.attribute("rounding") == "positive_inf" or not isinstance(block, Operation) or block.opcode != "block_id":
        return None
    return block, a.operands[1]


def _outputs(program: Program, accesses: Sequence[Access]) -> list[tuple[str, Value, list[Access]]]:
    """Arrays that are stored as tiles of one plain view, and never read."""
    found = []
    for parameter in program.parameters:
        own = [a for a in accesses if a.array == parameter.value.id]
        kind = parameter.value.type
        if not isinstance(kind, ArrayType) or not own or not all(a.store and a.view is not None for a in own):
            continue
        views = {a.view for a in own}
        identity = tuple(range(kind.rank))
        if len(views) == 1 and own[0].view is not None and own[0].view.dim_map == identity:
            found.append((parameter.name, parameter.value, own))
    return found


def _merge(program: Program, signature: Signature) -> Regridded:
    space = Space(program, signature)
    counts = Counts(program, signature, space)
    ranks: dict[int, int] = {}
    facts: dict[str, None] = {}
    stores: dict[int, Value] = {}
    for name, array, own in _outputs(program, find_accesses(program)):
        view = own[0].view
        assert view is not None
        rank = len(view.tile)
        if rank != MAX_OWNED_RANK + 1 or any(s.value != 1 for s in view.tile[:2]):
            continue
        pairs = [_pair(space, *index_values(a)[:2]) for a in own]
        if any(p is None for p in pairs):
            continue
        found = [p for p in pairs if p is not None]
        wanted = counts.extent(name, 1)
        given = [counts.of(n) for _, n in found]
        if any(g is None or g.tile != 1 for g in given) or any(g != given[0] for g in given):
            continue
        given_ = given[0]
        assert given_ is not None
        if given_.extent != wanted:
            if isinstance(wanted, int) and isinstance(given_.extent, int):
                continue
            facts[f"{wanted} = {given_.extent}"] = None
        facts[f"{name} is contiguous"] = None
        ranks[array.id] = rank - 1
        stores.update((id(a.operation), block.result) for a, (block, _) in zip(own, found, strict=True))
    if not ranks:
        return Regridded(program, signature, {})
    return Regridded(_with_merged_stores(program, stores), signature, ranks, tuple(facts))


def _with_merged_stores(program: Program, stores: Mapping[int, Value]) -> Program:
    """Stores of tiles whose two leading axes are one."""
    fresh = next_id(program)
    defined = definitions(program.body)

    def merge(s: Statement) -> Sequence[Statement]:
        nonlocal fresh
        block = stores.get(id(s))
        if block is None or not isinstance(s, Operation):
            return (s,)
        view, tile, _, _, *rest = s.operands
        assert isinstance(view.type, ViewType) and isinstance(tile.type, TileType)
        flat = view.type.tile[1:]
        made = Value(fresh, replace(view.type, tile=flat, dim_map=tuple(range(len(flat)))), view.name)
        shaped = Value(fresh + 1, replace(tile.type, shape=flat))
        fresh += 2
        inner = defined.get(tile.id)
        if isinstance(inner, Operation) and inner.opcode == "reshape":
            tile = inner.operands[0]
        make = next(o for o in operations(program.body) if o.opcode == "make_view" and o.result.id == view.id)
        return (
            replace(make, results=(made,)),
            Operation("reshape", (tile,), (shaped,), (), s.span),
            replace(s, operands=(made, shaped, block, *rest)),
        )

    return replace(program, body=rewrite(program.body, merge))


def _split(program: Program, signature: Signature, before: Regridded) -> Regridded | None:
    space = Space(program, signature)
    counts = Counts(program, signature, space)
    free = [k for k in range(3) if k not in space.used and k not in space.many]
    outputs = _outputs(program, find_accesses(program))
    if not free or not outputs:
        return None
    found: set[tuple[int, GridFactor, GridFactor]] = set()
    for name, array, own in outputs:
        view = own[0].view
        assert view is not None
        if before.ranks.get(array.id) or len(view.tile) > MAX_OWNED_RANK:
            return None
        for store in own:
            splits = _splits(space, counts, name, store, view)
            if len(splits) != 1:
                return None
            found.update(splits)
    if len(found) != 1:
        return None
    ((axis, rows, columns),) = found
    if not _only_split(space, program, axis, columns, counts):
        return None
    other = free[0]
    facts = [*before.hypotheses]
    given = counts.grid(signature, axis)
    grid: tuple[tuple[GridFactor, ...], ...] | None = None
    if signature.grid is None:
        return None
    if given is None or sorted(map(text, given)) != sorted(text(f) for f in (rows, columns) if f.extent != 1):
        return None
    padded = [*signature.grid, *[()] * 3][:3]
    padded[axis], padded[other] = (rows,), (columns,)
    grid = tuple(padded)
    rewritten = _with_split_ids(program, space, axis, other)
    return Regridded(rewritten, replace(signature, grid=grid), before.ranks, tuple(facts), (axis, other, columns))


def _splits(
    space: Space, counts: Counts, name: str, store: Access, view: ViewType
) -> set[tuple[int, GridFactor, GridFactor]]:
    """Block axes whose quotient and remainder are two components of the index, with the tiles along both."""
    values = index_values(store)
    found: set[tuple[int, GridFactor, GridFactor]] = set()
    for d, quotient in enumerate(values):
        for e, remainder in enumerate(values):
            pair = None if d == e else _pair(space, quotient, remainder)
            if pair is None:
                continue
            rows = counts.tiles(name, d, view.tile[d].value)
            columns = counts.tiles(name, e, view.tile[e].value)
            if counts.of(pair[1]) == columns:
                found.add((int(str(pair[0].attribute("axis"))), rows, columns))
    return found


def _is_block(space: Space, value: Value, axis: int) -> bool:
    source = space.defined.get(value.id)
    return isinstance(source, Operation) and source.opcode == "block_id" and source.attribute("axis") == axis


def _only_split(space: Space, program: Program, axis: int, columns: GridFactor, counts: Counts) -> bool:
    """Whether the block id is used for quotients and remainders by this number alone."""
    for statement in walk(program.body):
        for at, value in enumerate(operands(statement)):
            if not _is_block(space, value, axis):
                continue
            if not isinstance(statement, Operation) or statement.opcode not in ("divi", "remi") or at != 0:
                return False
            if counts.of(statement.operands[1]) != columns:
                return False
    if any(_is_block(space, v, axis) for t in terminators(program.body) for v in t.values):
        return False
    return not any(o.opcode == "num_blocks" and o.attribute("axis") == axis for o in operations(program.body))


def _with_split_ids(program: Program, space: Space, axis: int, other: int) -> Program:
    """Quotients and remainders as block ids of two axes."""

    def split(s: Statement) -> Sequence[Statement]:
        if not isinstance(s, Operation) or s.opcode not in ("divi", "remi"):
            return (s,)
        if not _is_block(space, s.operands[0], axis):
            return (s,)
        number = axis if s.opcode == "divi" else other
        return (Operation("block_id", (), s.results, (("axis", number),), s.span),)

    return replace(program, body=rewrite(program.body, split))


def split_facts(split: tuple[int, int, GridFactor] | None, axes: Sequence[int]) -> tuple[str, ...]:
    """The launch facts of a split grid, for block axes renamed by `axes`."""
    if split is None:
        return ()
    axis, other, columns = split
    rows_, columns_ = _AXES[axes[axis]], _AXES[axes[other]]
    return (
        f"python bid.{_AXES[axis]} = {text(columns)} * bid.{rows_} + bid.{columns_}",
        f"bid.{columns_} < {text(columns)}",
    )
