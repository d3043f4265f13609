"""The language server: wiring only. Entry points: `serve(argv)` and `python -m ferrotile_server.lsp`."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
from collections.abc import Sequence
from functools import partial
from typing import BinaryIO

from pygls.io_ import StdoutWriter
from pygls.lsp.server import LanguageServer

from ferrotile_server.application import Application
from ferrotile_server.lsp.context import PREVIEW_SCHEME, Context
from ferrotile_server.lsp.features import (
    code_action,
    code_lens,
    completion,
    content,
    debug_info,
    definition,
    diagnostics_pull,
    document_symbol,
    execute_command,
    hover,
    implementation,
    inlay_hint,
    lifecycle,
    preview_request,
    verify,
    watch_files,
)
from ferrotile_server.lsp.features.diagnostics_push import Publisher
from ferrotile_server.lsp.protocol import Protocol
from ferrotile_server.lsp.transport import FramingError, guard_stdout, parent_is_gone, read_frame

logger = logging.getLogger(__name__)

PARENT_POLL_S = 5.0
GRACE_S = 0.7
"""For compilers to stop; VS Code kills the server 2 s after `shutdown`."""
VERSION = "0.1.0"


class Server(LanguageServer):
    """pygls' server, whose faults go to the log and not into the user's face."""

    protocol: Protocol

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log; requests are answered with an error already."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)


def build(application: Application | None = None) -> tuple[Server, Context]:
    """A server with all its features; must be called inside the event loop."""
    server = Server("ferrotile", VERSION, protocol_cls=Protocol)
    server.protocol.schemes = (PREVIEW_SCHEME,)
    context = Context(server, application or Application())
    publisher = Publisher(context)
    diagnostics_pull.register(context)
    hover.register(context)
    code_action.register(context)
    code_lens.register(context)
    inlay_hint.register(context)
    document_symbol.register(context)
    completion.register(context)
    previews = content.register(context)
    implementation.register(context)
    definitions = definition.register(context, previews)
    verification = verify.register(context)
    preview_request.register(context)
    debug_info.register(context)
    execute_command.register(context, previews, verification)
    watch_files.register(context)
    lifecycle.register(context, publisher, previews, definitions, partial(watch_files.start, context))
    return server, context


async def run(stdin: BinaryIO, stdout: BinaryIO, application: Application | None = None) -> int:
    """Serve one editor until `exit`, the end of the stream, or the editor's death. The exit code."""
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    server, context = build(application)
    server.protocol.set_writer(StdoutWriter(stdout))
    server.protocol.on_exit = ended.set

    def read() -> None:
        try:
            while (frame := read_frame(stdin)) is not None:
                loop.call_soon_threadsafe(server.protocol.receive, frame.body)
        except FramingError as error:
            logger.error("the stream cannot be followed: %s", error)
        except (OSError, ValueError, RuntimeError):
            logger.error("the stream broke")
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, name="ferrotile-reader", daemon=True).start()
    watch = loop.create_task(_watch_parent(server, ended))
    await ended.wait()
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
    gc.set_threshold(50_000, 20, 20)  # a translation makes many small records and hardly a cycle
    code = asyncio.run(run(sys.stdin.buffer, channel, application))
    sys.stderr.flush()
    os._exit(code)  # a thread in a compiler must not keep us alive


def main() -> None:
    """For `ferrotile server`."""
    sys.exit(serve())
