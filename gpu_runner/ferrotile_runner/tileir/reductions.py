"""`reduce` and `scan` as terms (rule T5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrotile_runner.tileir import argmax, combining, shapes
from ferrotile_runner.tileir.exits import Leaf
from ferrotile_runner.tileir.literals import LiteralError, literal
from ferrotile_runner.tileir.model import Operation, TileType, walk
from ferrotile_runner.tileir.terms import Term, squeeze
from ferrotile_runner.tileir.trace import Unsupported

if TYPE_CHECKING:
    from ferrotile_runner.tileir.graph import Program

_BINDING = frozenset({"reduce", "scan", "for", "loop"})


def reduction(program: Program, operation: Operation) -> None:
    """Operands and axis are taken after unit axes are dropped; the region is terms over bound variables (T5)."""
    store, rewriter = program.store, program.rewriter
    operands = program.terms(operation.named["operands"])
    body = _body(program, operation)
    axis = operation.attributes.get("dim", 0)
    texts = operation.attributes.get("identities", ())
    shape = operands[0].shape
    if not isinstance(axis, int):
        raise Unsupported("a reduction without axis", operation.location)
    place = len(squeeze(shape[:axis])) if shape[axis] != 1 else -1
    try:
        identities = tuple(
            literal(str(text), operand.element)
            for text, operand in zip(texts if isinstance(texts, tuple) else (), operands, strict=True)
        )
    except LiteralError as error:
        raise Unsupported(str(error), operation.location) from error
    if len(squeeze(shape)) != len(shape):
        store.lemma("T5: reductions of equal lanes in another shape may add in another order")
    flat = tuple(shapes.reshape(rewriter, operand, squeeze(shape)) for operand in operands)
    for number, (operand, result) in enumerate(zip(operands, operation.results, strict=True)):
        if not isinstance(result.type, TileType):
            raise Unsupported("a reduction of no tile", operation.location)
        data = (place, operation.flag("reverse"), identities, len(flat), number)
        if operation.name == "scan" and place > 0:
            # Along the first axis: the same scans of the same lanes, seen from another side (T5).
            order = (place, *(axis for axis in range(len(flat[0].shape)) if axis != place))
            first = tuple(shapes.permute(rewriter, lane, order) for lane in flat)
            data = (0, *data[1:])
            scanned = store.term("scan", data, (*first, *body), first[0].shape, operand.element)
            scanned = combining.extreme(rewriter, scanned)
            program.trace.place(scanned, operation.location)
            back = tuple(order.index(axis) for axis in range(len(order)))
            made = shapes.permute(rewriter, scanned, back)
            program.bind(operation, result, shapes.reshape(rewriter, made, result.type.shape))
            continue
        made = store.term(operation.name, data, (*flat, *body), squeeze(result.type.shape), operand.element)
        made = argmax.of_pair(rewriter, made) or combining.extreme(rewriter, made)
        program.trace.place(made, operation.location)
        program.bind(operation, result, shapes.reshape(rewriter, made, result.type.shape))


def _body(program: Program, operation: Operation) -> tuple[Term, ...]:
    region, trace = operation.regions[0], program.trace
    if any(inner.name in _BINDING for inner in walk(region)):
        raise Unsupported("a loop or reduction in a reduction", operation.location)  # bound variables go by number
    for place, argument in enumerate(region.arguments):
        element = argument.type.element if isinstance(argument.type, TileType) else None
        if not isinstance(element, str):
            raise Unsupported("a reduction of no scalars", operation.location)
        program.values[argument.number] = program.store.term("bound", place, (), (), element)
    mark = trace.mark()
    ending = program.region(region)
    if trace.mark() != mark:
        raise Unsupported("a reduction that touches memory or divides", operation.location)
    if not isinstance(ending, Leaf):
        raise Unsupported("a reduction with an early exit", operation.location)
    found = tuple(value for value in ending.values if value is not None)
    if len(found) != len(operation.results):
        raise Unsupported("a reduction that yields too little", operation.location)
    return found
