"""An immutable snapshot of one Python file: bytes, lines, tree-sitter tree, and its top-level items.

tree-sitter finds where items begin and end, quickly and also in broken text; what an item means comes from
CPython's own parser, one item at a time (`module.py`)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from enum import Enum
from hashlib import blake2b
from itertools import pairwise

import tree_sitter_python
from msgspec import Struct
from tree_sitter import Language, Node, Parser, Tree

from ferrotile.syntax.positions import LineTable, boundary
from ferrotile.syntax.span import Span

MAX_BYTES = 8 * 1024 * 1024
"""A longer file has no items; `parse_module` says so (FT002)."""

_LANGUAGE = Language(tree_sitter_python.language())
_HASH = 0x23
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONE_CR = re.compile(rb"\r(?!\n)")
_STRONG = re.compile(rb"(?:@|def\b|class\b|async\b|import\b|from\b)")
_START = re.compile(rb"(?:^|(?<=[\r\n]))(?!(?:else|elif|except|finally)\b)[A-Za-z_@\x80-\xff][^\r\n]*")
_BLOCK = re.compile(rb"[\r\n](?:@|def\b|class\b|async\b)")
_DEFINITION = re.compile(r"^(?:async[ \t]+)?(def|class)[ \t]+(\w+)", re.MULTILINE)
_ASSIGNED = re.compile(r"(\w+)[ \t]*(?::[^=\n]+)?=(?!=)")


class ItemKind(Enum):
    FUNCTION = "function"
    CLASS = "class"
    IMPORT = "import"
    ASSIGNMENT = "assignment"
    OTHER = "other"


class Item(Struct, frozen=True):
    """A top-level statement with its decorators. `digest` depends on `text` alone, so it survives moves.

    `names` holds what a `def`, `class` or plain assignment binds.
    `broken`: cut out of text that does not parse. `solid`: at column 0, with no line inside that could begin another
    item: taken as it is also where the text around it does not parse. `launches`: it has the word."""

    kind: ItemKind
    names: tuple[str, ...]
    span: Span
    text: str
    digest: bytes
    broken: bool = False
    solid: bool = False
    launches: bool = False

    def moved(self, delta: int) -> Item:
        """The same text so many bytes further on."""
        span = Span(self.span.start + delta, self.span.end + delta)
        return Item(self.kind, self.names, span, self.text, self.digest, self.broken, self.solid, self.launches)


class Comment(Struct, frozen=True):
    """One comment, `#` included, without its line end."""

    span: Span
    text: str


class _Kept(Struct, frozen=True):
    """Items of the snapshot before an edit whose lines the edit left alone: those above it, and those below it, which
    it moved by `delta` bytes."""

    above: tuple[Item, ...] = ()
    below: tuple[Item, ...] = ()
    delta: int = 0

    def in_order(self) -> _Known:
        """All, for a search from the top of the file to its end."""
        return _Known(self)


class _Known:
    """Items that need not be made again. Asked for one place after another, in the order of the file."""

    __slots__ = ("_at", "_delta", "_items", "_split", "_start")

    def __init__(self, kept: _Kept) -> None:
        self._items = (*kept.above, *kept.below)
        self._split, self._delta = len(kept.above), kept.delta
        self._at = 0
        self._start = self._items[0].span.start + (0 if self._split else self._delta) if self._items else -1

    def at(self, start: int, end: int, broken: bool = False) -> Item | None:
        """The item at a place, where it now stands."""
        while self._start < start:
            if self._start < 0 or not self._next():
                return None
        if self._start != start:
            return None
        item = self._items[self._at]
        delta = 0 if self._at < self._split else self._delta
        if item.broken is not broken or item.span.end + delta != end:
            return None
        return item.moved(delta) if delta else item

    def _next(self) -> bool:
        self._at += 1
        if self._at >= len(self._items):
            self._start = -1
            return False
        self._start = self._items[self._at].span.start + (0 if self._at < self._split else self._delta)
        return True


class Document:
    """A snapshot. `edit` gives the next one; this one stays valid. Lone surrogates become U+FFFD.

    It is parsed when its tree is first asked for: of many edits in a row only the last is, and by whoever needs it."""

    __slots__ = ("_comments", "_items", "_kept", "_tree", "_was", "data", "lines")

    def __init__(self, text: str) -> None:
        data = _SURROGATE.sub("\ufffd", text).encode("utf-8")
        self._fill(data, LineTable(data), None)

    def _fill(self, data: bytes, lines: LineTable, was: Tree | None) -> None:
        self.data = data
        self.lines = lines
        self._tree: Tree | None = None
        self._was = was
        """An earlier text's tree, told of all edits since."""
        self._items: tuple[Item, ...] | None = None
        self._kept = _Kept()
        self._comments: tuple[Comment, ...] | None = None

    @property
    def text(self) -> str:
        return self.data.decode("utf-8")

    @property
    def tree(self) -> Tree:
        """The tree-sitter tree, over the data with every lone `\\r` read as `\\n`."""
        tree = self._tree
        if tree is None:
            tree = self._tree = _parse(self.data, self._was)
            self._was = None
        return tree

    @property
    def too_large(self) -> bool:
        return len(self.data) > MAX_BYTES

    def slice(self, span: Span) -> str:
        """The text of `span`."""
        return self.data[span.start : span.end].decode("utf-8", "replace")

    def edit(self, start_byte: int, end_byte: int, new_text: str) -> Document:
        """Replace bytes `start_byte` to `end_byte` by `new_text`; re-parses only what the edit can change."""
        start = boundary(self.data, start_byte)
        end = max(boundary(self.data, end_byte), start)
        inserted = _SURROGATE.sub("\ufffd", new_text).encode("utf-8")
        data = self.data[:start] + inserted + self.data[end:]
        lines = self.lines.edited(data, start, end, len(data) - len(self.data))
        # A `\r` before the edit may gain or lose its `\n`: then the byte that the parser saw there changes.
        first = start - 1 if start and self.data[start - 1] == 0x0D else start
        new_end = start + len(inserted)
        was = self._was  # read before the tree: another thread, parsing, sets the tree first
        was = self._tree or was
        if was is not None:
            was = was.copy()
            was.edit(first, end, new_end, self.lines.point(first), self.lines.point(end), lines.point(new_end))
        following = object.__new__(Document)
        following._fill(data, lines, None if self.too_large else was)
        following._kept = self._around(first, end, new_end - end)
        return following

    def _around(self, start: int, end: int, delta: int) -> _Kept:
        """The items that an edit of `start` to `end` does not touch; one on a line of the edit counts as touched."""
        kept = self._kept
        if self._items is not None:
            kept = _Kept(self._items, self._items)
        last = self.lines.line_end(self.lines.line_of(end))
        above = bisect_left(kept.above, start, key=lambda i: i.span.end)
        below = bisect_right(kept.below, last, key=lambda i: i.span.start + kept.delta)
        return _Kept(kept.above[:above], kept.below[below:], kept.delta + delta)

    @property
    def items(self) -> tuple[Item, ...]:
        """Top-level statements in file order. Text that does not parse is cut at column-0 lines, so that an
        unclosed bracket or quote does not swallow its neighbours."""
        if self._items is None:
            self._items = tuple(self._find_items())
            self._kept = _Kept()
        return self._items

    @property
    def comments(self) -> tuple[Comment, ...]:
        """Every comment, in file order."""
        if self._comments is None:
            self._comments = tuple(self._find_comments())
        return self._comments

    def leading_comments(self, item: Item) -> tuple[Comment, ...]:
        """The comment lines directly above `item`: no blank line between, nothing else on their lines."""
        return self.comments_above(item.span.start)

    def comments_above(self, offset: int) -> tuple[Comment, ...]:
        """The comment lines directly above the line of byte `offset`, in file order."""
        found: list[Comment] = []
        lines = self.lines
        for line in range(lines.line_of(lines.block_start(offset)), lines.line_of(offset)):
            end = lines.line_end(line)
            body = self.data[lines.line_start(line) : end].lstrip(b" \t\x0c")
            found.append(Comment(Span(end - len(body), end), body.decode("utf-8")))
        return tuple(found)

    def _find_items(self) -> Iterator[Item]:
        root = self.tree.root_node
        data = self.data
        known = self._kept.in_order()
        whole = not root.has_error
        loose = 0
        for node in root.children:
            start, end = node.start_byte, node.end_byte
            item = known.at(start, end)
            if not whole:
                if item is not None and item.solid:
                    trusted = not node.has_error
                else:
                    comment = data[start] == _HASH and (not start or data[start - 1] in b"\r\n")
                    trusted = comment or self._trusted(node)
                if not trusted or (loose != start and self._decorates(loose, start)):
                    continue
                if loose != start:
                    yield from self._cut(loose, start, known)
                loose = end
            if item is not None:
                yield item
            elif node.type not in ("comment", ";"):
                yield self._item(start, end, known, solid=not whole or self._solid(node))
        if not whole:
            yield from self._cut(loose, len(data), known)

    def _decorates(self, start: int, end: int) -> bool:
        """Whether loose text ends with a decorator: then it belongs to the definition below. An open bracket above
        swallows it, as the operator that it could be."""
        if b"@" not in self.data[start:end]:
            return False
        begun = _START.findall(self.data, start, end)
        return bool(begun) and begun[-1].startswith(b"@")

    def _trusted(self, node: Node) -> bool:
        """Whether an item of a broken tree may be taken as it is: whole, at column 0, over no other."""
        return not (node.has_error or node.is_error or node.is_missing) and self._solid(node)

    def _solid(self, node: Node) -> bool:
        start = node.start_byte
        if start and self.data[start - 1] not in b"\r\n":
            return False
        if node.type == "decorated_definition":
            definition = node.child_by_field_name("definition")
            return definition is not None and not _BLOCK.search(self.data, definition.start_byte, node.end_byte)
        return not _BLOCK.search(self.data, start, node.end_byte)

    def _cut(self, start: int, end: int, known: _Known) -> Iterator[Item]:
        """Pieces of text that the tree does not explain, cut where a line starts a statement at column 0."""
        if not self.data[start:end].strip():
            return
        cuts: list[int] = [start]
        decorating = False
        last_end = start
        for match in _START.finditer(self.data, start, end):
            strong = _STRONG.match(match.group())
            decorator = match.group().startswith(b"@")
            joins = decorating and (
                not b"".join(self.data[last_end : match.start()].split()) if decorator else strong is not None
            )
            if decorating and decorator and self.data[last_end : match.start()].count(b"\n") > 1:
                joins = False
            if not joins:
                cuts.append(match.start())
            decorating = decorator
            last_end = match.end()
        cuts.append(end)
        for first, last in pairwise(cuts):
            piece = self.data[first:last]
            stripped = _without_comments_at_end(piece)
            if stripped.strip() and not _only_comments(stripped):
                yield self._item(first, first + len(stripped), known, broken=True)

    def _item(self, start: int, end: int, known: _Known, *, broken: bool = False, solid: bool = False) -> Item:
        if broken and (kept := known.at(start, end, broken)) is not None:
            return kept
        line = self.lines.line_start(self.lines.line_of(start))
        if line != start and not self.data[line:start].strip():
            start = line  # keeps a wrong indent visible to CPython's parser
        raw = self.data[start:end]
        text = raw.decode("utf-8", "replace")
        kind, names = _classify(text)
        digest = blake2b(raw, digest_size=16).digest()
        return Item(kind, names, Span(start, end), text, digest, broken, solid, "launch" in text)

    def _find_comments(self) -> Iterator[Comment]:
        root = self.tree.root_node
        at = self.data.find(b"#")
        while at >= 0:
            node = root.descendant_for_byte_range(at, at + 1)
            following = at + 1
            line = self.lines.line_of(at)
            if node is not None and node.type == "comment" and node.start_byte == at:
                following = node.end_byte
                yield Comment(Span(at, following), self.data[at:following].decode("utf-8", "replace"))
            elif root.has_error and self.lines.line_start(line) == at:
                following = self.lines.line_end(line)  # an open quote must not hide the directives below it
                yield Comment(Span(at, following), self.data[at:following].decode("utf-8", "replace"))
            elif node is not None and node.type == "string_content" and not root.has_error:
                following = max(following, node.end_byte)
            at = self.data.find(b"#", following)


def _parse(data: bytes, old: Tree | None) -> Tree:
    parser = Parser(_LANGUAGE)
    source = b"" if len(data) > MAX_BYTES else data
    if b"\r" in source:
        source = _LONE_CR.sub(b"\n", source)
    return parser.parse(source) if old is None else parser.parse(source, old)


def _without_comments_at_end(piece: bytes) -> bytes:
    """`piece` without blank and comment lines at its end: they belong to what follows."""
    kept = piece.rstrip()
    while True:
        cut = max(kept.rfind(b"\n"), kept.rfind(b"\r")) + 1
        if cut == 0 or not kept[cut:].startswith(b"#"):
            return kept
        kept = kept[:cut].rstrip()


def _only_comments(piece: bytes) -> bool:
    return all(not line.strip() or line.lstrip().startswith(b"#") for line in piece.splitlines())


def _classify(text: str) -> tuple[ItemKind, tuple[str, ...]]:
    if text.startswith(("@", "def ", "class ", "async ", "def\t", "class\t")):
        match = _DEFINITION.search(text)
        if match:
            return (ItemKind.FUNCTION if match[1] == "def" else ItemKind.CLASS), (match[2],)
        return ItemKind.OTHER, ()
    if text.startswith(("import ", "from ")):
        return ItemKind.IMPORT, ()
    match = _ASSIGNED.match(text)
    return (ItemKind.ASSIGNMENT, (match[1],)) if match else (ItemKind.OTHER, ())
