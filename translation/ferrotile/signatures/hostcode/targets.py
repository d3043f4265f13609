"""Assignment to names, attributes, items, and tuples of them."""

from __future__ import annotations

import ast

from ferrotile.signatures.hostcode import objects
from ferrotile.signatures.hostcode.objects import elements, plain
from ferrotile.signatures.hostcode.run import Run, Scope
from ferrotile.signatures.tensors import extent, set_rank
from ferrotile.signatures.values import UNKNOWN, Instance, Int, Sequence, Shape, Table, Value


def assign_target(run: Run, target: ast.expr, value: Value, scope: Scope) -> None:
    """Assign to a name, an attribute, an item, or a tuple of them."""
    value = plain(value)
    match target:
        case ast.Name(id=name):
            scope.names[name] = run.named(name, value)
        case ast.Attribute(value=owner, attr=attr):
            holder = run.evaluate(run, owner, scope)
            if isinstance(holder, Instance):
                holder.fields[attr] = value
        case ast.Subscript(value=owner, slice=index) if not isinstance(index, ast.Slice):
            holder = run.evaluate(run, owner, scope)
            if isinstance(holder, Table):
                objects.put(holder, run.evaluate(run, index, scope), value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(run, targets, value, scope)
        case _:
            return


def _unpack(run: Run, targets: list[ast.expr], value: Value, scope: Scope) -> None:
    starred = [n for n, t in enumerate(targets) if isinstance(t, ast.Starred)]
    if isinstance(value, Shape) and not starred:
        set_rank(value.tensor, len(targets))
    items = elements(value)
    after = len(targets) - starred[0] - 1 if starred else 0
    for position, target in enumerate(targets):
        inner: Value = UNKNOWN
        if starred and position == starred[0]:
            if items is not None and len(items) >= len(targets) - 1:
                inner = Sequence(items[position : len(items) - after])
            assert isinstance(target, ast.Starred)
            target = target.value
        elif items is None:
            if isinstance(value, Shape):
                behind = starred and position > starred[0]
                inner = extent(value.tensor, Int(position - len(targets) if behind else position))
        else:
            at = position - len(targets) if starred and position > starred[0] else position
            fits = len(items) == len(targets) or (starred and len(items) >= len(targets) - 1)
            inner = items[at] if fits else UNKNOWN
        assign_target(run, target, inner, scope)
