"""Views as values, masks and addresses per lane, recorded accesses (rules M1-M4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.literals import special
from ferrotile_runner.tileir.model import Location, PartitionViewType, TensorViewType
from ferrotile_runner.tileir.simplify import Rewriter
from ferrotile_runner.tileir.terms import Shape, Term, value_of


@dataclass(frozen=True, slots=True)
class View:
    """A tensor view (`tile` empty) or a partition view. Strides and extents are i32 terms."""

    base: Term
    extents: tuple[Term, ...]
    strides: tuple[Term, ...]
    tile: Shape = ()
    dim_map: tuple[int, ...] = ()
    padding: str | None = None

    def partition(self, type_: PartitionViewType) -> View:
        return replace(self, tile=type_.tile, dim_map=type_.dim_map, padding=type_.padding)

    @property
    def key(self) -> tuple[object, ...]:
        """What says which elements a tile holds; the padding is not part of it."""
        return (self.base, self.extents, self.strides, self.tile, self.dim_map)


@dataclass(frozen=True, slots=True)
class LoopFrame:
    """A loop around an access; `ordinal` is unique within its program."""

    ordinal: int
    induction: Term


Marker = tuple[str, int]
Before = frozenset[int | Marker]
"""Accesses that a token stands behind, by number; `("carried", loop)` is an earlier iteration's token."""


@dataclass(frozen=True, slots=True)
class Access:
    """One load, store or atomic. `view` and `index` are None for pointers, which have `offset`."""

    base: Term
    kind: str
    before: Before
    view: View | None
    index: tuple[Term, ...]
    offset: Term | None
    value: Term
    """The raw load, or the effect."""
    path: frozenset[tuple[Term, bool]]
    loops: tuple[LoopFrame, ...]
    location: Location | None


def tensor_view(
    base: Term, shape: tuple[Term, ...], strides: tuple[Term, ...], type_: TensorViewType, rewriter: Rewriter
) -> View:
    """Operands fill the `?` of the type, in order. Raises ValueError when the counts differ."""
    sizes, steps = iter(shape), iter(strides)
    const = rewriter.store.const
    try:
        extents = tuple(next(sizes) if n is None else const(n) for n in type_.shape)
        filled = tuple(next(steps) if n is None else const(n) for n in type_.strides)
    except StopIteration as error:
        raise ValueError("a view with too few operands") from error
    return View(base, extents, filled)


def coordinate(rewriter: Rewriter, view: View, index: tuple[Term, ...], axis: int) -> Term:
    """Element index along tile axis `axis`, on every lane: index * tile + lane."""
    size = view.tile[axis]
    store = rewriter.store
    if size == 1:
        lane = store.const(0, view.tile)
    else:
        real = [place for place, extent in enumerate(view.tile) if extent != 1]
        iota = store.term("iota", (), (), (size,), "i32")
        lane = shapes.sink(rewriter, iota, view.tile, tuple(0 if place == axis else -1 for place in real))
    start = rewriter.integers.scale(index[axis], size)
    return rewriter.integers.add(shapes.splat(rewriter, start, view.tile), lane)


def inside(rewriter: Rewriter, view: View, index: tuple[Term, ...]) -> Term:
    """Lanes within the array (M1). Axes of tile extent 1, or that the tile divides, are within."""
    parts: list[Term] = []
    for axis, size in enumerate(view.tile):
        extent = view.extents[view.dim_map[axis]]
        known = value_of(extent)
        if size == 1 or (known is not None and known % size == 0):
            continue
        place = coordinate(rewriter, view, index, axis)
        limit = shapes.splat(rewriter, extent, view.tile)
        parts.append(rewriter.compare("less_than signed", (place, limit), view.tile))
    return rewriter.connective("andi", tuple(parts), view.tile)


def address(rewriter: Rewriter, view: View, index: tuple[Term, ...]) -> Term:
    """Offset in elements, i64, on every lane (M3)."""
    total = rewriter.store.const(0, view.tile, "i64")
    for axis in range(len(view.tile)):
        place = rewriter.make("exti", "signed", (coordinate(rewriter, view, index, axis),), view.tile, "i64")
        stride = rewriter.make("exti", "signed", (view.strides[view.dim_map[axis]],), (), "i64")
        step = shapes.splat(rewriter, stride, view.tile)
        total = rewriter.integers.add(total, rewriter.integers.multiply(place, step))
    return total


def count(rewriter: Rewriter, view: View, axis: int) -> Term:
    """Tiles along tile axis `axis` (I9)."""
    size = rewriter.store.const(view.tile[axis])
    return rewriter.quotient("cdiv", (view.extents[view.dim_map[axis]], size), (), "i32")


def in_range(rewriter: Rewriter, view: View, index: tuple[Term, ...]) -> list[Term]:
    """Conditions for the tile to touch the array, axis by axis."""
    found: list[Term] = []
    zero = rewriter.store.const(0)
    for axis, place in enumerate(index):
        found.append(rewriter.compare("less_than_or_equal signed", (zero, place), ()))
        found.append(rewriter.compare("less_than signed", (place, count(rewriter, view, axis)), ()))
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
    data = (view.tile, view.dim_map, semantics)
    args = (view.base, *view.extents, *view.strides, *index, state)
    return store.term("load", data, args, view.tile, element)


def padded(rewriter: Rewriter, view: View, index: tuple[Term, ...], raw: Term, pad: Term) -> Term:
    """The loaded tile (M1)."""
    return rewriter.select((inside(rewriter, view, index), raw, pad), view.tile, raw.element)


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
    place = index[0]
    for axis in range(1, merged):
        place = rewriter.integers.add(rewriter.integers.multiply(place, view.extents[axis]), index[axis])
    dim_map = (0, *(axis - merged + 1 for axis in view.dim_map[merged:]))
    joined = View(view.base, extents, strides, view.tile[merged - 1 :], dim_map, view.padding)
    return joined, (place, *index[merged:])
