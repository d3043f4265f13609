"""What a reader of the Python wants to know of its values: element type and shape of every expression and variable."""

from __future__ import annotations

import ast

from msgspec import Struct

from ferrotile.program.types import Size, TileType
from ferrotile.readings import Reading, Readings
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.span import Span


class AssignedName(Struct, frozen=True):
    """A variable at a place where it gets a value, and what that is. `again`: the variable had the like before."""

    name: str
    span: Span
    reading: Reading
    again: bool


def type_text(type_: TileType) -> str:
    """A type as directives write it: `f32[TM, 1]`, `i32`."""
    element = f"pointer to {type_.dtype}" if type_.pointer else str(type_.dtype)
    return f"{element}[{', '.join(map(str, type_.shape))}]" if type_.shape else element


def values_text(type_: TileType) -> str | None:
    """The type with numbers for its names, `f32[128, 1]`; None where it has no names."""
    if all(size.symbol is None for size in type_.shape):
        return None
    return type_text(TileType(type_.dtype, tuple(Size(size.value) for size in type_.shape), type_.pointer))


def assigned_names(readings: Readings, module: Module, function: FunctionSource) -> list[AssignedName]:
    """Every variable of a function where it is assigned, also by unpacking and in loops' heads, in the order of the
    source."""
    last: dict[str, str] = {}
    found = []
    for node, reading in readings.assigned(function.node):
        found.append(AssignedName(node.id, module.span_of(node), reading, last.get(node.id) == reading.text))
        last[node.id] = reading.text
    return found


def reading_at(
    readings: Readings, module: Module, function: FunctionSource, offset: int
) -> tuple[ast.expr, Span, Reading] | None:
    """The smallest expression around a byte offset that stands for something a reader wants to know."""
    best: tuple[ast.expr, Span, Reading] | None = None
    for node in readings.nodes(function.node):
        span = module.span_of(node)
        if not span.start <= offset < span.end or (best is not None and _length(span) >= _length(best[1])):
            continue
        reading = readings.of(function.node, node)
        if reading is not None:
            best = node, span, reading
    return best


def _length(span: Span) -> int:
    return span.end - span.start
