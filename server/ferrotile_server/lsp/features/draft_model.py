"""The models of drafts in an editor: its own (`ferrotile/complete`, asked of a client that said `completes`), else the
endpoint of the server's environment.

`ferrotile/complete`, from the server to the client: `{"draft", "messages": [{"role", "content"}], "tokens"}`, the
first being the token of the `ferrotile/draft` that asks. Answer `{"text", "promptTokens"?, "answerTokens"?, "cut"?}`;
or an error whose `data.passing` says whether asking again may help. Cancelled by `$/cancelRequest`."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import Future
from threading import Event

from msgspec import Struct
from pygls.exceptions import JsonRpcException

from ferrotile_server.drafting.answer import LARGEST_ANSWER
from ferrotile_server.drafting.destination import destination_of
from ferrotile_server.drafting.model import Answer, Model, ModelError, Question, Say, Trouble, Usage, tokens_of
from ferrotile_server.drafting.replay import plain
from ferrotile_server.lsp.context import Context

METHOD = "ferrotile/complete"
CANCEL = "$/cancelRequest"
_LOOK_S = 0.05
_SAY_S = 1.0


class Chosen(Struct, frozen=True):
    """A model and its name."""

    model: Model
    name: str


def model_of(context: Context, draft: str | int | None, name: str) -> Chosen:
    """The model of a draft: the editor's, where it has one and the request names it, else the endpoint's. Raises
    `NoDestination`."""
    if context.client.completes and draft is not None:
        return Chosen(EditorModel(context, draft), name or "a model of the editor")
    from ferrotile_server.drafting.endpoint import Endpoint  # not for editors with models of their own

    destination = destination_of("", "", os.environ)
    return Chosen(Endpoint(destination), destination.model)


class EditorModel:
    """Called in the draft's thread; asks through the event loop."""

    def __init__(self, context: Context, draft: str | int) -> None:
        self._context, self._draft = context, draft
        self._loop = asyncio.get_running_loop()

    def __call__(self, question: Question, cancel: Event, say: Say) -> Answer:
        """The editor's answer. Raises `ModelError`."""
        identity = str(uuid.uuid4())
        messages = plain(question.messages)
        params: dict[str, object] = {"draft": self._draft, "messages": messages, "tokens": question.tokens}
        done: Future[object] = Future()
        withdrawn: dict[str, object] = {"id": identity}
        self._loop.call_soon_threadsafe(self._ask, identity, params, done)
        began = told = time.monotonic()
        while not done.done():
            if cancel.wait(_LOOK_S) or time.monotonic() - began > question.seconds:
                self._loop.call_soon_threadsafe(self._context.tell, CANCEL, withdrawn)
                usage = Usage(question.estimate, 0, estimated=True)
                if cancel.is_set():
                    raise ModelError(Trouble.CANCELLED, "cancelled", usage=usage)
                raise ModelError(Trouble.TIMEOUT, f"no answer within {question.seconds:.0f} s", usage=usage)
            if time.monotonic() - told >= _SAY_S:
                told = time.monotonic()
                say(f"waiting for {told - began:.0f} s")
        error = done.exception()
        if error is not None:
            raise _trouble(error)
        return _answer(done.result(), question)

    def _ask(self, identity: str, params: dict[str, object], done: Future[object]) -> None:
        """On the event loop: send the request, and pass on what becomes of it."""

        def pass_on(asked: Future[object]) -> None:
            error = asked.exception()
            if error is None:
                done.set_result(asked.result())
            else:
                done.set_exception(error)

        try:
            self._context.server.protocol.send_request(METHOD, params, msg_id=identity).add_done_callback(pass_on)
        except Exception as error:
            done.set_exception(error)


def _trouble(error: BaseException) -> ModelError:
    """What a client's error means: final, unless it says that it passes."""
    if not isinstance(error, JsonRpcException):
        return ModelError(Trouble.BROKEN, "the editor's model cannot be asked")
    data = _mapping(error.data)
    trouble = Trouble.SERVER if data.get("passing") is True else Trouble.REFUSED
    return ModelError(trouble, " ".join(str(error.message).split())[:300] or "the editor's model refuses")


def _answer(result: object, question: Question) -> Answer:
    """Check a client's answer. Raises `ModelError`."""
    given = _mapping(result)
    text = given.get("text")
    if not isinstance(text, str):
        raise ModelError(Trouble.MALFORMED, "the editor answered without text")
    prompt, answer = (_count(given.get(key)) for key in ("promptTokens", "answerTokens"))
    usage = Usage(
        question.estimate if prompt is None else prompt,
        tokens_of(text) if answer is None else answer,
        estimated=prompt is None or answer is None,
    )
    return Answer(text[: LARGEST_ANSWER + 1], usage, given.get("cut") is True)


def _mapping(value: object) -> Mapping[str, object]:
    """An object of JSON, as it is or as pygls makes one of answers to requests that it does not know."""
    if isinstance(value, Mapping):
        return value
    as_dict = getattr(value, "_asdict", None)
    found = as_dict() if callable(as_dict) else None
    return found if isinstance(found, Mapping) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
