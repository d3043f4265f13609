"""What a file's top level means: imports, functions, constants. Nothing is imported or run.

Each item is parsed alone by CPython's parser and kept by its digest, so a keystroke parses one item again and
a broken item does not hide the others."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.syntax.document import Document, Item
from ferrotile.syntax.parsed import ParseCache, Parsed, key_of, known_place
from ferrotile.syntax.span import NOWHERE, Span

_HIDDEN = frozenset(("abs", "divmod", "max", "min", "pow", "print", "sum"))
"""Builtins that `from cuda.tile import *` hides; those of other array libraries hide these, too."""


def parameters_of(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> tuple[ast.arg, ...]:
    """The parameters that have a name of their own: all but `*args` and `**kwargs`, in the order of the head."""
    arguments = node.args
    return (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)


class FunctionSource(Struct, frozen=True):
    """A function definition. `span` runs from its first decorator's `@`; `enclosing` names the classes and
    functions around it, outermost first."""

    name: str
    node: ast.FunctionDef
    span: Span
    name_span: Span
    decorators: tuple[ast.expr, ...]
    item: Item
    enclosing: tuple[str, ...] = ()
    alone: bool = False
    """Whether it is all that its item gives to the module."""
    heads: tuple[str, ...] = ()
    """What each decorator names, as it is written: `ct.kernel`; empty for one that is no dotted name, called or not."""

    def moved(self, item: Item) -> FunctionSource:
        """The same function in its item, which has moved here."""
        delta = item.span.start - self.item.span.start
        span, name = self.span, self.name_span
        return FunctionSource(
            self.name,
            self.node,
            Span(span.start + delta, span.end + delta),
            Span(name.start + delta, name.end + delta),
            self.decorators,
            item,
            self.enclosing,
            self.alone,
            self.heads,
        )


class Module(Struct, frozen=True):
    """One file. `functions` are those at the top level (also under `if`, `try`, `with`), `nested` the others.

    `constants` maps a module-level name that is bound once to its expression; `imports` a name to what it
    stands for (`ct` -> `cuda.tile`). `statements` are the top-level statements of all items that parse."""

    document: Document
    items: tuple[Item, ...]
    functions: tuple[FunctionSource, ...]
    nested: tuple[FunctionSource, ...]
    imports: Mapping[str, str]
    star_imports: tuple[str, ...]
    constants: Mapping[str, ast.expr]
    diagnostics: tuple[Diagnostic, ...]
    _parsed: tuple[Parsed, ...]
    _by_key: Mapping[int, tuple[Item, Parsed]]
    _broken: frozenset[int] = frozenset()
    foreign: Mapping[int, Span] = field(default_factory=dict)
    """By item key: the place of the import that brought code of another file (`linking`)."""
    origins: Mapping[int, str] = field(default_factory=dict)
    """By item key of a function of another file: the module that it is of."""
    members: Mapping[str, str] = field(default_factory=dict)
    """By what `resolve` makes of `helpers.f`, where `helpers` is a module of the workspace: the name under which `f`
    stands among the functions or constants."""
    classes: Mapping[str, ast.ClassDef] = field(default_factory=dict)
    """Classes of other files, by the names that they have here."""
    unlinked: Mapping[str, str] = field(default_factory=dict)
    """By what `resolve` makes of a name of another file: why it could not be taken over from there. Empty where no
    workspace was at hand."""
    reimported: frozenset[str] = frozenset()
    """Names that are imported more than once, as different things: `imports` has the last."""
    spans: dict[int, Span] = field(default_factory=dict)
    """What `span_of` found for nodes of the module's items, by their `id`: a lowering asks for most of them, often."""

    @property
    def statements(self) -> tuple[ast.stmt, ...]:
        return tuple(s for p in self._parsed for s in p.statements)

    @property
    def bindings(self) -> tuple[tuple[str, ast.expr | None], ...]:
        """What the top level assigns, in order; None where the value is not one known expression."""
        return tuple(_bindings(self._parsed))

    def function(self, name: str) -> FunctionSource | None:
        """The top-level function that `name` means: the last one defined."""
        return next((f for f in reversed(self.functions) if f.name == name), None)

    def span_of(self, node: ast.AST) -> Span:
        """File bytes of a syntax node of this module; `NOWHERE` for a node that has no place."""
        known = self.spans.get(id(node))
        if known is not None:
            return known
        found = self._by_key.get(key_of(node))
        if found is not None:
            item, parsed = found
            place = known_place(node, item.span.start) or parsed.span_from(item.span.start, node)
            self.spans[id(node)] = place
            return place
        import_place = self.foreign.get(key_of(node))
        if import_place is not None:
            return import_place
        spans = [s for child in ast.iter_child_nodes(node) if (s := self.span_of(child)) != NOWHERE]
        return Span(min(s.start for s in spans), max(s.end for s in spans)) if spans else NOWHERE

    def item_of(self, node: ast.AST) -> Item | None:
        """The top-level item that `node` belongs to."""
        found = self._by_key.get(key_of(node))
        return None if found is None else found[0]

    def binding_of(self, function: FunctionSource) -> Item | None:
        """The statement that gives a function another name, as `name = ct.kernel(function)` does; None where it has
        its own."""
        value = self.constants.get(function.name) if function.name != function.node.name else None
        return None if value is None else self.item_of(value)

    def import_span(self, name: str) -> Span:
        """The statement that imports `name`; `NOWHERE` where none does."""
        for item, parsed in self._by_key.values():
            if any(bound == name for bound, _ in parsed.facts.imports):
                return item.span
        return NOWHERE

    def import_targets(self, name: str) -> tuple[str, ...]:
        """All that `name` is imported as, each once: several where imports stand in branches."""
        found = (target for one in self._parsed for bound, target in one.facts.imports if bound == name)
        return tuple(dict.fromkeys(found))

    def star_span(self, base: str) -> Span:
        """The statement that imports everything of `base`; `NOWHERE` where none does."""
        places = (item.span for item, parsed in self._by_key.values() if base in parsed.facts.star_imports)
        return next(places, NOWHERE)

    def parses(self, item: Item) -> bool:
        """Whether an item has any part in the module: one that CPython refuses has none."""
        return id(item) not in self._broken

    def resolve(self, expression: ast.expr) -> str | None:
        """The dotted global name that a Name or Attribute chain stands for, through imports and plain aliases
        (`load = ct.load`): `cuda.tile.load`, `math.inf`. None for anything else.
        Local names are the caller's affair."""
        match expression:  # the common case, quickly: this is asked of every decorator at every keystroke
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self.imports:
                return f"{self.imports[name]}.{attr}"
        parts: list[str] = []
        seen: set[str] = set()
        while True:
            match expression:
                case ast.Attribute(value=value, attr=attr):
                    parts.append(attr)
                    expression = value
                case ast.Name(id=name) if name in self.imports:
                    return ".".join([self.imports[name], *reversed(parts)])
                case ast.Name(id=name) if name in self.constants and name not in seen:
                    seen.add(name)
                    expression = self.constants[name]
                case ast.Name(id=name) if self._from_star(name):
                    return ".".join([self.star_imports[-1], name, *reversed(parts)])
                case _:
                    return None

    def _from_star(self, name: str) -> bool:
        if not self.star_imports or name in self.constants or self.function(name) is not None:
            return False
        hiding = _HIDDEN if self.star_imports[-1] == "cuda.tile" else _HIDDEN | {"all", "any", "round"}
        return name in hiding or not hasattr(builtins, name)


def parse_module(document: Document, cache: ParseCache | None = None) -> Module:
    """Never raises on any text. With a `cache` kept between calls only new items are parsed."""
    cache = ParseCache() if cache is None else cache
    items = () if document.too_large else document.items
    parsed = cache.parse_all(items)
    diagnostics: list[Diagnostic] = []
    broken = frozenset([id(i) for i, p in zip(items, parsed, strict=True) if p.error is not None])
    if document.too_large:
        diagnostics.append(diagnostic("FT002", "the file is larger than 8 MiB: not analysed", Span(0, 0)))
    broken_before = False
    for item, one in zip(items, parsed, strict=True) if broken else ():
        if one.error is None:
            broken_before = False
            continue
        # A piece cut out of a broken item by a line at column 0 inside it is the same mistake, told once.
        starts = item.text.startswith(("@", "def ", "class ", "import ", "from ", "async "))
        if not (item.broken and broken_before and not starts):
            span = one.error.span
            shifted = Span(item.span.start + span.start, item.span.start + span.end)
            diagnostics.append(diagnostic("FT001", one.error.message, shifted))
        broken_before = True
    functions, nested = _functions(items, parsed, cache)
    binding = [p for p in parsed if p.binds]
    return Module(
        document,
        items,
        functions,
        nested,
        _imports(binding),
        tuple(s for p in binding for s in p.facts.star_imports),
        _constants(binding),
        tuple(diagnostics),
        tuple(parsed),
        {p.key: (i, p) for i, p in zip(items, parsed, strict=True)},
        broken,
        reimported=_reimported(binding),
    )


def _functions(
    items: Iterable[Item], parsed: Iterable[Parsed], cache: ParseCache
) -> tuple[tuple[FunctionSource, ...], tuple[FunctionSource, ...]]:
    top: list[FunctionSource] = []
    nested: list[FunctionSource] = []
    for sources in cache.functions(items, parsed, _sources):
        for source in sources:
            (nested if source.enclosing else top).append(source)
    return tuple(top), tuple(nested)


def _sources(item: Item, one: Parsed) -> tuple[FunctionSource, ...]:
    base = item.span.start
    only = () if one.binds else one.statements
    made = []
    for found in one.facts.functions:
        span = Span(base + found.span.start, base + found.span.end)
        name_span = Span(base + found.name_span.start, base + found.name_span.end)
        node, decorators = found.node, tuple(found.node.decorator_list)
        alone = only == (node,)
        heads = tuple([_head(d) for d in decorators])
        made.append(FunctionSource(node.name, node, span, name_span, decorators, item, found.enclosing, alone, heads))
    return tuple(made)


def _head(decorator: ast.expr) -> str:
    match decorator.func if isinstance(decorator, ast.Call) else decorator:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            return f"{name}.{attr}"
    return ""


def _imports(parsed: Iterable[Parsed]) -> Mapping[str, str]:
    return {name: target for p in parsed for name, target in p.facts.imports}


def _reimported(parsed: Iterable[Parsed]) -> frozenset[str]:
    first: dict[str, str] = {}
    return frozenset(n for p in parsed for n, target in p.facts.imports if first.setdefault(n, target) != target)


def _constants(parsed: Iterable[Parsed]) -> Mapping[str, ast.expr]:
    constants: dict[str, ast.expr] = {}
    changed: set[str] = set()
    for name, value in _bindings(parsed):
        if value is None or name in constants:
            changed.add(name)
        else:
            constants[name] = value
    return {name: value for name, value in constants.items() if name not in changed}


def _bindings(parsed: Iterable[Parsed]) -> Iterator[tuple[str, ast.expr | None]]:
    for one in parsed:
        yield from one.facts.bindings
