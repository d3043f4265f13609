"""What a condition tells about the values in it, once the path has settled its answer."""

from __future__ import annotations

import ast

from ferrotile.signatures.comparisons import truth
from ferrotile.signatures.hostcode.paths import Raised
from ferrotile.signatures.hostcode.run import Run, Scope
from ferrotile.signatures.tensors import extent, set_rank
from ferrotile.signatures.values import ElementType, Int, Known, Sequence, Shape, Tensor, Unknown, Value


def settle(run: Run, test: ast.expr, value: Value, likely: bool, scope: Scope) -> bool:
    """The truth of `test`, which was evaluated to `value`: known, or chosen for this path; then learnt from."""
    known = truth(value)
    if known is not None:
        return known
    key = value.ident if isinstance(value, Unknown | Int) else None
    guess = _guess(value)
    answer = run.decisions.choose(likely if guess is None else guess, key)
    learn(run, test, answer, scope)
    return answer


def _guess(value: Value) -> bool | None:
    match value:
        case Unknown(likely=likely):
            return likely
        case Int(guess=int(guess)):
            return guess != 0
        case _:
            return None


def demand(run: Run, test: ast.expr, value: Value, scope: Scope) -> None:
    """An `assert`, or the contrary of a guard that raises: holds on every path that goes on."""
    known = truth(value)
    if known is False:
        raise Raised
    if known is None:
        if isinstance(value, Unknown) and value.ident is not None:
            run.decisions.know(value.ident, True)
        learn(run, test, True, scope)


def learn(run: Run, test: ast.expr, answer: bool, scope: Scope) -> None:
    """Ranks, element types, equal extents and values that follow from `test` being `answer`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            learn(run, inner, not answer, scope)
        case ast.BoolOp(op=ast.And(), values=values) if answer:
            for one in values:
                learn(run, one, True, scope)
        case ast.BoolOp(op=ast.Or(), values=values) if not answer:
            for one in values:
                learn(run, one, False, scope)
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]) if answer:
            _bind(left, Known(None), scope)
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]) if not answer:
            _bind(left, Known(None), scope)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            if isinstance(op, ast.Eq) is answer:
                _equal(run, left, right, scope)
        case ast.Compare(left=left, ops=[ast.Eq(), ast.Eq()], comparators=[middle, right]) if answer:
            _equal(run, left, middle, scope)
            _equal(run, middle, right, scope)
        case ast.Compare(left=left, ops=[ast.In()], comparators=[right]) if answer:
            _among(run, left, right, scope)
        case ast.Name(id=name) if name in scope.names:
            value = scope.names[name]
            if isinstance(value, Unknown) and value.kind == "bool":
                scope.names[name] = Known(answer)
        case _:
            return


def _bind(target: ast.expr, value: Value, scope: Scope) -> None:
    if isinstance(target, ast.Name) and isinstance(scope.names.get(target.id), Unknown):
        scope.names[target.id] = value


def _equal(run: Run, left: ast.expr, right: ast.expr, scope: Scope) -> None:
    a, b = run.evaluate(run, left, scope), run.evaluate(run, right, scope)
    for this, node, that in ((a, left, b), (b, right, a)):
        rank = that.value if isinstance(that, Int) else None
        if rank is not None and (tensor := _ranked(run, node, scope)) is not None:
            set_rank(tensor, rank)
            return
        if isinstance(that, ElementType) and that.dtype is not None and (of := _typed(run, node, scope)) is not None:
            if of.dtype is None:
                of.dtype = that.dtype
            return
        if isinstance(this, Unknown) and isinstance(that, Known | ElementType):
            _bind(node, that, scope)
            return
        if isinstance(this, Unknown) and isinstance(that, Int) and that.value is not None and not that.derived:
            _bind(node, that, scope)
            return
    if isinstance(a, ElementType) and isinstance(b, ElementType):
        first, second = _typed(run, left, scope), _typed(run, right, scope)
        if first is not None and second is not None:
            first.dtype = second.dtype = first.dtype or second.dtype
    elif isinstance(a, Int) and isinstance(b, Int):
        same(run, a, b)
    elif isinstance(a, Shape) and isinstance(b, Shape | Sequence):
        _same_shape(run, a.tensor, b)
    elif isinstance(b, Shape) and isinstance(a, Sequence):
        _same_shape(run, b.tensor, a)


def same(run: Run, a: Int, b: Int) -> None:
    """Two integers are equal on this path."""
    if a.ident is not None and b.ident is not None and a.ident != b.ident:
        first, second = resolve(run, a.ident), resolve(run, b.ident)
        if first != second:
            run.equal[second] = first


def resolve(run: Run, ident: str) -> str:
    """The identity that stands for all equal ones."""
    while ident in run.equal:
        ident = run.equal[ident]
    return ident


def _same_shape(run: Run, tensor: Tensor, other: Shape | Sequence) -> None:
    rank = other.tensor.rank if isinstance(other, Shape) else len(other.items)
    if rank is None:
        if tensor.rank is None or not isinstance(other, Shape):
            return
        rank = tensor.rank
        set_rank(other.tensor, rank)
    set_rank(tensor, rank)
    if tensor.rank != rank:
        raise Raised
    for axis in range(rank):
        one = extent(other.tensor, Int(axis)) if isinstance(other, Shape) else other.items[axis]
        if isinstance(one, Int):
            mine = tensor.dims.get(axis)
            if mine is None and one.ident is not None:
                tensor.dims[axis] = one
            else:
                same(run, extent(tensor, Int(axis)), one)


def _ranked(run: Run, node: ast.expr, scope: Scope) -> Tensor | None:
    """The tensor whose rank `node` is: `x.dim()`, `x.ndim`, `len(x.shape)`."""
    match node:
        case ast.Attribute(value=owner, attr="ndim") | ast.Call(func=ast.Attribute(value=owner, attr="dim"), args=[]):
            value = run.evaluate(run, owner, scope)
            return value if isinstance(value, Tensor) else None
        case ast.Call(func=ast.Name(id="len"), args=[inner]):
            value = run.evaluate(run, inner, scope)
            return value.tensor if isinstance(value, Shape) else None
        case _:
            return None


def _typed(run: Run, node: ast.expr, scope: Scope) -> Tensor | None:
    match node:
        case ast.Attribute(value=owner, attr="dtype"):
            value = run.evaluate(run, owner, scope)
            return value if isinstance(value, Tensor) else None
        case _:
            return None


def _among(run: Run, left: ast.expr, right: ast.expr, scope: Scope) -> None:
    allowed = run.evaluate(run, right, scope)
    if not isinstance(allowed, Sequence) or not allowed.items:
        return
    tensor = _typed(run, left, scope)
    if tensor is not None:
        kinds = [i.dtype for i in allowed.items if isinstance(i, ElementType) and i.dtype is not None]
        tensor.candidates = tuple(kinds)
        if len(allowed.items) == 1 and kinds and tensor.dtype is None:
            tensor.dtype = kinds[0]
        return
    ranked = _ranked(run, left, scope)
    match allowed.items:
        case (Int(value=int(rank)),) if ranked is not None:
            set_rank(ranked, rank)
        case _:
            return
