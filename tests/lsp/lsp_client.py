"""pytest-lsp's client, with a stricter eye: nothing but frames on the server's stdout, one answer to each request, no
message that the editor did not say it can take, and nothing unfinished at the end."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient
from pytest_lsp.client import register_lsp_features

from .prefork import quick
from .strict_client import FAKE, REAL

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
CAPABILITIES = Path(__file__).with_name("capabilities")
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(str(ROOT / p) for p in ("translation", "gpu_runner", "server")),
}
TIMEOUT_S = 180.0

NEEDS = {
    types.WORKSPACE_CODE_LENS_REFRESH: "workspace.codeLens.refreshSupport",
    types.WORKSPACE_INLAY_HINT_REFRESH: "workspace.inlayHint.refreshSupport",
    types.WORKSPACE_DIAGNOSTIC_REFRESH: "workspace.diagnostics.refreshSupport",
    types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH: "workspace.textDocumentContent",
    types.WORKSPACE_CONFIGURATION: "workspace.configuration",
    types.WORKSPACE_APPLY_EDIT: "workspace.applyEdit",
    types.WINDOW_WORK_DONE_PROGRESS_CREATE: "window.workDoneProgress",
    types.WINDOW_SHOW_DOCUMENT: "window.showDocument.support",
}
"""What an editor must have said before the server may ask it."""

REGISTERED = {
    types.TEXT_DOCUMENT_DEFINITION: "textDocument.definition.dynamicRegistration",
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: "workspace.didChangeWatchedFiles.dynamicRegistration",
}
"""The same for what is registered while a session runs."""


class Stream(Protocol):
    def readline(self) -> Awaitable[bytes]: ...
    def readexactly(self, n: int) -> Awaitable[bytes]: ...


class StrictReader:
    """The server's stdout. pygls' client passes over whatever is no header; here it is a fault."""

    def __init__(self, stream: Stream, look_at: Callable[[dict[str, object]], None], faults: list[str]) -> None:
        self._stream = stream
        self._look_at = look_at
        self._faults = faults

    async def readline(self) -> bytes:
        line = await self._stream.readline()
        if line not in (b"", b"\r\n") and not line.startswith((b"Content-Length: ", b"Content-Type: ")):
            self._faults.append(f"garbage on stdout: {line!r}")
        return line

    async def readexactly(self, n: int) -> bytes:
        body = await self._stream.readexactly(n)
        self._look_at(json.loads(body))
        return body


class StrictClient(LanguageClient):
    """One session with one server process. `finish` ends it and fails for every fault on the way."""

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        register_lsp_features(self)
        self.faults: list[str] = []
        self.requests: list[dict[str, object]] = []
        self.log = b""
        self._over = False
        self._notified: dict[str, asyncio.Queue[object]] = {}
        self._asked: dict[str, asyncio.Event] = {}
        self._answered: set[object] = set()
        self._abilities: dict[str, object] = {}
        for method in (
            types.WORKSPACE_CODE_LENS_REFRESH,
            types.WORKSPACE_INLAY_HINT_REFRESH,
            types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH,
            types.WORKSPACE_APPLY_EDIT,
            types.CLIENT_REGISTER_CAPABILITY,
            types.CLIENT_UNREGISTER_CAPABILITY,
        ):
            self.feature(method)(_ANSWERS.get(method, _nothing))

    async def start_io(self, cmd: str, *args: str, **kwargs: object) -> None:
        """As pytest-lsp's, with a reader that forgives nothing and a log that tests can read."""
        pipe = asyncio.subprocess.PIPE
        environment = kwargs.get("env")
        assert environment is None or isinstance(environment, dict)
        command = quick((cmd, *args), REAL, FAKE)
        server = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=ROOT
        )
        assert server.stdin and server.stdout and server.stderr
        self._server = server
        self.protocol.set_writer(server.stdin)
        reading = run_async(
            stop_event=self._stop_event,
            reader=StrictReader(server.stdout, self.look_at, self.faults),
            protocol=self.protocol,
            logger=logging.getLogger("pygls.client"),
            error_handler=self.report_server_error,
        )
        self._async_tasks += [asyncio.create_task(t) for t in (reading, self._server_exit())]
        self._stderr_forwarder = asyncio.create_task(self._read_log(server.stderr))

    async def _read_log(self, stream: asyncio.StreamReader) -> None:
        while line := await stream.readline():
            self.log += line

    def report_server_error(self, error: Exception, source: object) -> None:
        """Whatever pygls or a check of pytest-lsp does not like."""
        if not isinstance(error, JsonRpcException):
            self.faults.append(f"{type(error).__name__}: {error}")

    def look_at(self, message: dict[str, object]) -> None:
        """Check one message of the server, and keep it for `notification` and `request`."""
        method, identity = message.get("method"), message.get("id")
        if message.get("jsonrpc") != "2.0":
            self.faults.append(f"not JSON-RPC 2.0: {message}")
        if not isinstance(method, str):
            self._look_at_answer(message, identity)
            return
        if "id" not in message:
            self._queue(method).put_nowait(message.get("params"))
            return
        params = message.get("params")
        changed = params.get("registrations") or params.get("unregisterations") if isinstance(params, dict) else None
        needs = [REGISTERED.get(c["method"]) for c in changed] if changed else [NEEDS.get(method)]
        if not all(need is not None and self._can(need) for need in needs):
            self.faults.append(f"{method} was asked of an editor that did not offer it")
        self.requests.append(message)
        self._asked.setdefault(method, asyncio.Event()).set()

    def _look_at_answer(self, message: dict[str, object], identity: object) -> None:
        if ("result" in message) == ("error" in message):
            self.faults.append(f"neither or both of result and error: {message}")
        if identity in self._answered:
            self.faults.append(f"second answer to {identity}")
        elif identity not in self.protocol._request_futures:
            self.faults.append(f"answer to a request that was never made: {identity}")
        self._answered.add(identity)

    def _can(self, ability: str) -> bool:
        found: object = self._abilities
        for name in ability.split("."):
            found = found.get(name) if isinstance(found, dict) else None
        return bool(found)

    def _queue(self, method: str) -> asyncio.Queue[object]:
        return self._notified.setdefault(method, asyncio.Queue())

    async def begin(self, editor: str, options: object = None, **more: object) -> types.InitializeResult:
        """Initialize as `editor`, whose capabilities are in the folder of that name; `more` replaces areas of them."""
        loaded = json.loads((CAPABILITIES / f"{editor}.json").read_text(encoding="utf-8"))
        self._abilities = {**loaded, **more}
        capabilities = self.protocol._converter.structure(self._abilities, types.ClientCapabilities)
        params = types.InitializeParams(capabilities, initialization_options=options)
        return await timely(self.initialize_session(params))

    def open(self, uri: str, text: str, version: int = 0) -> None:
        self.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, types.LanguageKind.Python, version, text))
        )

    def change(self, uri: str, version: int, *changes: types.TextDocumentContentChangeEvent | str) -> None:
        """A text replaces all of the document."""
        made = [types.TextDocumentContentChangeWholeDocument(c) if isinstance(c, str) else c for c in changes]
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, made))

    async def notification(self, method: str) -> dict[str, object]:
        """The parameters of the next notification of this kind that no test has looked at yet."""
        params = await timely(self._queue(method).get())
        assert isinstance(params, dict)
        return params

    async def asked(self, method: str) -> None:
        """Wait until the server has asked this of the editor."""
        await timely(self._asked.setdefault(method, asyncio.Event()).wait())

    async def custom(self, method: str, params: object, identity: str | None = None) -> object:
        """A request that is not in LSP; `$/cancelRequest` may name its `identity`."""
        return await timely(self.protocol.send_request_async(method, params, identity))

    async def finish(self) -> None:
        """An orderly end; then nothing may have gone wrong, and nothing may be left open."""
        if self._over:
            return
        self._over = True
        await timely(self.shutdown_session())
        assert self._server is not None
        assert self._server.returncode == 0, self.log.decode()
        assert not self.faults, self.faults
        for token, reports in self.progress_reports.items():
            kinds = [r.kind for r in reports]
            assert kinds[:1] == ["begin"], (token, kinds)
            assert kinds.count("end") == 1 and kinds[-1] == "end", (token, kinds)

    def abandon(self) -> None:
        """The server refused the session: there is nothing to end."""
        self._over = True
        self.kill()

    def kill(self) -> None:
        """For the end of a test that failed."""
        if self._server is not None and self._server.returncode is None:
            self._server.kill()


async def timely(work: Awaitable[T], seconds: float = TIMEOUT_S) -> T:
    """The result of `work`, which may not take longer."""
    return await asyncio.wait_for(work, seconds)


async def refusal(work: Awaitable[object]) -> tuple[int, str]:
    """Code and message of the error that a request must give."""
    try:
        result = await timely(work)
    except JsonRpcException as error:
        return error.code, error.message
    raise AssertionError(f"not refused: {result}")


def _nothing(*_: object) -> None:
    return None


def _applied(_: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
    return types.ApplyWorkspaceEditResult(applied=True)


_ANSWERS = {types.WORKSPACE_APPLY_EDIT: _applied}


def titles(lenses: Sequence[types.CodeLens] | None) -> list[str]:
    """What lenses say."""
    return [lens.command.title for lens in lenses or () if lens.command]
