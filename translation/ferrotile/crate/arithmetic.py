"""Integer expressions of host code, as text: folded where they can be."""

from __future__ import annotations


def bare(text: str) -> str:
    """Without parentheses around the whole."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if text[0] == "(" and at == len(text) - 1 else text
    return text


def applied(function: str, a: str, b: str, inner: bool) -> str:
    """`a function b`, folded where both are numbers, or one of them changes nothing."""
    if a.isdigit() and b.isdigit() and int(b) > 0:
        x, y = int(a), int(b)
        folded = {"tiles": -(-x // y), "/": x // y, "+": x + y, "-": x - y, "*": x * y, "min": min(x, y)}[function]
        if folded >= 0:
            return str(folded)
    if (b == "1" and function in ("tiles", "/", "*")) or (b == "0" and function in ("+", "-")):
        return a
    if (a == "1" and function == "*") or (a == "0" and function == "+"):
        return b
    if function == "*" and "0" in (a, b):
        return "0"
    if function == "tiles":
        return f"tiles({a}, {b})"
    if function == "min":
        return f"{a}.min({b})" if not a.isdigit() else f"{b}.min({a})"
    text = f"{a} {function} {b}"
    return f"({text})" if inner else text


def times(factors: list[str] | tuple[str, ...]) -> str:
    """The product; factors of 1 are left out."""
    return " * ".join(f for f in factors if f != "1") or "1"
