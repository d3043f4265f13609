"""A language server client that is just enough for timing: JSON-RPC over the server's standard streams, on one thread,
so that no hand-over of the client's own is in the times."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
TIMEOUT_S = 120.0

CAPABILITIES: dict[str, Json] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
}
WORKSPACE_CAPABILITIES: dict[str, Json] = {"configuration": True, "workspaceFolders": True, "textDocumentContent": {}}
TEXT_CAPABILITIES: dict[str, Json] = {
    "publishDiagnostics": {"versionSupport": True},
    "synchronization": {},
    "hover": {"contentFormat": ["markdown", "plaintext"]},
    "completion": {"completionItem": {}},
    "inlayHint": {},
    "definition": {},
    "implementation": {},
    "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
}


class Client:
    """A running server. `started` is when its process was made, `published` what it has sent of its own accord:
    (time, version, number of diagnostics)."""

    def __init__(self, command: Sequence[str], root: Path, pull: bool) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root, bufsize=0
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._buffer = bytearray()
        self._next_id = 0
        self._pull = pull
        self._results: dict[int, Json] = {}
        self.published: list[tuple[float, str, int | None, int]] = []
        text = TEXT_CAPABILITIES | ({"diagnostic": {}} if pull else {})
        # As the editors that ask for diagnostics: without it ferrotile would tell them as well.
        work = WORKSPACE_CAPABILITIES | ({"diagnostics": {"refreshSupport": True}} if pull else {})
        params: Json = {
            "processId": os.getpid(),
            "rootUri": root.as_uri(),
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            "capabilities": CAPABILITIES | {"textDocument": text, "workspace": work},
        }
        self.offers = self.request("initialize", params)
        self.ready = time.perf_counter()
        self.notify("initialized", {})

    @property
    def pid(self) -> int:
        return self._process.pid

    def _send(self, message: Mapping[str, Json]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data = memoryview(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        while data:
            data = data[os.write(self._stdin, data) :]

    def _receive(self, until: float) -> dict[str, Json] | None:
        """The next message; None where there is none by then."""
        while (message := self._taken()) is None:
            left = until - time.perf_counter()
            if left <= 0 or not self._selector.select(left):
                return None
            data = os.read(self._stdout, 1 << 20)
            if not data:
                raise RuntimeError("the server has ended")
            self._buffer += data
        return message

    def _taken(self) -> dict[str, Json] | None:
        head, separator, _ = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return None
        fields = dict(line.lower().split(":", 1) for line in head.decode("ascii").split("\r\n"))
        start, length = len(head) + 4, int(fields["content-length"])
        if len(self._buffer) < start + length:
            return None
        message = json.loads(self._buffer[start : start + length])
        del self._buffer[: start + length]
        assert isinstance(message, dict)
        return message

    def _note(self, message: dict[str, Json]) -> None:
        """Answer what the server asks, keep what it answers and publishes."""
        params, identity = message.get("params"), message.get("id")
        if "method" not in message:
            assert isinstance(identity, int)
            self._results[identity] = message.get("result")
        elif "id" in message:
            result: Json = None
            if message["method"] == "workspace/configuration" and isinstance(params, dict):
                items = params.get("items")
                result = [None] * (len(items) if isinstance(items, list) else 0)
            self._send({"id": identity, "result": result})
        elif message.get("method") == "textDocument/publishDiagnostics" and isinstance(params, dict):
            version = params.get("version")
            assert version is None or isinstance(version, int)
            self.published.append((time.perf_counter(), str(params["uri"]), version, _length(params, "diagnostics")))

    def notify(self, method: str, params: Json) -> None:
        self._send({"method": method, "params": params})

    def begin(self, method: str, params: Json) -> int:
        """Send a request; `finish` gets its result."""
        self._next_id += 1
        self._send({"id": self._next_id, "method": method, "params": params})
        return self._next_id

    def answered(self, identity: int) -> bool:
        """Whether the result of a request has come, as far as the messages that were taken tell."""
        return identity in self._results

    def finish(self, identity: int) -> Json:
        end = time.perf_counter() + TIMEOUT_S
        while identity not in self._results:
            message = self._receive(end)
            if message is None:
                raise TimeoutError("no answer")
            self._note(message)
        return self._results.pop(identity)

    def request(self, method: str, params: Json) -> Json:
        return self.finish(self.begin(method, params))

    def timed(self, method: str, params: Json) -> tuple[float, Json]:
        """Milliseconds until the result, and the result."""
        start = time.perf_counter()
        result = self.request(method, params)
        return (time.perf_counter() - start) * 1e3, result

    def open(self, uri: str, text: str) -> None:
        document: Json = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, uri: str, version: int, change: Json) -> None:
        identifier: Json = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})

    def diagnostics(self, uri: str, version: int) -> int:
        """Ask or wait for the diagnostics of this version of the document; returns how many there are."""
        if self._pull:
            return _length(self.request("textDocument/diagnostic", {"textDocument": {"uri": uri}}), "items")
        end = time.perf_counter() + TIMEOUT_S
        seen = 0
        while True:
            for _, where, found, number in self.published[seen:]:
                if where == uri and (found is None or found >= version):
                    return number
            seen = len(self.published)
            message = self._receive(end)
            if message is None:
                raise TimeoutError("no diagnostics")
            self._note(message)

    def listen(self, seconds: float) -> None:
        """Take what the server sends until it has been silent for so long."""
        while (message := self._receive(time.perf_counter() + seconds)) is not None:
            self._note(message)

    def memory(self) -> float:
        """Resident memory of the server and its children, in MiB; Linux only."""
        return sum(_resident(pid) for pid in _family(self.pid)) / 1024

    def processor(self) -> float:
        """Milliseconds of processor time that the server and its children have had; Linux only."""
        ticks = sum(_ticks(pid) for pid in _family(self.pid))
        return ticks * 1e3 / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.request("shutdown", None)
        self.notify("exit", None)
        self._process.wait(10)


def _length(holder: Json, key: str) -> int:
    items = holder.get(key) if isinstance(holder, Mapping) else None
    if not isinstance(items, list):
        raise RuntimeError(f"no diagnostics: {holder}")
    return len(items)


def _family(pid: int) -> list[int]:
    children = [int(p) for f in Path(f"/proc/{pid}/task").glob("*/children") for p in f.read_text().split()]
    return [pid, *(p for child in children for p in _family(child))]


def _resident(pid: int) -> int:
    """KiB; 0 for a child that has just ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")), 0)


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
