"""Atomic read-modify-write and compare-and-swap, by indices or by linear offsets; memory orders and scopes."""

from __future__ import annotations

from collections.abc import Callable

from ferrotile.frontends.cutile.arguments import Arguments, Spec
from ferrotile.frontends.cutile.conversion import is_loose, materialise, own_dtype
from ferrotile.frontends.cutile.environment import Context
from ferrotile.frontends.cutile.gather import place_of, stored
from ferrotile.frontends.cutile.values import Abstract, Tile
from ferrotile.program import dtypes
from ferrotile.program.dtypes import DType
from ferrotile.program.types import TileType

ORDERS = {"WEAK": "weak", "RELAXED": "relaxed", "ACQUIRE": "acquire", "RELEASE": "release", "ACQ_REL": "acq_rel"}
SCOPES = {"NONE": None, "BLOCK": "block", "DEVICE": "device", "SYS": "sys"}

_INTEGERS = (dtypes.I32, dtypes.I64, dtypes.U32, dtypes.U64)
_WORDS = (*_INTEGERS, dtypes.F32, dtypes.F64)
SUPPORTED: dict[str, tuple[DType, ...]] = {
    "add": (*_WORDS, dtypes.F16, dtypes.BF16),
    "xchg": _WORDS,
    "cas": _WORDS,
    **dict.fromkeys(("max", "min", "and", "or", "xor"), _INTEGERS),
}
"""The element types of each mode, as cuTile Python has them."""
BITWISE = frozenset(("and", "or", "xor"))


def memory_order(args: Arguments, allowed: tuple[str, ...], default: tuple[str, str | None]) -> tuple[str, str | None]:
    """`memory_order` and `memory_scope` as the program spells them; refuses what cuTile refuses."""
    order, scope = default
    if args.has("memory_order"):
        order = args.member("memory_order", "MemoryOrder", ORDERS) or order
    if args.has("memory_scope"):
        scope = args.member("memory_scope", "MemoryScope", SCOPES)
    if order not in allowed:
        names = ", ".join(a.upper() for a in allowed)
        raise args.refused("memory_order", "FT205", f"`{args.name}` cannot be {order.upper()}: it takes {names}")
    if order == "weak" and scope is not None:
        raise args.refused("memory_scope", "FT205", "a WEAK access has no memory scope")
    if order != "weak" and scope is None:
        name = "memory_scope" if "memory_scope" in args.spans else "memory_order"
        raise args.refused(name, "FT205", f"{order.upper()} needs a `memory_scope`: BLOCK, DEVICE or SYS")
    return order, scope


_ATOMIC_ORDERS = ("relaxed", "acquire", "release", "acq_rel")


def check_dtype(args: Arguments, mode: str, dtype: DType, name: str) -> None:
    """Refuses the element types that cuTile refuses."""
    if dtype not in SUPPORTED[mode]:
        names = ", ".join(map(str, SUPPORTED[mode]))
        raise args.refused("array", "FT203", f"`{args.name}` on `{name}`: {dtype} is none of {names}")


def settle_update(ctx: Context, args: Arguments, mode: str, dtype: DType, scalar: bool) -> None:
    """Gives a literal update the type that it has alone, as cuTile does unless the access is of one element; bitwise
    modes never cast."""
    update = args.operand("update")
    if is_loose(update) and (mode in BITWISE or not scalar):
        update = Tile(materialise(ctx, update))
        args.values["update"] = update
    if mode in BITWISE and own_dtype(ctx, update) != dtype:
        found = own_dtype(ctx, update)
        raise args.refused("update", "FT203", f"`{args.name}` needs an update of {dtype}, not {found}")


def _rmw(mode: str) -> Callable[[Context, Arguments], Abstract]:
    def handler(ctx: Context, args: Arguments) -> Abstract:
        place = place_of(ctx, args)
        dtype = place.array.type.dtype
        check_dtype(args, mode, dtype, place.array.name)
        settle_update(ctx, args, mode, dtype, not place.shape)
        update = stored(ctx, args, "update", place)
        order, scope = memory_order(args, _ATOMIC_ORDERS, ("acq_rel", "device"))
        return Tile(
            ctx.emit(
                "atomic_rmw", place.operands(update), TileType(dtype, place.shape), **place.attributes,
                mode=mode, memory_order=order, memory_scope=scope,
            )
        )  # fmt: skip

    return handler


def _cas(ctx: Context, args: Arguments) -> Abstract:
    place = place_of(ctx, args)
    dtype = place.array.type.dtype
    check_dtype(args, "cas", dtype, place.array.name)
    expected, desired = stored(ctx, args, "expected", place), stored(ctx, args, "desired", place)
    order, scope = memory_order(args, _ATOMIC_ORDERS, ("acq_rel", "device"))
    return Tile(
        ctx.emit(
            "atomic_cas", place.operands(expected, desired), TileType(dtype, place.shape), **place.attributes,
            memory_order=order, memory_scope=scope,
        )
    )  # fmt: skip


_MODES = ("add", "max", "min", "and", "or", "xor", "xchg")
_WORDS_OF = "* check_bounds? memory_order? memory_scope?"
_RAW = "* mask? memory_order? memory_scope?"
FUNCTIONS = {
    **{f"atomic_{mode}": Spec(f"array indices update {_WORDS_OF}", _rmw(mode)) for mode in _MODES},
    "atomic_cas": Spec(f"array indices expected desired {_WORDS_OF}", _cas),
}
RAW_METHODS = {
    **{f"atomic_{mode}_offset": Spec(f"array indices update {_RAW}", _rmw(mode)) for mode in _MODES},
    "atomic_cas_offset": Spec(f"array indices expected desired {_RAW}", _cas),
}
