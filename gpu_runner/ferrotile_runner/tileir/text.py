"""Lexer of `tileirdisasm` text, and the grammar of types."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ferrotile_runner.tileir.model import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
)


class ReadError(Exception):
    """`line` counts from 1 in the disassembly."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"line {line} of the Tile IR text: {message}")
        self.message = message
        self.line = line


_LEXEME = re.compile(
    r"""\s*(?:(?P<value>%[\w$.\-]+(?:\#\d+)?(?::\d+)?)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<arrow>->)
    |(?P<hash>[#@]\w+(?:\.\w+)?)
    |(?P<number>-?(?:0[xX][0-9a-fA-F]+|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)(?![\w.]))
    |(?P<dims>(?:\?|\d+)(?:x(?:\?|\d+))*x[A-Za-z]\w*|(?:\?|\d+)(?:x(?:\?|\d+))+)
    |(?P<word>-?[A-Za-z_][\w.]*)
    |(?P<mark>[<>()\[\]{}=,:?]))""",
    re.VERBOSE,
)
_DIMENSIONS = re.compile(r"(?:(?:\?|\d+)(?:x|$))*")


Lexeme = tuple[str, str]
"""Its group in the pattern above, and a word of the text."""
_END: Lexeme = ("end", "")


def lexemes(text: str, line: int) -> list[Lexeme]:
    """The words of one line. Raises ReadError on a character that is none of the grammar's."""
    found: list[Lexeme] = []
    at, end, match_at = 0, len(text.rstrip()), _LEXEME.match
    while at < end:
        match = match_at(text, at)
        if match is None or match.lastgroup is None:
            raise ReadError(f"unexpected text {text[at : at + 20].strip()!r}", line)
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class Cursor:
    """A position in the words of one line: `text` is the word ahead, empty at the end, `kind` its group."""

    __slots__ = ("kind", "line", "rest", "text")

    def __init__(self, words: list[Lexeme], line: int) -> None:
        self.rest = iter(words)
        self.line = line
        self.kind, self.text = next(self.rest, _END)

    def error(self, message: str) -> ReadError:
        return ReadError(message, self.line)

    def take(self) -> str:
        word = self.text
        self.kind, self.text = next(self.rest, _END)
        return word

    def accept(self, text: str) -> bool:
        if self.text == text and self.kind != "string":
            self.kind, self.text = next(self.rest, _END)
            return True
        return False

    def expect(self, *texts: str) -> None:
        for text in texts:
            if not self.accept(text):
                raise self.error(f"expected {text!r}, found {self.text!r}")

    def expect_kind(self, kind: str) -> str:
        if self.kind != kind:
            raise self.error(f"expected a {kind}, found {self.text!r}")
        return self.take()

    def skip_group(self) -> str:
        """Passes a bracketed group, the opening bracket ahead; returns its words joined."""
        depth, words = 0, []
        while True:
            if self.kind == "end":
                raise self.error("unbalanced brackets")
            word = self.take()
            depth += (word in {"<", "(", "[", "{"}) - (word in {">", ")", "]", "}"})
            words.append(word)
            if depth == 0:
                return " ".join(words[1:-1])


def dimensions(text: str) -> tuple[tuple[int | None, ...], str]:
    """`?x64xf32` to ((None, 64), "f32"); `4x8` to ((4, 8), "")."""
    prefix = _DIMENSIONS.match(text)
    length = prefix.end() if prefix else 0
    parts = [part for part in text[:length].split("x") if part]
    return tuple(None if part == "?" else int(part) for part in parts), text[length:]


def _integer_list(cursor: Cursor) -> tuple[int | None, ...]:
    cursor.expect("[")
    items: list[int | None] = []
    while not cursor.accept("]"):
        word = cursor.take()
        if word != "?" and not re.fullmatch(r"-?\d+", word):
            raise cursor.error(f"expected an integer, found {word!r}")
        items.append(None if word == "?" else int(word))
        cursor.accept(",")
    return tuple(items)


def _known(items: Iterable[int | None], cursor: Cursor) -> tuple[int, ...]:
    known = tuple(item for item in items if item is not None)
    if len(known) != len(tuple(items)):
        raise cursor.error("a dimension of this type must be known")
    return known


def _tile_type(cursor: Cursor) -> TileType:
    cursor.expect("<")
    word = cursor.take()
    if cursor.accept("<"):  # tile<ptr<f32>> or tile<16xptr<f32>>
        shape, name = dimensions(word)
        pointee = cursor.take()
        cursor.expect(">", ">")
        if (name or word) != "ptr":
            raise cursor.error(f"unknown element type {word!r}")
        return TileType(_known(shape, cursor), PointerType(pointee))
    cursor.expect(">")
    shape, element = dimensions(word)
    return TileType(_known(shape, cursor), element or word)


def _tensor_view_type(cursor: Cursor) -> TensorViewType:
    cursor.expect("<")
    word = cursor.take()
    shape, element = dimensions(word)
    strides: tuple[int | None, ...] = ()
    while cursor.accept(","):
        cursor.expect("strides", "=")
        strides = _integer_list(cursor)
    cursor.expect(">")
    if len(strides) != len(shape):
        raise cursor.error("a tensor view needs one stride an axis")
    return TensorViewType(element or word, shape, strides)


_VIEWS = frozenset({"partition_view", "strided_view", "gather_scatter_view"})


def _view_type(cursor: Cursor, name: str) -> Type:
    cursor.expect("<")
    tile: tuple[int, ...] = ()
    padding: str | None = None
    view: TensorViewType | None = None
    lists: dict[str, tuple[int, ...]] = {}
    sparse = 0
    while not cursor.accept(">"):
        key = cursor.take()
        match key:
            case "tensor_view":
                view = _tensor_view_type(cursor)
            case "tile":
                cursor.expect("=", "(")
                tile = _known(dimensions(cursor.take())[0], cursor)
                cursor.expect(")")
            case "padding_value":
                cursor.expect("=")
                padding = cursor.take()
            case "dim_map" | "traversal_strides":
                cursor.expect("=")
                lists[key] = _known(_integer_list(cursor), cursor)
            case "sparse_dim":
                cursor.expect("=")
                sparse = int(cursor.expect_kind("number"))
            case _:
                raise cursor.error(f"unknown part {key!r} of a {name}")
        cursor.accept(",")
    if view is None:
        raise cursor.error(f"a {name} without its tensor view")
    dim_map = lists.get("dim_map", tuple(range(len(tile))))
    match name:
        case "partition_view":
            return PartitionViewType(tile, view, dim_map, padding)
        case "strided_view":
            return StridedViewType(tile, lists.get("traversal_strides", tile), view, dim_map, padding)
        case _:
            return GatherScatterViewType(tile, view, sparse, padding)


def read_type(cursor: Cursor) -> Type:
    """The type ahead. Raises ReadError."""
    word = cursor.take()
    match word:
        case "tile":
            return _tile_type(cursor)
        case "token":
            return TokenType()
        case "tensor_view":
            return _tensor_view_type(cursor)
        case _ if word in _VIEWS:
            return _view_type(cursor, word)
        case _:
            raise cursor.error(f"unknown type {word!r}")


def read_types(cursor: Cursor) -> list[Type]:
    """Types with commas between them, in parentheses or not."""
    closing = cursor.accept("(")
    types: list[Type] = []
    if closing and cursor.accept(")"):
        return types
    types.append(read_type(cursor))
    while cursor.accept(","):
        types.append(read_type(cursor))
    if closing:
        cursor.expect(")")
    return types
