"""The words of foreign Rust in the order in which the prover compares: the Python's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from ferrotile.signatures.model import ConstantArgument, Signature
from ferrotile.translation import Entry as RustEntry
from ferrotile.translation import RustParameter
from msgspec.structs import replace

from ferrotile_runner.parameter_words import ParameterWord, Role, python_words, words_of_parameter
from ferrotile_runner.tileir.model import Entry, Operation, Region, Value, walk

_WORDS = (Role.POINTER, Role.EXTENT, Role.STRIDE)


def in_python_order(entry: Entry, rust: RustEntry, signature: Signature, python: Entry) -> Entry:
    """`entry` with its parameters as the arguments of the Python stand: an array's pointer, extents and strides, then
    its partition where it has one, then a copy's. Words that the Rust is not passed are there too, and unused; one that
    is passed as a scalar of its own is the array's; a number that every launch passes is a constant."""
    fresh = count(1 + max(_numbers(entry), default=0))
    types = {_key(word): value for word, value in zip(python_words(signature), python.parameters, strict=False)}
    values = iter(entry.parameters)
    own: dict[str, list[tuple[ParameterWord, Value]]] = {}
    copies: dict[str, list[Value]] = {}
    extra: list[tuple[ParameterWord, Value]] = []
    for parameter in rust.parameters:
        words = [(word, next(values)) for word in words_of_parameter(parameter)]
        if parameter.copy_of is not None:
            copies[parameter.copy_of] = [value for _, value in words]
        elif parameter.passed is not None:
            extra += words
        else:
            own[parameter.name] = words
    shapes = {p.name: p for p in rust.parameters if p.kind != "scalar" and p.copy_of is None}
    made: list[Value] = []
    found: dict[tuple[str, Role, int], Value] = {}
    for argument in signature.arguments:
        if isinstance(argument, ConstantArgument):
            continue
        there = {_key(word): value for word, value in own.get(argument.name, ())}
        for key in _keys(argument.name, shapes.get(argument.name), types):
            value = there.get(key)
            if value is None:
                value = Value(next(fresh), types[key].type, f"{argument.name} {key[1].value} {key[2]}")
            found[key] = value
            made.append(value)
        made += copies.get(argument.name, ())
    body, first = entry.body, list[Operation]()
    same: dict[int, Value] = {}
    for word, value in extra:
        if word.role is Role.NUMBER:
            first.append(Operation("constant", {}, (value,), {"value": repr(word.number)}, (), None, 0))
        elif value.type == found[_key(word)].type:
            same[value.number] = found[_key(word)]
        else:  # the launch widens it
            source = {"source": (found[_key(word)],)}
            first.append(Operation("exti", source, (value,), {"signedness": "signed"}, (), None, 0))
    body = _substituted(body, same) if same else body
    body = Region(body.arguments, (*first, *body.operations)) if first else body
    return Entry(entry.name, tuple(made), body)


def _key(word: ParameterWord) -> tuple[str, Role, int]:
    return word.argument, word.role, word.axis


def _keys(
    name: str, parameter: RustParameter | None, types: Mapping[tuple[str, Role, int], Value]
) -> Sequence[tuple[str, Role, int]]:
    """The words that the prover expects of an argument: as many axes as the Rust's tensor has."""
    of_python = [key for key in types if key[0] == name]
    if parameter is None or parameter.kind == "pointer":
        return of_python
    if not any(key[1] in _WORDS for key in of_python):
        return of_python
    return [_key(word) for word in words_of_parameter(parameter)]


def _numbers(entry: Entry) -> list[int]:
    found = [value.number for value in entry.parameters]
    for operation in walk(entry.body):
        found += [value.number for value in operation.results]
        found += [value.number for region in operation.regions for value in region.arguments]
    return found


def _substituted(region: Region, same: Mapping[int, Value]) -> Region:
    """The region with other values in place of some."""

    def one(operation: Operation) -> Operation:
        named = {role: tuple(same.get(v.number, v) for v in values) for role, values in operation.named.items()}
        regions = tuple(_substituted(inner, same) for inner in operation.regions)
        return replace(operation, named=named, regions=regions)

    return Region(region.arguments, tuple(map(one, region.operations)))
