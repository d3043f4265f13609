"""Integers of another width: `exti`, `trunci`, and comparisons of extended values (rules I7, I8, I12, I13)."""

from __future__ import annotations

from typing import Protocol

from ferrotile_runner.tileir import combining
from ferrotile_runner.tileir.polynomials import decode, monomial
from ferrotile_runner.tileir.terms import Shape, Term, is_integer, value_of, wrap

_BITWISE = frozenset({"andi", "ori", "xori"})
_ORDERED = frozenset({"maxi", "mini"})


class Rules(combining.Rules, Protocol):
    """What these rules need of the rewriter."""


def bits(element: str) -> int:
    """Width of an integer type."""
    return int(element[1:])


def extend(rules: Rules, data: str, a: Term, shape: Shape, element: str) -> Term:
    """`exti`: folds constants, joins two of them, distributes over index arithmetic (I8)."""
    known = value_of(a)
    unsigned = "unsigned" in data
    if known is not None:
        value = known & ((1 << bits(a.element)) - 1) if unsigned else -known if a.element == "i1" else known
        return rules.store.const(wrap(value, element), shape, element)
    if a.op == "exti":
        # A zero extension leaves a value >= 0, so that a sign extension after it is one more of its kind.
        inner = "unsigned" if "unsigned" in str(a.data) else "signed"
        if inner == "unsigned" or not unsigned:
            return extend(rules, inner, a.args[0], shape, element)
    if data == "signed" and a.op == "poly" and rules.integers.no_overflow(a):
        p = {monomial(*(extend(rules, data, atom, atom.shape, element) for atom in m)): c for m, c in decode(a).items()}
        return rules.integers.build(p, shape, element)
    return rules.store.term("exti", data, (a,), shape, element)


def truncate(rules: Rules, data: str, a: Term, shape: Shape, element: str) -> Term:
    """`trunci`: the low bits of sums, products and bit operations are those of their operands' low bits (I12).

    A promise that no bit is lost is dropped where it is kept for certain, and stays part of the term elsewhere."""
    if data and not _keeps_promise(data, a, bits(element)):
        return rules.store.term("trunci", data, (a,), shape, element)
    known = value_of(a)
    if known is not None:
        return rules.store.const(wrap(known, element), shape, element)
    low = bits(element)

    def part(term: Term) -> Term:
        return truncate(rules, "", term, term.shape, element)

    match a.op:
        case "poly":
            total = rules.store.const(0, shape, element)
            for m, c in decode(a).items():
                product = rules.store.const(wrap(c, element), shape, element)
                for atom in m:
                    product = rules.integers.multiply(product, part(atom))
                total = rules.integers.add(total, product)
            return total
        case "exti":
            source = a.args[0]
            width = bits(source.element)
            if width == low:
                return source
            return part(source) if width > low else extend(rules, str(a.data), source, shape, element)
        case "trunci" if not a.data:
            return truncate(rules, "", a.args[0], shape, element)
        case "select":
            condition, left, right = a.args
            return rules.make("select", "", (condition, part(left), part(right)), shape, element)
        case op if op in _BITWISE:
            parts = [part(arg) for arg in a.args]
            result = parts[0]
            for other in parts[1:]:
                result = rules.make(op, "", (result, other), shape, element)
            return result
        case "shli" if 0 <= (known_shift := value_of(a.args[1]) or 0) < low and value_of(a.args[1]) is not None:
            amount = rules.store.const(known_shift, shape, element)
            return rules.make("shli", "", (part(a.args[0]), amount), shape, element)
        case "shli" if _is_extended(a.args[1], low) or _is_below(a.args[1], low):
            # An amount of `low` or more shifts every low bit out, in both widths.
            return rules.make("shli", "", (part(a.args[0]), part(a.args[1])), shape, element)
        case "reduce" | "scan":
            made = combining.low_bits(rules, a, element, part)
            if made is not None:
                return made
        case "shri" if _is_sign_extension(a, low):
            return part(a.args[0].args[0])
        case op if op in _ORDERED or op == "cmpi":
            narrow = [narrowed(arg, low) for arg in a.args]
            signs = {sign for _, sign in narrow}
            if None not in signs and len(signs) == 1 and "unsigned" not in str(a.data) and signs == {"signed"}:
                args = tuple(term for term, _ in narrow if term is not None)
                return rules.make(op, str(a.data), args, shape, element)
    return rules.store.term("trunci", "", (a,), shape, element)


def narrowed(term: Term, width: int) -> tuple[Term | None, str | None]:
    """The value of `width` bits that `term` is an extension of, and the kind of extension."""
    if term.op == "exti" and bits(term.args[0].element) == width:
        return term.args[0], "unsigned" if "unsigned" in str(term.data) else "signed"
    return None, None


def _is_extended(term: Term, low: int) -> bool:
    """A zero extension of a value of `low` bits."""
    return term.op == "exti" and "unsigned" in str(term.data) and bits(term.args[0].element) == low


def _is_below(amount: Term, low: int) -> bool:
    """An amount from 0 to `low - 1`, by its mask."""
    inner = amount.args[0] if amount.op == "exti" else amount
    masks = [value for arg in inner.args if (value := value_of(arg)) is not None] if inner.op == "andi" else []
    return any(0 <= mask < min(low, 1 << (bits(inner.element) - 1)) for mask in masks)


def _is_sign_extension(a: Term, low: int) -> bool:
    """`shri(shli(x, k), k)`, signed, with k = width - low."""
    inner, amount = a.args
    gap = bits(a.element) - low
    if "unsigned" in str(a.data) or value_of(amount) != gap or inner.op != "shli":
        return False
    return value_of(inner.args[1]) == gap


def _keeps_promise(data: str, a: Term, low: int) -> bool:
    known = value_of(a)
    if known is not None:
        if "no_signed_wrap" in data:
            return -(1 << (low - 1)) <= known < 1 << (low - 1)
        return "no_unsigned_wrap" in data and 0 <= known < 1 << low
    if "no_unsigned_wrap" in data:
        if a.op == "andi":
            masks = [value for arg in a.args if (value := value_of(arg)) is not None]
            return any(0 <= mask < 1 << low for mask in masks)
        return a.op == "exti" and "unsigned" in str(a.data) and bits(a.args[0].element) <= low
    if "no_signed_wrap" in data:
        if a.op == "exti":
            own = bits(a.args[0].element)
            return own <= low if "unsigned" not in str(a.data) else own < low
        amount = value_of(a.args[1]) if a.op == "shri" and "unsigned" not in str(a.data) else None
        return amount is not None and bits(a.element) - low <= amount < bits(a.element)
    return False


def stripped(rules: Rules, predicate: str, unsigned: bool, a: Term, b: Term) -> tuple[bool, Term, Term] | None:
    """A comparison of two values extended alike is one of the values (I13): whether it is unsigned, and the two.
    A constant takes part when the narrow type holds it."""
    known = [value_of(term) for term in (a, b)]
    extended = [term for term, value in zip((a, b), known, strict=True) if value is None]
    if not extended or any(term.op != "exti" for term in extended):
        return None
    kinds = {("unsigned" in str(term.data), term.args[0].element) for term in extended}
    if len(kinds) != 1:
        return None
    ((zeros, element),) = kinds
    if not is_integer(element) or (unsigned and not zeros and predicate not in {"equal", "not_equal"}):
        return None
    low, high = (0, 1 << bits(element)) if zeros else (-(1 << (bits(element) - 1)), 1 << (bits(element) - 1))
    if any(value is not None and not low <= value < high for value in known):
        return None
    narrow = [
        term.args[0] if value is None else rules.store.const(wrap(value, element), term.shape, element)
        for term, value in zip((a, b), known, strict=True)
    ]
    return zeros, narrow[0], narrow[1]
