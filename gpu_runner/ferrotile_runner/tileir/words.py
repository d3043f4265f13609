"""Terms in words: what an engineer reads when two programs differ."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ferrotile_runner.tileir.literals import number
from ferrotile_runner.tileir.polynomials import decode
from ferrotile_runner.tileir.terms import Term, squeeze

SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        "addf": "+",
        "subf": "-",
        "mulf": "*",
        "divf": "/",
        "div": "//",
        "remf": "%",
        "andi": "and",
        "ori": "or",
        "xori": "xor",
        "shli": "<<",
        "shri": ">>",
        "less_than": "<",
        "less_than_or_equal": "<=",
        "greater_than": ">",
        "greater_than_or_equal": ">=",
        "equal": "==",
        "not_equal": "!=",
    }
)
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "maxf": "max",
        "minf": "min",
        "maxi": "max",
        "mini": "min",
        "mmaf": "mma",
        "mmai": "mma",
        "negf": "-",
        "absf": "abs",
        "absi": "abs",
        "select": "where",
        "cdiv": "cdiv",
    }
)
_FOLDS = MappingProxyType(
    {"addf": "sum", "addi": "sum", "poly": "sum", "mulf": "product", "muli": "product"}
    | {"maxf": "max", "maxi": "max", "minf": "min", "mini": "min", "andi": "all", "ori": "any", "xori": "xor"}
)
_CONVERSIONS = frozenset({"ftof", "itof", "ftoi", "exti", "trunci", "bitcast"})
_DEPTH = 5


def show(term: Term | None, depth: int = _DEPTH) -> str:
    """A term as an expression, cut off below `depth`: `x[bid.x, 0]` is a loaded tile, `k1` a loop's variable."""
    if term is None:
        return "nothing"
    match term.op:
        case "param" if isinstance(term.data, tuple):
            return str(term.data[-1])
        case "bid" | "grid":
            return f"{term.op}.{term.data}"
        case "const":
            return literal_text(term.data, term.element)
        case "iv":
            return f"k{term.data}"
        case "carry" if isinstance(term.data, tuple):
            return f"carried {term.data[1]}" if isinstance(term.data[1], int) else "a carried value"
        case "bound":
            return "ab"[term.data] if term.data in (0, 1) and isinstance(term.data, int) else f"lane{term.data}"
        case "iota":
            return f"lanes({term.shape[0]})"
        case "state" | "entered" | "turn":
            return "the writes so far" if term.op != "turn" else "this round"
    if depth == 0:
        return "…"
    return _inner(term, depth - 1)


def _inner(term: Term, depth: int) -> str:
    match term.op:
        case "poly":
            return _sum(term, depth)
        case "cmpi" | "cmpf":
            predicate = str(term.data).split(" ")[0]
            sign = SYMBOLS.get(predicate, predicate)
            return f"({show(term.args[0], depth)} {sign} {show(term.args[1], depth)})"
        case "map":
            return f"{show(term.args[0], depth + 1)}{_axes(term)}"
        case "reduce" | "scan" if isinstance(term.data, tuple):
            return _combination(term, depth)
        case "load" | "store" | "atomic_red":
            return access(term, depth)
        case "load_ptr":
            return f"{show(term.args[0])}[at {show(term.args[1], depth)}]"
        case "store_ptr" | "atomic_rmw_tko":
            base, offset, mask, value = term.args
            where = "" if mask.op == "const" else f" where {show(mask, depth)}"
            sign = "=" if term.op == "store_ptr" else "updated by"
            return f"{show(base)}[at {show(offset, depth)}] {sign} {show(value, depth)}{where}"
        case "select" if _is_load(term.args[1]):
            return show(term.args[1], depth + 1)  # its mask and its padding belong to it
        case "arg" if isinstance(term.data, tuple):  # function, sign, whether NaN wins, axis
            axis = f", axis {term.data[3]}" if len(squeeze(term.args[0].shape)) > 1 else ""
            nan = ", NaN first" if term.data[2] is True else ""
            return f"arg{term.data[0]}({_list(term.args, depth)}{axis}{nan})"
        case "for" | "loop":
            return _loop(term, depth)
        case "guard":
            return f"{show(term.args[1], depth)} if {show(term.args[0], depth)}"
        case "undetermined":
            return "lanes that are left open"
        case op if op in _CONVERSIONS:
            return f"{term.element}({_list(term.args, depth)})"
        case op if op in SYMBOLS and len(term.args) > 1:
            return "(" + f" {SYMBOLS[op]} ".join(show(arg, depth) for arg in term.args) + f"){attributes(term)}"
        case op:
            return f"{NAMES.get(op, op)}{attributes(term)}({_list(term.args, depth)})"


def attributes(term: Term) -> str:
    """What an operation says besides its operands."""
    return f"<{term.data}>" if isinstance(term.data, str) and term.data else ""


def _list(args: tuple[Term, ...], depth: int) -> str:
    return ", ".join(show(arg, depth) for arg in args[:6]) + (", …" if len(args) > 6 else "")


def _sum(term: Term, depth: int) -> str:
    names = {atom: show(atom, depth) for atom in term.args}
    text = ""
    for product, factor in decode(term).items():
        size = abs(factor)
        word = "*".join([str(size)] * (size != 1 or not product) + [names[atom] for atom in product])
        sign = ("-" if factor < 0 else "") if not text else " - " if factor < 0 else " + "
        text += sign + word
    return f"({text})" if " " in text else text


def _axes(term: Term) -> str:
    """Axes of a leaf that another order shows; what is only broadcast is not said."""
    axes = term.data if isinstance(term.data, tuple) else ()
    kept = [axis for axis in axes if axis >= 0]
    if len(squeeze(term.args[0].shape)) == 1 and len(axes) > 1 and kept:
        return f" along axis {axes.index(0)}"
    return "" if kept == sorted(kept) else f" with axes {tuple(kept)}"


def _combination(term: Term, depth: int) -> str:
    """`sum(x, axis 1)`; other functions as they are."""
    data = term.data if isinstance(term.data, tuple) else ()
    count = data[3] if len(data) > 3 and isinstance(data[3], int) else 1
    body = term.args[count:]
    one = body[0] if len(body) == 1 and all(arg.op == "bound" for arg in body[0].args) else None
    fold = None if one is None else _FOLDS.get(one.op)
    lanes = _list(term.args[:count], depth)
    axis = f", axis {data[0]}" if len(squeeze(term.args[0].shape)) > 1 else ""
    name = fold or f"{term.op} by {', '.join(show(part, depth) for part in body)}:"
    if term.op == "scan" and fold:
        name = f"running {fold}"
    return f"{name}({lanes}{axis})"


def access(term: Term, depth: int = _DEPTH) -> str:
    """`x[bid.x, 0]` of a view's access; a store with its value."""
    rank = tile_rank(term)
    index = term.args[len(term.args) - 1 - rank : -1]
    name = f"{show(term.args[0])}[{', '.join(show(part, depth) for part in index)}]"
    return name if term.op == "load" else f"{name} = {show(term.args[-1], depth)}"


def tile_rank(term: Term) -> int:
    """Number of indices of a view's access, which stand before its last argument."""
    data = term.data if isinstance(term.data, tuple) else ()
    return len(next((part for part in data if isinstance(part, tuple)), ()))


def _is_load(term: Term) -> bool:
    inner = term.args[0] if term.op == "map" else term
    return inner.op in {"load", "load_ptr"}


def _loop(term: Term, depth: int) -> str:
    data = term.data if isinstance(term.data, tuple) else ()
    rounds = f"k{data[1]} in {show(term.args[0], depth)} .. {show(term.args[1], depth)}" if term.op == "for" else "loop"
    what = f"value {data[3]} of " if len(data) > 3 else ""
    return f"{what}the loop over {rounds}" if term.op == "for" else f"{what}a loop"


def literal_text(value: object, element: str) -> str:
    """A constant as it is written in source text."""
    if not isinstance(value, int):
        return str(value)
    if element == "i1":
        return "true" if value else "false"
    if element.startswith(("i", "p")):
        return str(value)
    known = number(value, element)
    return f"{element}:{value:#x}" if known is None else known
