"""The session's beginning and end, settings, and document changes, which only store text and schedule
work."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from lsprotocol import types

from ferrotile_server.lsp.changes import Change
from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.features import configuration, notebook_sync
from ferrotile_server.lsp.features.content import Previews
from ferrotile_server.lsp.features.definition import Definitions
from ferrotile_server.lsp.features.diagnostics_push import Publisher
from ferrotile_server.lsp.features.kernels import KernelLists
from ferrotile_server.lsp.features.rust_ports import Ports
from ferrotile_server.lsp.protocol import InvalidParams, Json
from ferrotile_server.lsp.schedule import Scheduler
from ferrotile_server.lsp.session import client_from, settings_from
from ferrotile_server.lsp.trust import MalformedTrust, is_trusted
from ferrotile_server.verdicts import RUNGS

logger = logging.getLogger(__name__)

RUST = "rust"
"""The language of documents that only their own features know."""


def register(
    context: Context,
    publisher: Publisher,
    previews: Previews,
    definitions: Definitions,
    lists: KernelLists,
    ports: Ports,
    start: Callable[[], Awaitable[None]],
) -> None:
    """Offer the life cycle and document synchronisation; `start` is awaited once the editor is ready."""
    server = context.server

    async def work(uri: str) -> None:
        await publisher.publish(uri)
        await lists.publish(uri)
        previews.refresh(uri)
        await definitions.follow(uri)

    scheduler = Scheduler(work)

    async def refresh_marks(_: str) -> None:
        if context.client.refreshes_lenses:
            await context.ask(server.workspace_code_lens_refresh_async(None))
        if context.client.refreshes_hints:
            await context.ask(server.workspace_inlay_hint_refresh_async(None))

    marks = Scheduler(refresh_marks)  # the requests are for all files: one for many changes

    def refresh(uri: str, at_once: bool) -> None:
        scheduler.touch(uri, at_once=at_once)
        marks.touch("", at_once=at_once)

    context.refresh = refresh
    context.refresh_marks = lambda: marks.touch("", at_once=True)
    fetch_settings = configuration.register(context)

    def initialize(params: types.InitializeParams) -> None:
        options = params.initialization_options
        try:  # before everything else, so that no other mistake can turn into trust
            context.trusted = is_trusted(options)
        except MalformedTrust as error:
            raise InvalidParams(str(error)) from None
        if context.trusted:
            context.executor = context.application.verify
        context.client = client_from(params, options)
        given = options.get("settings") if isinstance(options, dict) else None
        configuration.configure(context, settings_from(given, RUNGS))

    async def initialized(params: types.InitializedParams) -> None:
        await start()
        await definitions.start()
        await fetch_settings()

    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        if document.language_id == RUST:
            context.rust.open(document.uri, document.version, document.text)
            return
        context.documents.open(document.uri, document.version, document.text)
        scheduler.touch(document.uri, at_once=True)
        context.renew_dependents(document.uri)

    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        changes = [_change(c) for c in params.content_changes]
        if context.rust.get(document.uri) is not None:
            context.rust.change(document.uri, document.version, changes, context.client.encoding)
            ports.changed(document.uri)
            return
        if context.documents.change(document.uri, document.version, changes, context.client.encoding):
            scheduler.touch(document.uri)
            context.renew_dependents(document.uri)

    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        if context.rust.get(uri) is not None:
            context.rust.close(uri)
            ports.closed(uri)
            return
        scheduler.drop(uri)
        publisher.clear(uri)
        lists.forget(uri)
        previews.forget(uri)
        definitions.forget(uri)
        context.close(uri)
        context.renew_dependents(uri)

    def forget_cell(uri: str) -> None:
        scheduler.drop(uri)
        publisher.clear(uri)
        lists.forget(uri)
        previews.forget(uri)
        context.application.forget(uri)

    notebook_sync.register(context, scheduler.touch, forget_cell, _change)

    def shutdown(params: Json) -> None:
        context.progress.cancel_all()
        previews.clean()

    server.feature(types.INITIALIZE)(initialize)
    server.feature(types.INITIALIZED)(initialized)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(did_close)
    server.feature(types.SHUTDOWN)(shutdown)


def _change(change: types.TextDocumentContentChangeEvent) -> Change:
    if isinstance(change, types.TextDocumentContentChangePartial):
        start, end = change.range.start, change.range.end
        return Change(change.text, (start.line, start.character), (end.line, end.character))
    return Change(change.text)
