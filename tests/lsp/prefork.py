"""Servers that start at once. To import a server is half a second, hundreds of times: here one process has done it, and
forks for each test. What the tests see is a process with standard streams of its own, as ever: a launcher, which hands
its streams over and ends when its server does, and whose end is its server's."""

from __future__ import annotations

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [str(ROOT / p) for p in ("translation", "gpu_runner", "server")]
POSSIBLE = hasattr(os, "fork") and hasattr(socket, "send_fds") and sys.platform != "darwin"
_LENGTH = 4
_POLL_S = 0.01

LAUNCHER = """
import json, os, signal, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
body = json.dumps([sys.argv[2:], dict(os.environ), os.getcwd()]).encode()
socket.send_fds(connection, [len(body).to_bytes(4, "big")], [0, 1, 2])
connection.sendall(body)
nothing = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nothing, stream)
status = connection.recv(1)
os._exit(status[0] if status else 1)
"""


def quick(command: Sequence[str], real: Sequence[str], fake: Sequence[str]) -> tuple[str, ...]:
    """What starts the same server as `command` without importing it anew; `command` itself where it is neither
    `real` nor `fake`."""
    kind = {tuple(real): "real", tuple(fake): "fake"}.get(tuple(command))
    if kind is None or not POSSIBLE:
        return tuple(command)
    return (sys.executable, "-I", "-S", "-c", LAUNCHER, _address(), kind)


@cache
def _address() -> str:
    """The socket of this session's forking process, which ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="ferrotile-tests-")
    path = os.path.join(folder.name, "socket")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(FOLDERS)}
    process = subprocess.Popen(
        (sys.executable, __file__, path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=ROOT
    )
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.kill()
        process.wait()
        folder.cleanup()

    atexit.register(end)
    return path


class _Forker:
    """Forks a server for each connection, tells its exit code, and kills it when the connection ends."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)
        self._children: dict[int, socket.socket] = {}

    def run(self) -> None:
        """Until the tests end."""
        while True:
            for key, _ in self._selector.select(_POLL_S if self._children else None):
                if key.fileobj == 0:
                    return
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    assert isinstance(key.data, int)
                    self._selector.unregister(key.fileobj)
                    os.kill(key.data, signal.SIGKILL)
            self._reap()

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        head, streams, _, _ = socket.recv_fds(connection, _LENGTH, 3)
        length, body = int.from_bytes(head, "big"), b""
        while len(body) < length:
            body += connection.recv(length - len(body))
        (kind, *arguments), environment, folder = json.loads(body)
        pid = os.fork()
        if pid == 0:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            for other in (connection, self._listener, *self._children.values()):
                other.close()
            self._selector.close()
            os.environ.clear()
            os.environ.update(environment)
            os.chdir(folder)
            _serve(kind, arguments)
        for stream in streams:
            os.close(stream)
        self._children[pid] = connection
        self._selector.register(connection, selectors.EVENT_READ, pid)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            connection = self._children.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            try:
                self._selector.unregister(connection)
                connection.send(bytes([code if code >= 0 else 128 - code]))
            except (KeyError, OSError):
                pass  # the launcher was killed
            connection.close()


def _serve(kind: str, arguments: list[str]) -> None:
    """A server's whole life. Does not return."""
    code = 1
    try:
        code = fake_server.main(arguments) if kind == "fake" else serve(arguments)
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    import gc

    gc.disable()
    from ferrotile_server.lsp import lean_types

    lean_types.load()

    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import fake_server  # type: ignore[import-not-found]
    import ferrotile.translate  # noqa: F401
    from ferrotile_server.lsp.server import serve

    with socket.socket(socket.AF_UNIX) as made:
        made.bind(sys.argv[1])
        made.listen(64)
        print("ready", flush=True)
        _Forker(made).run()
