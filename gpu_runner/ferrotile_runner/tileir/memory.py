"""Views as values, masks and addresses per lane, recorded accesses (rules M1-M4)."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.literals import special
from ferrotile_runner.tileir.model import (
    GatherScatterViewType,
    Location,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
)
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Shape, Term, value_of


class View(Struct, frozen=True):
    """A tensor view (`tile` empty), or tiles over one. Strides and extents are i32 terms.

    `base` is the array's parameter; the view starts `shift` elements (i64, scalar) behind it. Tile axis d starts at
    `index[d] * steps[d]`; on axis `sparse` of a gather-scatter view the index holds the element of every lane."""

    base: Term
    shift: Term
    extents: tuple[Term, ...]
    strides: tuple[Term, ...]
    tile: Shape = ()
    steps: tuple[int, ...] = ()
    dim_map: tuple[int, ...] = ()
    padding: str | None = None
    sparse: int | None = None

    def tiled(self, type_: PartitionViewType | StridedViewType | GatherScatterViewType) -> View:
        match type_:
            case PartitionViewType(tile=tile, dim_map=dim_map):
                return replace(self, tile=tile, steps=tile, dim_map=dim_map, padding=type_.padding)
            case StridedViewType(tile=tile, traversal_strides=steps, dim_map=dim_map):
                return replace(self, tile=tile, steps=steps, dim_map=dim_map, padding=type_.padding)
            case GatherScatterViewType(tile=tile, sparse_dim=sparse):
                axes = tuple(range(len(tile)))
                ones = (1,) * len(tile)
                return replace(self, tile=tile, steps=ones, dim_map=axes, padding=type_.padding, sparse=sparse)

    @property
    def key(self) -> tuple[object, ...]:
        """What says which elements a tile holds; the padding is not part of it."""
        return (self.base, self.shift, self.extents, self.strides, *self.form)

    @property
    def form(self) -> tuple[object, ...]:
        """What is no term of the key."""
        return (self.tile, self.steps, self.dim_map, self.sparse)

    @property
    def words(self) -> tuple[Term, ...]:
        """The terms of the key."""
        return (self.base, self.shift, *self.extents, *self.strides)

    @property
    def is_partition(self) -> bool:
        """Whether different indices are different elements, and index times tile is the first of them."""
        return self.sparse is None and self.steps == self.tile


class LoopFrame(Struct, frozen=True):
    """A loop around an access; `ordinal` is unique within its program."""

    ordinal: int
    induction: Term


Marker = tuple[str, int, int]
Before = frozenset[int | Marker]
"""Accesses that a token stands behind, by number; `("carried", loop, k)` is the k-th token that a loop carries."""


class Access(Struct, frozen=True):
    """One load, store, atomic or print. `view` and `index` are None for pointers."""

    base: Term
    kind: str
    before: Before
    view: View | None
    index: tuple[Term, ...]
    value: Term
    """The raw load, or the effect."""
    path: frozenset[tuple[Term, bool]]
    loops: tuple[LoopFrame, ...]
    location: Location | None
    semantics: str = ""
    by_pointer: bool = False

    @property
    def acquires(self) -> bool:
        return self.semantics.startswith("acq")

    @property
    def releases(self) -> bool:
        return self.semantics.startswith(("release", "acq_rel"))

    @property
    def writes(self) -> bool:
        return self.kind != "load"


def tensor_view(
    base: Term,
    shift: Term,
    shape: tuple[Term, ...],
    strides: tuple[Term, ...],
    type_: TensorViewType,
    rewriter: Rewriter,
) -> View:
    """Operands fill the `?` of the type, in order. Raises ValueError when the counts differ."""
    sizes, steps = iter(shape), iter(strides)
    const = rewriter.store.const
    try:
        extents = tuple(next(sizes) if n is None else const(n) for n in type_.shape)
        filled = tuple(next(steps) if n is None else const(n) for n in type_.strides)
    except StopIteration as error:
        raise ValueError("a view with too few operands") from error
    return View(base, shift, extents, filled)


def _lanes(rewriter: Rewriter, lane: Term, shape: Shape, axis: int) -> Term:
    """A vector along `axis` of a tile."""
    real = [place for place, extent in enumerate(shape) if extent != 1]
    axes = tuple(0 if place == axis else -1 for place in real)
    return shapes.sink(rewriter, lane, shape, axes)


def _wide(rewriter: Rewriter, term: Term) -> Term:
    return term if term.element == "i64" else rewriter.make("exti", "signed", (term,), term.shape, "i64")


def coordinate(rewriter: Rewriter, view: View, index: tuple[Term, ...], axis: int) -> Term:
    """Element along tile axis `axis`, on every lane, i64: a view's own arithmetic does not wrap."""
    size, store = view.tile[axis], rewriter.store
    start = _wide(rewriter, index[axis])
    if axis == view.sparse:
        return _lanes(rewriter, start, view.tile, axis) if size != 1 else shapes.reshape(rewriter, start, view.tile)
    lane = store.const(0, view.tile, "i64")
    if size != 1:
        iota = _wide(rewriter, store.term("iota", (), (), (size,), "i32"))
        lane = _lanes(rewriter, iota, view.tile, axis)
    first = rewriter.integers.scale(start, view.steps[axis])
    return rewriter.integers.add(shapes.splat(rewriter, first, view.tile), lane)


def inside(rewriter: Rewriter, view: View, index: tuple[Term, ...], whole: Shape = ()) -> Term:
    """Lanes within the array (M1). Axes of a partition of tile extent 1, or that the tile divides, are within. `whole`:
    the tile that is known to touch the array, of which `view` has a part."""
    parts: list[Term] = []
    if promised(rewriter, view.base):
        return rewriter.store.const(1, view.tile, "i1")
    for axis, size in enumerate(view.tile):
        extent = view.extents[view.dim_map[axis]]
        known = value_of(extent)
        touching = whole[axis] if whole else size
        if view.is_partition and (touching == 1 or (known is not None and known % touching == 0)):
            continue
        place = coordinate(rewriter, view, index, axis)
        limit = shapes.splat(rewriter, _wide(rewriter, extent), view.tile)
        parts.append(rewriter.compare("less_than signed", (place, limit), view.tile))
        if view.sparse is not None:
            zero = rewriter.store.const(0, view.tile, "i64")
            parts.append(rewriter.compare("less_than_or_equal signed", (zero, place), view.tile))
    return rewriter.connective("andi", tuple(parts), view.tile)


def promised(rewriter: Rewriter, base: Term) -> bool:
    """Whether the Python promises that it stays within the array."""
    name = base.data[1] if isinstance(base.data, tuple) and base.data[:1] == ("array",) else None
    if name not in rewriter.integers.facts.within:
        return False
    return rewriter.store.use(f"{name} is accessed within its bounds")


def address(rewriter: Rewriter, view: View, index: tuple[Term, ...]) -> Term:
    """Offset in elements from the array's pointer, i64, on every lane (M3)."""
    total = shapes.splat(rewriter, view.shift, view.tile)
    for axis in range(len(view.tile)):
        place = coordinate(rewriter, view, index, axis)
        step = shapes.splat(rewriter, _wide(rewriter, view.strides[view.dim_map[axis]]), view.tile)
        total = rewriter.integers.add(total, rewriter.integers.multiply(place, step))
    return total


def count(rewriter: Rewriter, view: View, axis: int) -> Term:
    """Tiles along tile axis `axis` (I9)."""
    extent = view.extents[view.dim_map[axis]]
    if not view.is_partition:
        return rewriter.store.term("tiles", view.form, (*view.words, rewriter.store.const(axis)))
    size = rewriter.store.const(view.tile[axis])
    return rewriter.quotient("cdiv", (extent, size), (), "i32")


def in_range(rewriter: Rewriter, view: View, index: tuple[Term, ...]) -> list[Term]:
    """Conditions for the tile to touch the array, axis by axis."""
    found: list[Term] = []
    for axis, place in enumerate(index):
        if axis == view.sparse:
            continue  # lanes outside are padding, whatever they hold
        zero = rewriter.store.const(0, (), place.element)
        limit = view.extents[axis] if view.sparse is not None else count(rewriter, view, axis)
        if place.element == "i64":
            limit = _wide(rewriter, limit)
        found.append(rewriter.compare("less_than_or_equal signed", (zero, place), ()))
        found.append(rewriter.compare("less_than signed", (place, limit), ()))
    return found


def padding(rewriter: Rewriter, view: View, element: str) -> Term | None:
    """The padding as a splat; None when undetermined. Raises ValueError for a padding the type lacks."""
    if view.padding is None:
        return None
    bits = special(view.padding, element)
    if bits is None:
        raise ValueError(f"padding {view.padding} of {element}")
    return rewriter.store.const(bits, view.tile, element)


def load(
    rewriter: Rewriter, view: View, index: tuple[Term, ...], state: Term, semantics: str, element: str, by_pointer: bool
) -> Term:
    """What the view holds, before its padding is applied."""
    store = rewriter.store
    if by_pointer:
        offset = address(rewriter, view, index)
        return store.term("load_ptr", semantics, (view.base, offset, state), view.tile, element)
    return store.term("load", (*view.form, semantics), (*view.words, *index, state), view.tile, element)


def padded(rewriter: Rewriter, view: View, index: tuple[Term, ...], raw: Term, pad: Term, whole: Shape = ()) -> Term:
    """The loaded tile (M1); of a part of a tile, of which `whole` is the size, also where it lies outside (M4)."""
    return rewriter.select((inside(rewriter, view, index, whole), raw, pad), view.tile, raw.element)


def merge_leading(
    rewriter: Rewriter,
    view: View,
    index: tuple[Term, ...],
    rank: int,
    extents: tuple[Term, ...],
    strides: tuple[Term, ...],
) -> tuple[View, tuple[Term, ...]]:
    """A view of a contiguous array with its leading axes taken as one, of rank `rank` (H5).

    Raises ValueError where a tile spans merged axes."""
    merged = len(view.extents) - rank + 1
    if view.dim_map[:merged] != tuple(range(merged)) or any(size != 1 for size in view.tile[:merged]):
        raise ValueError("a tile spans axes that the Rust view merges")
    if not view.is_partition or value_of(view.shift) != 0:
        raise ValueError("only a partition of the whole array can have its axes merged")
    place = index[0]
    for axis in range(1, merged):
        place = rewriter.integers.add(rewriter.integers.multiply(place, view.extents[axis]), index[axis])
    if place.op == "poly" and not rewriter.integers.no_overflow(place):
        raise ValueError("the number of a tile along merged axes may be too large")
    dim_map = (0, *(axis - merged + 1 for axis in view.dim_map[merged:]))
    tile = view.tile[merged - 1 :]
    joined = replace(view, extents=extents, strides=strides, tile=tile, steps=tile, dim_map=dim_map)
    return joined, (place, *index[merged:])
