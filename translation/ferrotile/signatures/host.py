"""Small readings of host code: literals, lengths, what an unbound parameter is."""

from __future__ import annotations

import ast

from ferrotile.signatures.tensors import extent
from ferrotile.signatures.values import UNKNOWN, FloatValue, Int, Known, Sequence, Shape, Tensor, Value
from ferrotile.syntax.module import Module


def unbound_parameter(parameter: ast.arg, node: ast.FunctionDef | ast.Lambda, module: Module) -> Value:
    """A parameter that no call binds: a tensor if the body uses it as one."""
    match parameter.annotation:
        case ast.Name(id="int"):
            return Int()
        case ast.Name(id="float"):
            return FloatValue()
        case ast.Attribute(attr="Tensor") | ast.Attribute(attr="ndarray") | ast.Name(id="Tensor"):
            return Tensor()
        case _:
            pass
    tensor_like = (
        "shape",
        "dtype",
        "numel",
        "contiguous",
        "stride",
        "is_cuda",
        "device",
        "ndim",
        "new_empty",
        "size",
    )
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (
                name == parameter.arg and attr in tensor_like
            ):
                return Tensor()
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if name == parameter.arg:
                if (module.resolve(func) or "").endswith("_like"):
                    return Tensor()
            case _:
                continue
    return UNKNOWN


def literal(value: object) -> Value:
    match value:
        case bool() | float() | str() | None:
            return Known(value)
        case int():
            return Int(value)
        case _:
            return UNKNOWN


def length(value: Value | None) -> Value:
    match value:
        case Sequence(items=items):
            return Int(len(items))
        case Shape(tensor=tensor):
            return Int(tensor.rank)
        case Tensor():
            return extent(value, Int(0))
        case _:
            return UNKNOWN


def is_main(test: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(test))
