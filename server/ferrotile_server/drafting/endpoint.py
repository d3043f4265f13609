"""A model behind any OpenAI-compatible endpoint, by the `openai` SDK, which is optional (`pip install
'ferrotile[draft]'`). One streamed request an answer; what goes wrong is one of few troubles, in plain words. The SDK's
own retries are off: the loop's know the budget. Redirects are not followed, so that text goes where the user said."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Iterable, Mapping, MutableMapping
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from ferrotile_server.drafting.answer import LARGEST_ANSWER
from ferrotile_server.drafting.destination import Destination, NoDestination
from ferrotile_server.drafting.model import (
    CHARACTERS_A_TOKEN,
    Answer,
    ModelError,
    Question,
    Say,
    Trouble,
    Usage,
    tokens_of,
)

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

INSTALL = "drafts need the `openai` package: pip install 'ferrotile[draft]'"
SILENCE_S = 180.0
"""Without a byte for so long, a connection counts as dead; models that think first are silent for minutes."""
CONNECT_S = 20.0
_LOOK_S = 0.05
_SAY_S = 1.0
_CHARACTERS = 8
"""An answer of more characters a token than this is longer than the limit it was given."""
_HEADERS = frozenset(
    ("accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "host", "user-agent")
)
"""All that is sent: not the SDK's notes about this machine, nor an organisation's name meant for another endpoint."""

_LIMITS = ("max_tokens", "max_completion_tokens", "")
"""How an answer's length is limited: old endpoints know the first, new ones the second, and some refuse a number that
they find too large; then the answer is cut here. What an endpoint takes is found out once."""
MOST_ANSWER = 32_000
"""Tokens of one answer that are asked for at most; thinking included, where a model thinks."""


class Endpoint:
    """A model at a destination. `silence`: seconds. Raises `NoDestination` where the SDK is missing."""

    def __init__(self, destination: Destination, silence: float = SILENCE_S) -> None:
        try:
            import openai  # optional, and slow
        except ImportError:
            raise NoDestination(INSTALL) from None
        self._openai = openai
        self._destination, self._silence = destination, silence
        self._limit = 0
        self._counts = True

    def __call__(self, question: Question, cancel: Event, say: Say) -> Answer:
        """One request, in a thread of its own: whatever hangs there, this ends with the time or the event."""
        http = self._openai.DefaultHttpxClient(
            follow_redirects=False,
            event_hooks={"request": [self._only_ours]},
            timeout=self._timeout(question.seconds),
        )
        client = self._openai.OpenAI(
            api_key=self._destination.key.text or "none",
            base_url=self._destination.base_url,
            max_retries=0,
            http_client=http,
        )
        done: SimpleQueue[Answer | ModelError] = SimpleQueue()
        heard = _Heard()

        def work() -> None:
            try:
                answer = self._request(client, question, heard)
                done.put(replace(answer, text=self._destination.key.out_of(answer.text)))
            except ModelError as error:
                done.put(error)
            except BaseException as error:
                done.put(self._error(error, question, heard))

        Thread(target=work, name="ferrotile-draft-request", daemon=True).start()
        result = self._until(done, heard, question, cancel, say)
        client.close()
        if isinstance(result, ModelError):
            raise result
        return result

    def _until(
        self, done: SimpleQueue[Answer | ModelError], heard: _Heard, question: Question, cancel: Event, say: Say
    ) -> Answer | ModelError:
        began = told = time.monotonic()
        while True:
            try:
                return done.get(timeout=_LOOK_S)
            except Empty:
                now = time.monotonic()
            if cancel.is_set():
                return ModelError(Trouble.CANCELLED, "cancelled", usage=heard.usage(question))
            if now - began > question.seconds:
                text = f"no whole answer within {question.seconds:.0f} s"
                return ModelError(Trouble.TIMEOUT, text, usage=heard.usage(question))
            if now - told >= _SAY_S:
                told = now
                say(f"{heard.characters} characters after {now - began:.0f} s" if heard.characters else "waiting")

    def _request(self, client: OpenAI, question: Question, heard: _Heard) -> Answer:
        """Read the stream to its end; what no endpoint takes is left out on the way."""
        while True:
            try:
                with self._open(client, question) as stream:
                    return _read(stream, question, heard, self._most(question))
            except self._openai.BadRequestError as error:
                if self._counts and "stream_options" in str(error):
                    self._counts = False
                elif _LIMITS[self._limit] and "max_" in str(error):
                    self._limit += 1
                else:
                    raise

    def _open(self, client: OpenAI, question: Question) -> Stream[ChatCompletionChunk]:
        extra: dict[str, object] = {"stream_options": {"include_usage": True}} if self._counts else {}
        if limit := _LIMITS[self._limit]:
            extra[limit] = min(question.tokens, MOST_ANSWER)
        messages = [{"role": m.role.value, "content": m.content} for m in question.messages]
        return client.chat.completions.create(
            model=self._destination.model,
            messages=cast("Iterable[ChatCompletionMessageParam]", messages),
            stream=True,
            extra_body=extra,
            timeout=self._timeout(question.seconds),
        )

    def _most(self, question: Question) -> int:
        """Characters of the longest answer that is read."""
        characters = _CHARACTERS if _LIMITS[self._limit] else CHARACTERS_A_TOKEN
        return min(LARGEST_ANSWER, characters * question.tokens)

    def _timeout(self, seconds: float) -> float:
        return max(0.1, min(self._silence, seconds))

    def _only_ours(self, request: _Request) -> None:
        """A hook of the HTTP client: drop what the SDK adds of its own, and a key that is none."""
        for name in list(request.headers):
            if name.lower() not in _HEADERS or (name.lower() == "authorization" and not self._destination.key.text):
                del request.headers[name]

    def _error(self, error: BaseException, question: Question, heard: _Heard) -> ModelError:
        """A trouble for every exception; without the key, whoever repeats it."""
        made = self._trouble(error)
        usage = heard.usage(question) if heard.characters else Usage()
        return ModelError(made.trouble, self._destination.key.out_of(made.message), made.wait, usage)

    def _trouble(self, error: BaseException) -> ModelError:
        openai, host = self._openai, self._destination.host
        match error:
            case openai.RateLimitError():
                wait = wait_of(error.response.headers, time.time())
                return ModelError(Trouble.RATE, f"{host} limits the rate of requests", wait)
            case openai.APITimeoutError():
                return ModelError(Trouble.TIMEOUT, f"{host} is silent")
            case openai.APIConnectionError():
                return ModelError(Trouble.BROKEN, f"no connection to {host}: {_cause(error)}")
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return ModelError(Trouble.REFUSED, f"{host} refuses the key ({error.status_code}): {_short(error)}")
            case openai.APIStatusError():
                if error.status_code >= 500 or error.status_code in (408, 409):
                    wait = wait_of(error.response.headers, time.time())
                    return ModelError(Trouble.SERVER, f"{host} has a fault ({error.status_code})", wait)
                if 300 <= error.status_code < 400:
                    text = f"{host} sends requests elsewhere ({error.status_code}); nothing is sent there"
                    return ModelError(Trouble.REFUSED, text)
                return ModelError(Trouble.REFUSED, f"{host} refuses ({error.status_code}): {_short(error)}")
            case openai.APIError():
                return ModelError(Trouble.SERVER, f"{host} reports in its stream: {_short(error)}")
            case _ if type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2"):
                if "Timeout" in type(error).__name__:
                    return ModelError(Trouble.TIMEOUT, f"{host} fell silent within its answer")
                return ModelError(Trouble.BROKEN, f"{host} broke its answer off: {_short(error)}")
            case OSError():
                return ModelError(Trouble.BROKEN, f"no connection to {host}: {_short(error)}")
            case _:
                return ModelError(Trouble.MALFORMED, f"{host} answers with what is no completion: {_short(error)}")


class _Request(Protocol):
    """A request of the HTTP client, whose own type differs between versions of the SDK."""

    @property
    def headers(self) -> MutableMapping[str, str]: ...


class _Heard:
    """How far an answer has come, told from one thread to the other."""

    def __init__(self) -> None:
        self.characters = 0

    def usage(self, question: Question) -> Usage:
        """What an answer that broke off has cost, about."""
        return Usage(question.estimate, -(-self.characters // 3), estimated=True)


class _Counts(Struct, frozen=True):
    """Usage as the endpoint reports it; 0 where it does not."""

    prompt: int = 0
    answer: int = 0


def _read(stream: Stream[ChatCompletionChunk], question: Question, heard: _Heard, most: int) -> Answer:
    """The text of a stream. Raises `ModelError` where it ends without saying why."""
    parts: list[str] = []
    counts: _Counts | None = None
    finish = ""
    for chunk in stream:
        if chunk.usage is not None:
            counts = _Counts(_count(chunk.usage.prompt_tokens), _count(chunk.usage.completion_tokens))
        for choice in (chunk.choices or ())[:1]:
            piece = choice.delta.content
            if piece:
                parts.append(_text(piece))
                heard.characters += len(piece)
            finish = choice.finish_reason or finish
        if heard.characters > most:
            finish = "length"
            break
    text = "".join(parts)
    if not finish:
        usage = heard.usage(question)
        raise ModelError(Trouble.BROKEN, f"the answer broke off after {heard.characters} characters", usage=usage)
    usage = Usage(question.estimate, tokens_of(text), estimated=True)
    if counts is not None and counts.prompt + counts.answer > 0:
        usage = Usage(counts.prompt, counts.answer)
    return Answer(text, usage, cut=finish == "length")


def _text(piece: object) -> str:
    if not isinstance(piece, str):
        raise TypeError("`content` is not text")
    return piece


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def wait_of(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds of `Retry-After`, given as a number or as a date; None where it says nothing that can be read."""
    given = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(given)) if given.lower() not in ("nan", "inf", "-inf") else None
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(given).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _cause(error: BaseException) -> str:
    return _short(error.__cause__ or error)


def _short(error: BaseException) -> str:
    """The first line of a message, printable and not long."""
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(c for c in text if c.isprintable())[:300]
