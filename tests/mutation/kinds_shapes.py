"""Mutations of operations that give a tile another shape or place, in Tile IR."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from edit import Edit, Site, with_attributes, with_role
from kinds import TileIrKind
from kinds_values import after, changed, constant, is_pure, made, moved_index, tile
from msgspec.structs import replace


def other_permutation(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "permute":
        source = tile(op.operands[0])
        for order in permutations(range(len(source.shape) if source else 0)):
            if order != op.integers("permutation"):
                yield changed(site, f"permutation {order}", with_attributes(op, permutation=order))


def reshape_for_permute(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "permute":
        yield changed(site, "is a reshape", replace(op, name="reshape", attributes={}))


def inserted_transpose(site: Site) -> Iterator[Edit]:
    op = site.operation
    kind = tile(op.results[0]) if op.results else None
    if (
        kind is None
        or not is_pure(site)
        or op.name == "constant"
        or len(kind.shape) < 2
        or isinstance(kind.element, str) is False
    ):
        return
    if kind.shape[-1] != kind.shape[-2] or kind.shape[-1] == 1:
        return
    rank = len(kind.shape)
    order = (*range(rank - 2), rank - 1, rank - 2)
    yield after(site, "transposed", made("permute", {"source": op.results[0]}, site.fresh(kind), permutation=order))


def shifted_lanes(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "iota":
        one, moved = site.fresh(op.results[0].type), site.fresh(op.results[0].type, 1)
        yield after(site, "starts at 1", constant(one, "1"), made("addi", {"lhs": op.results[0], "rhs": one}, moved))


def other_part(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in {"extract", "insert"}:
        for place, value in enumerate(op.named["index"]):
            yield from moved_index(site, "index", place, value)


def other_concatenation(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "cat" and op.one("lhs") != op.one("rhs") and op.one("lhs").type == op.one("rhs").type:
        yield changed(site, "halves exchanged", with_role(with_role(op, "lhs", op.one("rhs")), "rhs", op.one("lhs")))


def other_conversion(site: Site) -> Iterator[Edit]:
    op = site.operation
    source, result = (
        (tile(op.operands[0]), tile(op.results[0])) if len(op.operands) == 1 and op.results else (None, None)
    )
    if source is None or result is None or not isinstance(source.element, str) or not isinstance(result.element, str):
        return
    if op.name in {"itof", "ftoi"} and source.element[1:] == result.element[1:]:
        yield changed(site, "is a bitcast", replace(op, name="bitcast", attributes={}))
    if op.name == "bitcast":
        name = {("i", "f"): "itof", ("f", "i"): "ftoi"}.get((source.element[0], result.element[0]))
        if name is not None:
            yield changed(site, f"is {name}", replace(op, name=name, attributes={"signedness": "signed"}))


KINDS = (
    TileIrKind("other permutation", "the axes of `permute`", other_permutation),
    TileIrKind("reshape for permute", "`permute` into `reshape`", reshape_for_permute),
    TileIrKind("inserted transpose", "the axes of a square tile", inserted_transpose),
    TileIrKind("shifted lanes", "`iota`: from 1", shifted_lanes),
    TileIrKind("other part", "the index of `extract` and `insert`", other_part),
    TileIrKind("order of halves", "the operands of `cat`", other_concatenation),
    TileIrKind("other conversion", "a conversion for a `bitcast`", other_conversion),
)  # fmt: skip
