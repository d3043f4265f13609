"""View lifting: gathers and scatters of whole aligned tiles become loads and stores of partition views.

Lifted only where exactly equal: every index is `k * tile + lane` (or one element), lanes run along different axes, and
the bounds check is the view's own. A view access wholly outside the array is undefined, where a gather gives padding
and a scatter does nothing: so the tile is known to touch the array, or a gather of a row loads the nearest one and
replaces it, unless a block may be writing that, or it is in a loop. Where pointers are ruled out, a gather of any tile
does so, and a scatter stands under a test. Without a bounds check the Python promises that every lane is inside. Index
arithmetic is taken not to overflow i32, as in all views.

A tuner may leave masked gathers of part of a row as they are: the view compares the indices of all axes anew for each
lane, which took up to 1.17 of the gather's time on sm_90 with up to 1024 lanes, and 0.8 to 0.96 with 4096 and more.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.accesses import find_accesses
from ferrotile.passes.affine import non_negative
from ferrotile.passes.elements import ELEMENT_OPS, ElementAccess, element_access
from ferrotile.passes.lanes import Lanes, lanes
from ferrotile.passes.quotients import Bounds, Scalars
from ferrotile.passes.uses import definitions, eliminate_dead, next_id, operations, rewrite
from ferrotile.passes.vector_pieces import in_pieces
from ferrotile.program.dtypes import BOOL, I32, Kind
from ferrotile.program.ir import Block, End, For, If, Loop, Operation, Program, Statement, Terminator, Value
from ferrotile.program.types import ArrayType, Shape, Size, TileType, ViewType, same_shape
from ferrotile.signatures.model import Signature

_Found = tuple[int, int, Size, Value]
"""The result axis that an index's lanes run along (-1: none), the array axis, the tile's extent, the tile's index."""
_PADDINGS = {0.0: "zero", float("inf"): "pos_inf", float("-inf"): "neg_inf"}


class _Place(Struct, frozen=True):
    """The view's tile (in result order), the array axis behind each of its axes, and its index."""

    tile: Shape
    dim_map: tuple[int, ...]
    index: tuple[Value, ...]
    valid: Value | None = None
    """Whether the tile touches the array, where that is not known; a rank-0 bool."""
    masked: bool = False
    """Whether another tile may have been loaded, so that lanes outside the array are told by their own numbers."""


_LIFTED = ("gather", "scatter")


def lift_views(
    program: Program, signature: Signature, always: bool = False, rows: bool = True
) -> tuple[Program, tuple[str, ...]]:
    """The program with what can be lifted, and the launch facts that this assumes. `always`: also where the view needs
    a test that the pointers do not. `rows`: also gathers of part of a row whose mask keeps every lane inside."""
    if not any(o.opcode in _LIFTED for o in operations(program.body)):
        return program, ()
    lifter = _Lifter(program, signature, always, rows)
    body = rewrite(program.body, lifter.rewrite, _LIFTED)
    if not lifter.lifted:
        return program, ()
    pinned = lifter.scalars.pinned
    constants = tuple(replace(c, pinned=c.pinned or c.name in pinned) for c in program.constants)
    return eliminate_dead(replace(program, body=body, constants=constants)), tuple(lifter.bounds.hypotheses)


class _Lifter:
    def __init__(self, program: Program, signature: Signature, always: bool, rows: bool) -> None:
        self.always = always
        self.rows = rows or always
        self.names = {p.value.id: p.name for p in program.parameters}
        constants = {c.name: int(c.value) for c in program.constants}
        first = definitions(program.body)
        self.scalars = Scalars(dict(first), constants, next_id(program), program.span, pins=always)
        self.bounds = Bounds(signature, self.names, self.scalars)
        self.lifted = 0
        accesses = [element_access(o) for o in operations(program.body) if o.opcode in ELEMENT_OPS]
        checked = {a.array.id for a in accesses if a.bounds or a.mask is not None or a.linear}
        others = {o.operands[0].id for o in operations(program.body) if o.opcode in ("make_view", "slice")}
        self.promised = {a.array.id for a in accesses} - checked - others
        """Arrays of which the Python promises that every access is inside."""
        every = find_accesses(program)
        self.written = {a.array for a in every if a.store}
        self.repeated = {
            a.operation.result.id
            for a in every
            if a.operation.opcode == "gather" and any(isinstance(around, (For, Loop)) for around in a.path)
        }
        """The results of gathers in loops. There the nearest tile of each round, and whether it is the tile itself,
        took up to 2.4 of the time of a masked pointer on sm_90 (measured)."""

    def rewrite(self, statement: Statement) -> Sequence[Statement]:
        if not isinstance(statement, Operation) or statement.opcode not in ("gather", "scatter"):
            return (statement,)
        access = element_access(statement)
        array = access.array.id
        if access.linear or array not in self.names or not (access.bounds or self._inside_by_promise(access)):
            return (statement,)
        if not self.rows and self._safe_row(access):
            return (statement,)
        before, pinned, lifted = list(self.bounds.hypotheses), list(self.scalars.pinned), self.lifted
        found = self._whole(statement)
        if found is None and self.always:
            found = in_pieces(self.scalars, access, self._whole)
        if found is None:
            self.bounds.hypotheses[:], self.scalars.pinned[:], self.lifted = before, pinned, lifted
        return found or (statement,)

    def _whole(self, statement: Operation) -> Sequence[Statement] | None:
        """The access as one tile, if it is one."""
        access, scalars = element_access(statement), self.scalars
        scalars.made, scalars.span = [], statement.span
        before, pinned = list(self.bounds.hypotheses), list(scalars.pinned)
        place = self._place(access)
        if place is not None:
            done = self._load(access, place) if statement.opcode == "gather" else self._store(access, place)
            if done is not None:
                self.lifted += 1
                return (*scalars.made, *done)
        self.bounds.hypotheses[:], scalars.pinned[:] = before, pinned
        return None

    def _inside_by_promise(self, access: ElementAccess) -> bool:
        """Whether the view may mask no lane: of one element there is nothing to mask."""
        single = all(s.value == 1 for s in access.shape) and access.mask is None
        return access.array.id in self.promised or (self.always and single and access.operation.opcode == "gather")

    def _safe_row(self, access: ElementAccess) -> bool:
        """A gather of part of a row of an array that is never written, checked lane by lane."""
        row = len(access.shape) == 1 and access.shape[0].value > 1 and access.rank > 1
        return row and access.bounds and access.operation.opcode == "gather" and access.array.id not in self.written

    def _place(self, access: ElementAccess) -> _Place | None:
        shape = access.shape
        found: list[_Found] = []
        used: set[int] = set()
        valid: Value | None = None
        masked = False
        for axis, value in enumerate(access.index):
            form = lanes(value, self.scalars.defined) or self._one_lane(value)
            if form is None or (form.axis is not None and form.axis in used):
                return None
            along = len(shape) + form.axis if form.axis is not None else -1
            if form.axis is not None:
                used.add(form.axis)
            size = form.size if form.axis is not None else Size(1)
            index = self.scalars.total(form.starts, size)
            extent = self.bounds.extent(access.array, axis)
            if index is None or extent is None:
                return None
            if access.bounds and not self.bounds.below_tiles(index, extent, size.value):
                known = self.scalars.number(index) is not None
                store = access.operation.opcode == "scatter"
                if not self.always and (store or size.value != 1 or known):
                    return None
                if not store and access.array.id in self.written:
                    return None  # the nearest tile may be another block's, which is writing it
                if not self.always and access.operation.result.id in self.repeated:
                    return None
                masked = masked or size.value != 1
                nearest, touches = self._nearest(access, axis, index, size)
                index = index if store else nearest
                if touches is not None:
                    valid = touches if valid is None else self.scalars.emit("andi", (valid, touches), TileType(BOOL))
            found.append((along, axis, size, index))
        covered = {along for along, _, _, _ in found}
        if any(s.value != 1 and k not in covered for k, s in enumerate(shape)):
            return None
        ordered = _in_lane_order(found)
        if ordered != found and access.operation.opcode == "scatter":
            return None
        if not ordered:
            return None
        if access.array.id in self.promised:
            fact = f"{self.names[access.array.id]} is accessed within its bounds"
            if fact not in self.bounds.hypotheses:
                self.bounds.hypotheses.append(fact)
        tile, dim_map, index_ = zip(*((f[2], f[1], f[3]) for f in ordered), strict=True)
        return _Place(tile, dim_map, index_, valid, masked)

    def _one_lane(self, value: Value) -> Lanes | None:
        """An index tile of one element as a scalar."""
        assert isinstance(value.type, TileType)
        if not self.always or any(s.value != 1 for s in value.type.shape):
            return None
        return Lanes((self.scalars.emit("reshape", (value,), TileType(value.type.dtype)),))

    def _nearest(self, access: ElementAccess, axis: int, index: Value, size: Size) -> tuple[Value, Value | None]:
        """The nearest index of a tile that touches the array, and whether that is `index` itself. A load of a tile with
        several lanes leaves that to the lanes, where it is not before the array."""
        scalars, zero = self.scalars, self.scalars.constant(0)
        count = scalars.emit("extent", (access.array,), TileType(I32), axis=axis)
        if size.value != 1:
            count = scalars.emit("divi", (count, scalars.size(size)), TileType(I32), rounding="positive_inf")
        touches: Value | None = None
        low = scalars.emit("cmpi", (index, zero), TileType(BOOL), predicate="greater_than_or_equal")
        if access.operation.opcode == "scatter" or size.value == 1:
            high = scalars.emit("cmpi", (index, count), TileType(BOOL), predicate="less_than")
            touches = scalars.emit("andi", (low, high), TileType(BOOL))
        elif not self._starts_inside(index):
            touches = low
        last = scalars.emit("subi", (count, scalars.constant(1)), TileType(I32))
        least = scalars.emit("mini", (index, last), TileType(I32))
        return scalars.emit("maxi", (least, zero), TileType(I32)), touches

    def _starts_inside(self, index: Value) -> bool:
        return non_negative(index, self.scalars.defined)

    def _view(self, access: ElementAccess, place: _Place, padding: str | None) -> Value:
        assert isinstance(access.array.type, ArrayType)
        kind = ViewType(access.array.type.dtype, place.tile, place.dim_map, padding)
        value = Value(self.scalars.next_id, kind)
        self.scalars.next_id += 1
        self.scalars.made.append(Operation("make_view", (access.array,), (value,), (), access.operation.span))
        return value

    def _load(self, access: ElementAccess, place: _Place) -> tuple[Statement, ...] | None:
        assert isinstance(access.array.type, ArrayType)
        scalars, dtype = self.scalars, access.array.type.dtype
        single = all(s.value == 1 for s in place.tile)
        # One element known to be inside has no padding.
        padding = "zero" if single else None if place.masked else self._padding(access)
        whole = TileType(dtype, access.shape)
        masks = [m for m in (access.mask, self._spread(place.valid, access.shape)) if m is not None]
        plain = padding is not None and not masks
        view = self._view(access, place, padding or "zero")
        result = access.operation.result
        latency = access.operation.attribute("latency")
        hints = (("latency", latency),) if latency is not None else ()
        tile_type = TileType(dtype, place.tile)
        same = same_shape(place.tile, access.shape)
        loaded = result if plain and same else Value(scalars.next_id, tile_type)
        scalars.next_id += loaded is not result
        statements: list[Statement] = [
            Operation("load_view", (view, *place.index), (loaded,), hints, access.operation.span)
        ]
        if not same:
            shaped = result if plain else Value(scalars.next_id, whole)
            scalars.next_id += shaped is not result
            statements.append(Operation("reshape", (loaded,), (shaped,), (), access.operation.span))
            loaded = shaped
        if plain:
            return tuple(statements)
        fill = self._fill(access)
        if fill is None:
            return None
        if padding is None:
            inside = self._inside(access)
            if inside is None:
                return None
            if masks:
                shaped = Value(scalars.next_id, whole)
                scalars.next_id += 1
                statements.append(Operation("select", (inside, loaded, fill), (shaped,), (), access.operation.span))
                loaded = shaped
            else:
                masks.append(inside)
        mask = masks[0]
        for other in masks[1:]:
            mask = scalars.emit("andi", (mask, other), TileType(BOOL, access.shape))
        statements.append(Operation("select", (mask, loaded, fill), (result,), (), access.operation.span))
        return tuple(statements)

    def _padding(self, access: ElementAccess) -> str | None:
        """The view padding that is the gather's; None where views have none such."""
        padding = access.padding
        if padding is None:
            return "zero"
        assert isinstance(padding.type, TileType)
        source = self.scalars.defined.get(padding.id)
        while isinstance(source, Operation) and source.opcode in ("broadcast", "reshape"):
            source = self.scalars.defined.get(source.operands[0].id)
        if not isinstance(source, Operation) or source.opcode != "constant":
            return None
        number = source.attribute("value")
        if not isinstance(number, (int, float)):
            return None
        if not padding.type.dtype.is_float:
            return "zero" if number == 0 else None
        if number != number:
            return "nan"
        if number == 0 and str(number).startswith("-"):
            return "neg_zero"
        return _PADDINGS.get(float(number))

    def _fill(self, access: ElementAccess) -> Value | None:
        """The gather's padding on all lanes."""
        if access.padding is not None:
            return self._spread(access.padding, access.shape)
        assert isinstance(access.array.type, ArrayType)
        dtype = access.array.type.dtype
        if dtype.variable:
            return None
        return self.scalars.emit("constant", (), TileType(dtype, access.shape), value=0.0 if dtype.is_float else 0)

    def _spread(self, value: Value | None, shape: Shape) -> Value | None:
        """A scalar on all lanes; a tile of that shape is itself."""
        if value is None or not isinstance(value.type, TileType) or same_shape(value.type.shape, shape):
            return value
        dtype = value.type.dtype
        ranked = self.scalars.emit("reshape", (value,), TileType(dtype, tuple(Size(1) for _ in shape)))
        if all(s.value == 1 for s in shape):
            return ranked
        return self.scalars.emit("broadcast", (ranked,), TileType(dtype, shape))

    def _inside(self, access: ElementAccess) -> Value | None:
        """The lanes within the array; starts are known not to be negative."""
        scalars = self.scalars
        mask: Value | None = None
        for axis, value in enumerate(access.index):
            kind = value.type
            assert isinstance(kind, TileType)
            if all(s.value == 1 for s in kind.shape):
                continue  # `valid` covers an index of one element
            if kind.dtype.name not in ("i32", "i64"):
                if kind.dtype.kind is not Kind.SIGNED:
                    return None
                kind = TileType(I32, kind.shape)
                value = scalars.emit("exti", (value,), kind)
            extent = scalars.emit("extent", (access.array,), TileType(I32), axis=axis)
            if kind.dtype.name == "i64":
                extent = scalars.emit("exti", (extent,), TileType(kind.dtype))
            ones = tuple(Size(1) for _ in kind.shape)
            limit = scalars.emit("reshape", (extent,), TileType(kind.dtype, ones))
            limit = scalars.emit("broadcast", (limit,), TileType(kind.dtype, kind.shape))
            below = scalars.emit("cmpi", (value, limit), TileType(BOOL, kind.shape), predicate="less_than")
            ranked = (*[Size(1)] * (len(access.shape) - len(kind.shape)), *kind.shape)
            if len(ranked) != len(kind.shape):
                below = scalars.emit("reshape", (below,), TileType(BOOL, ranked))
            if not same_shape(ranked, access.shape):
                below = scalars.emit("broadcast", (below,), TileType(BOOL, access.shape))
            mask = below if mask is None else scalars.emit("andi", (mask, below), TileType(BOOL, access.shape))
        return mask

    def _store(self, access: ElementAccess, place: _Place) -> tuple[Statement, ...] | None:
        if access.mask is not None:
            return None
        (value,) = access.values
        assert isinstance(value.type, TileType)
        if not same_shape(value.type.shape, place.tile):
            value = self.scalars.emit("reshape", (value,), TileType(value.type.dtype, place.tile))
        view = self._view(access, place, None)
        span = access.operation.span
        store = Operation("store_view", (view, value, *place.index), (), (), span)
        if place.valid is None:
            return (store,)
        then, otherwise = (Block(s, Terminator(End.YIELD)) for s in ((store,), ()))
        return (If(place.valid, then, otherwise, (), span),)


def _in_lane_order(found: list[_Found]) -> list[_Found]:
    """Array axes in the order of their lanes; axes of one element stay where they are."""
    moving = sorted((f for f in found if f[0] >= 0), key=lambda f: f[0])
    rest = iter(moving)
    return [f if f[0] < 0 else next(rest) for f in found]
