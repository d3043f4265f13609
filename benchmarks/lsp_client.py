"""A language server client that is just enough for timing: JSON-RPC over the server's standard streams."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


class Client:
    """A running server with one open document."""

    def __init__(self, command: Sequence[str], root: Path, pull: bool) -> None:
        self._pull = pull
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root
        )
        self._next_id = 0
        text: dict[str, Json] = {"publishDiagnostics": {"versionSupport": True}, "synchronization": {}}
        capabilities: Json = {"textDocument": text | ({"diagnostic": {}} if pull else {})}
        params: Json = {"processId": None, "rootUri": root.as_uri(), "capabilities": capabilities}
        self.request("initialize", params)
        self.notify("initialized", {})

    def _send(self, message: Mapping[str, Json]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Json]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) or not length:
            if not line and self._process.poll() is not None:
                raise RuntimeError("the server has ended")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message = json.loads(self._process.stdout.read(length))
        assert isinstance(message, dict)
        return message

    def _answer(self, message: dict[str, Json]) -> None:
        """Servers ask for settings and registrations; nothing of it matters here."""
        result: Json = None
        params = message.get("params")
        if message["method"] == "workspace/configuration" and isinstance(params, dict):
            items = params.get("items")
            result = [None] * (len(items) if isinstance(items, list) else 0)
        self._send({"id": message["id"], "result": result})

    def notify(self, method: str, params: Json) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: Json) -> Json:
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params})
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                self._answer(message)
            elif message.get("id") == self._next_id:
                return message.get("result")

    def diagnostics(self, uri: str, version: int) -> int:
        """Ask or wait for the diagnostics of this version of the document; returns how many there are."""
        if self._pull:
            report = self.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
            return _length(report, "items")
        while True:
            message = self._receive()
            if "method" in message and "id" in message:
                self._answer(message)
                continue
            params = message.get("params")
            if message.get("method") == "textDocument/publishDiagnostics" and isinstance(params, dict):
                found = params.get("version")
                if params.get("uri") == uri and (found is None or found == version):
                    return _length(params, "diagnostics")

    def close(self) -> None:
        self.request("shutdown", None)
        self.notify("exit", None)
        self._process.wait(10)


def _length(holder: Json, key: str) -> int:
    items = holder.get(key) if isinstance(holder, Mapping) else None
    if not isinstance(items, list):
        raise RuntimeError(f"no diagnostics: {holder}")
    return len(items)
