"""Where two programs differ, in the words and at the places of both sources."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType

from ferrotile.syntax.span import Span

from ferrotile_runner.report import Difference, Place
from ferrotile_runner.rungs.subject import Subject
from ferrotile_runner.slice import Slice, slice_source
from ferrotile_runner.tileir.model import Location
from ferrotile_runner.tileir.refinement import Difference as TermDifference
from ferrotile_runner.tileir.refinement import Side

LONGEST = 100
"""Characters of source text that are shown."""
SLICE_FILE = "kernel_"
"""How the names of the files begin that cuTile Python compiles."""
KERNEL_FILE = "kernel.rs"
"""The name that `ferrotile-host` gives a kernel's text; other files are cutile's own."""

_OPERATORS: Mapping[str, tuple[type[ast.AST], ...]] = MappingProxyType(
    {
        "addf": (ast.Add,),
        "subf": (ast.Sub,),
        "mulf": (ast.Mult,),
        "divf": (ast.Div,),
        "remf": (ast.Mod,),
        "fma": (ast.Add, ast.Sub),
        "poly": (ast.Add, ast.Sub, ast.Mult),
        "div": (ast.FloorDiv, ast.Mod),
        "divi": (ast.FloorDiv, ast.Mod),
        "shli": (ast.LShift,),
        "shri": (ast.RShift,),
        "mmaf": (ast.MatMult, ast.Add),
        "mmai": (ast.MatMult, ast.Add),
        "andi": (ast.BitAnd, ast.And),
        "ori": (ast.BitOr, ast.Or),
        "xori": (ast.BitXor, ast.Not, ast.Invert),
        "negf": (ast.USub,),
    }
)
"""Operations of Tile IR -> operators of Python that make them."""


def explain(subject: Subject, found: TermDifference) -> tuple[Difference, Span]:
    """The difference at its places in the Python file and the Rust text, and the Python to blame: where the Python has
    the term, else what the Rust was made from."""
    sliced = None if subject.function is None else slice_source(subject.module, subject.function)
    python, span = None, None
    if found.python is not None and found.python.location is not None and sliced is not None:
        python, span = _python_place(subject, sliced, found.python, _in_slice(found.python.location))
    rust, line = None, None
    if found.rust is not None and found.rust.location is not None and subject.kernel.rust is not None:
        rust, line = _rust_place(subject.kernel.rust, found.rust, found.rust.location)
    if span is None:
        span = subject.rust_span(line)
    words = f"{found.effect}: {found.words}" if found.effect else found.words
    return Difference(python, rust, words), span


def detail(difference: Difference, found: TermDifference) -> str:
    """The difference as lines of text."""
    lines = [difference.words]
    sides = (("Python", difference.python, found.python), ("Rust", difference.rust, found.rust))
    for name, place, side in sides:
        if place is not None:
            words = "" if side is None else side.words
            verb = "" if not words else " " if words.startswith("takes ") else " is "
            lines.append(f"{name} line {place.line}: `{place.text}`{verb}{words}")
        elif side is not None and side.words:
            lines.append(f"{name}: {side.words}")
    return "\n".join(lines)


def _python_place(subject: Subject, sliced: Slice, side: Side, location: Location) -> tuple[Place | None, Span | None]:
    """The Python expression at a place of the slice, and its place in the file."""
    node = _node(sliced.text, location, side.operation)
    row, column = location.line - 1, location.column
    line = sliced.file_line(row)
    if line is None:
        return None, None
    lines = subject.document.lines
    start, end = lines.line_start(line), lines.line_end(line)
    text = subject.document.data[start:end]
    own = sliced.text.split("\n")[row].encode() if row < sliced.text.count("\n") + 1 else b""
    shift = text.find(own.strip()) - (len(own) - len(own.lstrip())) if own.strip() else -1
    if not own.strip() or own.strip() not in text:  # it came from another file: the line that brought it
        return Place(line + 1, 1, _short(own.decode() or text.decode())), Span(start, end)
    at = start + column + shift
    shown = own.decode().strip()
    stop = end
    if node is not None and node.end_lineno is not None and node.end_col_offset is not None:
        shown = ast.get_source_segment(sliced.text, node) or shown
        stop = start + node.end_col_offset + shift if node.end_lineno == node.lineno else end
    else:
        at = start + len(text) - len(text.lstrip())
    place = Place(line + 1, len(subject.document.data[start:at].decode(errors="replace")) + 1, _short(shown))
    return place, Span(at, max(stop, at))


def _in_slice(location: Location) -> Location:
    """The place in the slice of what an inlined function of cuTile Python does."""
    at = location
    while at.caller is not None and not PurePath(at.file).name.startswith(SLICE_FILE):
        at = at.caller
    return at


def _node(text: str, location: Location, operation: str) -> ast.expr | None:
    """The expression that starts at a place and makes an operation: by its operator, else the outermost one."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    here = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and (node.lineno, node.col_offset) == (location.line, location.column)
    ]
    here.sort(key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0), reverse=True)
    wanted = _OPERATORS.get(operation)
    if wanted is not None:
        fitting = (node for node in here if _operator(node) in wanted)
        return next(fitting, here[0] if here else None)
    calls = [node for node in here if isinstance(node, ast.Call)]
    return calls[0] if calls else here[0] if here else None


def _operator(node: ast.expr) -> type[ast.AST] | None:
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op):
            return type(op)
    return None


def _rust_place(text: str, side: Side, location: Location) -> tuple[Place | None, int | None]:
    """The Rust expression of the entry at a place, or that calls the helper at the place; and its line (from 1)."""
    place, lines = location.entry, text.split("\n")
    if not place.file.endswith(KERNEL_FILE) or not 0 < place.line <= len(lines):
        return None, None
    shown = _expression(lines[place.line - 1 :], place.column, side.operation in {"mulf", "divf"})
    return Place(place.line, place.column + 1, _short(shown)), place.line


_OPENING, _CLOSING = "([{", ")]}"


def _expression(lines: Sequence[str], column: int, is_product: bool) -> str:
    """The text from a column up to the end of its expression: a `,`, `;`, block or closing bracket that is not its own,
    of a product also a `+` or `-`."""
    depth = 0
    found = ""
    for number, line in enumerate(lines[:12]):
        for character in line[column:] if not number else line.strip():
            if depth == 0 and (character in ",;{" or (is_product and found.endswith((" + ", " - ")))):
                return found.rstrip(" +-")
            depth += (character in _OPENING) - (character in _CLOSING)
            if depth < 0:
                return found.strip()
            found += character
        found += " "
    return found.strip()


def _short(text: str) -> str:
    one = " ".join(text.split())
    return one if len(one) <= LONGEST else f"{one[: LONGEST - 1]}…"
