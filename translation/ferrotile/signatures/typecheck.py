"""The `<typecheck>` block in a kernel's docstring, which other language servers of cuTile read: one line a parameter,
in order: `Tensor((1024, 2048), dtype="float16")`, or a value."""

from __future__ import annotations

import ast
import re

from ferrotile.diagnostics.catalogue import diagnostic
from ferrotile.diagnostics.model import Diagnostic
from ferrotile.program.dtypes import BOOL, F32, I32, DType
from ferrotile.signatures.annotations import Role, read_annotation
from ferrotile.signatures.directive import Declared, Directive, named_dtype
from ferrotile.signatures.values import Constant
from ferrotile.syntax.module import FunctionSource, Module, parameters_of
from ferrotile.syntax.span import Span

_BLOCK = re.compile(rb"<typecheck>(?P<body>.*?)</typecheck>", re.DOTALL)


def read_typecheck(module: Module, kernel: FunctionSource) -> Directive:
    """The block as a directive. An extent of a tensor that is a number is an example and no fact of the kernel, so
    its axis stays symbolic, called `D0`, `D1`, ...; equal numbers of one block are not taken for one extent."""
    docstring = _docstring(kernel.node)
    empty = Directive({}, {}, None, Span(0, 0), ())
    if docstring is None or "<typecheck>" not in (docstring.value if isinstance(docstring.value, str) else ""):
        return empty
    base = module.span_of(docstring)
    match = _BLOCK.search(module.document.data, base.start, base.end)
    if match is None:
        return empty
    lines = _lines(module.document.data, match.start("body"), match.end("body"))
    parameters = parameters_of(kernel.node)
    if len(lines) != len(parameters):
        message = f"<typecheck>: {len(lines)} lines for {len(parameters)} parameters of `{kernel.name}`"
        return Directive({}, {}, None, Span(0, 0), (diagnostic("FT104", message, Span(match.start(), match.end())),))
    declared: dict[str, Declared] = {}
    constants: dict[str, tuple[Constant, Span]] = {}
    found: list[Diagnostic] = []
    taken = {p.arg for p in parameters}
    for parameter, (text, span) in zip(parameters, lines, strict=True):
        constant = read_annotation(module, parameter.annotation).role is Role.CONSTANT
        try:
            said = _said(text, constant, span, taken)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            said = None
        match said:
            case None:
                message = f'<typecheck>: write `Tensor((M, N), dtype="float16")` or a value for `{parameter.arg}`'
                found.append(diagnostic("FT104", message, span))
            case Declared():
                declared[parameter.arg] = said
            case (value, place):
                constants[parameter.arg] = (value, place)
    return Directive(declared, constants, None, Span(0, 0), tuple(found))


def _docstring(node: ast.FunctionDef) -> ast.Constant | None:
    match node.body[0]:
        case ast.Expr(value=ast.Constant(value=str()) as constant):
            return constant
        case _:
            return None


def _lines(data: bytes, start: int, end: int) -> list[tuple[str, Span]]:
    found: list[tuple[str, Span]] = []
    at = start
    for raw in data[start:end].splitlines(keepends=True):
        text = raw.partition(b"#")[0].strip()
        if text:
            first = at + raw.index(text)
            found.append((text.decode("utf-8", "replace"), Span(first, first + len(text))))
        at += len(raw)
    return found


def _said(text: str, constant: bool, span: Span, taken: set[str]) -> Declared | tuple[Constant, Span] | None:
    node = ast.parse(text, mode="eval").body
    match node:
        case ast.Call(func=ast.Name(id="Tensor")):
            return _tensor(node, span, taken)
        case ast.Name() | ast.Attribute():
            dtype = named_dtype(ast.unparse(node))
            return None if dtype is None else (dtype, span)
        case _:
            value = ast.literal_eval(node)
    if constant:
        return (value, span) if isinstance(value, int | float | str | tuple) or value is None else None
    kind: dict[type, DType] = {bool: BOOL, int: I32, float: F32}
    dtype = kind.get(type(value))
    return None if dtype is None else Declared(dtype, None, span)


def _tensor(node: ast.Call, span: Span, taken: set[str]) -> Declared | None:
    parts: dict[str, ast.expr] = dict(zip(("shape", "dtype"), node.args, strict=False))
    parts |= {k.arg: k.value for k in node.keywords if k.arg is not None}
    match parts.get("shape"), parts.get("dtype"):
        case ast.Tuple(elts=axes) | ast.List(elts=axes), ast.Constant(value=str(name)):
            dtype = named_dtype(name)
        case ast.Tuple(elts=axes) | ast.List(elts=axes), (ast.Name() | ast.Attribute()) as name:
            dtype = named_dtype(ast.unparse(name))
        case _:
            return None
    if dtype is None:
        return None
    return Declared(dtype, tuple(a.id if isinstance(a, ast.Name) else _fresh(taken) for a in axes), span)


def _fresh(taken: set[str]) -> str:
    number = 0
    while f"D{number}" in taken:
        number += 1
    taken.add(f"D{number}")
    return f"D{number}"
