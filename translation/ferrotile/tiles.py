"""What a reader of the Python wants to know of its values: element type and shape of every expression and variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec import Struct

from ferrotile.program.ir import Block, For, If, Loop, Operation, Program, Statement
from ferrotile.program.types import TileType
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.span import Span


class AssignedTile(Struct, frozen=True):
    """A variable at the place of an assignment, and what it holds from there on."""

    name: str
    span: Span
    """Of the name."""
    type: TileType


def type_text(type_: TileType) -> str:
    """A type as directives write it: `f32[TM, 1]`, `i32`."""
    element = f"pointer to {type_.dtype}" if type_.pointer else str(type_.dtype)
    return f"{element}[{', '.join(map(str, type_.shape))}]" if type_.shape else element


def typed_expressions(program: Program) -> dict[Span, TileType]:
    """The tile or scalar that each expression of the source gives; an expression takes several operations, of which
    the last gives its value. Code that runs for no launch is not there."""
    found: dict[Span, TileType] = {}
    for operation in _operations(program.body):
        for value in operation.results:
            if isinstance(value.type, TileType):
                found[operation.span] = value.type
    return found


def assigned_tiles(program: Program, module: Module, function: FunctionSource) -> Iterator[AssignedTile]:
    """Every `name = expression` of the kernel's own body whose value has a type, in the order of the source."""
    types = typed_expressions(program)
    found = [(module.span_of(target), target.id, value) for target, value in _assignments(function.node)]
    for span, name, value in sorted(found, key=lambda one: one[0].start):
        known = types.get(module.span_of(value))
        if known is not None:
            yield AssignedTile(name, span, known)


def _assignments(node: ast.AST) -> Iterator[tuple[ast.Name, ast.AST]]:
    """Names and the expressions that they are assigned, in no order."""
    for inner in ast.walk(node):
        match inner:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                yield target, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                if len(targets) == len(values):
                    yield from ((t, v) for t, v in zip(targets, values, strict=True) if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                yield target, value
            case ast.AugAssign(target=ast.Name() as target):
                yield target, inner


def type_at(program: Program, module: Module, function: FunctionSource, offset: int) -> tuple[Span, TileType] | None:
    """What is around a byte offset: a variable with what it was last assigned above, or else the smallest expression
    that has a type."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Name):
            span = module.span_of(node)
            if span.start <= offset < span.end:
                above = [t for t in assigned_tiles(program, module, function) if t.span.start <= span.start]
                known = [t.type for t in above if t.name == node.id]
                if known:
                    return span, known[-1]
    around = [(s, t) for s, t in typed_expressions(program).items() if s.start <= offset < s.end]
    return min(around, key=lambda found: found[0].end - found[0].start, default=None)


def _operations(block: Block) -> Iterator[Operation]:
    for statement in block.statements:
        yield from _of_statement(statement)


def _of_statement(statement: Statement) -> Iterator[Operation]:
    match statement:
        case Operation():
            yield statement
        case If():
            yield from _operations(statement.then)
            yield from _operations(statement.otherwise)
        case For() | Loop():
            yield from _operations(statement.body)
