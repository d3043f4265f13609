"""Text of `tileirdisasm` to `model.Module`; anything that `operations.TABLE` does not know is a ReadError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from ferrotile_runner.tileir.heads import Head, Scope
from ferrotile_runner.tileir.model import Entry, Location, Module, Operation, Region, Type, Value
from ferrotile_runner.tileir.operations import TABLE, Specification
from ferrotile_runner.tileir.structured import Structured
from ferrotile_runner.tileir.text import Cursor, ReadError, lexemes, read_type
from ferrotile_runner.tileir.verifier import verify

__all__ = ["ReadError", "read"]

_LOCATION = re.compile(r' loc\((#loc\d*|unknown|(?:[^()"]|"(?:[^"\\]|\\.)*"|\([^()]*\))*)\)\s*$')
_DEFINITION = re.compile(r"^(#loc\d*) = (.*)$")
_FILE_LOCATION = re.compile(r'loc\("((?:[^"\\]|\\.)*)":(\d+):(\d+)\)')
_REFERENCE = re.compile(r"#loc\d*")


def read(text: str) -> Module:
    """All entries of a disassembly, with source locations when it was printed with `-g`. Raises ReadError,
    also for what `verifier.verify` refuses.

    Several modules in one text (as the tool prints them, one after the other) give one Module."""
    lines = text.splitlines()
    entries: list[Entry] = []
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        if stripped.startswith("entry "):
            reader = _EntryReader(lines, at, _locations(lines, at))
            entries.append(reader.entry())
            at = reader.at
        elif stripped in {"", "}"} or stripped.startswith(("#", "//", "} loc(")) or "module" in stripped.split():
            at += 1
        else:
            raise ReadError(f"expected an entry, found {stripped[:40]!r}", at + 1)
    if not entries:
        raise ReadError("no entry", max(len(lines), 1))
    return Module(tuple(entries))


def _locations(lines: list[str], start: int) -> Mapping[str, Location]:
    """The `#loc` definitions that follow the entry at `start`, up to the next entry."""
    definitions: dict[str, str] = {}
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.startswith("#"):
            match = _DEFINITION.match(line)
            if match:
                definitions[match[1]] = match[2]
        elif line.lstrip().startswith("entry "):
            break
    found: dict[str, Location] = {}

    def resolve(name: str, depth: int = 0) -> Location | None:
        if name in found:
            return found[name]
        body = definitions.get(name, "")
        place = _FILE_LOCATION.search(body)
        location = Location(place[1], int(place[2]), int(place[3])) if place else None
        if location is None and depth < 8:
            inner = [resolve(reference, depth + 1) for reference in _REFERENCE.findall(body)]
            known = [item for item in inner if item is not None]
            location = known[0] if known else None
            if body.startswith("loc(callsite(") and len(known) == 2 and len(inner) == 2:
                location = _called(known[0], known[1])
        if location is not None:
            found[name] = location
        return location

    for name in definitions:
        resolve(name)
    return MappingProxyType(found)


def _called(place: Location, caller: Location) -> Location:
    """A place of a function that is called at another one."""
    inner = caller if place.caller is None else _called(place.caller, caller)
    return replace(place, caller=inner)


class _EntryReader:
    """Reads one entry; `at` is the index of the next line."""

    def __init__(self, lines: list[str], at: int, locations: Mapping[str, Location]) -> None:
        self.lines = lines
        self.at = at
        self.locations = locations
        self.count = 0

    def next_line(self) -> tuple[Cursor, Location | None]:
        """The next line that holds anything, without its location."""
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        if self.at >= len(self.lines):
            raise ReadError("the text ends inside an entry", len(self.lines))
        line = self.lines[self.at]
        location = None
        match = _LOCATION.search(line)
        if match:
            line = line[: match.start()]
            direct = _FILE_LOCATION.search(f"loc({match[1]})")
            location = Location(direct[1], int(direct[2]), int(direct[3])) if direct else self.locations.get(match[1])
        self.at += 1
        return Cursor(lexemes(line, self.at), self.at), location

    def value(self, name: str, type_: Type, scope: Scope) -> Value:
        value = Value(self.count, type_, name)
        self.count += 1
        scope[name] = value
        return value

    def entry(self) -> Entry:
        cursor, _ = self.next_line()
        cursor.expect("entry")
        name = cursor.expect_kind("hash").lstrip("@")
        scope: Scope = {}
        parameters = self.arguments(cursor, scope)
        if cursor.accept("optimization_hints"):
            cursor.expect("=")
            cursor.skip_group()
        cursor.expect("{")
        found = Entry(name, parameters, self.region((), scope)[0])
        verify(found)
        return found

    def arguments(self, cursor: Cursor, scope: Scope) -> tuple[Value, ...]:
        """`(%a: type, %b: type)`."""
        cursor.expect("(")
        found: list[Value] = []
        while not cursor.accept(")"):
            name = cursor.expect_kind("value")
            cursor.expect(":")
            type_ = read_type(cursor)
            if cursor.accept("loc"):
                cursor.skip_group()
            found.append(self.value(name, type_, scope))
            cursor.accept(",")
        return tuple(found)

    def region(self, arguments: tuple[Value, ...], scope: Scope) -> tuple[Region, Cursor, Location | None]:
        """Operations up to the closing brace; also what follows that brace on its line, and its location."""
        operations: list[Operation] = []
        while True:
            cursor, location = self.next_line()
            if cursor.accept("}"):
                return Region(arguments, tuple(operations)), cursor, location
            operations.append(self.operation(cursor, location, scope))

    def operation(self, cursor: Cursor, location: Location | None, scope: Scope) -> Operation:
        names: list[str] = []
        while cursor.kind == "value":
            names.append(cursor.take())
            cursor.accept(",")
        if names:
            cursor.expect("=")
        name = cursor.take()
        specification = TABLE.get(name)
        if specification is None:
            raise cursor.error(f"unknown operation {name!r}")
        match name:
            case "for" | "loop" | "if":
                return Structured(self, cursor, location, scope, tuple(names)).read(name)
            case "reduce" | "scan":
                return self.reduction(specification, cursor, location, scope, tuple(names))
            case _:
                return self.plain(specification, cursor, location, scope, tuple(names))

    def plain(
        self, row: Specification, cursor: Cursor, location: Location | None, scope: Scope, names: tuple[str, ...]
    ) -> Operation:
        line = cursor.line
        head, named, values = self.head(row, cursor, scope, names)
        return Operation(row.name, named, values, MappingProxyType(head.attributes), (), location, line)

    def head(
        self, row: Specification, cursor: Cursor, scope: Scope, names: tuple[str, ...]
    ) -> tuple[Head, Mapping[str, tuple[Value, ...]], tuple[Value, ...]]:
        """What an operation has before its region, if it has one: its head, its operands by role, its results."""
        head = Head(row, cursor, scope)
        printed, after = head.read()
        named = head.roles()
        return head, named, self.results(names, head.types(named, printed, after), cursor, scope)

    def results(self, names: tuple[str, ...], types: list[Type], cursor: Cursor, scope: Scope) -> tuple[Value, ...]:
        """Values for `%a, %b` or `%a:2` (its parts are `%a#0`, `%a#1`); one type serves all results."""
        split: list[str] = []
        for name in names:
            base, _, count = name.partition(":")
            split += [f"{base}#{part}" for part in range(int(count))] if count else [base]
        if not split:
            return ()
        if len(types) == 1:
            types = types * len(split)
        if len(types) != len(split):
            raise cursor.error(f"{len(split)} results and {len(types)} types")
        return tuple(self.value(name, type_, scope) for name, type_ in zip(split, types, strict=True))

    def reduction(
        self, row: Specification, cursor: Cursor, location: Location | None, scope: Scope, names: tuple[str, ...]
    ) -> Operation:
        line = cursor.line
        head, named, values = self.head(row, cursor, scope, names)
        inner = dict(scope)
        opening, _ = self.next_line()
        arguments = self.arguments(opening, inner)
        opening.expect("{")
        region, _, place = self.region(arguments, inner)
        attributes = MappingProxyType(head.attributes)
        return Operation(row.name, named, values, attributes, (region,), place or location, line)
