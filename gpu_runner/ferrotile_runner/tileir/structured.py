"""Reads `for`, `loop` and `if`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from ferrotile_runner.tileir.heads import Scope, lookup
from ferrotile_runner.tileir.model import Attribute, Location, Operation, Region, Type, Value
from ferrotile_runner.tileir.text import Cursor, read_type, read_types

Names = tuple[str, ...]


class Regions(Protocol):
    """What structured operations need of the reader of an entry."""

    def value(self, name: str, type_: Type, scope: Scope) -> Value:
        """Defines a value."""
        ...

    def region(self, arguments: tuple[Value, ...], scope: Scope) -> tuple[Region, Cursor, Location | None]:
        """The operations up to the closing brace, and what follows on its line."""
        ...

    def results(self, names: Names, types: list[Type], cursor: Cursor, scope: Scope) -> tuple[Value, ...]:
        """Defines results."""
        ...


class Structured:
    """One operation with regions, from behind its name."""

    def __init__(self, reader: Regions, cursor: Cursor, location: Location | None, scope: Scope, names: Names) -> None:
        self.reader, self.cursor, self.location, self.scope, self.names = reader, cursor, location, scope, names

    def read(self, name: str) -> Operation:
        match name:
            case "for":
                return self.for_()
            case "loop":
                return self.loop()
            case _:
                return self.if_()

    def lookup(self) -> Value:
        return lookup(self.cursor, self.scope)

    def initial(self) -> tuple[Names, tuple[Value, ...]]:
        if not self.cursor.accept("iter_values"):
            return (), ()
        self.cursor.expect("(")
        names: list[str] = []
        values: list[Value] = []
        while not self.cursor.accept(")"):
            names.append(self.cursor.expect_kind("value"))
            self.cursor.expect("=")
            values.append(self.lookup())
            self.cursor.accept(",")
        return tuple(names), tuple(values)

    def finish(
        self,
        name: str,
        named: Mapping[str, tuple[Value, ...]],
        regions: tuple[Region, ...],
        types: list[Type],
        place: Location | None,
        line: int,
        unsigned: bool = False,
    ) -> Operation:
        results = self.reader.results(self.names, types, self.cursor, self.scope)
        attributes: dict[str, Attribute] = {"unsigned": True} if unsigned else {}
        where = place or self.location
        return Operation(
            name, MappingProxyType(dict(named)), results, MappingProxyType(attributes), regions, where, line
        )

    def for_(self) -> Operation:
        cursor, line = self.cursor, self.cursor.line
        unsigned = cursor.accept("unsigned")
        induction = cursor.expect_kind("value")
        cursor.expect("in", "(")
        lower = self.lookup()
        cursor.expect("to")
        upper = self.lookup()
        cursor.expect(",", "step")
        step = self.lookup()
        cursor.expect(")", ":")
        kind = read_type(cursor)
        unsigned = cursor.accept("unsigned") or unsigned
        names, initial = self.initial()
        types = read_types(cursor) if cursor.accept("->") else []
        cursor.expect("{")
        inner = dict(self.scope)
        arguments = [self.reader.value(induction, kind, inner)]
        arguments += [self.reader.value(name, value.type, inner) for name, value in zip(names, initial, strict=True)]
        region, _, place = self.reader.region(tuple(arguments), inner)
        named = {"lower": (lower,), "upper": (upper,), "step": (step,), "initial": initial}
        return self.finish("for", named, (region,), types, place, line, unsigned)

    def loop(self) -> Operation:
        cursor, line = self.cursor, self.cursor.line
        names, initial = self.initial()
        types: list[Type] = []
        if cursor.accept(":"):
            types = read_types(cursor)
        if cursor.accept("->"):
            types = read_types(cursor)
        cursor.expect("{")
        inner = dict(self.scope)
        arguments = tuple(
            self.reader.value(name, value.type, inner) for name, value in zip(names, initial, strict=True)
        )
        region, _, place = self.reader.region(arguments, inner)
        return self.finish("loop", {"initial": initial}, (region,), types, place, line)

    def if_(self) -> Operation:
        cursor, line = self.cursor, self.cursor.line
        condition = self.lookup()
        types = read_types(cursor) if cursor.accept("->") else []
        cursor.expect("{")
        then, closing, place = self.reader.region((), dict(self.scope))
        regions = [then]
        if closing.accept("else"):
            closing.expect("{")
            other, _, place = self.reader.region((), dict(self.scope))
            regions.append(other)
        return self.finish("if", {"condition": (condition,)}, tuple(regions), types, place, line)
