"""An OpenAI-compatible endpoint on this machine that answers as a script says, one entry a request, the last one for
ever; and keeps what it was sent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-scripted-4711-do-not-tell"


class Request:
    """What came in: headers in small letters, the body as JSON."""

    def __init__(self, path: str, headers: dict[str, str], body: dict[str, object]) -> None:
        self.path, self.headers, self.body = path, headers, body


class Handler(BaseHTTPRequestHandler):
    """One connection; the server has the script."""

    protocol_version = "HTTP/1.1"
    server: Endpoint

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append(Request(self.path, headers, body))
        number = min(len(self.server.requests), len(self.server.script)) - 1
        self.server.script[number](self)

    def plain(self, status: int, text: str, **headers: str) -> None:
        """A whole answer at once."""
        data = text.encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin(self) -> None:
        """A stream of events whose end is the connection's."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def piece(self, text: str, finish: str | None = None) -> None:
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
        self.event(json.dumps({**_CHUNK, "choices": [choice]}))


_CHUNK: dict[str, object] = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}

Turn = Callable[[Handler], None]


class Endpoint(ThreadingHTTPServer):
    """The server; `url` is what `--base-url` takes."""

    daemon_threads = True

    def __init__(self, script: Sequence[Turn]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script, self.requests = tuple(script), list[Request]()
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is part of a test."""


@contextmanager
def endpoint(*script: Turn) -> Iterator[Endpoint]:
    """Serve a script while a test runs."""
    server = Endpoint(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()


def says(text: str, prompt: int = 100, answer: int = 20, finish: str = "stop") -> Turn:
    """A whole answer, streamed in pieces, with its usage."""

    def turn(handler: Handler) -> None:
        handler.begin()
        for at in range(0, len(text), 50):
            handler.piece(text[at : at + 50])
        handler.piece("", finish)
        usage = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}
        handler.event(json.dumps({**_CHUNK, "choices": [], "usage": usage}))
        handler.event("[DONE]")

    return turn


def refuses(status: int, message: str = "no", **headers: str) -> Turn:
    """An error, as OpenAI words it."""
    text = json.dumps({"error": {"message": message, "type": "error", "code": None}})
    return lambda handler: handler.plain(status, text, **headers)


def breaks(text: str) -> Turn:
    """A stream that ends in the middle."""

    def turn(handler: Handler) -> None:
        handler.begin()
        handler.piece(text)

    return turn


def garbage(handler: Handler) -> None:
    """Events that are not JSON."""
    handler.begin()
    handler.event("{not json")


def hangs(handler: Handler) -> None:
    """Silence until the test ends."""
    handler.server.ended.wait(20)


def drips(handler: Handler) -> None:
    """An answer without end, a piece at a time."""
    handler.begin()
    while not handler.server.ended.is_set():
        handler.piece("x")
        time.sleep(0.01)


def rust(body: str) -> str:
    """An answer as a good model gives it."""
    return f"Here it is.\n\n```rust\n{body.rstrip()}\n```\n"
