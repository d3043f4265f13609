"""Syntax that cuTile Python does not accept in a kernel or helper, everywhere in its body: dead code and branches that
are never taken are looked at, too, as cuTile Python does. All of it is found, not only the first."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from ferrotile.syntax.parsed import children

_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.For, ast.Raise, ast.While, ast.If, ast.Continue, ast.Break,
    ast.Return, ast.With, ast.Pass, ast.FunctionDef,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Call, ast.Name, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Attribute, ast.Constant, ast.JoinedStr, ast.Tuple,
    ast.Subscript, ast.Slice, ast.Lambda, ast.BoolOp, ast.IfExp,
)  # fmt: skip
_LEAVES = frozenset((ast.Name, ast.Constant))
_INSTEAD = {
    ast.List: "list displays are not supported in a kernel: write a tuple",
    ast.Dict: "dictionaries are not supported in a kernel, but for `**` arguments",
    ast.Set: "sets are not supported in a kernel: write a tuple",
    ast.ListComp: "list comprehensions are not supported: write `tuple(... for ... in ct.static_iter(...))`",
    ast.GeneratorExp: "generators are supported in `tuple(...)` and `static_eval` only",
    ast.NamedExpr: "`:=` is not supported in a kernel: assign in a statement of its own",
    ast.Assert: "`assert` is not supported in a kernel: use `ct.static_assert` or `ct.assert_`",
    ast.Match: "`match` is not supported in a kernel: use `if`",
    ast.Delete: "`del` is not supported in a kernel",
    ast.Global: "`global` is not supported in a kernel: module-level names are constants",
    ast.Nonlocal: "`nonlocal` is not supported in a kernel: return the value",
    ast.Import: "`import` is not supported in a kernel: import at the top of the file",
    ast.ImportFrom: "`import` is not supported in a kernel: import at the top of the file",
    ast.Try: "`try` is not supported in a kernel",
    ast.ClassDef: "`class` is not supported in a kernel",
    ast.Starred: "starred targets are not supported in a kernel",
}


class Finding(Struct, frozen=True):
    """`node` is what cuTile Python points at; `statement` cannot be interpreted, unless None."""

    node: ast.AST
    message: str
    statement: ast.stmt | None


def message_of(node: ast.AST) -> str:
    """What to say of a kind of syntax."""
    name = "".join(" " + c.lower() if c.isupper() else c for c in type(node).__name__).strip()
    kind = "`" + name + ("`" if isinstance(node, ast.stmt) else "` syntax")
    return _INSTEAD.get(type(node), f"{kind} is not supported in a kernel")


def find_unsupported(
    function: ast.FunctionDef | ast.Lambda, resolve: Callable[[ast.expr], str | None]
) -> list[Finding]:
    """Findings in the body, in source order; `resolve` gives the dotted name of a global."""
    linter = _Linter(resolve)
    if isinstance(function, ast.Lambda):
        linter.expression(function.body)
    else:
        linter.body(function.body, None)
    return linter.found


class _Linter:
    def __init__(self, resolve: Callable[[ast.expr], str | None]) -> None:
        self.found: list[Finding] = []
        self._resolve = resolve
        self._statement: ast.stmt | None = None

    def report(self, node: ast.AST, message: str = "", blocks: bool = True) -> None:
        self.found.append(Finding(node, message or message_of(node), self._statement if blocks else None))

    def body(self, statements: Iterable[ast.stmt], loop: str | None) -> None:
        """`loop` is the kind of the innermost loop: `static` is one that is unrolled."""
        for statement in statements:
            before, self._statement = self._statement, statement
            self.statement(statement, loop)
            self._statement = before

    def statement(self, node: ast.stmt, loop: str | None) -> None:
        if not isinstance(node, _STATEMENTS):
            self.report(node)
            return
        match node:
            case ast.Assign(targets=targets, value=value):
                self.expression(value)
                for target in targets:
                    self.target(target)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.expression(value)
                    self.target(target)
            case ast.AugAssign(target=target, value=value):
                if isinstance(target, (ast.Name, ast.Subscript)):
                    self.target(target)
                else:
                    self.report(target, "only names can be assigned in a kernel")
                self.expression(value)
            case ast.Expr(value=value):
                self.expression(value)
            case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
                static = self._static_iter(iterable)
                if not static:
                    self.expression(iterable)
                self.target(target)
                self.body(body, "static" if static else "loop")
                self._orelse(orelse, "for")
            case ast.While(test=test, body=body, orelse=orelse):
                self.expression(test)
                self.body(body, "loop")
                self._orelse(orelse, "while")
            case ast.If(test=test, body=body, orelse=orelse):
                self.expression(test)
                self.body(body, loop)
                self.body(orelse, loop)
            case ast.Break() | ast.Continue() | ast.Return():
                word = type(node).__name__.lower()
                if loop == "static":
                    self.report(node, f"`{word}` is not supported in a `for` over static_iter")
                elif isinstance(node, ast.Return) and node.value is not None:
                    self.expression(node.value)
            case ast.Raise():
                self._raise(node)
            case ast.FunctionDef(body=body):
                if node.decorator_list:
                    self.report(node, "decorators on nested functions are not supported")
                self._defaults(node.args)
                self.body(body, None)
            case ast.With(items=items, body=body):
                for item in items:
                    self.expression(item.context_expr)
                    if item.optional_vars is not None:
                        self.target(item.optional_vars)
                self.body(body, loop)

    def _orelse(self, orelse: list[ast.stmt], word: str) -> None:
        if orelse:
            self.report(orelse[0], f"`{word}`-`else` is not supported in a kernel", blocks=False)

    def _raise(self, node: ast.Raise) -> None:
        if node.cause is not None:
            self.report(node.cause, "`raise ... from` is not supported in a kernel")
        elif not isinstance(node.exc, ast.Call) or self._keyword(node.exc) != "static_exception":
            self.report(node, "only `raise ct.static_exception(...)` is supported in a kernel")

    def _static_iter(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._keyword(node) == "static_iter"

    def _keyword(self, node: ast.Call) -> str | None:
        name = self._resolve(node.func) or ""
        root, _, last = name.rpartition(".")
        return last if root == "cuda.tile" and last.startswith("static_") else None

    def _defaults(self, arguments: ast.arguments) -> None:
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.expression(default)

    def target(self, node: ast.expr) -> None:
        match node:
            case ast.Name():
                pass
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    self.target(element)
            case ast.Subscript(value=value, slice=index):
                self.expression(value)
                self.expression(index)
            case ast.Starred():
                self.report(node)
            case _:
                self.report(node, "only names can be assigned in a kernel: tiles and arrays are not changed in place")

    def expression(self, node: ast.expr) -> None:
        if type(node) in _LEAVES:
            return
        if not isinstance(node, _EXPRESSIONS):
            self.report(node)
            return
        match node:
            case ast.Attribute(value=value):
                self.expression(value)
            case ast.BinOp(left=left, right=right):
                self.expression(left)
                self.expression(right)
            case ast.Call():
                self._call(node)
            case ast.JoinedStr(values=values):
                self._formatted(values)
            case ast.Lambda(args=arguments, body=body):
                self._defaults(arguments)
                self.expression(body)
            case ast.Tuple(elts=elements):
                for element in elements:
                    self.expression(element.value if isinstance(element, ast.Starred) else element)
            case _:
                for child in _inner(node):
                    self.expression(child)

    def _call(self, node: ast.Call) -> None:
        keyword = self._keyword(node)
        if keyword == "static_iter":
            self.report(node, "`static_iter` is only allowed as what a `for` goes through")
            return
        if keyword is not None:
            for inner in ast.walk(node):
                if isinstance(inner, ast.NamedExpr):
                    self.report(inner, f"`{keyword}` may not assign: `:=` is not supported in it")
            return
        self.expression(node.func)
        for argument in node.args:
            if isinstance(argument, ast.GeneratorExp) and self._is_tuple(node):
                self._comprehension(argument)
            else:
                self.expression(argument.value if isinstance(argument, ast.Starred) else argument)
        for keyword_ in node.keywords:
            self.expression(keyword_.value)

    def _is_tuple(self, node: ast.Call) -> bool:
        plain = isinstance(node.func, ast.Name) and node.func.id == "tuple"
        return plain and len(node.args) == 1 and not node.keywords

    def _comprehension(self, node: ast.GeneratorExp) -> None:
        for generator in node.generators:
            if not self._static_iter(generator.iter):
                self.report(generator.iter, "what `tuple(...)` goes through must be a `ct.static_iter(...)`")
            self.target(generator.target)
            for test in generator.ifs:
                self.expression(test)
        self.expression(node.elt)

    def _formatted(self, values: list[ast.expr]) -> None:
        for part in values:
            if not isinstance(part, ast.FormattedValue):
                continue
            if part.conversion != -1:
                self.report(part, "`!r`, `!s` and `!a` are not supported in a kernel's f-string")
            spec = part.format_spec
            if isinstance(spec, ast.JoinedStr) and any(not isinstance(v, ast.Constant) for v in spec.values):
                self.report(part, "the format of a kernel's f-string must be a literal")
            self.expression(part.value)


def _inner(node: ast.expr) -> Iterator[ast.expr]:
    return (child for child in children(node) if isinstance(child, ast.expr))
