"""Why the padding of a view shows nowhere."""

from __future__ import annotations

from ferrotile_runner.tileir.model import Operation, PartitionViewType, Value, walk
from ferrotile_runner.tileir.operations import TABLE, Effect, Kind
from given import Given, Reason, kinds


def _only_stored_to(given: Given) -> bool:
    users = given.known.users.get(given.at.results[0].number, [])
    return all(TABLE[op.name].effect not in {Effect.LOAD} for op in users)


def _no_lane_outside(given: Given) -> bool:
    kind = given.at.results[0].type
    if not isinstance(kind, PartitionViewType):
        return False
    extents = [kind.view.shape[axis] for axis in kind.dim_map]
    return all(t == 1 or (e is not None and e % t == 0) for t, e in zip(kind.tile, extents, strict=True))


def _left_open(given: Given) -> bool:
    """No view and no load of the original has a padding: what lies outside is for the translation to choose."""
    operations = list(walk(given.sides.python.body))
    views = (r.type for op in operations for r in op.results)
    return all(getattr(kind, "padding", None) is None for kind in views) and not any(
        op.optional("padding") is not None for op in operations if TABLE[op.name].effect is Effect.LOAD
    )


_IGNORED = {"maxf": frozenset({"nan", "neg_inf"}), "minf": frozenset({"nan", "pos_inf"})}
"""The paddings that a reduction of floats ignores: its identity and, where NaN is not passed on, NaN."""


def _ignored(given: Given) -> bool:
    """Both paddings are such as the extremes ignore that the tiles go into; what else takes them stores each lane where
    it was loaded."""
    new = given.new
    old_kind, new_kind = given.at.results[0].type, new.results[0].type if new is not None else None
    if not isinstance(old_kind, PartitionViewType) or not isinstance(new_kind, PartitionViewType):
        return False
    paddings = {str(old_kind.padding), str(new_kind.padding)}
    loads = given.known.users.get(given.at.results[0].number, [])
    reductions = [
        user
        for load in loads
        if load.name == "load_view_tko"
        for user in given.known.users.get(load.results[0].number, [])
        if user.name == "reduce"
    ]
    combined = [op for r in reductions for op in r.regions[0].operations if op.name != "yield"]
    ignored = all(paddings <= _IGNORED.get(op.name, frozenset()) and not op.flag("propagate_nan") for op in combined)
    return bool(combined) and ignored and _lanes_not_stored(given, frozenset({"reduce", "yield", "maxf", "minf"}))


_SHAPES = frozenset(["constant", "make_tensor_view", "make_partition_view", "return", "broadcast", "reshape", "iota",
                     "for", "if", "loop", "continue", "yield", "get_tile_block_id", "get_index_space_shape",
                     "get_tensor_shape", "offset"])  # fmt: skip
_LANE_BY_LANE = _SHAPES | {
    name for name, row in TABLE.items() if row.kind is Kind.ELEMENTWISE or row.effect is not Effect.NONE
}


def _lanes_not_stored(given: Given, more: frozenset[str] = frozenset()) -> bool:
    """All is done lane by lane, and along every axis of its tiles the view's lanes are those of each view that is
    stored to, in an array of the same extent: lanes outside go nowhere. What is gathered in between is masked, and
    atomics change nothing there."""
    if not all(op.name in _LANE_BY_LANE | more for op in walk(given.known.entry.body)):
        return False
    views = [op for op in given.known.accesses if "view" in op.named]
    own = [_lanes(given, op) for op in views if op.one("view") == given.at.results[0]]
    stored = [_lanes(given, op) for op in views if TABLE[op.name].effect is not Effect.LOAD]
    if not own or any(lanes is None for lanes in (*own, *stored)):
        return False
    wide = {axis for lanes in own for axis in lanes or () if axis[2] > 1}
    others = [op for op in given.known.accesses if "view" not in op.named]
    gathered = all(op.optional("mask") is not None and _harmless(given, op, wide) for op in others)
    return gathered and bool(stored or others) and all(wide <= set(lanes or ()) for lanes in stored)


_Axis = tuple[tuple[str, int], str | int | None, int]
_NEUTRAL = frozenset({"or", "xor", "add", "umax"})
"""Atomics that change nothing with 0."""


def _harmless(given: Given, access: Operation, wide: set[_Axis]) -> bool:
    """An access by pointers that lanes outside may make: a load, or an atomic with what is 0 there."""
    if TABLE[access.name].effect is Effect.LOAD:
        return True
    if access.name == "atomic_rmw_tko":
        return access.word("mode") in _NEUTRAL and _zero_outside(given, access.one("value"), wide)
    swapped = access.name == "atomic_cas_tko"
    return swapped and all(_zero_outside(given, access.one(role), wide) for role in ("expected", "desired"))


def _zero_outside(given: Given, value: Value, wide: set[_Axis]) -> bool:
    """Loaded with 0 in the lanes outside, as it is."""
    load = given.known.definitions.get(value.number)
    if load is None or load.name != "load_view_tko" or load.one("view") == given.at.results[0]:
        return False
    kind = load.one("view").type
    return isinstance(kind, PartitionViewType) and kind.padding == "zero" and wide <= set(_lanes(given, load) or ())


def _lanes(given: Given, access: Operation) -> tuple[_Axis, ...] | None:
    """For each axis of a tile the component of its index, what the signature calls the extent of the array along it,
    and how many lanes there are."""
    kind, tiles = access.one("view").type, given.known.definitions.get(access.one("view").number)
    tensor = None if tiles is None else given.known.definitions.get(tiles.one("view").number)
    if tensor is None or not isinstance(kind, PartitionViewType):
        return None
    words = iter(tensor.named.get("shape", ()))
    extents = [e if e is not None else given.known.size_name(next(words)) for e in kind.view.shape]
    places = [_place(given, value) for value in access.named["index"]]
    if any(extents[axis] is None for axis in kind.dim_map):
        return None
    return tuple((p, extents[axis], lanes) for p, axis, lanes in zip(places, kind.dim_map, kind.tile, strict=True))


def _place(given: Given, value: Value) -> tuple[str, int]:
    """A component of an index: 0, the block's id along an axis, or a value."""
    if given.known.is_zero(value):
        return "0", 0
    while (made := given.known.definitions.get(value.number)) is not None and made.name == "assume":
        value = made.operands[0]
    if made is not None and made.name == "get_tile_block_id":
        return made.name, [r.number for r in made.results].index(value.number)
    return "", value.number


ROWS = (
    Reason("padding of a view that is only stored to", kinds("other padding"), _only_stored_to),
    Reason("no lane of the view lies outside: its tiles divide its extents", kinds("other padding"), _no_lane_outside),
    Reason("padding that the original leaves open", kinds("other padding"), _left_open),
    Reason("padding in lanes that are stored nowhere: all is done lane by lane", kinds("other padding"),
           _lanes_not_stored),
    Reason("padding that the extremes of the tile ignore", kinds("other padding"), _ignored),
)  # fmt: skip
