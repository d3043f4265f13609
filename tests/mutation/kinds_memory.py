"""Mutations of views, loads, stores, atomics and tokens, in Tile IR."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, permutations

from edit import Edit, Site, with_attributes, with_role
from ferrotile_runner.tileir.model import (
    GatherScatterViewType,
    Operation,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Value,
    ViewType,
)
from ferrotile_runner.tileir.operations import TABLE, Effect
from kinds import TileIrKind
from kinds_values import changed, constant, definition, instead_of_result, made, moved_index, tile
from msgspec.structs import replace

_ACCESSES = frozenset({Effect.LOAD, Effect.STORE, Effect.ATOMIC})
_VIEWS = PartitionViewType | StridedViewType | GatherScatterViewType
PADDINGS = (None, "zero", "neg_zero", "nan", "pos_inf", "neg_inf")
_MODES = ("add", "addf", "max", "min", "umax", "umin", "and", "or", "xor", "xchg")


def _effect(site: Site) -> Effect:
    return TABLE[site.operation.name].effect


# Indices and views


def other_index(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) in _ACCESSES and "view" in op.named:
        for place, value in enumerate(op.named["index"]):
            kind = tile(value)
            if kind is not None and kind.shape == ():
                yield from moved_index(site, "index", place, value)
            elif kind is not None:
                yield from _moved_rows(site, place, value, kind)


def _moved_rows(site: Site, place: int, value: Value, kind: TileType) -> Iterator[Edit]:
    op, values = site.operation, site.operation.named["index"]
    one, moved = site.fresh(kind), site.fresh(kind, 1)
    new = constant(one, "1"), made("addi", {"lhs": value, "rhs": one}, moved)
    use = with_role(op, "index", *values[:place], moved, *values[place + 1 :])
    yield Edit(f"{op.name}: its rows are one further", op, (*new, use))


def swapped_index(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) in _ACCESSES and "view" in op.named:
        values = op.named["index"]
        for a in range(len(values)):
            for b in range(a):
                if values[a] != values[b] and values[a].type == values[b].type:
                    new = [*values]
                    new[a], new[b] = values[b], values[a]
                    yield changed(site, f"index {a} and {b} exchanged", with_role(op, "index", *new))


def _retyped(site: Site, what: str, kind: ViewType | TensorViewType, **operands: tuple[Value, ...]) -> Edit:
    op = site.operation
    result = Value(op.results[0].number, kind, op.results[0].name)
    new = replace(op, results=(result,), named={**op.named, **operands})
    return Edit(f"{op.name}: {what}", op, (new,), {result.number: result}, True)


def other_padding(site: Site) -> Iterator[Edit]:
    kind = site.operation.results[0].type if site.operation.results else None
    if isinstance(kind, _VIEWS):
        for padding in PADDINGS:
            if padding != kind.padding and (padding in {None, "zero"} or kind.view.element[0] != "i"):
                yield _retyped(site, f"padding {padding or 'left open'}", replace(kind, padding=padding))


def other_axis_map(site: Site) -> Iterator[Edit]:
    kind = site.operation.results[0].type if site.operation.results else None
    if isinstance(kind, PartitionViewType | StridedViewType):
        for order in permutations(kind.dim_map):
            if order != kind.dim_map:
                yield _retyped(site, f"axes {order}", replace(kind, dim_map=order))


def other_steps(site: Site) -> Iterator[Edit]:
    kind = site.operation.results[0].type if site.operation.results else None
    if isinstance(kind, StridedViewType):
        for axis, step in enumerate(kind.traversal_strides):
            for other in {step + 1, max(1, step // 2)} - {step}:
                steps = (*kind.traversal_strides[:axis], other, *kind.traversal_strides[axis + 1 :])
                yield _retyped(site, f"steps of {other} along {axis}", replace(kind, traversal_strides=steps))


def _tensor(site: Site) -> TensorViewType | None:
    kind = site.operation.results[0].type if site.operation.name == "make_tensor_view" else None
    return kind if isinstance(kind, TensorViewType) else None


def other_extent(site: Site) -> Iterator[Edit]:
    """A view's extent that is an operand: one more, one less, or another array's."""
    return _other_operands(site, "shape", "extent")


def other_stride(site: Site) -> Iterator[Edit]:
    """The same of a view's stride."""
    return _other_operands(site, "strides", "stride")


def _other_operands(site: Site, role: str, word: str) -> Iterator[Edit]:
    op = site.operation
    if _tensor(site) is None:
        return
    sizes = op.named[role]
    for place, value in enumerate(sizes):
        yield from moved_index(site, role, place, value)
        for peer in islice(site.peers(value), 2):
            new = (*sizes[:place], peer, *sizes[place + 1 :])
            yield changed(site, f"{word} {place} is another value", with_role(op, role, *new))


def other_array(site: Site) -> Iterator[Edit]:
    """A view of, or pointers into, another array of the same elements."""
    op = site.operation
    if op.name == "make_tensor_view":
        for peer in islice(site.peers(op.one("base")), 3):
            yield changed(site, "is of another array", with_role(op, "base", peer))


def other_view(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) in _ACCESSES and "view" in op.named:
        for peer in islice(site.peers(op.one("view")), 3):
            yield changed(site, "goes through another view", with_role(op, "view", peer))


def other_offset(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name == "offset":
        value = op.one("offset")
        for name, what in (("addi", "one further"), ("subi", "one back")):
            one, moved = site.fresh(value.type), site.fresh(value.type, 1)
            new = constant(one, "1"), made(name, {"lhs": value, "rhs": one}, moved), with_role(op, "offset", moved)
            yield Edit(f"offset: {what}", op, new)


# Masks and padding of pointer accesses


def dropped_mask(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.optional("mask") is not None:
        named = {role: values for role, values in op.named.items() if role not in {"mask", "padding"}}
        yield changed(site, "no mask", replace(op, named=named))


def other_mask(site: Site) -> Iterator[Edit]:
    op = site.operation
    mask = op.optional("mask")
    if mask is not None:
        ones, turned = site.fresh(mask.type), site.fresh(mask.type, 1)
        new = constant(ones, "true"), made("xori", {"lhs": mask, "rhs": ones}, turned), with_role(op, "mask", turned)
        yield Edit(f"{op.name}: the opposite mask", op, new)
        for peer in islice(site.peers(mask), 3):
            yield changed(site, "another mask", with_role(op, "mask", peer))


def other_pointer_padding(site: Site) -> Iterator[Edit]:
    op = site.operation
    padding = op.optional("padding")
    if padding is not None:
        yield changed(site, "padding left open", with_role(op, "padding"))
        kind = tile(padding)
        text = "1" if kind is not None and isinstance(kind.element, str) and kind.element[0] == "i" else "1.000000e+00"
        one = site.fresh(padding.type)
        if kind is not None and kind.element != "i1":
            yield Edit(f"{op.name}: padding is 1", op, (constant(one, text), with_role(op, "padding", one)))


# Stores


def _token_of(op: Operation) -> Value | None:
    return next((value for value in op.results if isinstance(value.type, TokenType)), None)


def missing_store(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) in {Effect.STORE, Effect.ATOMIC} and len(op.results) == 1:
        token = _token_of(op)
        if token is not None:
            new = Operation("make_token", {}, (token,), {}, (), None, 0)
            yield Edit(f"{op.name}: left out", op, (new,))


def doubled_store(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) in {Effect.STORE, Effect.ATOMIC}:
        results = tuple(site.fresh(value.type, number) for number, value in enumerate(op.results))
        token = _token_of(op)
        first = replace(op, results=results)
        last = op if token is None else with_role(op, "token", results[op.results.index(token)])
        yield Edit(f"{op.name}: twice", op, (first, last))


def reordered_stores(site: Site) -> Iterator[Edit]:
    """Of two stores to one array the first is made behind the second, and so are their tokens."""
    op = site.operation
    if _effect(site) is not Effect.STORE:
        return
    for other in site.behind:
        if TABLE[other.name].effect is Effect.STORE and _array(site, other) == _array(site, op):
            token, late = _token_of(op), _token_of(other)
            waits = other.optional("token")
            if token is None or late is None:
                return
            if waits == token:
                new = with_role(other, "token", *op.named.get("token", ())), with_role(op, "token", late)
                last = {late.number: token}
                yield Edit(
                    f"{op.name}: made behind the next one", op, (), {}, False, (Edit("", other, new, last, True),)
                )
            else:
                yield Edit(f"{op.name}: made behind the next one", op, (), {}, False, (Edit("", other, (other, op)),))
            return
        if other.regions:
            return


def _array(site: Site, op: Operation) -> Value:
    """The parameter that an access goes to."""
    value = op.one("view" if "view" in op.named else "pointer")
    while (made_by := definition(site, value)) is not None and made_by.operands:
        value = made_by.operands[0]
    return value


def stored_value(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) in {Effect.STORE, Effect.ATOMIC} and "value" in op.named:
        for peer in islice(site.peers(op.one("value")), 4):
            yield changed(site, "another value", with_role(op, "value", peer))


def loaded_nothing(site: Site) -> Iterator[Edit]:
    op = site.operation
    kind = tile(op.results[0]) if _effect(site) is Effect.LOAD else None
    if kind is not None and isinstance(kind.element, str):
        zero = site.fresh(kind)
        text = "false" if kind.element == "i1" else "0" if kind.element[0] == "i" else "0.000000e+00"
        yield Edit(f"{op.name}: zeros in its place", op, (op, constant(zero, text)), {op.results[0].number: zero}, True)


def other_load(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) is Effect.LOAD:
        for peer in islice(site.peers(op.results[0]), 2):
            yield instead_of_result(site, "another value of its type in its place", peer)


# Atomics, order, scope


def other_mode(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.name in {"atomic_rmw_tko", "atomic_red_view_tko"}:
        value = tile(op.one("value"))
        floats = value is not None and isinstance(value.element, str) and value.element[0] in "fb"
        for mode in ("addf", "xchg") if floats else _MODES:
            if mode != op.word("mode") and (floats or mode != "addf"):
                yield changed(site, f"does {mode}", with_attributes(op, mode=mode))


def other_order(site: Site) -> Iterator[Edit]:
    op = site.operation
    if _effect(site) in _ACCESSES:
        orders = ("relaxed", "acquire", "release", "acq_rel") if _effect(site) is Effect.ATOMIC else (
            "weak", "relaxed", "acquire" if _effect(site) is Effect.LOAD else "release")  # fmt: skip
        for order in orders:
            if order != op.word("memory_ordering", "weak"):
                scope = None if order == "weak" else op.word("memory_scope", "device")
                yield changed(site, f"is {order}", with_attributes(op, memory_ordering=order, memory_scope=scope))


def other_scope(site: Site) -> Iterator[Edit]:
    op = site.operation
    if "memory_scope" in op.attributes:
        for scope in ("tl_blk", "device", "sys"):
            if scope != op.word("memory_scope"):
                yield changed(site, f"in the scope {scope}", with_attributes(op, memory_scope=scope))


# Tokens


def dropped_token(site: Site) -> Iterator[Edit]:
    op = site.operation
    if op.optional("token") is not None and _effect(site) in _ACCESSES | {Effect.PRINT}:
        yield changed(site, "waits for nothing", with_role(op, "token"))


def earlier_token(site: Site) -> Iterator[Edit]:
    op = site.operation
    token = op.optional("token")
    if token is not None and op.name != "join_tokens":
        for peer in islice(site.peers(token), 3):
            yield changed(site, "waits for another token", with_role(op, "token", peer))


def ignored_token(site: Site) -> Iterator[Edit]:
    """What waited for the access waits for what the access waited for."""
    op = site.operation
    token, before = _token_of(op), op.optional("token")
    if _effect(site) in _ACCESSES and token is not None and before is not None:
        yield Edit(f"{op.name}: nobody waits for it", op, (op,), {token.number: before}, True)


KINDS = (
    TileIrKind("other index", "a component of a tile's index: one more, one less", other_index),
    TileIrKind("swapped index", "two components of a tile's index", swapped_index),
    TileIrKind("other padding", "the padding of a view: another, none, one where there was none", other_padding),
    TileIrKind("other axis map", "`dim_map` of a view", other_axis_map),
    TileIrKind("other steps", "how far apart the tiles of a strided view start", other_steps),
    TileIrKind("other extent", "an extent of a view: one more, one less, another value", other_extent),
    TileIrKind("other stride", "a stride of a view: one more, one less, another value", other_stride),
    TileIrKind("other array", "the array of a view", other_array),
    TileIrKind("other view", "the view of an access", other_view),
    TileIrKind("other offset", "the offset of pointers: one more, one less", other_offset),
    TileIrKind("dropped mask", "the mask of a pointer access", dropped_mask),
    TileIrKind("other mask", "the mask of a pointer access: its opposite, another", other_mask),
    TileIrKind("other padding of pointers", "the padding of a pointer load", other_pointer_padding),
    TileIrKind("missing store", "a store or atomic: left out", missing_store),
    TileIrKind("doubled store", "a store or atomic: made twice", doubled_store),
    TileIrKind("reordered stores", "two stores that follow each other", reordered_stores),
    TileIrKind("other stored value", "what is stored", stored_value),
    TileIrKind("missing load", "what is loaded: zeros", loaded_nothing),
    TileIrKind("other load", "what is loaded: another value of its type", other_load),
    TileIrKind("other atomic", "what an atomic does", other_mode),
    TileIrKind("other memory order", "weak, relaxed, acquire, release, acq_rel", other_order),
    TileIrKind("other scope", "the scope of an access", other_scope),
    TileIrKind("dropped token", "the token that an access waits for", dropped_token),
    TileIrKind("other token", "the token that an access waits for: another", earlier_token),
    TileIrKind("ignored token", "the token that an access gives", ignored_token),
)  # fmt: skip
