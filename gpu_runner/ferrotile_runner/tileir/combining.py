"""Reductions and scans in another representation of their lanes (rules T8, T9, T10).

Each combines lanes and identities by a function of two bound variables. A change of representation that the function
respects may be made before or after the lanes are combined, whatever the order of combining.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ferrotile_runner.tileir import shapes
from ferrotile_runner.tileir.integers import Arithmetic
from ferrotile_runner.tileir.terms import Shape, Store, Term, is_integer, subterms, value_of, wrap

_COMBINING = frozenset({"reduce", "scan"})
_RECAST = frozenset({"i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"})
"""Types of which every pattern of bits is a value."""


class Rules(Protocol):
    """What these rules need of the rewriter."""

    store: Store
    integers: Arithmetic

    def make(self, op: str, data: str, args: tuple[Term, ...], shape: Shape, element: str) -> Term:
        """An element-wise operation, simplified."""
        ...

    def rebuild(self, term: Term, replace: dict[Term, Term], deep: bool, memo: dict[Term, Term] | None = None) -> Term:
        """`term` with some sub-terms exchanged, simplified again."""
        ...


def _parts(term: Term) -> tuple[int, bool, int, Term, Term] | None:
    """Axis, direction, identity, operand and body of a reduction or scan of one operand."""
    if term.op not in _COMBINING or not isinstance(term.data, tuple) or term.data[3] != 1:
        return None
    axis, reverse, (identity,), _, _ = term.data
    operand, body = term.args
    return axis, reverse, identity, operand, body


def _remade(rules: Rules, term: Term, identity: int, operand: Term, body: Term) -> Term:
    axis, reverse, _, count, number = term.data if isinstance(term.data, tuple) else ()
    data = (axis, reverse, (identity,), count, number)
    return rules.store.term(term.op, data, (operand, body), term.shape, operand.element)


def _bound(rules: Rules, place: int | str, element: str) -> Term:
    return rules.store.term("bound", place, (), (), element)


def _substituted(rules: Rules, body: Term, old: str, new: str, change: Callable[[Term], Term]) -> Term:
    """The body with `change` of a variable of the new type for each variable of the old."""
    first = {_bound(rules, k, old): change(_bound(rules, f"new {k}", new)) for k in (0, 1)}
    second = {_bound(rules, f"new {k}", new): _bound(rules, k, new) for k in (0, 1)}
    return rules.rebuild(rules.rebuild(body, first, True), second, True)


# T8: extremes


def _range(operand: Term, unsigned: bool) -> tuple[int, int]:
    """Between which numbers, read with that sign, the lanes are."""
    source, bits = operand, int(operand.element[1:])
    if operand.op == "exti":
        source = operand.args[0]
    width = int(source.element[1:])
    if operand.op == "exti" and "unsigned" in str(operand.data):
        return 0, (1 << width) - 1
    if operand.op == "exti" and not unsigned:
        return -(1 << (width - 1)), (1 << (width - 1)) - 1
    return (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def extreme(rules: Rules, term: Term) -> Term:
    """An integer reduction or scan to the least or greatest lane: an identity that no lane passes is the type's last
    number; of values extended alike it is the extension of the narrow extreme (T8)."""
    parts = _parts(term)
    if parts is None or not is_integer(term.element):
        return term
    _, _, identity, operand, body = parts
    lanes = {_bound(rules, 0, term.element), _bound(rules, 1, term.element)}
    if body.op not in {"maxi", "mini"} or set(body.args) != lanes:
        return term
    unsigned = "unsigned" in str(body.data)
    bits = int(term.element[1:])
    number = identity & ((1 << bits) - 1) if unsigned else identity
    low, high = _range(operand, unsigned)
    if number > low if body.op == "maxi" else number < high:
        return term
    if operand.op == "exti" and is_integer(operand.args[0].element):
        zeros = "unsigned" in str(operand.data)
        if zeros or not unsigned:
            narrow = operand.args[0]
            pair = (_bound(rules, 0, narrow.element), _bound(rules, 1, narrow.element))
            inner = rules.make(body.op, "unsigned" if zeros else "signed", pair, (), narrow.element)
            data = (*term.data[:2], (0,), *term.data[3:]) if isinstance(term.data, tuple) else ()
            made = rules.store.term(term.op, data, (narrow, inner), term.shape, narrow.element)
            made = _with_last(rules, made, inner, zeros)
            return rules.make("exti", str(operand.data), (made,), term.shape, term.element)
    return _with_last(rules, term, body, unsigned)


def _with_last(rules: Rules, term: Term, body: Term, unsigned: bool) -> Term:
    bits = int(term.element[1:])
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    identity = wrap(low if body.op == "maxi" else high, term.element)
    return _remade(rules, term, identity, term.args[0], term.args[1])


# T9: low bits


def low_bits(rules: Rules, term: Term, element: str, part: Callable[[Term], Term]) -> Term | None:
    """The low bits of a reduction or scan whose function takes low bits to low bits. `part`: the low bits of a term."""
    parts = _parts(term)
    if parts is None:
        return None
    _, _, identity, operand, body = parts
    cut = part(body)
    wide = [_bound(rules, k, term.element) for k in (0, 1)]
    narrow = {part(variable): _bound(rules, k, element) for k, variable in enumerate(wide)}
    cut = rules.rebuild(cut, narrow, True)
    if any(item in wide for item in subterms(cut)):
        return None
    return _remade(rules, term, wrap(identity, element), part(operand), cut)


# T10: lanes under a bijection


def _under(rules: Rules, term: Term, element: str, there: Callable[[Term], Term], back: Callable[[Term], Term]) -> Term:
    """back(combine(there(x))) as one reduction or scan of x = back(operand), for a bijection and its inverse."""
    seen = term.args[0] if term.op == "map" else term
    parts = _parts(seen)
    if parts is None:
        raise ValueError("no reduction of one operand")
    _, _, identity, operand, body = parts
    start = value_of(back(rules.store.const(identity, (), seen.element)))
    if start is None:
        raise ValueError("an identity without a value")
    inner = back(_substituted(rules, body, seen.element, element, there))
    made = extreme(rules, _remade(rules, seen, start, back(operand), inner))
    axes = term.data
    return shapes.sink(rules, made, term.shape, axes) if term.op == "map" and isinstance(axes, tuple) else made


def exclusive(rules: Rules, term: Term, key: int) -> Term | None:
    """`combine(x xor key) xor key` as a reduction or scan of x."""
    seen = term.args[0] if term.op == "map" else term
    parts = _parts(seen)
    if parts is None:
        return None

    def flip(t: Term) -> Term:
        return rules.make("xori", "", (t, rules.store.const(key, t.shape, t.element)), t.shape, t.element)

    return _under(rules, term, seen.element, flip, flip)


def recast(rules: Rules, term: Term, element: str) -> Term | None:
    """`bitcast(combine(bitcast(x)))` as a reduction or scan of x."""
    seen = term.args[0] if term.op == "map" else term
    parts = _parts(seen)
    if parts is None or parts[3].op != "bitcast" or parts[3].args[0].element != element:
        return None
    if not {element, seen.element} <= _RECAST:
        return None

    def there(t: Term) -> Term:
        return rules.make("bitcast", "", (t,), t.shape, seen.element)

    def back(t: Term) -> Term:
        return rules.make("bitcast", "", (t,), t.shape, element)

    return _under(rules, term, element, there, back)
