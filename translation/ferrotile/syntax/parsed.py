"""One top-level item parsed by CPython's parser, with the facts that a module collects, cached by digest."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ferrotile.syntax.document import Item
from ferrotile.syntax.positions import LINE_END, boundary
from ferrotile.syntax.span import Span

if TYPE_CHECKING:
    from ferrotile.syntax.module import FunctionSource

_KEY = "ferrotile_item"
_PLACE = "_ferrotile_place"
_BOM = "\ufeff"


class LocalFunction(Struct, frozen=True):
    node: ast.FunctionDef
    span: Span
    name_span: Span
    enclosing: tuple[str, ...]


class Facts(Struct, frozen=True):
    """What an item binds. A binding with None is a name whose value is not one known expression."""

    functions: tuple[LocalFunction, ...] = ()
    imports: tuple[tuple[str, str], ...] = ()
    star_imports: tuple[str, ...] = ()
    bindings: tuple[tuple[str, ast.expr | None], ...] = ()

    @property
    def binds(self) -> bool:
        """Whether the item gives more than functions to its module."""
        return bool(self.bindings or self.imports or self.star_imports)


class ParseError(Struct, frozen=True):
    message: str
    span: Span


class Parsed(Struct, frozen=True):
    """Spans are relative to the item. `key` marks this item's nodes, so that a node finds its item again."""

    key: int
    data: bytes
    line_starts: tuple[int, ...]
    statements: tuple[ast.stmt, ...]
    facts: Facts
    error: ParseError | None
    binds: bool = False
    """`facts.binds`, which is asked at every key."""

    def span_from(self, start: int, node: ast.AST) -> Span:
        """The node's place in the file where its item stands at `start`. The node remembers it (`known_place`): each
        lowering of a kernel asks again."""
        local = self.local_span(node)
        span = Span(start + local.start, start + local.end)
        fields = vars(node)
        if "lineno" in fields:  # nodes without a place are shared by all trees
            fields[_PLACE] = (start, span)
        return span

    def local_span(self, node: ast.AST) -> Span:
        place = vars(node).get
        line: int | None = place("lineno")
        column: int | None = place("col_offset")
        end_line: int | None = place("end_lineno")
        end_column: int | None = place("end_col_offset")
        if line is None or column is None:
            return Span(0, 0)
        starts = self.line_starts
        if end_line is not None and end_column is not None and 0 < line <= end_line <= len(starts):
            first, last = starts[line - 1] + column, starts[end_line - 1] + end_column
            if 0 <= first <= last <= len(self.data):
                return Span(first, last)
        start = self._offset(line, column)
        if end_line is None or end_column is None:
            return Span(start, start)
        return Span(start, max(start, self._offset(end_line, end_column)))

    def _offset(self, line: int, column: int) -> int:
        at = self.line_starts[min(max(line - 1, 0), len(self.line_starts) - 1)] + column
        return min(max(at, 0), len(self.data))


SPARE = 32
"""How many things that the last document did not need are kept."""
MOST = 8192
"""How many items a cache holds that is told of no rounds, or twice the items of the longest file."""


class ParseCache:
    """Parsed items by digest. Not for use by two threads at once."""

    __slots__ = ("_entries", "_most", "_next_key", "_round", "_sources", "_used")

    def __init__(self, first_key: int = 1) -> None:
        self._entries: dict[tuple[bytes, int], Parsed] = {}
        self._used: dict[tuple[bytes, int], int] = {}
        self._sources: dict[int, tuple[Item, tuple[FunctionSource, ...]]] = {}
        self._round = 0
        self._most = MOST
        self._next_key = first_key

    def parse_all(self, items: Sequence[Item]) -> list[Parsed]:
        """The items of one file. Each of those that are equal has nodes of its own."""
        self._most = max(self._most, 2 * len(items))
        digests = [i.digest for i in items]
        if len(set(digests)) == len(digests):
            names = [(d, 0) for d in digests]
        else:
            count: Counter[bytes] = Counter()
            names = []
            for digest in digests:
                names.append((digest, count[digest]))
                count[digest] += 1
        self._used.update(dict.fromkeys(names, self._round))
        found = map(self._entries.get, names)
        return [p or self._parse(i, n) for p, i, n in zip(found, items, names, strict=True)]

    def _parse(self, item: Item, name: tuple[bytes, int]) -> Parsed:
        made = _parse_item(item.text, self._next_key)
        self._next_key += 1
        self._entries[name] = made
        if len(self._entries) > self._most:
            self._drop(self._most // 2)
        return made

    def end_round(self) -> int:
        """A document is done: what was not used for long goes. How many items it had."""
        live = sum([used == self._round for used in self._used.values()])
        if len(self._entries) > live + 2 * SPARE:
            self._drop(live + SPARE)
        self._most = max(MOST, 2 * live)
        self._round += 1
        return live

    def _drop(self, keep: int) -> None:
        oldest = sorted(self._used, key=self._used.__getitem__)
        for name in oldest[: len(oldest) - keep]:
            del self._used[name]
            self._sources.pop(self._entries.pop(name).key, None)

    def functions(
        self,
        items: Iterable[Item],
        parsed: Iterable[Parsed],
        make: Callable[[Item, Parsed], tuple[FunctionSource, ...]],
    ) -> Iterator[tuple[FunctionSource, ...]]:
        """The functions of each item that has any, where it stands now: known ones moved, others made."""
        known = self._sources
        for item, one in zip(items, parsed, strict=True):
            if not one.facts.functions:
                continue
            found = known.get(one.key)
            if found is None:
                found = known[one.key] = (item, make(item, one))
            elif found[0] is not item:
                found = known[one.key] = (item, tuple([s.moved(item) for s in found[1]]))
            yield found[1]


LEAVES = frozenset((ast.Name, ast.Constant))
"""Expressions with nothing inside: most of a tree."""
_PLAIN = frozenset(
    ("arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops", "simple",
     "type_comment")
)  # fmt: skip
"""Fields of syntax nodes that hold texts, numbers, operators or contexts."""


_FIELDS: Mapping[type[ast.AST], tuple[str, ...]] = {
    kind: () if kind in LEAVES else tuple(f for f in kind._fields if f not in _PLAIN)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""The fields of each kind of node that can hold nodes with a place."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly in a node, but for operators and contexts, which have no place and nothing inside."""
    found: list[ast.AST] = []
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [child for child in value if isinstance(child, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def nodes(root: ast.AST) -> Iterator[ast.AST]:
    """Every node below `root`, itself included, in no order that matters; operators and contexts left out."""
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        yield node
        if type(node) not in LEAVES:
            stack += children(node)


def known_place(node: ast.AST, start: int) -> Span | None:
    """What `span_from` found for this node and `start` before."""
    known: tuple[int, Span] | None = getattr(node, _PLACE, None)
    return known[1] if known is not None and known[0] == start else None


def key_of(node: ast.AST) -> int:
    """The key of the item that a node was parsed from; 0 for none."""
    key: int = getattr(node, _KEY, 0)
    return key


def _parse_item(text: str, key: int) -> Parsed:
    data = text.encode("utf-8")
    starts = (0, *(m.end() for m in LINE_END.finditer(data)))
    source = text
    if text.startswith(_BOM):
        source = text[1:]
        starts = (len(_BOM.encode()), *starts[1:])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        facts = _Collector(data, starts, key).collect(tree)
    except SyntaxError as error:
        return Parsed(key, data, starts, (), Facts(), _located(error, data, starts))
    except (RecursionError, MemoryError, OverflowError):
        return Parsed(key, data, starts, (), Facts(), ParseError("too deeply nested to analyse", Span(0, len(data))))
    except ValueError:
        at = max(data.find(b"\0"), 0)
        return Parsed(
            key, data, starts, (), Facts(), ParseError("Python text cannot hold a NUL byte", Span(at, at + 1))
        )
    return Parsed(key, data, starts, tuple(tree.body), facts, None, facts.binds)


def _located(error: SyntaxError, data: bytes, starts: tuple[int, ...]) -> ParseError:
    """The place of a SyntaxError; its offsets count characters from 1, may be missing, 0 or past the end."""

    def offset(line: int | None, column: int | None) -> int | None:
        if line is None or line < 1:
            return None
        if line > len(starts):
            return len(data)
        start = starts[line - 1]
        end = starts[line] if line < len(starts) else len(data)
        row = data[start:end].decode("utf-8", "replace")
        return min(start + len(row[: max((column or 1) - 1, 0)].encode("utf-8")), end)

    start = offset(error.lineno, error.offset)
    if start is None:
        start = 0
    end = offset(error.end_lineno, error.end_offset) if error.end_offset and error.end_offset > 0 else None
    start = boundary(data, min(start, len(data.rstrip())))
    end = boundary(data, start if end is None else end)
    if end <= start:
        end = start + 1
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        if end > len(data):
            start, end = boundary(data, len(data) - 1), len(data)
    return ParseError(error.msg or "syntax error", Span(start, end))


class _Collector:
    """One walk over an item's tree: marks every node that has a place and notes what the item binds."""

    def __init__(self, data: bytes, starts: tuple[int, ...], key: int) -> None:
        self._data = data
        self._place = Parsed(key, data, starts, (), Facts(), None)
        self._functions: list[LocalFunction] = []
        self._imports: list[tuple[str, str]] = []
        self._stars: list[str] = []
        self._bindings: list[tuple[str, ast.expr | None]] = []

    def collect(self, tree: ast.Module) -> Facts:
        stack: list[tuple[ast.AST, tuple[str, ...]]] = [(s, ()) for s in reversed(tree.body)]
        while stack:
            node, enclosing = stack.pop()
            if isinstance(node, ast.expr):
                self._mark(node)
                continue
            if hasattr(node, "lineno"):
                setattr(node, _KEY, self._place.key)
            inner = enclosing
            match node:
                case ast.FunctionDef(name=name):
                    self._functions.append(self._function(node, enclosing))
                    inner = (*enclosing, name)
                case ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    inner = (*enclosing, name)
                case ast.Global(names=names):
                    self._bindings.extend((n, None) for n in names)
                case ast.stmt() if not enclosing:
                    self._bind(node)
            stack.extend([(child, inner) for child in reversed(children(node))])
        return Facts(tuple(self._functions), tuple(self._imports), tuple(self._stars), tuple(self._bindings))

    def _mark(self, expression: ast.expr) -> None:
        """Marks what is in an expression, most of a tree, and binds nothing."""
        key = self._place.key
        stack: list[ast.AST] = [expression]
        while stack:
            node = stack.pop()
            fields = vars(node)
            if "lineno" in fields:
                fields[_KEY] = key
            if type(node) not in LEAVES:
                stack += children(node)

    def _bind(self, node: ast.stmt) -> None:
        match node:
            case ast.Import(names=names):
                for a in names:
                    root = a.name.partition(".")[0]
                    self._imports.append((a.asname, a.name) if a.asname else (root, root))
            case ast.ImportFrom(module=module, names=names, level=level):
                base = "." * level + (module or "")
                for a in names:
                    if a.name == "*":
                        self._stars.append(base)
                    else:
                        dotted = base + a.name if base.endswith(".") else f"{base}.{a.name}"
                        self._imports.append((a.asname or a.name, dotted))
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind_target(target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._bind_target(target, value)
            case ast.AugAssign(target=target) | ast.For(target=target):
                self._bind_target(target, None)
            case _:
                return

    def _bind_target(self, target: ast.expr, value: ast.expr | None) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self._bindings.append((name, value))
            case (
                (ast.Tuple(elts=targets) | ast.List(elts=targets)),
                (ast.Tuple(elts=values) | ast.List(elts=values)),
            ) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self._bind_target(one, its)
            case ((ast.Tuple(elts=targets) | ast.List(elts=targets)), _):
                for one in targets:
                    self._bind_target(one, None)
            case _:
                return

    def _function(self, node: ast.FunctionDef, enclosing: tuple[str, ...]) -> LocalFunction:
        whole = self._place.local_span(node)
        start = whole.start
        if node.decorator_list:
            first = self._place.local_span(node.decorator_list[0]).start
            start = max(self._data.rfind(b"@", 0, first), 0)
        pattern = re.compile(rb"def[ \t\f\\\r\n]+([^\s(\[]+)")
        match = pattern.match(self._data, whole.start)
        name = Span(match.start(1), match.end(1)) if match else Span(whole.start, whole.start + 3)
        return LocalFunction(node, Span(start, whole.end), name, enclosing)
