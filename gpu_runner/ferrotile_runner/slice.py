"""The part of a file that one kernel needs: what the Python compiler worker executes, and nothing else of
the file."""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Iterator, Mapping

from ferrotile.frontends.cutile.discover import kernel_decorator
from ferrotile.frontends.cutile.factories import captures
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.syntax.module import FunctionSource, Module
from ferrotile.syntax.parsed import key_of
from ferrotile.syntax.positions import LineTable
from ferrotile.syntax.span import NOWHERE, Span
from msgspec import Struct

from ferrotile_runner.slice_foreign import foreign_text, members_in
from ferrotile_runner.workers import python_compiler

IMPORTABLE = frozenset(
    {"cuda", "math", "typing", "numpy", "__future__", "dataclasses", "enum", "operator", "functools"}
)
"""Packages that a slice may import: the dialect's and those without side effects."""


class Slice(Struct, frozen=True):
    """`text` defines the kernel. `lines[i]` is the file's line (0-based) of the slice's line i, or None for
    a line that the file does not have. `missing` are the names that the kernel uses and that the slice does
    not define."""

    text: str
    lines: tuple[int | None, ...]
    missing: tuple[str, ...] = ()

    def file_line(self, line: int) -> int | None:
        """The file's line of a line of the slice, both 0-based: the nearest known one at or above it."""
        known = [self.lines[i] for i in range(min(line, len(self.lines) - 1), -1, -1)] if self.lines else []
        return next((at for at in known if at is not None), None)


class _Piece(Struct, frozen=True):
    """Text that starts at `line` of the file; `whole` text comes from that line alone; `early`: an import, which what
    came from other files may need."""

    line: int
    text: str
    whole: bool = False
    early: bool = False


def slice_source(module: Module, kernel: FunctionSource) -> Slice:
    """The kernel, the helpers and module constants that it reaches by name, and its imports, in the file's
    order."""
    given = captures(module, kernel) if kernel.enclosing else {}
    needed = _reachable(module, kernel, given)
    table = module.document.lines
    pieces: list[_Piece] = []
    defined: set[str] = set()
    stand_ins = _element_types(module, kernel, needed)
    for statement in module.statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names, text = _import_text(statement, needed)
            for stand_in in _bound(statement) & set(stand_ins):
                names, text = names | {stand_in}, text + _stand_in(stand_in, stand_ins[stand_in])
            if text:
                pieces.append(_Piece(_line(table, module, statement), text, early=True))
                defined.update(names)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            names = _targets(statement)
            if names & needed and names & set(module.constants):
                pieces.append(_statement(table, module, statement))
                defined.update(names)
        elif isinstance(statement, ast.ClassDef) and statement.name in needed:
            pieces.append(_class(table, module, statement))
            defined.add(statement.name)
    for name, text in given.items():
        if name in needed:
            pieces.append(_Piece(table.line_of(kernel.item.span.start), text + "\n"))
            defined.add(name)
    for name in needed | {kernel.node.name}:
        function = kernel if name == kernel.node.name else module.function(name)
        if function is not None and key_of(function.node) not in module.foreign:
            pieces.append(_function(table, module, function, _host_decorators(module, function)))
            defined.add(name)
    types = {name: _stand_in(name, stand_ins[name]) for name in stand_ins}
    brought, foreign, place = foreign_text(module, needed, IMPORTABLE, types)
    first = 0 if place is None else table.line_of(place.start)
    if foreign:
        pieces.append(_Piece(first, foreign, whole=True))
        defined |= brought
    pieces.sort(key=lambda piece: min(piece.line, first) if foreign and piece.early else piece.line)
    text, lines = _join(pieces)
    missing = tuple(sorted(needed - defined - set(dir(builtins)) - {kernel.name}))
    return Slice(text, lines, missing)


def _reachable(module: Module, kernel: FunctionSource, given: Mapping[str, str]) -> set[str]:
    """Names that the kernel reaches, also through what `given` defines around it."""
    needed: set[str] = {kernel.name} if kernel.name in module.constants else set()
    work: list[ast.AST] = [kernel.node, *(module.constants[name] for name in needed)]
    classes = _classes(module)
    dropped = {inner for decorator in _host_decorators(module, kernel) for inner in ast.walk(decorator)}
    while work:
        node = work.pop()
        for name in {*_names(node, _blanked(module, node) | dropped), *members_in(module, node)} - needed:
            needed.add(name)
            function = module.function(name)
            if name in given:
                work.extend(ast.parse(given[name]).body)
            elif function is not None:
                work.append(function.node)
            elif name in module.constants:
                work.append(module.constants[name])
            elif name in classes:
                work.append(classes[name])
                dropped.update(a for part in _class_annotations(module, classes[name]) for a in ast.walk(part))
    return needed


def _classes(module: Module) -> dict[str, ast.ClassDef]:
    """The classes that a name may mean, also those of other files."""
    return {**module.classes, **{s.name: s for s in module.statements if isinstance(s, ast.ClassDef)}}


def _class_annotations(module: Module, node: ast.ClassDef) -> list[ast.expr]:
    """The annotations in a class that the slice leaves out."""
    found: list[ast.expr] = []
    for part in ast.walk(node):
        match part:
            case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
                found.append(annotation)
            case ast.FunctionDef(returns=ast.expr() as annotation):
                found.append(annotation)
            case _:
                continue
    foreign = key_of(node) in module.foreign
    return [a for a in found if (foreign or not _evaluable(module, a)) and "ClassVar" not in ast.unparse(a)]


def _blanked(module: Module, node: ast.AST) -> set[ast.AST]:
    """All nodes of a function's annotations that the slice leaves out."""
    if not isinstance(node, ast.FunctionDef):
        return set()
    parts = [a.annotation for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    return {
        inner
        for part in (*parts, node.returns)
        if part is not None and not _evaluable(module, part)
        for inner in ast.walk(part)
    }


def _names(node: ast.AST, skipped: set[ast.AST]) -> Iterator[str]:
    """Names that a node reads, but for those that its function binds itself and those in `skipped`."""
    if isinstance(node, ast.ClassDef):
        fields = [s for s in node.body if not isinstance(s, ast.FunctionDef)]
        own = {n.id for s in fields for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for part in (*node.decorator_list, *node.bases, *node.keywords, *node.body):
            # A method does not see the names of its class.
            yield from (n for n in _names(part, skipped) if n not in own or isinstance(part, ast.FunctionDef))
        return
    local: set[str] = set()
    if isinstance(node, ast.FunctionDef):
        arguments = node.args
        every = [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]
        local = {a.arg for a in every if a is not None}
        local |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    outside = set()
    if isinstance(node, ast.FunctionDef):
        # Decorators, defaults and annotations are evaluated outside the function's scope.
        signature: list[ast.AST] = [
            *node.decorator_list,
            node.args,
            *([node.returns] if node.returns else []),
        ]
        outside = {n.id for part in signature for n in ast.walk(part) if isinstance(n, ast.Name)}
    for child in ast.walk(node):
        reads = isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load)
        if child in skipped:
            continue
        if isinstance(child, ast.Name) and reads and (child.id not in local or child.id in outside):
            yield child.id


def _import_text(statement: ast.Import | ast.ImportFrom, needed: set[str]) -> tuple[set[str], str]:
    """The names bound and the statement, reduced to the aliases that are needed and allowed."""
    if isinstance(statement, ast.ImportFrom):
        root = (statement.module or "").split(".")[0]
        if statement.level or root not in IMPORTABLE:
            return set(), ""
        kept = [a for a in statement.names if a.name == "*" or root == "__future__" or (a.asname or a.name) in needed]
    else:
        kept = [
            a
            for a in statement.names
            if a.name.split(".")[0] in IMPORTABLE and (a.asname or a.name.split(".")[0]) in needed
        ]
    if not kept:
        return set(), ""
    names = {a.asname or (a.name if isinstance(statement, ast.ImportFrom) else a.name.split(".")[0]) for a in kept}
    made: ast.stmt = (
        ast.ImportFrom(statement.module, kept, 0) if isinstance(statement, ast.ImportFrom) else ast.Import(kept)
    )
    return names, ast.unparse(made) + "\n"


def _targets(statement: ast.Assign | ast.AnnAssign) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _line(table: LineTable, module: Module, node: ast.AST) -> int:
    return table.line_of(module.span_of(node).start)


def _statement(table: LineTable, module: Module, node: ast.stmt) -> _Piece:
    span = module.span_of(node)
    text = module.document.data[span.start : span.end].decode()
    return _Piece(table.line_of(span.start), text + "\n")


def _host_decorators(module: Module, function: FunctionSource) -> tuple[ast.expr, ...]:
    """Decorators above the one that makes a kernel: they are given the finished kernel, for the host to launch."""
    maker = kernel_decorator(module, function)
    return () if maker not in function.decorators else function.decorators[: function.decorators.index(maker)]


def _element_types(module: Module, kernel: FunctionSource, needed: set[str]) -> dict[str, dict[str, str]]:
    """For each imported module that is needed and that a slice may not import, such as `torch`: the element types
    that are read from it, as cuTile's names. A module of which anything else is read is left out."""
    functions = [kernel, *(f for f in map(module.function, needed) if f is not None)]
    trees: list[ast.AST] = [
        *(f.node for f in functions),
        *(module.constants[n] for n in needed & set(module.constants)),
    ]
    classes = [c for n, c in _classes(module).items() if n in needed]
    trees.extend(classes)
    skipped = {inner for f in functions for inner in _blanked(module, f.node)}
    skipped |= {inner for c in classes for part in _class_annotations(module, c) for inner in ast.walk(part)}
    skipped |= {inner for d in _host_decorators(module, kernel) for inner in ast.walk(d)}
    nodes = [node for tree in trees for node in ast.walk(tree) if node not in skipped]
    found: dict[str, dict[str, str]] = {}
    for name in needed & set(module.imports):
        if module.imports[name].split(".")[0] in IMPORTABLE:
            continue
        uses = [
            n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name
        ]
        types = {n.attr: dtype_of(f"{module.imports[name]}.{n.attr}") for n in uses}
        reads = sum(isinstance(n, ast.Name) and n.id == name for n in nodes)
        named = {attr: python_compiler.DTYPES.get(t.name, "") for attr, t in types.items() if t is not None}
        if reads == len(uses) and len(named) == len(types) and all(named.values()):
            found[name] = named
    return found


def _stand_in(name: str, types: Mapping[str, str]) -> str:
    """One line that defines a module of element types."""
    fields = ", ".join(f"{attr}=_{name}_types.{dtype}" for attr, dtype in sorted(types.items()))
    module = f'import cuda.tile as _{name}_types, types as _{name}; {name} = _{name}.ModuleType("{name}")'
    return f"{module}; {name}.__dict__.update({fields})\n"


def _bound(statement: ast.Import | ast.ImportFrom) -> set[str]:
    """The names that an import binds."""
    return {
        a.asname or (a.name.split(".")[0] if isinstance(statement, ast.Import) else a.name) for a in statement.names
    }


def _class(table: LineTable, module: Module, node: ast.ClassDef) -> _Piece:
    """The class with its decorators."""
    span = module.span_of(node)
    first = min((module.span_of(d).start for d in node.decorator_list), default=span.start)
    start = table.line_start(table.line_of(first))
    data = bytearray(module.document.data)
    for annotation in _class_annotations(module, node):
        place = module.span_of(annotation)
        _blank(data, place)
        data[place.start : place.start + 1] = b"0"
    text = data[start : span.end].decode()
    return _Piece(table.line_of(first), text + "\n")


def _function(table: LineTable, module: Module, function: FunctionSource, dropped: tuple[ast.expr, ...] = ()) -> _Piece:
    """The function's text, dedented; annotations that name what a slice may not import are blanked, and so are
    `dropped` decorators, so that they need not be evaluated and every column stays."""
    data = bytearray(module.document.data)
    node = function.node
    for decorator in dropped:
        span = module.span_of(decorator)
        _blank(data, Span(data.rfind(b"@", function.span.start, span.start + 1), span.end))
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        if argument.annotation is not None and not _evaluable(module, argument.annotation):
            annotation = module.span_of(argument.annotation)
            start = module.span_of(argument).start + len(argument.arg.encode())
            _blank(data, Span(start, annotation.end))
    if node.returns is not None and not _evaluable(module, node.returns):
        annotation = module.span_of(node.returns)
        arrow = data.rfind(b"->", function.span.start, annotation.start)
        _blank(data, Span(arrow, annotation.end))
    start = table.line_of(function.span.start)
    text = bytes(data[table.line_start(start) : function.span.end]).decode()
    return _Piece(start, textwrap.dedent(text) + "\n")


def _evaluable(module: Module, annotation: ast.expr) -> bool:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            target = module.imports.get(node.id)
            known = node.id in module.constants or hasattr(builtins, node.id)
            if not known and (target is None or target.split(".")[0] not in IMPORTABLE):
                return False
    return True


def _blank(data: bytearray, span: Span) -> None:
    if span.start < 0 or span == NOWHERE:
        return
    for at in range(span.start, span.end):
        if data[at] not in b"\r\n":
            data[at] = 0x20


def _join(pieces: list[_Piece]) -> tuple[str, tuple[int | None, ...]]:
    text, lines = "", list[int | None]()
    for piece in pieces:
        if text:
            text += "\n"
            lines.append(None)
        body = piece.text.replace("\r\n", "\n").replace("\r", "\n")
        text += body
        lines.extend(piece.line + (0 if piece.whole else i) for i in range(body.count("\n")))
    return text, tuple(lines)
