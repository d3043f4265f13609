"""`workspace/didChangeConfiguration` and `workspace/configuration`: the user's settings, also those of single workspace
folders. What a project's `pyproject.toml` says of its translation comes on top (`project_settings.py`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from lsprotocol import types

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.session import SECTION, Settings, settings_from
from ferrotile_server.verdicts import RUNGS


def register(context: Context) -> Callable[[], Awaitable[None]]:
    """Offer the notification; gives what asks the editor for its settings."""
    server = context.server

    async def fetch() -> None:
        if not context.client.configuration:
            return
        folders = list(server.workspace.folders)
        items = [types.ConfigurationItem(section=SECTION)]
        if len(folders) > 1:
            items += [types.ConfigurationItem(section=SECTION, scope_uri=uri) for uri in folders]
        answer = await context.ask(server.workspace_configuration_async(types.ConfigurationParams(items)))
        if not isinstance(answer, list | tuple) or len(answer) != len(items):
            return
        whole = context.settings if answer[0] is None else settings_from(answer[0], RUNGS)
        own = {uri: settings_from(one, RUNGS) for uri, one in zip(folders, answer[1:], strict=False) if one is not None}
        apply(whole, {uri: settings for uri, settings in own.items() if settings != whole})

    def apply(settings: Settings, folders: dict[str, Settings]) -> None:
        if (settings, folders) == (context.settings, context.folder_settings):
            return
        configure(context, settings)
        context.folder_settings = folders
        for file in context.documents:
            context.refresh(file.uri, True)
        if context.client.refreshes_diagnostics:
            context.spawn(refresh_diagnostics())

    async def refresh_diagnostics() -> None:
        await context.ask(server.workspace_diagnostic_refresh_async(None))

    async def changed(params: types.DidChangeConfigurationParams) -> None:
        given = params.settings
        if context.client.configuration:
            await fetch()
        elif isinstance(given, dict) and isinstance(given.get(SECTION), dict):
            apply(settings_from(given[SECTION], RUNGS), {})

    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(changed)
    return fetch


def configure(context: Context, settings: Settings) -> None:
    """Use these settings from now on."""
    context.settings = settings
    context.application.configure(settings.options)
