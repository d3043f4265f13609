"""What an expression of host code is, as far as that is known."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ferrotile.signatures import numbers
from ferrotile.signatures.comparisons import compare, truth
from ferrotile.signatures.host import literal
from ferrotile.signatures.hostcode import objects
from ferrotile.signatures.hostcode.calls import call
from ferrotile.signatures.hostcode.facts import settle
from ferrotile.signatures.hostcode.names import attribute, global_name
from ferrotile.signatures.hostcode.objects import elements, plain
from ferrotile.signatures.hostcode.run import Run, Scope
from ferrotile.signatures.hostcode.targets import assign_target
from ferrotile.signatures.tensor_methods import item
from ferrotile.signatures.tensors import extent
from ferrotile.signatures.values import (
    UNKNOWN,
    Function,
    Int,
    Known,
    Sequence,
    Shape,
    Table,
    Tensor,
    Unknown,
    Value,
)

_COMPREHENDED = 64


def evaluate(run: Run, node: ast.expr, scope: Scope) -> Value:
    """The value of `node`. Raises Stop and Raised."""
    run.step()
    handler = _OFTEN.get(type(node))
    return _seldom(run, node, scope) if handler is None else handler(run, node, scope)


def _constant(run: Run, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Constant)
    return literal(node.value)


def _name(run: Run, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Name)
    found = scope.names.get(node.id)
    return global_name(run, node.id, scope.home) if found is None else found


def _attribute(run: Run, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Attribute)
    return attribute(run, evaluate(run, node.value, scope), node.attr)


def _call(run: Run, node: ast.expr, scope: Scope) -> Value:
    assert isinstance(node, ast.Call)
    return call(run, node, scope)


_OFTEN: dict[type[ast.expr], Callable[[Run, ast.expr, Scope], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
}
"""By far the most expressions, found without asking one kind after the other."""


def _seldom(run: Run, node: ast.expr, scope: Scope) -> Value:
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
            return _sequence(run, elements, scope)
        case ast.Dict(keys=keys, values=values):
            return _table(run, keys, values, scope)
        case ast.Subscript(value=owner, slice=index):
            return _item(run, evaluate(run, owner, scope), index, scope)
        case ast.BinOp(left=left, op=op, right=right):
            rounded = numbers.round_up(node, lambda e: evaluate(run, e, scope))
            return rounded or _binary(op, evaluate(run, left, scope), evaluate(run, right, scope))
        case ast.UnaryOp(op=op, operand=operand):
            rounded = numbers.round_up(node, lambda e: evaluate(run, e, scope))
            return rounded or numbers.unary(op, evaluate(run, operand, scope))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return compare(op, evaluate(run, left, scope), evaluate(run, right, scope))
        case ast.IfExp():
            return _choice(run, node, scope)
        case ast.BoolOp(op=op, values=values):
            return _boolean(run, isinstance(op, ast.And), values, scope)
        case ast.Lambda():
            return Function(node, scope.names, scope.home.name)
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            scope.names[name] = run.named(name, evaluate(run, value, scope))
            return scope.names[name]
        case ast.ListComp(elt=elt, generators=[loop]) | ast.GeneratorExp(elt=elt, generators=[loop]):
            return _comprehension(run, elt, loop, scope)
        case ast.DictComp(key=key, value=value, generators=[loop]):
            return _dict_comprehension(run, key, value, loop, scope)
        case ast.JoinedStr():
            return Unknown(None, "str")
        case ast.Yield(value=value):
            if scope.yields is not None:
                scope.yields.append(Known(None) if value is None else evaluate(run, value, scope))
            return UNKNOWN
        case ast.Await(value=value):
            return evaluate(run, value, scope)
        case _:
            return UNKNOWN


def _choice(run: Run, node: ast.IfExp, scope: Scope) -> Value:
    """`body if test else orelse`; what is unknown on the likely path is not the number that it is in some launches."""
    tested = evaluate(run, node.test, scope)
    match node.orelse:
        case ast.Constant(value=int() | float()) if truth(tested) is None:
            likely = evaluate(run, node.body, scope)
            if isinstance(likely, Unknown):
                return likely
        case _:
            pass
    return evaluate(run, node.body if settle(run, node.test, tested, True, scope) else node.orelse, scope)


def _sequence(run: Run, elements: list[ast.expr], scope: Scope) -> Value:
    items: list[Value] = []
    for element in elements:
        if not isinstance(element, ast.Starred):
            items.append(plain(evaluate(run, element, scope)))
            continue
        inner = evaluate(run, element.value, scope)
        if isinstance(inner, Shape) and inner.tensor.rank is not None:
            items.extend(extent(inner.tensor, Int(i)) for i in range(inner.tensor.rank))
        elif isinstance(inner, Sequence):
            items.extend(inner.items)
        else:
            return UNKNOWN  # of unknown length
    return Sequence(tuple(items))


def _table(run: Run, keys: list[ast.expr | None], values: list[ast.expr], scope: Scope) -> Value:
    table = Table()
    for key, value in zip(keys, values, strict=True):
        found = evaluate(run, value, scope)
        if key is not None:
            objects.put(table, evaluate(run, key, scope), plain(found))
        elif isinstance(found, Table):
            table.items.update(found.items)
            table.stored = found.stored or table.stored
        else:
            return UNKNOWN
    return table


def _item(run: Run, owner: Value, index: ast.expr, scope: Scope) -> Value:
    if isinstance(owner, Tensor):
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        return item(owner, Sequence(tuple(_tensor_index(run, p, scope) for p in parts)))
    if isinstance(index, ast.Slice):
        return _slice(run, owner, index, scope)
    at = evaluate(run, index, scope)
    match owner:
        case Shape(tensor=tensor):
            return extent(tensor, at)
        case Sequence(items=items) if isinstance(at, Int) and at.value is not None:
            return items[at.value] if -len(items) <= at.value < len(items) else UNKNOWN
        case Table():
            return objects.get(owner, at)
        case _:
            return UNKNOWN


def _tensor_index(run: Run, node: ast.expr, scope: Scope) -> Value:
    if isinstance(node, ast.Slice):
        whole = node.lower is None and node.upper is None and node.step is None
        return Unknown(None, "whole" if whole else "slice")
    value = evaluate(run, node, scope)
    return value if isinstance(value, Int) or value == Known(None) else Tensor()


def _slice(run: Run, owner: Value, index: ast.Slice, scope: Scope) -> Value:
    bounds = [None if b is None else evaluate(run, b, scope) for b in (index.lower, index.upper, index.step)]
    ends = [b.value if isinstance(b, Int) else None for b in bounds]
    if any(b is not None and e is None for b, e in zip(bounds, ends, strict=True)) or ends[2] == 0:
        return UNKNOWN
    cut = slice(*ends)
    if isinstance(owner, Sequence):
        return Sequence(owner.items[cut])
    if isinstance(owner, Shape) and owner.tensor.rank is not None:
        return Sequence(tuple(extent(owner.tensor, Int(i)) for i in range(owner.tensor.rank)[cut]))
    return UNKNOWN


def _binary(op: ast.operator, left: Value, right: Value) -> Value:
    match op, left, right:
        case ast.Add(), Sequence(items=first), Sequence(items=second):
            return Sequence((*first, *second))
        case ast.Mult(), Sequence(items=items), Int(value=int(times)) if 0 <= times * len(items) <= _COMPREHENDED:
            return Sequence(items * times)
        case _:
            return numbers.binary(op, left, right)


def _boolean(run: Run, conjunction: bool, values: list[ast.expr], scope: Scope) -> Value:
    """`a and b`, `a or b`: known operands decide; `x or DEFAULT` of an unknown `x` is `DEFAULT` or `x`, by path."""
    unknown: Value | None = None
    likely: bool | None = True
    for at, node in enumerate(values):
        value = plain(evaluate(run, node, scope))
        known = truth(value)
        last = at == len(values) - 1
        if known is None:
            bare = isinstance(value, Unknown) and value.kind != "bool"
            if not conjunction and not last and bare and isinstance(value, Unknown):
                if run.decisions.choose(False, value.ident):
                    return value
                continue
            unknown = value
            guess = value.likely if isinstance(value, Unknown) else None
            likely = None if guess is None or likely is None else likely and guess
        elif known is not conjunction or (last and unknown is None):
            return value
    if unknown is None:
        return Known(conjunction)
    single = isinstance(unknown, Unknown) and len(values) == 1
    return unknown if single else Unknown(None, "bool", likely if conjunction else None)


def _comprehension(run: Run, elt: ast.expr, loop: ast.comprehension, scope: Scope) -> Value:
    rounds = _rounds(run, loop, scope)
    if rounds is None:
        inner = Scope(dict(scope.names), scope.home)
        assign_target(run, loop.target, UNKNOWN, inner)
        evaluate(run, elt, inner)
        return UNKNOWN
    return Sequence(tuple(plain(evaluate(run, elt, inner)) for inner in rounds))


def _dict_comprehension(run: Run, key: ast.expr, value: ast.expr, loop: ast.comprehension, scope: Scope) -> Value:
    rounds = _rounds(run, loop, scope)
    if rounds is None:
        return UNKNOWN
    table = Table()
    for inner in rounds:
        objects.put(table, evaluate(run, key, inner), plain(evaluate(run, value, inner)))
    return table


def _rounds(run: Run, loop: ast.comprehension, scope: Scope) -> list[Scope] | None:
    """The names of each round of a comprehension, where the rounds are known."""
    items = elements(evaluate(run, loop.iter, scope))
    if items is None or len(items) > _COMPREHENDED:
        return None
    rounds: list[Scope] = []
    for one in items:
        inner = Scope(dict(scope.names), scope.home)
        assign_target(run, loop.target, one, inner)
        keeps = [truth(evaluate(run, test, inner)) for test in loop.ifs]
        if None in keeps:
            return None
        if all(keeps):
            rounds.append(inner)
    return rounds
