"""Mutations of the precision of floats, and of how sums and products are put together, in Tile IR."""

from __future__ import annotations

from collections.abc import Iterator

from edit import Edit, Site, with_role
from ferrotile_runner.tileir.model import Operation, TileType
from kinds import TileIrKind
from kinds_values import after, changed, constant, definition, in_reduction, is_pure, made, tile
from msgspec.structs import replace


def narrowed(site: Site) -> Iterator[Edit]:
    op = site.operation
    kind = tile(op.results[0]) if op.results else None
    if (
        is_pure(site)
        and kind is not None
        and kind.element == "f32"
        and op.name != "constant"
        and not in_reduction(site)
    ):
        for name in ("f16", "bf16"):
            low = site.fresh(TileType(kind.shape, name))
            back = site.fresh(kind, 1)
            pair = made("ftof", {"source": op.results[0]}, low), made("ftof", {"source": low}, back)
            yield after(site, f"rounded to {name}", *pair)


def split_fma(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "fma":
        product = site.fresh(op.results[0].type)
        first = made("mulf", {"lhs": op.one("lhs"), "rhs": op.one("rhs")}, product, **op.attributes)
        last = made("addf", {"lhs": product, "rhs": op.one("acc")}, op.results[0], **op.attributes)
        yield Edit("fma: rounded twice", op, (first, last))


def fused(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name not in {"addf", "subf"} or in_reduction(site):
        return
    for role, other in (("lhs", "rhs"), ("rhs", "lhs")):
        product = definition(site, op.one(role))
        if product is None or product.name != "mulf" or (op.name == "subf" and role == "rhs"):
            continue
        added, before = op.one(other), tuple[Operation, ...]()
        if op.name == "subf":
            added = site.fresh(op.results[0].type)
            before = (made("negf", {"source": op.one(other)}, added),)
        named = {"lhs": product.one("lhs"), "rhs": product.one("rhs"), "acc": added}
        yield Edit(f"{op.name}: fused", op, (*before, made("fma", named, op.results[0], **op.attributes)))


def exchanged_fma(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "fma" and op.one("acc") != op.one("lhs"):
        new = with_role(with_role(op, "acc", op.one("lhs")), "lhs", op.one("acc"))
        yield changed(site, "a factor and the summand exchanged", new)


def reciprocal(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "divf":
        one, inverse = site.fresh(op.results[0].type), site.fresh(op.results[0].type, 1)
        new = (
            constant(one, "1.000000e+00"),
            made("divf", {"lhs": one, "rhs": op.one("rhs")}, inverse, **op.attributes),
            replace(op, name="mulf", named={"lhs": (op.one("lhs"),), "rhs": (inverse,)}),
        )
        yield Edit("divf: times the reciprocal", op, new)


def reassociated(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name not in {"addf", "mulf"} or in_reduction(site):
        return
    inner = definition(site, op.one("lhs"))
    if inner is not None and inner.name == op.name:
        right = site.fresh(op.results[0].type)
        named = {"lhs": inner.one("rhs"), "rhs": op.one("rhs")}
        new = (
            made(op.name, named, right, **op.attributes),
            with_role(with_role(op, "lhs", inner.one("lhs")), "rhs", right),
        )
        yield Edit(f"{op.name}: associated to the right", op, new)


KINDS = (
    TileIrKind("narrowed value", "an f32 value: rounded to f16 or bf16", narrowed),
    TileIrKind("split fma", "one rounding into two", split_fma),
    TileIrKind("fused multiply-add", "two roundings into one", fused),
    TileIrKind("exchanged fma", "a factor and the summand", exchanged_fma),
    TileIrKind("reciprocal", "a division into a product", reciprocal),
    TileIrKind("association", "`(a + b) + c` into `a + (b + c)`", reassociated),
)  # fmt: skip
