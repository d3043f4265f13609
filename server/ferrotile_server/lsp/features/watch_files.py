"""`workspace/didChangeWatchedFiles` and workspace folders: files that are not open, and what depends on them."""

from __future__ import annotations

from lsprotocol import types

from ferrotile_server.lsp.context import Context

PATTERN = "**/{*.py,pyproject.toml}"
MANY = 2_000
"""Of more changes than that, as when a branch is checked out, each alone is not looked at."""


def register(context: Context) -> None:
    """Offer both."""

    def renew() -> None:
        context.renew()
        if context.client.refreshes_diagnostics:
            context.spawn(refresh_diagnostics())

    async def refresh_diagnostics() -> None:
        await context.ask(context.server.workspace_diagnostic_refresh_async(None))

    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        changes = [c for c in params.changes if c.uri.endswith(".py")]
        if any(c.uri.endswith("/pyproject.toml") for c in params.changes):
            context.surroundings.changed_on_disk([], True, context.threadsafe(renew))
        elif changes:
            listing = any(c.type is not types.FileChangeType.Changed for c in changes)
            context.surroundings.changed_on_disk([c.uri for c in changes[:MANY]], listing, context.threadsafe(renew))

    def did_change_workspace_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        use_folders(context)

    context.server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(did_change_watched_files)
    context.server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)(did_change_workspace_folders)


def use_folders(context: Context) -> None:
    """Tell the analysis of the folders that are open now."""
    folders = list(context.server.workspace.folders)
    context.surroundings.use_folders(folders, context.threadsafe(context.renew))


async def start(context: Context) -> None:
    """Ask the editor to tell of changes, where it can; and use its folders."""
    if context.server.workspace.folders:
        use_folders(context)
    if not context.client.watches_files:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(PATTERN)])
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    registration = types.Registration("ferrotile-files", method, options)

    async def ask() -> None:
        request = context.server.client_register_capability_async(types.RegistrationParams([registration]))
        context.surroundings.watched = await context.granted(request)

    context.spawn(ask())
