"""Output ownership: which arrays each block owns a tile of, and under which launch facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ferrotile.passes import memory_order
from ferrotile.passes.accesses import Access
from ferrotile.passes.affine import Affine
from ferrotile.passes.plan import ArrayPlan, Form
from ferrotile.passes.uses import definitions, operations
from ferrotile.program.ir import For, Operation, Program, Statement, Value
from ferrotile.program.types import ArrayType, Size
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, Signature

MAX_OWNED_RANK = 3
_AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Owned:
    """An owned candidate. `blocks[d]` is the block axis that array axis d follows, or None where it has one tile."""

    plan: ArrayPlan
    blocks: tuple[int | None, ...]
    hypotheses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ownership:
    arrays: tuple[ArrayPlan, ...]
    axes: tuple[int, int, int]
    hypotheses: tuple[str, ...]


def decide(program: Program, signature: Signature, accesses: Sequence[Access]) -> Ownership:
    """The form of every array, block axes renamed so that owned arrays follow their own axes."""
    arguments = {a.name: a for a in signature.arguments if isinstance(a, ArrayArgument)}
    constants = {
        a.name: a.value
        for a in signature.arguments
        if isinstance(a, ConstantArgument) and isinstance(a.value, int) and not isinstance(a.value, bool)
    }
    defined = definitions(program.body)
    used_axes = {int(str(o.attribute("axis"))) for o in operations(program.body) if o.opcode == "block_id"}
    chosen: list[ArrayPlan] = []
    renaming: dict[int, int] = {}
    hypotheses: list[str] = []
    for parameter in program.parameters:
        kind = parameter.value.type
        if not isinstance(kind, ArrayType):
            continue
        own = [a for a in accesses if a.array == parameter.value.id]
        plan = ArrayPlan(parameter.name, parameter.value.id, kind.dtype, kind.rank, Form.READ)
        stores = [a for a in own if a.store]
        if not stores:
            chosen.append(plan)
            continue
        ordered = len(own) > len(stores)
        plan = replace(plan, ordered=ordered)
        if any(a.view is None for a in own if a.store):
            plan = replace(plan, form=Form.POINTER, reason="stored through pointers")
            chosen.append(replace(plan, tokens=memory_order.needs_tokens(plan, own)))
            continue
        candidate = _owned(plan, own, stores, arguments.get(parameter.name), signature, constants, used_axes)
        if isinstance(candidate, Owned) and memory_order.needs_tokens(candidate.plan, own):
            candidate = "its accesses need order tokens"
        merged = _merge(renaming, candidate) if isinstance(candidate, Owned) else None
        if isinstance(candidate, Owned) and merged is not None:
            renaming = merged
            hypotheses.extend(h for h in candidate.hypotheses if h not in hypotheses)
            chosen.append(candidate.plan)
            continue
        reason = candidate if isinstance(candidate, str) else "its grid differs from another output's"
        proved = all(_injective(a, defined, used_axes, signature) for a in stores)
        plan = replace(plan, form=Form.FULL, injective=proved, reason=reason)
        tokens = memory_order.needs_tokens(plan, own)
        if tokens:
            proved = all(_injective(replace(a, path=()), defined, used_axes, signature) for a in stores)
        chosen.append(replace(plan, tokens=tokens, injective=proved))
    axes = _complete(renaming)
    if axes != (0, 1, 2) and any(a.form in (Form.OWNED, Form.OWNED_ROW) for a in chosen):
        hypotheses.extend(f"grid.{_AXES[k]} is Rust grid.{_AXES[d]}" for k, d in enumerate(axes) if k != d)
    else:
        axes = (0, 1, 2)
    return Ownership(tuple(chosen), axes, tuple(hypotheses))


def _owned(
    plan: ArrayPlan,
    own: Sequence[Access],
    stores: Sequence[Access],
    argument: ArrayArgument | None,
    signature: Signature,
    constants: Mapping[str, int],
    used_axes: set[int],
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
    row_axis: int | None = None
    if (
        len(stores) == 1
        and not any(isinstance(p, For) for p in stores[0].path)
        and all(a.index == stores[0].index for a in own)
    ):
        if any(not isinstance(p, For) and hasattr(p, "arguments") for p in stores[0].path):
            return "it is stored in a loop"
        index = stores[0].index
    else:
        if len(own) > len(stores):
            return "it is read and written at several tiles"
        found = _row(stores)
        if isinstance(found, str):
            return found
        row_axis, index = found
    blocks: list[int | None] = []
    hypotheses: list[str] = []
    extents = argument.extents if argument is not None else ()
    row: Size | None = None
    for d, form in enumerate(index):
        extent = extents[d] if d < len(extents) else None
        if d == row_axis:
            number = constants.get(extent) if isinstance(extent, str) else extent
            if number is None:
                return f"the extent of its axis {d} is not a constant"
            tile = view.tile[d].value
            generic = isinstance(extent, str) or view.tile[d].symbol is not None
            row = Size(-(-number // tile) * tile, "ROW" if generic else None)
            blocks.append(None)
            continue
        if (k := form.block_axis) is not None and k not in blocks:
            trouble = _grid_fits(signature, k, extent, view.tile[d].value, hypotheses)
            if trouble:
                return trouble
            blocks.append(k)
        elif form.known == 0:
            known = constants.get(extent) if isinstance(extent, str) else extent
            if known is not None and known > view.tile[d].value:
                return f"its axis {d} has more than one tile"
            if known is None:
                hypotheses.append(f"cdiv({extent or f'{plan.name}.shape[{d}]'}, {view.tile[d].value}) = 1")
            blocks.append(None)
        else:
            return "it is not stored at block ids"
    for axis in range(3):
        if axis in blocks:
            continue
        if signature.grid is not None:
            if axis < len(signature.grid) and not _one(signature.grid[axis]):
                return f"blocks along grid axis {_AXES[axis]} store the same tile"
        elif axis in used_axes:
            return f"block id {axis} is not part of its tile index"
        elif axis > 0:
            hypotheses.append(f"bid.{_AXES[axis]} = 0")
    shape = tuple(row if d == row_axis and row is not None else s for d, s in enumerate(view.tile))
    form_ = Form.OWNED if row_axis is None else Form.OWNED_ROW
    reason = "each block stores the tile at its block id" if row_axis is None else "each block stores its own row"
    return Owned(
        replace(plan, form=form_, tile=shape, row_axis=row_axis, row=row, injective=True, reason=reason),
        tuple(blocks),
        tuple(hypotheses),
    )


def _row(stores: Sequence[Access]) -> tuple[int, tuple[Affine, ...]] | str:
    """The axis along which one store in a loop runs over tiles, and the index of its other axes."""
    if len(stores) != 1 or len(stores[0].path) != 1:
        return "it is stored at several places"
    (loop,) = stores[0].path
    if not isinstance(loop, For):
        return "it is stored in a branch or a while loop"
    at = [d for d, form in enumerate(stores[0].index) if form.symbol == f"v{loop.variable.id}"]
    return (at[0], stores[0].index) if len(at) == 1 else "its tile index is not the loop's counter"


def _one(factors: tuple[GridFactor, ...]) -> bool:
    return all(isinstance(f.extent, int) and -(-f.extent // f.tile) == 1 for f in factors)


def _grid_fits(
    signature: Signature, axis: int, extent: str | int | None, tile: int, hypotheses: list[str]
) -> str | None:
    """None if the grid along `axis` covers the extent in tiles (perhaps under a new hypothesis), else the reason."""
    name = f"grid.{_AXES[axis]}"
    want = f"cdiv({extent}, {tile})" if tile != 1 else str(extent)
    if signature.grid is None:
        hypotheses.append(f"{name} = {want}")
        return None
    factors = signature.grid[axis] if axis < len(signature.grid) else ()
    numbers = [-(-f.extent // f.tile) for f in factors if isinstance(f.extent, int)]
    if len(numbers) == len(factors) and isinstance(extent, int):
        total = 1
        for n in numbers:
            total *= n
        return None if total == -(-extent // tile) else f"{name} is {total}, not {want}"
    if len(factors) != 1:
        return f"{name} is not {want}"
    (factor,) = factors
    if factor.extent == extent:
        return None if factor.tile == tile else f"{name} counts tiles of {factor.tile}, not {tile}"
    if isinstance(factor.extent, int) and not isinstance(extent, int):
        return f"{name} is a fixed number of blocks"
    given = f"cdiv({factor.extent}, {factor.tile})" if factor.tile != 1 else str(factor.extent)
    hypotheses.append(f"{given} = {want}")
    return None


def _merge(renaming: Mapping[int, int], owned: Owned) -> dict[int, int] | None:
    """The renaming of block axes to array axes, extended, or None where two outputs disagree."""
    merged = dict(renaming)
    for d, k in enumerate(owned.blocks):
        if k is None:
            if d in merged.values():
                return None
        elif merged.get(k, d) != d or any(other == d and j != k for j, other in merged.items()):
            return None
        else:
            merged[k] = d
    return merged


def _complete(renaming: Mapping[int, int]) -> tuple[int, int, int]:
    """A permutation of the three axes that extends the renaming."""
    free = [d for d in range(3) if d not in renaming.values()]
    filled = dict(renaming)
    for k in range(3):
        if k not in filled:
            filled[k] = k if k in free else free[0]
            free.remove(filled[k])
    return (filled[0], filled[1], filled[2])


def _injective(access: Access, defined: Mapping[int, Statement], used_axes: set[int], signature: Signature) -> bool:
    """Whether different blocks (and trips of the loops around it) store different tiles."""
    needed = {f"bid{k}" for k in range(3) if _many(signature, k, used_axes)}
    strided: set[str] = set()
    for statement in access.path:
        if isinstance(statement, For):
            needed.add(f"v{statement.variable.id}")
            if _grid_stride(statement, defined):
                strided.add(f"v{statement.variable.id}")
        elif hasattr(statement, "arguments"):
            return False
    found = {form.symbol for form in access.index if form.symbol is not None}
    found |= {s for form in access.index if len(form.terms) == 1 for s, _ in form.terms}
    for pair in _quotients(access, defined):
        found.add(pair)
    if strided & found:
        needed.discard("bid0")
    return needed <= found


def _many(signature: Signature, axis: int, used_axes: set[int]) -> bool:
    if signature.grid is None:
        return axis in used_axes or axis == 0
    return axis < len(signature.grid) and not _one(signature.grid[axis])


def _grid_stride(loop: For, defined: Mapping[int, Statement]) -> bool:
    """`range(bid(0), n, num_blocks(0))`: blocks and trips take different numbers."""
    lower, step = defined.get(loop.lower.id), defined.get(loop.step.id)
    return (
        isinstance(lower, Operation)
        and isinstance(step, Operation)
        and lower.opcode == "block_id"
        and step.opcode == "num_blocks"
        and lower.attribute("axis") == step.attribute("axis") == 0
    )


def _divisor(value: Value, defined: Mapping[int, Statement]) -> object:
    """What two divisors must agree in: the constant's name or number, else the value itself."""
    source = defined.get(value.id)
    if isinstance(source, Operation) and source.opcode in ("constant", "const_param"):
        return source.attributes
    return value.id


def _quotients(access: Access, defined: Mapping[int, Statement]) -> list[str]:
    """Symbols `t` for which both `t // n` and `t % n` are components of the index."""
    parts: dict[str, set[tuple[int, object]]] = {"divi": set(), "remi": set()}
    for form in access.index:
        symbol = form.symbol
        if symbol is None or not symbol.startswith("v"):
            continue
        source = defined.get(int(symbol[1:]))
        if isinstance(source, Operation) and source.opcode in parts:
            a, b = source.operands
            parts[source.opcode].add((a.id, _divisor(b, defined)))
    out = []
    for dividend, _ in sorted(parts["divi"] & parts["remi"], key=lambda p: p[0]):
        source = defined.get(dividend)
        if isinstance(source, Operation) and source.opcode == "block_id":
            out.append(f"bid{source.attribute('axis')}")
        out.append(f"v{dividend}")
    return out
