"""`workspace/executeCommand`: a closed list of commands with checked arguments, for editors without a
client of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ferrotile_server.lsp.context import Context
from ferrotile_server.lsp.features import commands, debug_info, draft, run_kernel, verify, verify_workspace
from ferrotile_server.lsp.features.content import Previews
from ferrotile_server.lsp.features.rust_file import CannotWrite, edit_for, target_of, write
from ferrotile_server.lsp.features.rust_ports import Ports
from ferrotile_server.lsp.protocol import InvalidParams, Json
from ferrotile_server.lsp.surroundings import path_of


def register(
    context: Context, previews: Previews, verification: verify.Verification, drafts: draft.Run, ports: Ports
) -> None:
    """Offer the commands."""
    server = context.server

    async def translate(*arguments: Json) -> str:
        uri, kernel = _uri_and_kernel(arguments)
        snapshot = await context.snapshot(uri)
        if snapshot is None:
            raise InvalidParams("The document is not open.")
        kernels = (kernel,) if kernel else ()
        try:
            target, path = target_of(uri)
            if not context.client.creates_files:
                await asyncio.to_thread(write, context, snapshot, kernels)
                if not context.client.shows_documents:
                    _tell(context, f"Wrote {path}", types.MessageType.Info)
                await open_(target)
                return target
            edit = edit_for(context, snapshot, kernels)
        except CannotWrite as error:
            raise verify.RequestFailed(str(error)) from None
        await context.ask(server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, "Translate to Rust")))
        await open_(target)
        return target

    async def open_(target: str) -> None:
        if context.client.shows_documents:
            await context.ask(server.window_show_document_async(types.ShowDocumentParams(uri=target)))

    async def show(*arguments: Json) -> None:
        uri, _ = _uri_and_kernel(arguments)
        try:
            target, _ = target_of(uri)
        except CannotWrite as error:
            raise InvalidParams(str(error)) from None
        await open_(target)

    async def preview(*arguments: Json) -> str:
        shown = await previews.show(*_uri_and_kernel(arguments))
        if not context.client.shows_documents:
            _tell(context, f"The Rust is in {path_of(shown) or shown}", types.MessageType.Info)
        return shown

    async def start(*arguments: Json) -> None:
        uri, kernel = _uri_and_kernel(arguments)
        context.spawn(_tried(context, verification.run(verify.VerifyParams(uri, kernel))))

    async def run(*arguments: Json) -> None:
        uri, kernel = _uri_and_kernel(arguments)
        context.spawn(_tried(context, run_kernel.run(verification, verify.VerifyParams(uri, kernel))))

    async def draft_(*arguments: Json) -> None:
        uri, kernel = _uri_and_kernel(arguments)
        if kernel is None:
            raise InvalidParams("A draft is of one kernel: name it.")
        context.spawn(_tried(context, drafts(draft.DraftParams(uri, kernel))))

    async def verify_rust(*arguments: Json) -> None:
        if not 1 <= len(arguments) <= 2 or not isinstance(arguments[0], str):
            raise InvalidParams("The arguments are a URI and, if wanted, a line.")
        line = arguments[1] if len(arguments) == 2 else None
        if line is not None and (not isinstance(line, int) or isinstance(line, bool)):
            raise InvalidParams("The line must be a whole number.")
        context.spawn(_tried(context, ports.run(arguments[0], line)))

    async def cancel(*arguments: Json) -> bool:
        uri, kernel = _uri_and_kernel(arguments) if arguments else (None, None)
        return verification.works.cancel(uri, kernel)

    async def verify_workspace_(*arguments: Json) -> None:
        if arguments:
            raise InvalidParams("There are no arguments.")
        context.spawn(_tried(context, verify_workspace.verify(context, verification, verify_workspace.Wanted())))

    async def debug(*arguments: Json) -> str:
        return debug_info.text(context)

    server.command(commands.TRANSLATE)(translate)
    server.command(commands.SHOW)(show)
    server.command(commands.PREVIEW)(preview)
    server.command(commands.VERIFY)(start)
    server.command(commands.RUN)(run)
    server.command(commands.CANCEL)(cancel)
    server.command(commands.DRAFT)(draft_)
    server.command(commands.VERIFY_RUST)(verify_rust)
    server.command(commands.VERIFY_WORKSPACE)(verify_workspace_)
    server.command(commands.DEBUG)(debug)


async def _tried(context: Context, work: Awaitable[object]) -> None:
    """What fails is told to the user."""
    try:
        await work
    except JsonRpcException as error:
        _tell(context, error.message, types.MessageType.Warning)
    except asyncio.CancelledError:
        _tell(context, "Cancelled.", types.MessageType.Info)


def _tell(context: Context, text: str, kind: types.MessageType) -> None:
    context.server.window_show_message(types.ShowMessageParams(kind, f"ferrotile: {text}"))


def _uri_and_kernel(arguments: tuple[object, ...]) -> tuple[str, str | None]:
    if not 1 <= len(arguments) <= 2 or not isinstance(arguments[0], str):
        raise InvalidParams("The arguments are a URI and, if wanted, a kernel's name.")
    kernel = arguments[1] if len(arguments) == 2 else None
    if kernel is not None and not isinstance(kernel, str):
        raise InvalidParams("The kernel's name must be text.")
    return arguments[0], kernel
