"""Small readings of host code: literals, lengths, what an unbound parameter is."""

from __future__ import annotations

import ast

from ferrotile.signatures.tensors import extent
from ferrotile.signatures.values import UNKNOWN, FloatValue, Int, Known, Sequence, Shape, Table, Tensor, Unknown, Value

_TYPES: dict[str, Value] = {
    "int": Int(),
    "float": FloatValue(),
    "bool": Unknown(None, "bool"),
    "str": Unknown(None, "str"),
}


def unbound_parameter(parameter: ast.arg, tensors: frozenset[str]) -> Value:
    """A parameter that no call binds: what its annotation says, else a tensor if it is one of `tensors`, the names
    that the body uses as such."""
    found = _annotated(parameter.annotation)
    if found is not None:
        return found
    return Tensor() if parameter.arg in tensors else UNKNOWN


def _annotated(annotation: ast.expr | None, depth: int = 0) -> Value | None:
    match annotation:
        case ast.Constant(value=str(text)) if depth < 3:
            try:
                return _annotated(ast.parse(text, mode="eval").body, depth + 1)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return None
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return Tensor() if name in ("Tensor", "ndarray") else _TYPES.get(name)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _annotated(left, depth)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return _annotated(inner, depth)
        case _:
            return None


def literal(value: object) -> Value:
    """A literal of Python."""
    match value:
        case bool() | float() | str() | None:
            return Known(value)
        case int():
            return Int(value)
        case _:
            return UNKNOWN


def length(value: Value | None) -> Value:
    """`len(value)`."""
    match value:
        case Sequence(items=items):
            return Int(len(items))
        case Table(items=keys, stored=None):
            return Int(len(keys))
        case Shape(tensor=tensor):
            return Int(tensor.rank)
        case Tensor():
            return extent(value, Int(0))
        case _:
            return UNKNOWN


def is_main(test: ast.expr) -> bool:
    """Whether a condition is `__name__ == "__main__"`."""
    return any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(test))
