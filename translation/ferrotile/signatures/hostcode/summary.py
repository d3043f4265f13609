"""What one walk over a function tells, kept for as long as its code is read."""

from __future__ import annotations

import ast

from msgspec import Struct

from ferrotile.syntax.parsed import nodes

_TENSOR_LIKE = frozenset(
    ("shape", "dtype", "numel", "contiguous", "stride", "is_cuda", "device", "ndim", "new_empty", "size", "dim", "view")
)


class Summary(Struct, frozen=True):
    """`tensors`: names that the body uses as tensors; `mentions`: every name and attribute in it."""

    tensors: frozenset[str]
    mentions: frozenset[str]
    generator: bool


def summarise(node: ast.FunctionDef | ast.Lambda) -> Summary:
    """Walk over the body once."""
    tensors: set[str] = set()
    mentions: set[str] = set()
    generator = False
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    for statement in body:
        for inner in nodes(statement):
            kind = type(inner)
            if kind is ast.Constant:  # by far the most are these, and quicker asked than matched
                continue
            match inner:
                case ast.Name(id=name):
                    mentions.add(name)
                case ast.Attribute(value=owner, attr=attr):
                    mentions.add(attr)
                    if attr in _TENSOR_LIKE and isinstance(owner, ast.Name):
                        tensors.add(owner.id)
                case ast.Call(func=ast.Attribute(attr=attr), args=[ast.Name(id=name), *_]) if attr.endswith("_like"):
                    tensors.add(name)
                case ast.Yield() | ast.YieldFrom():
                    generator = True
                case _:
                    continue
    return Summary(frozenset(tensors), frozenset(mentions), generator)
