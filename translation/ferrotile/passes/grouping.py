"""The usual grouping of blocks for reuse of the cache, recognised: groups of `GROUP` rows of tiles, column by column.

    group = t // (GROUP * tiles_n);  first = group * GROUP;  size = min(tiles_m - first, GROUP)
    i = first + t % size                        or  first + (t % (GROUP * tiles_n)) % size
    j = (t % (GROUP * tiles_n)) // size

For 0 <= t < tiles_m * tiles_n the pair (i, j) is one to one in t: `first <= i < first + size` gives the group, and
within a group `(t - start) // size` and `(t + c) % size` give `t - start`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.affine import Affine, non_negative
from ferrotile.passes.counts import Counts, normal
from ferrotile.passes.space import Space
from ferrotile.passes.uses import eliminate_dead, rewrite
from ferrotile.program.ir import For, Operation, Program, Statement, Value
from ferrotile.program.types import Size
from ferrotile.signatures.model import Signature


class Grouping(Struct, frozen=True):
    """`tile` is t above, `size` is GROUP, `height` is size above. `nested`: the row's remainder is taken of
    `t % (GROUP * tiles_n)`. `columns` is None where that product is a number."""

    tile: Value
    size: Size
    height: Value
    rows: Value
    columns: Value | None
    nested: bool


def grouped(space: Space, index: Sequence[Value]) -> list[Value]:
    """The tile numbers that index components compute by grouping."""
    found = (grouping(space, i, j) for i in index for j in index if i is not j)
    return [g.tile for g in found if g is not None]


def grouping(space: Space, i: Value, j: Value) -> Grouping | None:
    """The grouping behind a row and a column, if there is one."""
    quotient = _operation(space, j, "divi")
    if quotient is None:
        return None
    inside, size = quotient.operands
    remainder = space.remainder(inside)
    if remainder is None:
        return None
    tile, in_group = remainder
    smallest = _operation(space, size, "mini")
    sizes = None if smallest is None else _sizes(space, smallest)
    if sizes is None:
        return None
    rows, first, group, size_ = sizes
    columns = _columns(space, in_group, group)
    number = space.form(in_group).known
    whole = columns is not None or (number is not None and number > 0 and number % group == 0)
    if not whole or not _is_first(space, first, tile, in_group, group):
        return None
    row = space.form(i).plus(first, -1)
    if row.symbol is None:
        return None
    source = space.source(row.symbol)
    wrapped = space.remainder(source.result) if isinstance(source, Operation) and len(source.results) == 1 else None
    if wrapped is None or not space.same(wrapped[1], size):
        return None
    if space.same(wrapped[0], tile):
        return Grouping(tile, size_, size, rows, columns, False)
    if space.same(wrapped[0], inside):
        return Grouping(tile, size_, size, rows, columns, True)
    return None


def simplify_groups(program: Program, signature: Signature) -> Program:
    """Where the tile number is below the number of tiles, the last group has at least one row, so that Python's
    division and remainder by the group's size are the plain ones."""
    space = Space(program, signature)
    counts = Counts(program, signature, space)
    sizes = [g.height for g in _all_groups(space) if _in_range(space, counts, signature, g)]
    if not sizes:
        return program

    def plain(s: Statement) -> Sequence[Statement]:
        if not isinstance(s, Operation) or len(s.results) != 1:
            return (s,)
        if s.opcode == "divi" and any(space.same(s.operands[1], size) for size in sizes):
            return (replace(s, attributes=(("rounding", "zero"),)),)
        found = space.remainder(s.result) if s.opcode == "select" else None
        if found is not None and any(space.same(found[1], size) for size in sizes):
            return (replace(s, opcode="remi", operands=found, attributes=()),)
        return (s,)

    return eliminate_dead(replace(program, body=rewrite(program.body, plain)))


def _all_groups(space: Space) -> list[Grouping]:
    made = [s.result for s in space.defined.values() if isinstance(s, Operation) and len(s.results) == 1]
    columns = [v for v in made if _operation(space, v, "divi") is not None]
    rows = [v for v in made if _operation(space, v, "addi") is not None]
    found = (grouping(space, i, j) for j in columns for i in rows)
    return [g for g in found if g is not None]


def _in_range(space: Space, counts: Counts, signature: Signature, group: Grouping) -> bool:
    """Whether the tile number is a block id or a loop counter below the number of tiles."""
    rows, columns = counts.of(group.rows), None if group.columns is None else counts.of(group.columns)
    if rows is None or columns is None:
        return False
    total = normal((rows, columns))
    source = space.defined.get(group.tile.id)
    if isinstance(source, Operation) and source.opcode == "block_id":
        return counts.grid(signature, int(str(source.attribute("axis")))) == total
    return isinstance(source, For) and non_negative(source.lower, space.defined) and counts.total(source.upper) == total


def _operation(space: Space, value: Value, opcode: str) -> Operation | None:
    source = space.defined.get(value.id)
    return source if isinstance(source, Operation) and source.opcode == opcode else None


def _sizes(space: Space, smallest: Operation) -> tuple[Value, Affine, int, Size] | None:
    """`min(rows - first, GROUP)`, in either order: rows, first, GROUP as a number and as it is written."""
    for left, right in (smallest.operands, smallest.operands[::-1]):
        group, difference = space.form(right).known, _operation(space, left, "subi")
        if group is not None and group > 0 and difference is not None:
            rows, first = difference.operands
            source = space.defined.get(right.id)
            named = isinstance(source, Operation) and source.opcode == "const_param"
            name = str(source.attribute("name")) if isinstance(source, Operation) and named else None
            return rows, space.form(first), group, Size(group, name)
    return None


def _columns(space: Space, in_group: Value, group: int) -> Value | None:
    """The n of `GROUP * n`."""
    product = _operation(space, in_group, "muli")
    if product is None:
        return None
    for left, right in (product.operands, product.operands[::-1]):
        if space.form(left).known == group:
            return right
    return None


def _is_first(space: Space, first: Affine, tile: Value, in_group: Value, group: int) -> bool:
    """Whether `first` is `(tile // in_group) * GROUP`."""
    if first.constant != 0 or len(first.terms) != 1 or first.terms[0][1] != group:
        return False
    source = space.source(first.terms[0][0])
    if not isinstance(source, Operation) or source.opcode != "divi":
        return False
    return space.same(source.operands[0], tile) and space.same(source.operands[1], in_group)
