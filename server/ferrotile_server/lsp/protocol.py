"""pygls' protocol, hardened: every request gets exactly one answer, whatever is in it, and nothing ends
the server
but the editor. The faults of pygls 2.1.1 that this repairs are listed in tests/lsp/test_hostile_input.py."""

from __future__ import annotations

import json
import logging
import typing
from collections.abc import Callable, Generator

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, RPCMessage
from pygls.protocol.language_server import lsp_method

from ferrotile_server.lsp.cleaning import structurable

if typing.TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, NOT_INITIALIZED = -32700, -32600, -32602, -32002
CUSTOM = "ferrotile/"

Json = dict[str, object] | list[object] | str | int | float | bool | None
"""Parameters of a custom method, not yet checked. Not `object`: pygls would pass the server in its place."""


class InvalidParams(JsonRpcInvalidParams):
    """The parameters of a request are not what the method takes."""

    def __init__(self, message: str) -> None:
        super().__init__(message=message)


class Protocol(LanguageServerProtocol):
    """One connection to one editor."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        self.exit_code: int | None = None
        self.on_exit: Callable[[], None] = lambda: None
        self.schemes: tuple[str, ...] = ()
        self._initialized = False
        super().__init__(server, converter)

    def receive(self, body: bytes) -> None:
        """Take one message. Never raises."""
        try:
            message = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            logger.error("a message is not JSON")
            self._refuse(None, PARSE_ERROR, "The message is not JSON in UTF-8.")
            return
        if not isinstance(message, dict):
            self._refuse(None, INVALID_REQUEST, "Batches are not part of LSP.")
            return
        try:
            self._dispatch(message)
        except Exception:
            logger.exception("a message was dropped")

    def _dispatch(self, message: dict[str, object]) -> None:
        method, identity = message.get("method"), message.get("id")
        if method is not None and not isinstance(method, str):
            self._refuse(identity, INVALID_REQUEST, "`method` is not text.")
            return
        is_request = method is not None and "id" in message
        if is_request and (isinstance(identity, bool) or not isinstance(identity, int | str)):
            self._refuse(None, INVALID_REQUEST, "`id` is neither a number nor text.")
            return
        message.setdefault("jsonrpc", "2.0")
        if method is not None and not self._may_run(method, identity, is_request):
            return
        try:
            structured = self.structure_message(message)
        except JsonRpcException as error:
            logger.error("bad parameters for %s", method)
            if is_request:
                self._refuse(identity, INVALID_PARAMS, f"{method}: {error.message or 'invalid parameters'}")
            return
        if method == types.INITIALIZE:
            self._initialized = True
        self.handle_message(structured)

    def _may_run(self, method: str, identity: object, is_request: bool) -> bool:
        """Whether the life cycle allows this method now; a request that it does not allow is answered
        here."""
        reason = None
        if method == types.EXIT:
            return True
        if self._shutdown:
            reason = (INVALID_REQUEST, "The server is shutting down.")
        elif method == types.INITIALIZE and self._initialized:
            reason = (INVALID_REQUEST, "`initialize` may be sent once.")
        elif not self._initialized and method != types.INITIALIZE:
            reason = (NOT_INITIALIZED, "The server is not initialized.")
        if reason is None:
            return True
        if is_request:
            self._refuse(identity, *reason)
        return False

    def _refuse(self, identity: object, code: int, text: str) -> None:
        self._send_data({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": text}})

    def structure_message(self, data: dict[str, object]) -> RPCMessage:
        """Structure a message; custom methods keep their parameters as plain JSON for their own checks."""
        method = data.get("method")
        if isinstance(method, str) and method.startswith((CUSTOM, "$/setTrace")):
            if method == types.SET_TRACE:
                return JsonRPCNotification(method=method, jsonrpc="2.0", params=data.get("params"))
            if "id" in data:
                return JsonRPCRequestMessage(
                    id=typing.cast("int | str", data["id"]),
                    method=method,
                    jsonrpc="2.0",
                    params=data.get("params"),
                )
            return JsonRPCNotification(method=method, jsonrpc="2.0", params=data.get("params"))
        if method == types.INITIALIZE and isinstance(data.get("params"), dict):
            data = {**data, "params": self._clean(typing.cast("dict[str, object]", data["params"]))}
        return typing.cast("RPCMessage", super().structure_message(data))

    def _clean(self, params: dict[str, object]) -> dict[str, object]:
        """Drop from `initialize` what this version of the protocol does not know, instead of refusing the
        editor."""
        cleaned = dict(params)
        if cleaned.get("trace") not in ("off", "messages", "verbose"):
            cleaned.pop("trace", None)
        capabilities = cleaned.get("capabilities")
        cleaned["capabilities"] = structurable(
            capabilities if isinstance(capabilities, dict) else {}, types.ClientCapabilities, self._converter
        )
        return cleaned

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[object, object, types.InitializeResult]:
        """Add the capability that pygls 2.1.1 does not build; leave out what is for the editor's own documents alone
        (registered where it can be), and what the editor did not ask for."""
        result = yield from super().lsp_initialize(params)
        if self.schemes:
            workspace = result.capabilities.workspace or types.WorkspaceOptions()
            workspace.text_document_content = types.TextDocumentContentOptions(schemes=list(self.schemes))
            result.capabilities.workspace = workspace
        result.capabilities.definition_provider = None
        text = params.capabilities.text_document
        if text is None or text.implementation is None:
            result.capabilities.implementation_provider = None
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: object) -> Generator[object, object, None]:
        """Ask the main loop to end; 0 after `shutdown`, else 1."""
        self.exit_code = 0 if self._shutdown else 1
        self.on_exit()
        yield from ()

    @lsp_method(types.SET_TRACE)
    def lsp_set_trace(self, params: object) -> Generator[object, object, None]:
        """Accepted and not used: the editor's client traces for itself."""
        yield from ()

    # pygls keeps documents with `str.splitlines`, which destroys code below a form feed. Ours: documents.py.
    def _own(self, method: str, params: object) -> Generator[object, object, None]:
        handler = self.fm.features.get(method)
        if handler is not None:
            yield handler, (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> Generator[object, object, None]:
        yield from self._own(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[object, object, None]:
        yield from self._own(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> Generator[object, object, None]:
        yield from self._own(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Generator[object, object, object]:
        """Commands check their own arguments."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise InvalidParams(f"There is no command `{params.command}`.")
        result = yield handler, tuple(params.arguments or ()), None
        return result

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(
        self, params: types.WorkDoneProgressCancelParams
    ) -> Generator[object, object, None]:
        yield from self._own(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, params)
