"""Terms in words, and the smallest difference of two terms."""

from __future__ import annotations

from msgspec import Struct

from ferrotile_runner.tileir.polynomials import decode
from ferrotile_runner.tileir.terms import Term, squeeze

_SYMBOLS = {
    "addf": "+",
    "subf": "-",
    "mulf": "*",
    "divf": "/",
    "div": "//",
    "andi": "and",
    "ori": "or",
    "less_than": "<",
    "less_than_or_equal": "<=",
    "equal": "==",
    "not_equal": "!=",
}
_OPAQUE = frozenset({"const", "param", "bid", "grid", "iota", "carry", "bound", "poly"})


class Pair(Struct, frozen=True):
    """Two terms that differ, and the way to them from the effect: operation names, outermost first."""

    path: tuple[str, ...]
    python: Term | None
    rust: Term | None


def show(term: Term | None, depth: int = 4) -> str:
    """A term as an expression, cut off below `depth`."""
    if term is None:
        return "nothing"
    match term.op:
        case "param" if isinstance(term.data, tuple):
            return str(term.data[-1])
        case "bid" | "grid":
            return f"{term.op}.{term.data}"
        case "const":
            return _constant(term)
        case "iv":
            return f"k{term.data}"
        case "carry" if isinstance(term.data, tuple):
            return f"carried{term.data[1]}"
        case "bound":
            return f"lane{term.data}"
        case "iota":
            return f"iota({term.shape[0]})"
    if depth == 0:
        return "…"
    args = [show(arg, depth - 1) for arg in term.args]
    match term.op:
        case "poly":
            names = dict(zip(term.args, args, strict=True))
            parts = [
                "*".join([str(c)] * (c != 1 or not m) + [names[atom] for atom in m]) for m, c in decode(term).items()
            ]
            return "(" + " + ".join(parts) + ")"
        case "cmpi" | "cmpf":
            predicate = str(term.data).split(" ")[0]
            return f"({args[0]} {_SYMBOLS.get(predicate, predicate)} {args[1]})"
        case "map":
            axes = "" if not squeeze(term.args[0].shape) else f"[axes {term.data}]"
            return f"{args[0]}{axes}"
        case "reduce" | "scan" if isinstance(term.data, tuple):
            starts = ", ".join(_literal(value, term.element) for value in term.data[2])
            return f"{term.op}({', '.join(args)}; from {starts})"
        case op if op in _SYMBOLS:
            return "(" + f" {_SYMBOLS[op]} ".join(args) + ")"
        case op:
            data = f"<{term.data}>" if isinstance(term.data, str) and term.data else ""
            return f"{op}{data}({', '.join(args[:8])}{', …' if len(args) > 8 else ''})"


def _constant(term: Term) -> str:
    return _literal(term.data, term.element)


def _literal(value: object, element: str) -> str:
    """A number, or the bits of a float."""
    if element.startswith(("i", "p")) or not isinstance(value, int):
        return str(value)
    return f"{element}:{value:#x}"


def differ(python: Term, rust: Term, seen: dict[tuple[int, int], Pair | None] | None = None) -> Pair | None:
    """The first smallest difference; None when the terms are one."""
    seen = {} if seen is None else seen
    if python is rust:
        return None
    key = (python.number, rust.number)
    if key in seen:
        return seen[key]
    found = Pair((), python, rust)
    seen[key] = found
    alike = python.op == rust.op and python.data == rust.data and len(python.args) == len(rust.args)
    if alike and python.op not in _OPAQUE and python.shape == rust.shape:
        pairs = (differ(a, b, seen) for a, b in zip(python.args, rust.args, strict=True))
        inner = next((pair for pair in pairs if pair is not None), None)
        if inner is not None:
            found = Pair((python.op, *inner.path), inner.python, inner.rust)
    seen[key] = found
    return found
