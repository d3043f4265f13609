"""Diagnostics as text: `file:line:col`, the source line, carets under the part that is meant."""

from __future__ import annotations

from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.syntax.positions import Encoding, LineTable
from ferrotile.syntax.span import Span
from msgspec import Struct

from ferrotile_server.cli.output import Style

TAB = "    "


class Place(Struct, frozen=True):
    """1-based line and column (in characters), the line's text, and how many of its characters are meant."""

    line: int
    column: int
    text: str
    length: int


def place_of(text: str, span: Span) -> Place:
    """Where a span of the UTF-8 bytes of `text` begins. Total: a span beyond the end means the end."""
    data = text.encode("utf-8", errors="replace")
    table = LineTable(data)
    start = min(span.start, len(data))
    line, column = table.position(start, Encoding.UTF32)
    shown = data[table.line_start(line) : table.line_end(line)].decode(errors="replace").rstrip("\r\n")
    end = min(max(span.end, start), table.line_end(line))
    length = len(data[start:end].decode(errors="replace").rstrip("\r\n"))
    return Place(line + 1, column + 1, shown, max(1, length))


def line_and_column(text: str, span: Span) -> tuple[int, int]:
    """1-based line and column of a span."""
    place = place_of(text, span)
    return place.line, place.column


def _coloured(style: Style, severity: Severity, text: str) -> str:
    match severity:
        case Severity.ERROR:
            return style.red(text)
        case Severity.WARNING:
            return style.yellow(text)
        case Severity.INFORMATION | Severity.HINT:
            return style.blue(text)


def render(name: str, text: str, diagnostic: Diagnostic, style: Style) -> str:
    """A diagnostic with its source line and carets; several lines, no newline at the end."""
    place = place_of(text, diagnostic.span)
    severity = diagnostic.severity
    where = style.bold(f"{name}:{place.line}:{place.column}:")
    head = f"{where} {diagnostic.code} {_coloured(style, severity, severity.value)}: {diagnostic.message}"
    before = place.text[: place.column - 1].replace("\t", TAB)
    shown = place.text[place.column - 1 : place.column - 1 + place.length].replace("\t", TAB)
    carets = _coloured(style, severity, "^" * max(1, len(shown)))
    number = str(place.line)
    gutter = style.dim(" " * len(number) + " |")
    lines = [
        head,
        f"{style.dim(number + ' |')} {place.text.replace(chr(9), TAB)}".rstrip(),
        f"{gutter} {' ' * len(before)}{carets}",
    ]
    for span, note in diagnostic.related:
        line, column = line_and_column(text, span)
        lines.append(f"{gutter} note: {name}:{line}:{column}: {note}")
    if diagnostic.fix is not None:
        lines.append(f"{gutter} fix: {diagnostic.fix.title}")
    return "\n".join(lines)
