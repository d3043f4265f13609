"""A blocking client that forgives nothing: garbage between frames, double answers, silence."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

from .prefork import FOLDERS, quick

ROOT = Path(__file__).resolve().parents[2]
FAKE = (sys.executable, str(Path(__file__).with_name("fake_server.py")))
REAL = (sys.executable, "-m", "ferrotile_server.lsp")
TIMEOUT_S = 180.0

Message = dict[str, object]


class Client:
    """One server process, `forked` where it need not be started from nothing. Requests of the server are answered;
    notifications are kept in order."""

    def __init__(
        self, command: tuple[str, ...] = FAKE, environment: dict[str, str] | None = None, forked: bool = True
    ) -> None:
        path = os.pathsep.join(FOLDERS)
        self.process = subprocess.Popen(
            quick(command, REAL, FAKE) if forked else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        )
        self.notifications: queue.Queue[Message] = queue.Queue()
        self.requests: list[Message] = []
        self.errors: list[str] = []
        self.settings: object = None
        self._answers: dict[object, Message] = {}
        self._answered: set[object] = set()
        self._changed = threading.Condition()
        self._next = 0
        self.log = b""
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_log, daemon=True).start()

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = None
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name == b"Content-Length":
                    length = int(value)
                elif name != b"Content-Type":
                    self.errors.append(f"garbage on stdout: {line!r}")
            if not line:
                return
            if length is None:
                self.errors.append("frame without a length")
                return
            self._take(json.loads(stream.read(length)))

    def _take(self, message: Message) -> None:
        with self._changed:
            if "method" in message and "id" in message:
                self.requests.append(message)
                result = [self.settings] if message["method"] == "workspace/configuration" else None
                if message["method"] == "workspace/applyEdit":
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"applied": True}})
                elif message["method"] == "window/showDocument":
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": {"success": True}})
                else:
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif "method" in message:
                self.notifications.put(message)
            else:
                if message["id"] is not None and message["id"] in self._answered:
                    self.errors.append(f"second answer to {message['id']}")
                self._answered.add(message["id"])
                self._answers[message["id"]] = message
            self._changed.notify_all()

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, params: object) -> int:
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        return self._next

    def wait(self, identity: object, timeout: float = TIMEOUT_S) -> Message:
        with self._changed:
            if not self._changed.wait_for(lambda: identity in self._answers, timeout):
                raise TimeoutError(f"no answer to {identity}; log:\n{self.log.decode()}")
            return self._answers.pop(identity)

    def is_answered(self, identity: object) -> bool:
        """Whether an answer is there that nobody has taken yet."""
        with self._changed:
            return identity in self._answers

    def answer(self, method: str, params: object) -> Message:
        """The whole answer, error or not."""
        return self.wait(self.start(method, params))

    def request(self, method: str, params: object) -> object:
        """The result; an error fails the test."""
        answer = self.answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, params: object) -> tuple[int, str]:
        """Code and message of the error that the request must give."""
        error = self.answer(method, params)["error"]
        assert isinstance(error, dict)
        return error["code"], error["message"]

    def notification(self, method: str, timeout: float = TIMEOUT_S) -> dict[str, object]:
        """Parameters of the next notification of this kind; others before it are dropped."""
        end = time.monotonic() + timeout
        while True:
            message = self.notifications.get(timeout=max(0.01, end - time.monotonic()))
            if message["method"] == method:
                params = message["params"]
                assert isinstance(params, dict)
                return params

    def wait_request(self, method: str, timeout: float = TIMEOUT_S) -> Message:
        """The first request of the server of this kind."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(r["method"] == method for r in self.requests), timeout)
            return next(r for r in self.requests if r["method"] == method)

    def initialize(self, capabilities: object, options: object = None) -> dict[str, object]:
        params = {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities}
        result = self.request("initialize", {**params, "initializationOptions": options})
        self.notify("initialized", {})
        assert isinstance(result, dict)
        return result

    def open(self, uri: str, text: str, version: int = 0) -> None:
        document = {"uri": uri, "languageId": "python", "version": version, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, version: int, *changes: object) -> None:
        params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)}
        self.notify("textDocument/didChange", params)

    def stop(self) -> None:
        """An orderly end; then nothing may have gone wrong on the way."""
        try:
            if self.process.poll() is None:
                self.request("shutdown", None)
                self.notify("exit", None)
            assert self.process.wait(10) == 0, self.log.decode()
            assert not self.errors, self.errors
        finally:
            self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
