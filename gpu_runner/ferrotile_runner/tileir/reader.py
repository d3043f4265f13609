"""Text of `tileirdisasm` to `model.Module`; anything that `operations.TABLE` does not know is a ReadError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ferrotile_runner.tileir.model import (
    Attribute,
    Entry,
    Location,
    Module,
    Operation,
    Region,
    TileType,
    TokenType,
    Type,
    Value,
)
from ferrotile_runner.tileir.operations import TABLE, Specification
from ferrotile_runner.tileir.text import Cursor, ReadError, lexemes, read_type, read_types

__all__ = ["ReadError", "read"]

Scope = dict[str, Value]
_LOCATION = re.compile(r' loc\((#loc\d*|unknown|(?:[^()"]|"(?:[^"\\]|\\.)*"|\([^()]*\))*)\)\s*$')
_DEFINITION = re.compile(r"^(#loc\d*) = (.*)$")
_FILE_LOCATION = re.compile(r'loc\("((?:[^"\\]|\\.)*)":(\d+):(\d+)\)')
_REFERENCE = re.compile(r"#loc\d*")


def read(text: str) -> Module:
    """All entries of a disassembly, with source locations when it was printed with `-g`. Raises ReadError.

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
            inner = (resolve(reference, depth + 1) for reference in _REFERENCE.findall(body))
            location = next((item for item in inner if item is not None), None)
        if location is not None:
            found[name] = location
        return location

    for name in definitions:
        resolve(name)
    return MappingProxyType(found)


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
        return Entry(name, parameters, self.region((), scope)[0])

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
                return _Control(self, cursor, location, scope, tuple(names)).read(name)
            case "reduce" | "scan":
                return self.reduction(specification, cursor, location, scope, tuple(names))
            case _:
                return self.plain(specification, cursor, location, scope, tuple(names))

    def plain(
        self, row: Specification, cursor: Cursor, location: Location | None, scope: Scope, names: tuple[str, ...]
    ) -> Operation:
        head = _Head(row, cursor, scope)
        operands, results = head.read()
        line = cursor.line
        if row.name in {"make_partition_view", "make_strided_view", "make_gather_scatter_view"}:
            operands, results = [], operands
        named = head.roles(operands)
        _check_view(head, named, operands, cursor)
        values = self.results(names, results or operands, cursor, scope)
        return Operation(row.name, named, values, MappingProxyType(head.attributes), (), location, line)

    def results(self, names: tuple[str, ...], types: list[Type], cursor: Cursor, scope: Scope) -> tuple[Value, ...]:
        """Values for `%a, %b` or `%a:2` (its parts are `%a#0`, `%a#1`); one type serves all results."""
        split: list[str] = []
        for name in names:
            base, _, count = name.partition(":")
            split += [f"{base}#{part}" for part in range(int(count))] if count else [base]
        if not split:
            return ()
        if len(types) < len(split):
            types = [types[-1]] * len(split) if types else types
        if len(types) < len(split):
            raise cursor.error("results without a type")
        used = types[-len(split) :]
        return tuple(self.value(name, type_, scope) for name, type_ in zip(split, used, strict=True))

    def reduction(
        self, row: Specification, cursor: Cursor, location: Location | None, scope: Scope, names: tuple[str, ...]
    ) -> Operation:
        head = _Head(row, cursor, scope)
        operands, results = head.read()
        line = cursor.line
        named = head.roles(operands)
        values = self.results(names, results, cursor, scope)
        inner = dict(scope)
        opening, _ = self.next_line()
        arguments = self.arguments(opening, inner)
        opening.expect("{")
        region, _, place = self.region(arguments, inner)
        attributes = MappingProxyType(head.attributes)
        return Operation(row.name, named, values, attributes, (region,), place or location, line)


class _Control:
    """Reads `for`, `loop` and `if`."""

    def __init__(
        self,
        reader: _EntryReader,
        cursor: Cursor,
        location: Location | None,
        scope: Scope,
        names: tuple[str, ...],
    ) -> None:
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
        return _lookup(self.cursor, self.scope)

    def initial(self) -> tuple[tuple[str, ...], tuple[Value, ...]]:
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
        return Operation(
            name,
            MappingProxyType(dict(named)),
            results,
            MappingProxyType(attributes),
            regions,
            place or self.location,
            line,
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


def _lookup(cursor: Cursor, scope: Scope) -> Value:
    name = cursor.expect_kind("value")
    value = scope.get(name)
    if value is None:
        raise cursor.error(f"{name} is not defined here")
    return value


def _check_view(head: _Head, named: Mapping[str, tuple[Value, ...]], types: list[Type], cursor: Cursor) -> None:
    """The view's type as an access repeats it must be the type of its definition."""
    repeated = [type_ for type_ in types if not isinstance(type_, TileType | TokenType)]
    for view in named.get("view", ()):
        if head.row.name.startswith("make_"):
            continue
        if repeated[:1] != [view.type]:
            raise cursor.error(f"the type of {view.name} is not that of its definition")


class _Head:
    """Reads operands, words and `key = value` attributes of an operation, up to and with its types."""

    def __init__(self, row: Specification, cursor: Cursor, scope: Scope) -> None:
        self.row, self.cursor, self.scope = row, cursor, scope
        self.positional: list[Value] = []
        self.lists: dict[str, tuple[Value, ...]] = {}
        self.attributes: dict[str, Attribute] = {}

    def read(self) -> tuple[list[Type], list[Type]]:
        """Types before the arrow, types after it (none without an arrow)."""
        cursor = self.cursor
        while cursor.kind != "end" and not cursor.accept(":"):
            match cursor.kind:
                case "value":
                    self.positional.append(_lookup(cursor, self.scope))
                    if cursor.text == "[":
                        self.index()
                case "word":
                    self.word()
                case "string":
                    self.attributes["message"] = cursor.take()[1:-1]
                case _ if cursor.text == "<" and self.row.name == "constant":
                    self.constant()
                case _ if cursor.text == "[" and self.row.name == "permute":
                    self.attributes["permutation"] = self.integer_list()
                case _ if cursor.accept(","):
                    pass
                case _:
                    raise cursor.error(f"unexpected {cursor.text!r} in {self.row.name}")
        operands = [] if cursor.kind == "end" else read_types(cursor)
        results = read_types(cursor) if cursor.accept("->") else []
        if cursor.kind != "end":
            raise cursor.error(f"unexpected {cursor.text!r} after {self.row.name}")
        return operands, results

    def index(self) -> None:
        if self.row.name == "permute":
            self.attributes["permutation"] = self.integer_list()
            return
        self.cursor.expect("[")
        values: list[Value] = []
        while not self.cursor.accept("]"):
            values.append(_lookup(self.cursor, self.scope))
            self.cursor.accept(",")
        self.lists["index"] = tuple(values)

    def integer_list(self) -> tuple[int, ...]:
        words = self.cursor.skip_group().replace(",", " ").split()
        if not all(re.fullmatch(r"-?\d+", word) for word in words):
            raise self.cursor.error("expected a list of integers")
        return tuple(int(word) for word in words)

    def constant(self) -> None:
        """`<f32: 1.0>` or `<i32: [1, 2]>`; the text of the literal is kept."""
        words = self.cursor.skip_group()
        _, colon, literal = words.partition(" : ")
        if not colon:
            raise self.cursor.error("a constant without a value")
        self.attributes["value"] = literal

    def word(self) -> None:
        cursor, row = self.cursor, self.row
        word = cursor.take()
        if cursor.text in {"=", "<"} and word in row.keys | {"permutation"}:
            cursor.accept("=")
            self.keyed(word)
        elif word in row.words:
            attribute = row.words[word]
            before = self.attributes.get(attribute)
            if isinstance(before, str):  # `mmai` has the signs of both operands, in their order
                word = f"{before} {word}"
            self.attributes[attribute] = True if attribute == word else word
        elif row.name == "assume":
            self.attributes["predicate"] = word
        else:
            raise cursor.error(f"unknown word {word!r} in {row.name}")

    def keyed(self, key: str) -> None:
        cursor = self.cursor
        match key:
            case "token":
                self.lists["token"] = (_lookup(cursor, self.scope),)
            case "shape" | "strides":
                self.mixed(key)
            case "identities":
                self.identities()
            case "dim":
                self.attributes[key] = int(cursor.expect_kind("number"))
            case "reverse":
                self.attributes[key] = cursor.take() == "true"
            case "permutation":
                self.attributes[key] = self.integer_list()
            case "inbounds":
                words = cursor.skip_group().replace(",", " ").split()
                self.attributes[key] = tuple(int(word == "true") for word in words)
            case "bounded" | "div_by" | "same_elements":
                self.attributes["predicate"] = f"{key}<{cursor.skip_group()}>"
            case _:  # rounding<..>, overflow<..>, optimization_hints = <..>
                self.attributes[key] = cursor.skip_group()

    def mixed(self, key: str) -> None:
        """`[%a, 64]`: values and numbers; the numbers are in the view's type as well."""
        self.cursor.expect("[")
        values: list[Value] = []
        while not self.cursor.accept("]"):
            if self.cursor.kind == "value":
                values.append(_lookup(self.cursor, self.scope))
            else:
                self.cursor.expect_kind("number")
            self.cursor.accept(",")
        self.lists[key] = tuple(values)

    def identities(self) -> None:
        """Literals, as text, without their types."""
        self.cursor.expect("[")
        found: list[str] = []
        while not self.cursor.accept("]"):
            found.append(self.cursor.take())
            self.cursor.expect(":")
            self.cursor.take()
            self.cursor.accept(",")
        self.attributes["identities"] = tuple(found)

    def roles(self, types: list[Type]) -> Mapping[str, tuple[Value, ...]]:
        """Operands by role. A mask is told from a padding by its type."""
        named: dict[str, tuple[Value, ...]] = {}
        rest = list(self.positional)
        required = sum(1 for role in self.row.roles if role[-1] not in "?*")
        for role in self.row.roles:
            name = role.rstrip("?*")
            if name in self.lists:
                named[name] = self.lists[name]
            elif role.endswith("*") and name not in {"index", "shape", "strides"}:
                named[name], rest = tuple(rest), []
            elif role[-1] in "?*":
                named[name] = (rest.pop(0),) if self.takes(name, rest, required) else ()
            else:
                if not rest:
                    raise self.cursor.error(f"{self.row.name} without its {name}")
                named[name] = (rest.pop(0),)
                required -= 1
        if rest:
            raise self.cursor.error(f"too many operands for {self.row.name}")
        return MappingProxyType(named)

    def takes(self, name: str, rest: list[Value], required: int) -> bool:
        if len(rest) <= required or name in {"index", "token"}:
            return bool(rest) and name == "token" and isinstance(rest[0].type, TokenType)
        first = rest[0].type
        return name != "mask" or (isinstance(first, TileType) and first.element == "i1")
