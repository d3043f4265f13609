"""Between plain values and LSP types: ranges, diagnostics, markdown."""

from __future__ import annotations

import re
from functools import cache
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

Plain = dict[str, object]
"""An LSP value as JSON has it, for what is sent with every key: LSP's own classes cost ten times as much."""

SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error.value,
    Severity.WARNING: types.DiagnosticSeverity.Warning.value,
    Severity.INFORMATION: types.DiagnosticSeverity.Hint.value,  # asks for nothing: no line in a list of problems
    Severity.HINT: types.DiagnosticSeverity.Hint.value,
}


def range_of(document: Document | OpenDocument, span: Span, encoding: Encoding) -> types.Range:
    """The range of a span."""
    places = document.lines if isinstance(document, Document) else document
    return types.Range(
        types.Position(*places.position(span.start, encoding)), types.Position(*places.position(span.end, encoding))
    )


def place_of(document: Document | OpenDocument, span: Span, encoding: Encoding) -> Plain:
    """The range of a span."""
    places = document.lines if isinstance(document, Document) else document
    line, column = places.position(span.start, encoding)
    last, end = places.position(span.end, encoding)
    return {"start": {"line": line, "character": column}, "end": {"line": last, "character": end}}


def diagnostic(
    uri: str, document: Document | OpenDocument, found: Diagnostic, client: Client, source: str = SOURCE
) -> Plain:
    """A diagnostic, as rich as the editor can show it."""
    made: Plain = {
        "range": place_of(document, found.span, client.encoding),
        "message": found.message,
        "severity": SEVERITIES[found.severity],
        "code": found.code,
        "source": source,
    }
    if client.code_description and (page := page_of(found.code)):
        made["codeDescription"] = {"href": page}
    if found.related and client.related_information:
        related = [
            {"location": {"uri": uri, "range": place_of(document, span, client.encoding)}, "message": text}
            for span, text in found.related
            if isinstance(document, Document) or document.holds(span)
        ]
        if related:
            made["relatedInformation"] = related
    if client.diagnostic_data:
        made["data"] = _data(document, found, client)
    return made


def _data(document: Document | OpenDocument, found: Diagnostic, client: Client) -> Plain:
    """For the editor to hand back, or to use at once: the code, what to do next, and the quick fix, if there is one."""
    entry, fix = CATALOGUE.get(found.code), found.fix
    data: Plain = {"code": found.code}
    if entry is not None:
        data["action"] = entry.action
    if fix is not None:
        place = place_of(document, fix.span, client.encoding)
        data["fix"] = {"title": fix.title, "edit": {"range": place, "newText": fix.text}}
    return data


def plain_range(place: types.Range) -> Plain:
    """A range as JSON."""
    return {
        "start": {"line": place.start.line, "character": place.start.character},
        "end": {"line": place.end.line, "character": place.end.character},
    }


@cache
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
