"""The author's comments around a kernel, and which code each of them speaks of."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping, Sequence
from operator import itemgetter

from msgspec import Struct, field

from ferrotile.passes.uses import walk
from ferrotile.program.ir import Program
from ferrotile.syntax.document import Comment, Document
from ferrotile.syntax.module import FunctionSource, Module, parameters_of
from ferrotile.syntax.parsed import key_of, nodes
from ferrotile.syntax.span import Span

_PRAGMA = re.compile(r"#\s*(noqa|type:\s*ignore|fmt:|ruff:|pylint:|mypy:|isort:|pragma:|ferrotile\b[^:]*:)")


class PlacedComment(Struct, frozen=True):
    """A comment and the source offset from which statements come after it. `needs` are pieces of code around or behind
    it: where one of them has no trace in the translation, the comment has none either."""

    start: int
    text: str
    needs: tuple[Span, ...] = ()


class Comments(Struct, frozen=True):
    """Comments of a kernel and of the functions that it may call, each with the function's span, and those of the
    kernel's parameters by name. All texts have their `#`."""

    functions: tuple[tuple[Span, tuple[PlacedComment, ...]], ...] = ()
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def comments_of(document: Document, module: Module, kernel: FunctionSource, program: Program) -> Comments:
    """The comments that the translation of `kernel`, which is `program`, may keep; directives and notes to tools are
    none of them."""
    functions: list[tuple[Span, tuple[PlacedComment, ...]]] = []
    parameters: Mapping[str, tuple[str, ...]] = {}
    helpers = _helpers(module, kernel, program)
    called = frozenset(f.name for f in helpers)
    for function in (kernel, *(f for f in helpers if key_of(f.node) not in module.foreign)):
        whole = Span(function.span.start, document.lines.line_end(document.lines.line_of(function.span.end)))
        first = bisect_left(document.comments, whole.start, key=_start)
        last = bisect_left(document.comments, whole.end, lo=first, key=_start)
        inside = [c for c in document.comments[first:last] if not _PRAGMA.match(c.text)]
        if not inside:
            continue
        place = _Place(document, module, function, inside, called)
        heading = [c for c in inside if c.span.start < place.end_of_head]
        if function is kernel:
            parameters = place.parameters(heading)
        functions.append((function.span, tuple(place.placed(c) for c in inside if c not in heading)))
    return Comments(tuple(functions), parameters)


def _helpers(module: Module, kernel: FunctionSource, program: Program) -> list[FunctionSource]:
    """Other functions with operations of the program."""
    away = sorted({s.span.start for s in walk(program.body) if not _within(s.span.start, kernel.span)})
    found = []
    for function in (*module.functions, *module.nested) if away else ():
        span = module.foreign.get(key_of(function.node), function.span)
        first = bisect_left(away, span.start)
        if function is not kernel and first < len(away) and away[first] < max(span.end, span.start + 1):
            found.append(function)
    return found


def _start(comment: Comment) -> int:
    return comment.span.start


def _within(offset: int, span: Span) -> bool:
    return span.start <= offset < span.end


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements and those inside them, in source order."""
    for node in body:
        yield node
        for part in ("body", "orelse", "finalbody"):
            inner: list[ast.stmt] = getattr(node, part, [])
            yield from _statements(inner)


class _Place:
    """Finds what comments of one function belong to."""

    def __init__(
        self,
        document: Document,
        module: Module,
        function: FunctionSource,
        comments: Sequence[Comment],
        called: Container[str],
    ) -> None:
        self._called = called
        self._data, self._lines = document.data, document.lines
        self._module = module
        arguments = function.node.args
        self._arguments = [(a.arg, module.span_of(a)) for a in parameters_of(function.node)]
        tail = [function.node.returns, *arguments.defaults, *arguments.kw_defaults]
        ends = [module.span_of(n).end for n in tail if n is not None]
        ends += [function.name_span.end, *(span.end for _, span in self._arguments)]
        self.end_of_head = self._colon(max(ends), comments)
        self._blocks = list(self._all_blocks(function.node.body))
        self._statements = [(module.span_of(n).start, n) for n in _statements(function.node.body)]

    def _colon(self, start: int, comments: Sequence[Comment]) -> int:
        """The end of the function's head that begins before `start`."""
        colon = self._data.find(b":", start)
        for comment in comments:
            if comment.span.start < colon < comment.span.end:
                colon = self._data.find(b":", comment.span.end)
        return colon

    def parameters(self, comments: Sequence[Comment]) -> Mapping[str, tuple[str, ...]]:
        """Comments above each parameter and at the end of its line."""
        found: dict[str, tuple[str, ...]] = {}
        for comment in comments:
            line = self._lines.line_of(comment.span.start)
            same = [n for n, span in self._arguments if self._lines.line_of(span.start) == line]
            after = [n for n, span in self._arguments if span.start > comment.span.start]
            name = same[-1] if same else after[0] if after else None
            if name is not None:
                found[name] = (*found.get(name, ()), comment.text)
        return found

    def _own_line(self, comment: Comment) -> int | None:
        """None for a comment behind code, else its offset."""
        line = max(self._data.rfind(end, 0, comment.span.start) for end in (b"\n", b"\r")) + 1
        return None if self._data[line : comment.span.start].strip() else comment.span.start

    def placed(self, comment: Comment) -> PlacedComment:
        """One at the end of a line moves to the line's first character."""
        start = self._own_line(comment)
        if start is None:
            line = max(self._data.rfind(end, 0, comment.span.start) for end in (b"\n", b"\r")) + 1
            before = self._data[line : comment.span.start]
            start = line + len(before) - len(before.lstrip())
        needs = [code for reach, code in self._blocks if reach.start <= comment.span.start < reach.end]
        branch = self._next_statement(start)
        if isinstance(branch, ast.If) and not self._calls(branch):
            needs.append(self._module.span_of(branch))
        return PlacedComment(start, comment.text, tuple(needs))

    def _calls(self, node: ast.AST) -> bool:
        """Whether code calls functions that left operations in the program: these are not inside its span."""
        if not self._called:
            return False
        calls = (n for n in nodes(node) if isinstance(n, ast.Call))
        return any(isinstance(c.func, ast.Name) and c.func.id in self._called for c in calls)

    def _next_statement(self, start: int) -> ast.stmt | None:
        """The statement that begins at an offset or next after it."""
        at = bisect_left(self._statements, start, key=itemgetter(0))
        return self._statements[at][1] if at < len(self._statements) else None

    def _all_blocks(self, body: Sequence[ast.stmt]) -> Iterator[tuple[Span, Span]]:
        """Every inner block: how far it reaches, comments included, and its code."""
        for node in body:
            if not isinstance(node, (ast.If, ast.For, ast.While, ast.With)):
                continue
            head = node.test if isinstance(node, (ast.If, ast.While)) else node
            at = self._module.span_of(head)
            start = at.end if head is not node else at.start
            for part in (node.body, node.orelse if not isinstance(node, ast.With) else []):
                if not part:
                    continue
                code = Span(self._module.span_of(part[0]).start, self._module.span_of(part[-1]).end)
                line = self._data.find(b"\n", code.end)
                end = len(self._data) if line < 0 else line
                if not any(map(self._calls, part)):
                    yield Span(start, end), code
                start = end
                yield from self._all_blocks(part)
