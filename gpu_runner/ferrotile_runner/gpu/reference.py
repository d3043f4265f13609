"""What a kernel computes where every float is an f64: beside two results that differ in rounding, which is nearer.

The Tile IR of the original with other element types; the interpreter then rounds nothing before f64. Integers, indices
and comparisons stay what they are, so a kernel whose branches or indices depend on a rounded value may take another
way: the value is shown, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from ferrotile_runner.inputs import Case
from ferrotile_runner.tileir.interpreter.constants import parse_literal
from ferrotile_runner.tileir.interpreter.elements import is_float
from ferrotile_runner.tileir.model import (
    Attribute,
    Entry,
    GatherScatterViewType,
    Operation,
    PartitionViewType,
    PointerType,
    Region,
    StridedViewType,
    TensorViewType,
    TileType,
    Type,
    Value,
    walk,
)

WIDE = "f64"
FLOATS = frozenset(("f16", "bf16", "f32", "tf32", "f8E4M3FN", "f8E5M2", WIDE))
NAMED = frozenset(("nan", "inf", "-inf", "true", "false"))


class NoReference(Exception):
    """A kernel has no meaning in f64; the message says why."""


def in_double(entry: Entry) -> Entry:
    """The entry with f64 for every float type. Raises NoReference where the bits of a float are used."""
    for operation in walk(entry.body):
        elements = {_element(value.type) for value in (*operation.operands, *operation.results)}
        if operation.name in ("bitcast", "pack", "unpack", "mmaf_scaled") and elements & FLOATS:
            raise NoReference(f"`{operation.name}` uses the bits of a float")
        if any(element is not None and element.startswith("f") and element not in FLOATS for element in elements):
            raise NoReference("it computes with floats of less than a byte, or scales")
    return replace(entry, parameters=tuple(map(_value, entry.parameters)), body=_region(entry.body))


def double_case(case: Case) -> Case:
    """The launch on f64 arrays of the same values. Raises NoReference for arrays with gaps, whose elements would have
    other places."""
    arrays = {}
    for name, array in case.arrays.items():
        if not array.flags.c_contiguous:
            raise NoReference("an array has gaps")
        arrays[name] = array.astype(np.float64) if is_float(array.dtype) else array
    return replace(case, arrays=arrays)


def _region(region: Region) -> Region:
    return Region(tuple(map(_value, region.arguments)), tuple(map(_operation, region.operations)))


def _operation(operation: Operation) -> Operation:
    named = {role: tuple(map(_value, values)) for role, values in operation.named.items()}
    attributes = dict(operation.attributes)
    if operation.name == "constant":
        attributes |= _constants(attributes, (operation.results[0],), ("value",))
    elif operation.name in ("reduce", "scan"):
        attributes |= _constants(attributes, operation.operands, ("identities",))
    results, regions = tuple(map(_value, operation.results)), tuple(map(_region, operation.regions))
    return replace(operation, named=named, results=results, attributes=attributes, regions=regions)


def _constants(
    attributes: Mapping[str, Attribute], values: tuple[Value, ...], keys: tuple[str, ...]
) -> dict[str, Attribute]:
    """The literals of attributes, respelled as f64; a list of elements too."""
    found: dict[str, Attribute] = {}
    for key in keys:
        old = attributes.get(key)
        if isinstance(old, str):
            element = _element(values[0].type) or ""
            words = old.replace("[", " [ ").replace("]", " ] ").replace(",", " , ").split()
            found[key] = " ".join(w if w in "[]," else _respelled(w, element) for w in words)
        elif isinstance(old, tuple):
            elements = [_element(value.type) or "" for value in values]
            found[key] = tuple(_respelled(str(w), e) for w, e in zip(old, elements, strict=True))
    return found


def _respelled(word: str, element: str) -> str:
    """A literal as an f64 of the same value, by its bits."""
    if element not in FLOATS or element == WIDE or word in NAMED:
        return word
    bits = int(parse_literal(word, element).astype(np.float64).view(np.uint64))
    return f"0x{bits:016X}"


def _value(value: Value) -> Value:
    return Value(value.number, _type(value.type), value.name)


def _element(type_: Type) -> str | None:
    """The element type of a tile or a view, behind a pointer too."""
    match type_:
        case TileType(element=PointerType(pointee=name)) | TileType(element=str(name)) | TensorViewType(element=name):
            return name
        case PartitionViewType(view=view) | StridedViewType(view=view) | GatherScatterViewType(view=view):
            return view.element
        case _:
            return None


def _type(type_: Type) -> Type:
    element = _element(type_)
    if element not in FLOATS:
        return type_
    match type_:
        case TileType(element=PointerType()):
            return replace(type_, element=PointerType(WIDE))
        case TileType() | TensorViewType():
            return replace(type_, element=WIDE)
        case PartitionViewType() | StridedViewType() | GatherScatterViewType():
            return replace(type_, view=replace(type_.view, element=WIDE))
        case _:
            return type_
