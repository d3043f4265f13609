"""The session's beginning and end, settings, and document changes, which only store text and schedule
work."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from lsprotocol import types

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.documents import Change
from ferrotile_server.lsp.features.content import Previews
from ferrotile_server.lsp.features.definition import Definitions
from ferrotile_server.lsp.features.diagnostics_push import Publisher
from ferrotile_server.lsp.protocol import InvalidParams, Json
from ferrotile_server.lsp.schedule import Scheduler
from ferrotile_server.lsp.session import SECTION, client_from, settings_from
from ferrotile_server.lsp.trust import MalformedTrust, is_trusted
from ferrotile_server.verdicts import RUNGS

logger = logging.getLogger(__name__)


def register(
    context: Context,
    publisher: Publisher,
    previews: Previews,
    definitions: Definitions,
    start: Callable[[], Awaitable[None]],
) -> None:
    """Offer the life cycle and document synchronisation; `start` is awaited once the editor is ready."""
    server = context.server

    async def work(uri: str) -> None:
        await publisher.publish(uri)
        previews.refresh(uri)
        await definitions.follow(uri)

    scheduler = Scheduler(work)

    async def refresh_lenses() -> None:
        if context.client.refreshes_lenses:
            await context.ask(server.workspace_code_lens_refresh_async(None))

    def refresh(uri: str) -> None:
        scheduler.touch(uri, at_once=True)
        context.spawn(refresh_lenses())

    context.refresh = refresh

    def initialize(params: types.InitializeParams) -> None:
        options = params.initialization_options
        try:  # before everything else, so that no other mistake can turn into trust
            context.trusted = is_trusted(options)
        except MalformedTrust as error:
            raise InvalidParams(str(error)) from None
        if context.trusted:
            context.executor = context.application.verify
        context.client = client_from(params, options)
        _configure(context, options.get("settings") if isinstance(options, dict) else None)

    async def initialized(params: types.InitializedParams) -> None:
        await start()
        await definitions.start()
        if context.client.configuration:
            await fetch_settings()

    async def fetch_settings() -> None:
        items = [types.ConfigurationItem(section=SECTION)]
        answer = await context.ask(server.workspace_configuration_async(types.ConfigurationParams(items)))
        if isinstance(answer, list | tuple) and answer and answer[0] is not None:
            apply(answer[0])

    def apply(settings: object) -> None:
        if _configure(context, settings):
            for file in context.documents:
                refresh(file.uri)
            if context.client.refreshes_diagnostics:
                context.spawn(refresh_diagnostics())

    async def refresh_diagnostics() -> None:
        await context.ask(server.workspace_diagnostic_refresh_async(None))

    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        given = params.settings
        if isinstance(given, dict) and isinstance(given.get(SECTION), dict):
            apply(given[SECTION])
        elif context.client.configuration:
            await fetch_settings()

    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        context.documents.open(document.uri, document.version, document.text)
        scheduler.touch(document.uri, at_once=True)
        context.renew_dependents(document.uri)

    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        changes = [_change(c) for c in params.content_changes]
        if context.documents.change(document.uri, document.version, changes, context.client.encoding):
            scheduler.touch(document.uri)
            context.renew_dependents(document.uri)

    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        scheduler.drop(uri)
        publisher.clear(uri)
        previews.forget(uri)
        definitions.forget(uri)
        context.close(uri)
        context.renew_dependents(uri)

    def shutdown(params: Json) -> None:
        context.progress.cancel_all()
        previews.clean()

    server.feature(types.INITIALIZE)(initialize)
    server.feature(types.INITIALIZED)(initialized)
    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(did_change_configuration)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(did_close)
    server.feature(types.SHUTDOWN)(shutdown)


def _configure(context: Context, value: object) -> bool:
    settings = settings_from(value, RUNGS)
    changed = settings != context.settings
    context.settings = settings
    context.application.configure(settings.options)
    return changed


def _change(change: types.TextDocumentContentChangeEvent) -> Change:
    if isinstance(change, types.TextDocumentContentChangePartial):
        start, end = change.range.start, change.range.end
        return Change(change.text, (start.line, start.character), (end.line, end.character))
    return Change(change.text)
