"""The `# ferrotile:` directive above a kernel, and its grammar.

directive := "# ferrotile:" entry ("," entry)*           several lines add up
entry     := NAME ":" dtype [ "[" extent ("," extent)* "]" ]
           | NAME "=" value | "inputs" "=" NAME | "grid" "=" "(" product ("," product)* ")" | "grid" "=" product
product   := term ("*" term)*      term := extent ["/" extent] | "cdiv" "(" extent "," extent ")"
extent    := NAME | INT            dtype := f16 | bf16 | i32 | f8e4m3 | torch.float16 | ...
value     := INT | FLOAT | STRING | "True" | "False" | "None" | dtype | "(" [value ("," value)* [","]] ")"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.program.dtypes import DType
from ferrotile.signatures.dtype_names import NAMES
from ferrotile.signatures.values import Constant, Grid, Term
from ferrotile.syntax.document import Comment
from ferrotile.syntax.span import Span

_HEAD = re.compile(r"#+\s*ferrotile\s*:")
_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)|"
    r"(?P<number>-?(?:0[xX][0-9a-fA-F]+|\d[\d_]*(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+))"
    r"|(?P<string>\"[^\"]*\"|'[^']*')|(?P<mark>//|[][(),:=*/])|(?P<other>\S))"
)


class Declared(Struct, frozen=True):
    """`x: f16[M, K]`, or `s: f32` with `extents` None."""

    dtype: DType
    extents: tuple[str | int, ...] | None
    span: Span


class Directive(Struct, frozen=True):
    """All directive lines above one kernel. Grid terms may name constants: `infer` resolves them. `inputs`: the
    function that makes inputs for it."""

    declared: dict[str, Declared]
    constants: dict[str, tuple[Constant, Span]]
    grid: Grid | None
    grid_span: Span
    diagnostics: tuple[Diagnostic, ...]
    inputs: str | None = None

    def joined(self, weaker: Directive) -> Directive:
        """This directive, with what `weaker` says of the parameters that this one does not name."""
        mine = {*self.declared, *self.constants}
        return Directive(
            self.declared | {n: d for n, d in weaker.declared.items() if n not in mine},
            self.constants | {n: c for n, c in weaker.constants.items() if n not in mine},
            weaker.grid if self.grid is None else self.grid,
            weaker.grid_span if self.grid is None else self.grid_span,
            self.diagnostics + weaker.diagnostics,
            self.inputs or weaker.inputs,
        )


class _Token(Struct, frozen=True):
    kind: str
    text: str
    span: Span


class _Error(Exception):
    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


_DEPTH = 8
_WORDS: Mapping[str, Constant] = MappingProxyType({"True": True, "False": False, "None": None})


def named_dtype(name: str) -> DType | None:
    """The element type that a name means here: `f16`, `float16`, `torch.float16`, `ct.float16`."""
    root, _, last = name.rpartition(".")
    return NAMES.get(last) if root in ("", "ct", "torch", "np", "numpy", "cp", "cupy", "cuda.tile") else None


def constant_text(value: Constant) -> str:
    """A constant as a directive writes it."""
    match value:
        case DType():
            return value.name
        case str():
            return f'"{value}"' if '"' not in value else f"'{value}'"
        case tuple():
            inner = ", ".join(constant_text(v) for v in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case _:
            return repr(value)


def is_directive(comment: Comment) -> bool:
    return _HEAD.match(comment.text) is not None


def has_directive(comments: Sequence[Comment]) -> bool:
    """Whether any of the comment lines is one of a directive."""
    return any(_HEAD.match(comment.text) for comment in comments)


def read_directive(comments: Sequence[Comment]) -> Directive:
    """Read the comment lines above a kernel; other comments are skipped. Mistakes become FT104."""
    tokens: list[_Token] = []
    for comment in comments:
        if is_directive(comment):
            tokens.extend(_tokens(comment))
    return _Parser(tokens).parse()


def _tokens(comment: Comment) -> list[_Token]:
    head = _HEAD.match(comment.text)
    at = head.end() if head else 0
    tokens: list[_Token] = []
    while match := _TOKEN.match(comment.text, at):
        kind = match.lastgroup or "other"
        start = comment.span.start + len(comment.text[: match.start(kind)].encode())
        tokens.append(_Token(kind, match[kind], Span(start, start + len(match[kind].encode()))))
        at = match.end()
    return [*tokens, _Token("line", "the end of the line", Span(comment.span.end, comment.span.end))]


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._declared: dict[str, Declared] = {}
        self._constants: dict[str, tuple[Constant, Span]] = {}
        self._grid: Grid | None = None
        self._grid_span = Span(0, 0)
        self._inputs: str | None = None
        self._found: list[Diagnostic] = []

    def parse(self) -> Directive:
        while self._at < len(self._tokens):
            if self._peek().kind == "line" or self._peek().text == ",":
                self._at += 1
                continue
            try:
                self._entry()
                if (after := self._peek()).kind != "line" and after.text != ",":
                    raise _Error(f"expected `,` before {_shown(after)}", after.span)
            except _Error as error:
                self._found.append(diagnostic("FT104", f"directive: {error.message}", error.span))
                self._recover()
        return Directive(self._declared, self._constants, self._grid, self._grid_span, tuple(self._found), self._inputs)

    def _peek(self) -> _Token:
        if self._at < len(self._tokens):
            return self._tokens[self._at]
        end = self._tokens[-1].span.end if self._tokens else 0
        return _Token("line", "the end of the line", Span(end, end))

    def _next(self, inside: bool = False) -> _Token:
        while inside and self._at < len(self._tokens) - 1 and self._peek().kind == "line":
            self._at += 1
        token = self._peek()
        self._at += token.kind != "line"
        return token

    def _take(self, text: str) -> bool:
        while self._peek().kind == "line" and self._at < len(self._tokens) - 1:
            self._at += 1
        if self._peek().text == text:
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise _Error(f"expected `{text}` before {_shown(self._peek())}", self._peek().span)

    def _recover(self) -> None:
        depth = 0
        while (token := self._peek()).kind != "line" and not (depth <= 0 and token.text == ","):
            depth += (token.text in ("[", "(")) - (token.text in ("]", ")"))
            self._at += 1

    def _entry(self) -> None:
        name = self._next()
        if name.kind != "name":
            raise _Error(f"expected a parameter's name, not {_shown(name)}", name.span)
        mark = self._next()
        if name.text in self._declared or name.text in self._constants or (name.text == "grid" and self._grid):
            raise _Error(f"`{name.text}` is given twice", name.span)
        if mark.text == ":":
            self._declaration(name)
        elif mark.text == "=" and name.text == "grid":
            self._grid_entry(name)
        elif mark.text == "=" and name.text == "inputs" and self._names_function():
            self._inputs = self._next().text
        elif mark.text == "=":
            self._constants[name.text] = (self._value(), name.span)
        else:
            raise _Error(f"expected `:` and a dtype, or `=` and a value, after `{name.text}`", mark.span)

    def _names_function(self) -> bool:
        """Whether a function's name is next, and not a value: a parameter may be called `inputs` as well."""
        token = self._peek()
        return token.kind == "name" and token.text not in _WORDS and named_dtype(token.text) is None

    def _declaration(self, name: _Token) -> None:
        token = self._next()
        dtype = named_dtype(token.text) if token.kind == "name" else None
        if dtype is None:
            raise _Error(f"{_shown(token)} is no element type: write f16, bf16, f32, i32, u8, bool, ...", token.span)
        extents: list[str | int] | None = None
        if self._peek().text == "[":
            self._at += 1
            extents = []
            while not self._take("]"):
                extents.append(self._extent())
                if not self._take(","):
                    self._expect("]")
                    break
        end = self._tokens[self._at - 1].span.end
        self._declared[name.text] = Declared(
            dtype, None if extents is None else tuple(extents), Span(name.span.start, end)
        )

    def _extent(self) -> str | int:
        token = self._next(inside=True)
        if token.kind == "name":
            return token.text
        number = _number(token)
        if isinstance(number, int) and number >= 0:
            return number
        raise _Error(f"expected an extent's name or an integer, not {_shown(token)}", token.span)

    def _value(self, depth: int = 0) -> Constant:
        token = self._next(inside=depth > 0)
        if token.kind == "string":
            return token.text[1:-1]
        if token.text in _WORDS:
            return _WORDS[token.text]
        if token.text == "(" and depth < _DEPTH:
            return self._tuple(depth)
        dtype = named_dtype(token.text) if token.kind == "name" else None
        if dtype is not None:
            return dtype
        number = _number(token)
        if number is None:
            what = "a number, a string, True, False, None, an element type or a tuple"
            raise _Error(f"expected {what}, not {_shown(token)}", token.span)
        return number

    def _tuple(self, depth: int) -> tuple[Constant, ...]:
        items: list[Constant] = []
        while not self._take(")"):
            items.append(self._value(depth + 1))
            if not self._take(","):
                self._expect(")")
                break
        return tuple(items)

    def _grid_entry(self, name: _Token) -> None:
        if not self._take("("):
            axes = [self._product()]
        else:
            axes = []
            while not self._take(")"):
                axes.append(self._product())
                if not self._take(","):
                    self._expect(")")
                    break
        if not 1 <= len(axes) <= 3:
            raise _Error("a grid has 1 to 3 axes", name.span)
        self._grid = tuple(axes)
        self._grid_span = Span(name.span.start, self._tokens[self._at - 1].span.end)

    def _product(self) -> tuple[Term, ...]:
        terms = [self._term()]
        while self._peek().text == "*":
            self._at += 1
            terms.append(self._term())
        return tuple(t for t in terms if t != Term(1, 1))

    def _term(self) -> Term:
        extent = self._extent()
        if extent == "cdiv" and self._take("("):
            extent = self._extent()
            self._expect(",")
            tile = self._extent()
            self._expect(")")
        elif self._peek().text in ("/", "//"):
            self._at += 1
            tile = self._extent()
        else:
            tile = 1
        if tile == 0:
            raise _Error("a tile cannot be 0 long", self._tokens[self._at - 1].span)
        return Term(extent, tile)


def _number(token: _Token) -> int | float | None:
    if token.kind != "number":
        return None
    try:
        return int(token.text, 0)
    except ValueError:
        pass
    try:
        return float(token.text)
    except ValueError:
        return None


def _shown(token: _Token) -> str:
    return token.text if token.kind == "line" else f"`{token.text}`"
