"""The language server: wiring only. Entry points: `serve(argv)` and `python -m ferrotile_server.lsp`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Sequence
from functools import partial
from typing import BinaryIO

from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from ferrotile_server.application import Application
from ferrotile_server.lsp import garbage
from ferrotile_server.lsp.context import PREVIEW_SCHEME, Context
from ferrotile_server.lsp.features import (
    code_action,
    code_lens,
    completion,
    content,
    debug_info,
    definition,
    diagnostics_pull,
    diagnostics_workspace,
    document_symbol,
    draft,
    execute_command,
    export_crate,
    hover,
    implementation,
    inlay_hint,
    lifecycle,
    line_map,
    notebook_sync,
    preview_request,
    rename,
    run_kernel,
    rust_ports,
    verify,
    verify_workspace,
    watch_files,
    workspace_kernels,
)
from ferrotile_server.lsp.features.diagnostics_push import Publisher
from ferrotile_server.lsp.features.kernels import KernelLists
from ferrotile_server.lsp.protocol import Protocol
from ferrotile_server.lsp.transport import Writer, follow, guard_stdout, parent_is_gone

logger = logging.getLogger(__name__)

PARENT_POLL_S = 5.0
GRACE_S = 0.7
"""For compilers to stop; VS Code kills the server 2 s after `shutdown`."""
SWITCH_S = 0.0005
"""How long a thread may keep the interpreter while the event loop waits for it. Python's own 5 ms are half of what a
request may take."""
VERSION = "0.1.0"


class Server(LanguageServer):
    """pygls' server, whose faults go to the log and not into the user's face."""

    protocol: Protocol

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log; requests are answered with an error already. What was refused for a good reason is no fault, and some
        editors show all that is logged."""
        refused = isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError)
        level = logging.INFO if refused else logging.ERROR
        logger.log(level, "%s: %s", getattr(source, "__name__", source), error)


def build(application: Application | None = None) -> tuple[Server, Context]:
    """A server with all its features; must be called inside the event loop."""
    server = Server("ferrotile", VERSION, protocol_cls=Protocol, notebook_document_sync=notebook_sync.SYNC)
    server.protocol.schemes = (PREVIEW_SCHEME,)
    context = Context(server, application or Application())
    context.tell = server.protocol.tell
    server.protocol.checks_workspace = lambda: context.settings.checks_workspace
    publisher = Publisher(context)
    diagnostics_pull.register(context)
    diagnostics_workspace.register(context)
    hover.register(context)
    code_action.register(context)
    code_lens.register(context)
    inlay_hint.register(context)
    document_symbol.register(context)
    completion.register(context)
    rename.register(context)
    previews = content.register(context)
    implementation.register(context)
    definitions = definition.register(context, previews)
    verification = verify.register(context)
    run_kernel.register(context, verification)
    ports = rust_ports.register(context, verification)
    verify_workspace.register(context, verification)
    preview_request.register(context)
    line_map.register(context)
    debug_info.register(context)
    drafts = draft.register(context, previews, verification)
    execute_command.register(context, previews, verification, drafts, ports)
    export_crate.register(context)
    workspace_kernels.register(context)
    watch_files.register(context)
    lists = KernelLists(context)
    lifecycle.register(context, publisher, previews, definitions, lists, ports, partial(watch_files.start, context))
    return server, context


async def run(stdin: BinaryIO, stdout: BinaryIO, application: Application | None = None) -> int:
    """Serve one editor until `exit`, the end of the stream, or the editor's death. The exit code."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    server, context = build(application)
    server.protocol.set_writer(Writer(stdout, ended.set))
    server.protocol.on_exit = ended.set
    heard = loop.time()

    def receive(body: bytes) -> None:
        nonlocal heard
        heard = loop.time()
        server.protocol.receive(body)

    follow(stdin, receive, ended.set)
    watches = (
        loop.create_task(_watch_parent(server, ended)),
        loop.create_task(garbage.collect_in_silence(lambda: loop.time() - heard)),
    )
    await ended.wait()
    for watch in watches:
        watch.cancel()
    context.progress.cancel_all()
    await asyncio.sleep(0.05)  # lets runners see their cancel flag
    closing = threading.Thread(target=context.application.close, daemon=True)
    closing.start()
    closing.join(GRACE_S)
    return 1 if server.protocol.exit_code is None else server.protocol.exit_code


async def _watch_parent(server: Server, ended: asyncio.Event) -> None:
    started_by = os.getppid()
    while not parent_is_gone(server.process_id, started_by):
        await asyncio.sleep(PARENT_POLL_S)
    logger.error("the editor is gone")
    ended.set()


def serve(argv: Sequence[str] = (), application: Application | None = None) -> int:
    """Serve on standard input and output. `argv`: `--stdio` (as editors add it) and `--verbose`."""
    unknown = [a for a in argv if a not in ("--stdio", "--verbose") and not a.startswith("--clientProcessId")]
    if unknown:
        print(f"ferrotile server: unknown argument {unknown[0]}", file=sys.stderr)
        return 2
    level = logging.DEBUG if "--verbose" in argv else logging.WARNING
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("ferrotile_server").setLevel(level)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # it logs whole messages, document text included
    channel = guard_stdout()
    garbage.begin()
    sys.setswitchinterval(SWITCH_S)
    code = asyncio.run(run(sys.stdin.buffer, channel, application))
    sys.stderr.flush()
    os._exit(code)  # a thread in a compiler must not keep us alive


def main() -> None:
    """For `ferrotile server`."""
    sys.exit(serve())
