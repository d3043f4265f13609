"""Between plain values and LSP types: ranges, diagnostics, markdown."""

from __future__ import annotations

import re
from pathlib import Path

from ferrotile.diagnostics.catalogue import CATALOGUE
from ferrotile.diagnostics.model import Diagnostic, Severity
from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding
from ferrotile.syntax.span import Span
from lsprotocol import types

from ferrotile_server.lsp.session import Client

SOURCE = "ferrotile"
ROOT = Path(__file__).resolve().parents[3]

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}


def range_of(document: Document, span: Span, encoding: Encoding) -> types.Range:
    """The range of a span."""
    return types.Range(
        types.Position(*document.lines.position(span.start, encoding)),
        types.Position(*document.lines.position(span.end, encoding)),
    )


def offset_of(document: Document, position: types.Position, encoding: Encoding) -> int:
    """The byte offset of a position; clamps."""
    return document.lines.offset(position.line, position.character, encoding)


def diagnostic(uri: str, document: Document, found: Diagnostic, client: Client) -> types.Diagnostic:
    """A diagnostic, as rich as the editor can show it."""
    related = [
        types.DiagnosticRelatedInformation(types.Location(uri, range_of(document, span, client.encoding)), text)
        for span, text in found.related
    ]
    page = page_of(found.code)
    return types.Diagnostic(
        range=range_of(document, found.span, client.encoding),
        message=found.message,
        severity=_SEVERITIES[found.severity],
        code=found.code,
        code_description=types.CodeDescription(page) if page and client.code_description else None,
        source=SOURCE,
        related_information=related if related and client.related_information else None,
    )


def page_of(code: str) -> str | None:
    """The address of a diagnostic's page, where it is installed."""
    entry = CATALOGUE.get(code)
    if entry is None:
        return None
    page = ROOT / entry.page
    return page.as_uri() if page.is_file() else None


def fence(text: str, language: str) -> str:
    """`text` as a Markdown code block that nothing inside it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def escape(text: str) -> str:
    """`text` as Markdown that shows it literally, on one line."""
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~-])", r"\\\1", " ".join(text.split()))
