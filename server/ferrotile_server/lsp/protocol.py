"""pygls' protocol, hardened and on shorter ways: every request gets exactly one answer, whatever is in it, and nothing
ends the server but the editor. The faults of pygls 2.1.1 that this repairs are listed in
tests/lsp/test_hostile_input.py."""

from __future__ import annotations

import contextvars
import json
import logging
import typing
from collections.abc import Callable, Generator

import msgspec
from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    RPCMessage,
)
from pygls.protocol.language_server import lsp_method

from ferrotile_server.lsp.cleaning import structurable
from ferrotile_server.lsp.lean_types import checked
from ferrotile_server.lsp.session import pulls, renames

if typing.TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

logger = logging.getLogger(__name__)

DOCUMENTS = frozenset(
    (
        types.TEXT_DOCUMENT_DID_OPEN,
        types.TEXT_DOCUMENT_DID_CHANGE,
        types.TEXT_DOCUMENT_DID_CLOSE,
        types.NOTEBOOK_DOCUMENT_DID_OPEN,
        types.NOTEBOOK_DOCUMENT_DID_CHANGE,
        types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    )
)  # pygls keeps documents with `str.splitlines`, which destroys code below a form feed. Ours: documents.py.

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR, NOT_INITIALIZED = -32700, -32600, -32602, -32603, -32002
CUSTOM = "ferrotile/"
_SCALARS = frozenset((str, int, float, bool, type(None)))

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
        self.checks_workspace: Callable[[], bool] = lambda: False
        """Whether files that are not open have diagnostics; asked once the first settings are known."""
        self._initialized = False
        self._encoder = msgspec.json.Encoder(enc_hook=self._plain)
        super().__init__(server, converter)

    def receive(self, body: bytes) -> None:
        """Take one message. Never raises."""
        try:
            message = _decoded(body)
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
            with checked():
                structured = self.structure_message(message)
        except JsonRpcException as error:
            logger.error("bad parameters for %s", method)
            if is_request:
                self._refuse(identity, INVALID_PARAMS, f"{method}: {error.message or 'invalid parameters'}")
            return
        if method == types.INITIALIZE:
            self._initialized = True
        if method is None:
            self.handle_message(structured)
            return
        params = getattr(structured, "params", None)
        if is_request:
            contextvars.copy_context().run(self._handle_request, typing.cast("int | str", identity), method, params)
        elif method in DOCUMENTS:
            self._tell(method, params)
        else:
            contextvars.copy_context().run(self._handle_notification, method, params)

    def _tell(self, method: str, params: object) -> None:
        """The short way of what comes with every key."""
        handler = self.fm.features.get(method)
        if handler is None:
            return
        try:
            handler(params)
        except Exception:
            logger.exception("%s failed", method)

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

    def tell(self, method: str, params: dict[str, object]) -> None:
        """Send a notification that is plain JSON values throughout."""
        self._send_data({"jsonrpc": "2.0", "method": method, "params": params})

    def _send_response(
        self, msg_id: int | str, result: object = None, error: types.ResponseError | None = None
    ) -> None:
        """Send an answer; one that is encoded already as it is."""
        if error is None and isinstance(result, msgspec.Raw):
            self._result_types.pop(msg_id, None)
            self._send_data({"jsonrpc": "2.0", "id": msg_id, "result": result})
        else:
            super()._send_response(msg_id, result, error)

    def _send_data(self, data: object) -> None:
        """Encode and write one message. `json` and its calls back into Python cost four times as much."""
        if self.writer is None:
            logger.error("there is nowhere to write to")
            return
        try:
            plain = _plain_message(data) or self._converter.unstructure(data)
            try:
                body = self._encoder.encode(plain)
            except UnicodeEncodeError:  # half a character, from a text of the editor's own
                body = json.dumps(plain, default=self._plain).encode()
        except Exception:
            logger.exception("a message could not be encoded")
            identity = getattr(data, "id", None)
            if identity is None:
                return
            error = {"code": INTERNAL_ERROR, "message": "The answer could not be written."}
            body = self._encoder.encode({"jsonrpc": "2.0", "id": identity, "error": error})
        self.writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def _plain(self, value: object) -> object:
        """What the encoder does not know: LSP values inside plain ones."""
        made: object = self._converter.unstructure(value)
        if made is value:
            raise TypeError(f"{type(value).__name__} cannot be sent")
        return made

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
        if not pulls(params.capabilities):
            result.capabilities.diagnostic_provider = None
        elif result.capabilities.diagnostic_provider is not None:
            result.capabilities.diagnostic_provider.workspace_diagnostics = self.checks_workspace()
        text = params.capabilities.text_document
        if text is None or text.implementation is None:
            result.capabilities.implementation_provider = None
        if not renames(params.capabilities, params.initialization_options):
            result.capabilities.rename_provider = None
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

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: object) -> Generator[object, object, None]:
        """Cancel what runs. pygls goes through its list while those that are cancelled leave it."""
        handler = self.fm.features.get(types.SHUTDOWN)
        if handler is not None:
            yield handler, args, None
        own = self.msg_id
        for identity, running in list(self._request_futures.items()):
            if identity != own and not running.done():
                running.cancel()
        self._shutdown = True

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
        handler = self.fm.features.get(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
        if handler is not None:
            yield handler, (params,), None


def _plain_message(data: object) -> dict[str, object] | None:
    """A message that is plain values throughout, as the answers to our own methods are; None for any other, which the
    converter has to go through."""
    if isinstance(data, dict):
        return data
    if isinstance(data, JsonRPCResponseMessage) and _is_plain(data.result):
        return {"id": data.id, "jsonrpc": data.jsonrpc, "result": data.result}
    if isinstance(data, JsonRPCNotification) and _is_plain(data.params):
        return {"method": data.method, "jsonrpc": data.jsonrpc, "params": data.params}
    return None


def _is_plain(value: object) -> bool:
    kind = type(value)
    if kind in _SCALARS:
        return True
    if kind is dict:
        return all(map(_is_plain, value.values()))  # type: ignore[attr-defined]
    return kind is list and all(map(_is_plain, value))  # type: ignore[call-overload]


def encoded(result: object) -> msgspec.Raw:
    """An answer that is plain JSON values throughout, encoded: much shorter a way than through LSP's own classes."""
    try:
        return msgspec.Raw(msgspec.json.encode(result))
    except UnicodeEncodeError:  # half a character, from a text of the editor's own
        return msgspec.Raw(json.dumps(result).encode())


def _decoded(body: bytes) -> object:
    """A message as plain values. Raises `ValueError` or `RecursionError`."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):  # it takes no escaped half of a character; `json` does
        return json.loads(body.decode("utf-8"))
