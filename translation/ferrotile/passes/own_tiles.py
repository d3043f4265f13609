"""Block-owned outputs: the tiles that a block stores make up one box of the array, at the block's own place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from ferrotile.passes.accesses import Access
from ferrotile.passes.affine import Affine
from ferrotile.passes.counts import Counts, product, text
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.passes.space import Space, one_block
from ferrotile.program.ir import For, Loop
from ferrotile.program.types import Size
from ferrotile.signatures.model import GridFactor, Signature

MAX_OWNED_RANK = 3
_AXES = "xyz"


class Owned(Struct, frozen=True):
    """An owned output and the launch facts that make it one."""

    plan: ArrayPlan
    hypotheses: tuple[str, ...]


class _Axis(Struct, frozen=True):
    """Along one axis a block owns `count` tiles, those from `count * block id` on; `block` None: from 0 on."""

    block: int | None
    count: int


def own_tiles(
    plan: ArrayPlan,
    own: Sequence[Access],
    stores: Sequence[Access],
    signature: Signature,
    counts: Counts,
    space: Space,
) -> Owned | str:
    """The owned form, or why there is none."""
    if plan.rank > MAX_OWNED_RANK:
        return f"rank {plan.rank}: `&mut Tensor` stops at rank {MAX_OWNED_RANK}"
    view = stores[0].view
    assert view is not None
    identity = tuple(range(plan.rank))
    if any(a.view is None or a.view.dim_map != identity or a.view.tile != view.tile for a in own):
        return "it is accessed through several views"
    if any(a.operation.attribute("memory_order") not in (None, "weak") for a in own):
        return "an access has a memory order of its own"
    if any(isinstance(p, Loop) for s in stores for p in s.path):
        return "it is stored in a `while` loop"
    axes: list[_Axis] = []
    hypotheses: list[str] = []
    for d in range(plan.rank):
        axis = _axis(plan, d, stores, view.tile[d].value, counts)
        if isinstance(axis, str):
            return axis
        trouble = _fits(plan, d, axis, view.tile[d].value, signature, counts, hypotheses)
        if trouble is not None:
            return trouble
        if axis.block is not None and axis.block in [a.block for a in axes]:
            return "two axes follow one block id"
        axes.append(axis)
    several = any(a.count > 1 for a in axes)
    if several and len(own) > len(stores):
        return "it is read and written at several tiles"
    if len(own) > len(stores) and any(a.index != stores[0].index for a in own):
        return "it is read and written at several tiles"
    trouble = _other_axes(axes, signature, space, counts, hypotheses)
    if trouble is not None:
        return trouble
    tile = tuple(s if a.count == 1 else Size(a.count * s.value) for a, s in zip(axes, view.tile, strict=True))
    found = replace(
        plan,
        form=Form.OWNED_ROW if several else Form.OWNED,
        tile=tile,
        blocks=tuple(a.block for a in axes),
        counts=tuple(a.count for a in axes),
        injective=True,
        trips=all(_every_trip(s) for s in stores),
        reason="each block stores its own row" if several else "each block stores the tile at its block id",
    )
    return Owned(found, tuple(hypotheses))


def _every_trip(store: Access) -> bool:
    """Whether a store has its own tile on every trip of the loops around it."""
    symbols = {form.terms[0][0] for form in store.index if len(form.terms) == 1}
    symbols |= {s for form in store.index for s, k in form.terms if abs(k) == 1 and s.startswith("v")}
    return all(f"v{p.variable.id}" in symbols for p in store.path if isinstance(p, For))


def _counters(stores: Sequence[Access]) -> Iterator[tuple[str, For]]:
    for store in stores:
        for p in store.path:
            if isinstance(p, For):
                yield f"v{p.variable.id}", p


def _axis(plan: ArrayPlan, d: int, stores: Sequence[Access], tile: int, counts: Counts) -> _Axis | str:
    """What a block owns along one axis."""
    loops = dict(_counters(stores))
    parts = [_split(store.index[d]) for store in stores]
    if any(p is None for p in parts):
        return "it is not stored at block ids"
    found = [p for p in parts if p is not None]
    blocks = {(block, stride) for block, stride, _ in found}
    if len(blocks) > 1:
        return "its stores do not agree on their block id"
    ((block, stride),) = blocks
    high = 0
    unbounded = False
    for _, _, rest in found:
        bounds = _range(rest, loops, counts)
        if bounds is None:
            if rest.symbol not in loops or block is not None:
                return "its tile index is not made of block ids and loop counters"
            unbounded = True
            continue
        if bounds[0] < 0:
            return "its tile index may be negative"
        high = max(high, bounds[1])
    if block is not None:
        return _Axis(block, stride) if high < stride else "blocks that are neighbours share tiles"
    tiles = counts.own(plan.name, d, plan.rank, tile)
    if all(isinstance(f.extent, int) for f in tiles):
        return _Axis(None, max(1 if unbounded else high + 1, *(int(f.extent) for f in tiles), 1))
    return f"the extent of its axis {d} is not a constant" if unbounded else _Axis(None, high + 1)


def _split(form: Affine) -> tuple[int | None, int, Affine] | None:
    """Block axis, its factor, and the rest; None for more than one block id or a negative factor."""
    blocks = [(s, k) for s, k in form.terms if s.startswith("bid")]
    rest = Affine(form.constant, tuple(t for t in form.terms if not t[0].startswith("bid")))
    if not blocks:
        return None, 1, rest
    if len(blocks) > 1 or blocks[0][1] < 1:
        return None
    return int(blocks[0][0][3:]), blocks[0][1], rest


def _range(rest: Affine, loops: dict[str, For], counts: Counts) -> tuple[int, int] | None:
    """Smallest and largest value, where all symbols are counters of constant ranges."""
    low = high = rest.constant
    for symbol, k in rest.terms:
        loop = loops.get(symbol)
        lower, upper = (None, None) if loop is None else (counts.known(loop.lower), counts.known(loop.upper))
        if lower is None or upper is None or upper <= lower:
            return None
        ends = (k * lower, k * (upper - 1))
        low, high = low + min(ends), high + max(ends)
    return low, high


def _fits(
    plan: ArrayPlan, d: int, axis: _Axis, tile: int, signature: Signature, counts: Counts, hypotheses: list[str]
) -> str | None:
    """None if the grid covers an axis exactly (perhaps under a new hypothesis), else what does not fit."""
    want = counts.own(plan.name, d, plan.rank, axis.count * tile)
    numbers = [f for f in want if isinstance(f.extent, int)]
    if axis.block is None:
        if numbers or not want:
            return f"its axis {d} has more than one tile" if numbers else None
        hypotheses.extend(f"{text(f)} = 1" for f in want)
        return None
    grid = f"grid.{_AXES[axis.block]}"
    given = counts.grid(signature, axis.block)
    if given is None:
        hypotheses.append(f"{grid} = {product(want)}")
        return None
    facts = equal_counts(given, want, counts.safe)
    if facts is None:
        return f"{grid} is {product(given)}, not {product(want)}"
    # An extent that is a number of tiles of another one: what the grid is says it in the form that checks read.
    counted = [(f, f.partition(" = ")) for f in facts]
    hypotheses.extend(
        f"{grid} = {product(want)}" if "cdiv(" in left + right and not right.isdigit() else f
        for f, (left, _, right) in counted
    )
    return None


def equal_counts(given: Sequence[GridFactor], want: Sequence[GridFactor], numbers: bool) -> tuple[str, ...] | None:
    """The facts about extents that make two products equal, where one factor of each is left; `numbers`: also where
    one of them is a number."""
    left, right = list(given), list(want)
    for factor in given:
        if factor in right:
            left.remove(factor)
            right.remove(factor)
    if not left and not right:
        return ()
    if numbers:
        found = _as_number(left, right) or _as_number(right, left)
        if found is not None:
            return (found,)
    if (not numbers and (len(given) != 1 or len(want) != 1)) or len(left) != 1 or len(right) != 1:
        return None
    (a,), (b,) = left, right
    if a.extent == b.extent or isinstance(a.extent, int) or isinstance(b.extent, int):
        return None
    return (f"{text(a)} = {text(b)}",)


def _as_number(symbols: Sequence[GridFactor], numbers: Sequence[GridFactor]) -> str | None:
    """The number that the one symbol of a product has to be for the product to be a number."""
    named = [f for f in symbols if isinstance(f.extent, str)]
    if len(named) != 1 or any(isinstance(f.extent, str) for f in numbers):
        return None
    factor = prod(int(f.extent) for f in symbols if f is not named[0])
    total = prod(int(f.extent) for f in numbers)
    return f"{text(named[0])} = {total // factor}" if total % factor == 0 and total else None


def _other_axes(
    axes: Sequence[_Axis], signature: Signature, space: Space, counts: Counts, hypotheses: list[str]
) -> str | None:
    """Grid axes that no array axis follows must have one block, which may follow from what is assumed already."""
    for axis in range(3):
        if axis in [a.block for a in axes]:
            continue
        if signature.grid is not None:
            if axis < len(signature.grid) and not one_block(signature.grid[axis]):
                given = counts.grid(signature, axis) or ()
                if axis in space.used or any(f"{text(f)} = 1" not in hypotheses for f in given):
                    return f"blocks along grid axis {_AXES[axis]} store the same tile"
        elif axis in space.used:
            return f"block id {axis} is not part of its tile index"
        elif axis > 0:
            hypotheses.append(f"bid.{_AXES[axis]} = 0")
    return None
