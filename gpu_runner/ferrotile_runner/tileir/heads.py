"""Reads the line of an operation: operands, words, `key = value` attributes, types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from ferrotile_runner.tileir.model import (
    Attribute,
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
    Value,
)
from ferrotile_runner.tileir.operations import Specification, Typing
from ferrotile_runner.tileir.text import Cursor, read_types

Scope = dict[str, Value]
_VIEWS = PartitionViewType | StridedViewType | GatherScatterViewType | TensorViewType


def lookup(cursor: Cursor, scope: Scope) -> Value:
    """The value whose name is ahead. Raises ReadError when nothing defined it."""
    name = cursor.expect_kind("value")
    value = scope.get(name)
    if value is None:
        raise cursor.error(f"{name} is not defined here")
    return value


class Head:
    """One operation's line, from behind its name up to its types."""

    def __init__(self, row: Specification, cursor: Cursor, scope: Scope) -> None:
        self.row, self.cursor, self.scope = row, cursor, scope
        self.positional: list[Value] = []
        self.lists: dict[str, tuple[Value, ...]] = {}
        self.attributes: dict[str, Attribute] = {}

    def read(self) -> tuple[list[Type], list[Type]]:
        """Types before the arrow, types after it (none without an arrow)."""
        cursor = self.cursor
        while cursor.kind not in {"end", "arrow"} and not cursor.accept(":"):
            match cursor.kind:
                case "value":
                    self.positional.append(lookup(cursor, self.scope))
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
        operands = [] if cursor.kind in {"end", "arrow"} else read_types(cursor)
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
            values.append(lookup(self.cursor, self.scope))
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
                self.lists["token"] = (lookup(cursor, self.scope),)
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
                values.append(lookup(self.cursor, self.scope))
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
            if self.cursor.accept(":"):  # i64, MLIR's default, is left out
                self.cursor.take()
            self.cursor.accept(",")
        self.attributes["identities"] = tuple(found)

    def roles(self) -> Mapping[str, tuple[Value, ...]]:
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
                named[name] = (rest.pop(0),) if self._takes(name, rest, required) else ()
            else:
                if not rest:
                    raise self.cursor.error(f"{self.row.name} without its {name}")
                named[name] = (rest.pop(0),)
                required -= 1
        if rest:
            raise self.cursor.error(f"too many operands for {self.row.name}")
        return MappingProxyType(named)

    def _takes(self, name: str, rest: list[Value], required: int) -> bool:
        if len(rest) <= required or name in {"index", "token"}:
            return bool(rest) and name == "token" and isinstance(rest[0].type, TokenType)
        first = rest[0].type
        if name != "mask":
            return True
        is_mask = isinstance(first, TileType) and first.element == "i1"
        if is_mask and len(rest) == required + 1 and self.row.name == "load_ptr_tko" and self._loads_booleans():
            raise self.cursor.error("a mask cannot be told from the padding of a load of i1")
        return is_mask

    def _loads_booleans(self) -> bool:
        kind = self.positional[0].type
        return isinstance(kind, TileType) and kind.element == PointerType("i1")

    def types(self, named: Mapping[str, tuple[Value, ...]], printed: list[Type], results: list[Type]) -> list[Type]:
        """The results' types; one type may serve all results. Raises ReadError where the operands' types as the line
        repeats them are not those of their definitions."""
        if self.row.typing is Typing.RESULT:
            return results or printed
        if self.row.name == "make_tensor_view":
            return results or printed
        actual = [value.type for values in named.values() for value in values]
        for view in named.get("view", ()):
            if view.type not in printed and printed:
                raise self.cursor.error(f"the type of {view.name} is not that of its definition")
        if any(type_ not in actual for type_ in printed):
            raise self.cursor.error(f"an operand of {self.row.name} has another type than its definition")
        if self.row.typing is Typing.OPERANDS and self.row.like:
            return [named[self.row.like][0].type]
        return results
