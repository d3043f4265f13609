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

from ferrotile_server.lsp.documents import OpenDocument
from ferrotile_server.lsp.session import Client

SOURCE = "ferrotile"
ROOT = Path(__file__).resolve().parents[3]

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Hint,  # a note asks for nothing: no line in a list of problems
    Severity.HINT: types.DiagnosticSeverity.Hint,
}


def range_of(document: Document | OpenDocument, span: Span, encoding: Encoding) -> types.Range:
    """The range of a span."""
    places = document.lines if isinstance(document, Document) else document
    return types.Range(
        types.Position(*places.position(span.start, encoding)), types.Position(*places.position(span.end, encoding))
    )


def diagnostic(uri: str, document: Document | OpenDocument, found: Diagnostic, client: Client) -> types.Diagnostic:
    """A diagnostic, as rich as the editor can show it."""
    related = [
        types.DiagnosticRelatedInformation(types.Location(uri, range_of(document, span, client.encoding)), text)
        for span, text in found.related
        if isinstance(document, Document) or document.holds(span)
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
        data=_data(document, found, client) if client.diagnostic_data else None,
    )


def _data(document: Document | OpenDocument, found: Diagnostic, client: Client) -> dict[str, object]:
    """For the editor to hand back, or to use at once: the code, what to do next, and the quick fix, if there is one."""
    entry, fix = CATALOGUE.get(found.code), found.fix
    data: dict[str, object] = {"code": found.code}
    if entry is not None:
        data["action"] = entry.action
    if fix is not None:
        place = range_of(document, fix.span, client.encoding)
        data["fix"] = {"title": fix.title, "edit": {"range": plain_range(place), "newText": fix.text}}
    return data


def plain_range(place: types.Range) -> dict[str, object]:
    """A range as JSON."""
    return {
        "start": {"line": place.start.line, "character": place.start.character},
        "end": {"line": place.end.line, "character": place.end.character},
    }


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
    """`text` as Markdown that shows it literally, on one line. Nothing more is escaped than must be: some editors show
    the backslashes."""
    line = " ".join(text.split())
    line = re.sub(r"[\\`*\[\]<>~&]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line)
    return re.sub(r"^(?=[#+=-])|^(\d+)(?=[.)])", r"\1\\", line)
