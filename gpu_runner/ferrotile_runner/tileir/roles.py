"""Names of operations and of their parts, for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ferrotile_runner.tileir.terms import Term
from ferrotile_runner.tileir.words import NAMES, SYMBOLS, show, tile_rank

LEAVES = frozenset({"const", "param", "bid", "grid", "iota", "carry", "bound", "iv"})
"""Terms that are too little to have a place of their own."""

ROLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "fma": ("the first factor", "the second factor", "the addend"),
        "mmaf": ("the left matrix", "the right matrix", "the accumulator"),
        "mmai": ("the left matrix", "the right matrix", "the accumulator"),
        "guard": ("the condition", "what is stored"),
        "load_ptr": ("the array", "the offset", "what was written before"),
        "store_ptr": ("the array", "the offset", "the mask", "the value"),
        "atomic_rmw_tko": ("the array", "the offset", "the mask", "the value"),
        "atomic_cas_tko": ("the array", "the offset", "the mask", "the expected value", "the new value"),
        "atomic": ("the update", "what was written before"),
        "masked": ("the array", "the offset", "the mask"),
        "div": ("the dividend", "the divisor"),
        "cdiv": ("the dividend", "the divisor"),
    }
)


def is_leaf(term: Term | None) -> bool:
    """Whether a term says too little to have a place of its own: `0` is written in many."""
    return term is not None and term.op in LEAVES


def operation(term: Term) -> str:
    """The name of an operation, for people."""
    match term.op:
        case "cmpi" | "cmpf":
            predicate = str(term.data).split(" ")[0]
            return f"`{SYMBOLS.get(predicate, predicate)}`"
        case "map" if is_load(term):
            return operation(term.args[0])
        case "load" | "load_ptr" | "masked":
            return f"the load of `{show(term.args[0])}`"
        case "store" | "store_ptr":
            return f"the store to `{show(term.args[0])}`"
        case "atomic_red" | "atomic_rmw_tko" | "atomic_cas_tko" | "atomic":
            return f"the atomic update of `{show(term.args[0])}`" if term.op != "atomic" else "an atomic update"
        case "for" | "loop" | "summary":
            return "the loop"
        case "select":
            return operation(term.args[1]) if is_load(term.args[1]) else "`where`"
        case "guard":
            return "the store" if term.args[1].op.startswith("store") else "the effect"
        case "poly":
            return "the integer arithmetic"
        case "reduce" | "scan":
            return f"the {'reduction' if term.op == 'reduce' else 'scan'} `{show(term, 2)}`"
        case "map" | "reshape":
            return "the broadcast or transposition"
        case "const" | "param" | "bid" | "grid" | "iv" | "carry":
            return f"`{show(term)}`"
        case op:
            return f"`{SYMBOLS.get(op, NAMES.get(op, op))}`"


def role(term: Term, place: int) -> str:
    """The name of an argument."""
    if term.op in {"load", "store", "atomic_red"}:
        return _access_role(term, place)
    if term.op in {"for", "loop", "summary"} and isinstance(term.data, tuple):
        return _loop_role(term, place)
    if term.op == "select":
        whole, other = ("the load", "the padding") if is_load(term.args[1]) else ("the first value", "the second value")
        return ("the mask" if is_load(term.args[1]) else "the condition", whole, other)[place]
    if term.op in {"reduce", "scan"} and isinstance(term.data, tuple):
        count = term.data[3] if isinstance(term.data[3], int) else 1
        return "the operand" if place < count else "the function"
    names = ROLES.get(term.op)
    if names is not None and place < len(names):
        return names[place]
    if term.op in {"cmpi", "cmpf"}:
        return ("the left side", "the right side")[place]
    return "the operand" if len(term.args) == 1 else f"the {_ordinal(place)} operand"


def is_load(term: Term) -> bool:
    """A load, whatever its shape."""
    return term.op in {"load", "load_ptr"} or (term.op == "map" and term.args[0].op in {"load", "load_ptr"})


def _access_role(term: Term, place: int) -> str:
    index = len(term.args) - 1 - tile_rank(term)
    rank = (index - 2) // 2
    if place < 2:
        return ("the array", "the first element")[place]
    if place < 2 + rank:
        return f"extent {place - 2}"
    if place < index:
        return f"stride {place - 2 - rank}"
    if place < len(term.args) - 1:
        return f"the index of axis {place - index}"
    return "what was written before" if term.op == "load" else "the value"


def _loop_role(term: Term, place: int) -> str:
    data = term.data if isinstance(term.data, tuple) else ()
    count = data[2] if isinstance(data[2], int) else 0
    if term.op == "for" or (term.op == "summary" and data[0] == "for"):
        if place < 3:
            return ("the start", "the end", "the step")[place]
        place -= 3
    if place < count:
        return f"the start of carried value {place}"
    if place < 2 * count:
        return f"what a round makes of carried value {place - count}"
    place -= 2 * count
    if data[0] == "loop" and place < count:
        return f"value {place} on leaving"
    place -= count if data[0] == "loop" else 0
    return "the condition to stop" if place == 0 else f"effect {place} of a round"


def _ordinal(place: int) -> str:
    return ("first", "second", "third", "fourth")[place] if place < 4 else f"{place + 1}th"
