"""The smallest useful server on pygls, as a floor: a hover, and 20 diagnostics after each change."""

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("echo", "0")
START = types.Range(types.Position(0, 0), types.Position(0, 1))
FOUND = [types.Diagnostic(START, "a message")] * 20


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "echo"))


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def did_open(params: types.DidOpenTextDocumentParams) -> None:
    publish(params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(params: types.DidChangeTextDocumentParams) -> None:
    publish(params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC)
def pull(params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
    return types.RelatedFullDocumentDiagnosticReport(items=FOUND)


def publish(uri: str, version: int) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, FOUND, version))


server.start_io()
