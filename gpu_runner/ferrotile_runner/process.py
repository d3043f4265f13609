"""Child processes under supervision: a time limit, death with the parent, a bounded record of stderr.

A child that crashes, hangs or is killed gives a `ProcessError`; it never takes the caller with it. Nothing but the
standard library is needed: `worker.py` runs where ferrotile is not installed.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

from ferrotile_runner.workers import guard

STDERR_BYTES = 64 * 1024
MEMORY_BYTES = 16 * 1024**3
_POLL_SECONDS = 0.05


class Ending(Enum):
    """How a child failed to answer."""

    MISSING = "missing"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    CANCELLED = "cancelled"


class ProcessError(Exception):
    """A child did not answer. `stderr` is the end of what it said."""

    def __init__(self, ending: Ending, message: str, stderr: str = "") -> None:
        super().__init__(message if not stderr.strip() else f"{message}\n{stderr.strip()}")
        self.ending = ending
        self.stderr = stderr


class RpcError(Exception):
    """A child answered with a JSON-RPC error object."""

    def __init__(self, code: int, message: str, data: Mapping[str, object]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Command(NamedTuple):
    """A program and its arguments; `environment` is laid over this process's own; `memory` in bytes, 0 = no
    limit."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str] = MappingProxyType({})
    directory: Path | None = None
    memory: int = MEMORY_BYTES


class Completed(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: str


class _Tail:
    """Keeps the last bytes of a stream, read on a thread of its own; hands each line to `on_line`."""

    def __init__(self, stream: IO[bytes], limit: int, on_line: Callable[[str], None] | None = None) -> None:
        self._stream, self._limit, self._on_line = stream, limit, on_line
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True, name="stderr")
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            for line in iter(lambda: self._stream.readline(self._limit), b""):
                self._kept += line
                del self._kept[: -self._limit]
                if self._on_line is not None:
                    self._on_line(line.decode(errors="replace").rstrip())

    def text(self) -> str:
        self._thread.join(timeout=0.5)
        return bytes(self._kept).decode(errors="replace")


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and everything it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)


class _Scratch:
    """Where a child and what it starts keep their temporary files: compilers that are killed leave theirs behind."""

    def __init__(self) -> None:
        self._path = tempfile.mkdtemp(prefix="ferrotile-")
        self.environment = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), self._path)

    def remove(self) -> None:
        """Delete it; for a child that is gone."""
        shutil.rmtree(self._path, ignore_errors=True)


def _popen(command: Command, stdin: int, scratch: _Scratch) -> subprocess.Popen[bytes]:
    prefix = (sys.executable, "-I", "-S", guard.__file__, str(os.getpid()), str(command.memory))
    try:
        return subprocess.Popen(
            [*prefix, *command.arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **scratch.environment, **command.environment},
            cwd=command.directory,
            start_new_session=True,
        )
    except OSError as error:
        scratch.remove()
        raise ProcessError(Ending.MISSING, f"{command.arguments[0]}: {error}") from error


def ending(status: int) -> str:
    """An exit status in words: `ended with status 3`, `was killed by SIGKILL`."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}"


def _require_program(command: Command) -> None:
    if not Path(command.arguments[0]).is_file():
        raise ProcessError(Ending.MISSING, f"{command.arguments[0]} does not exist")


def run(
    command: Command,
    seconds: float,
    *,
    stdin: Path | None = None,
    on_stderr: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
) -> Completed:
    """Runs a program to its end, with the file `stdin` as its input. Any exit status is a result; only a missing
    program, time and `cancel` raise `ProcessError`. `on_stderr` gets each line, on another thread."""
    _require_program(command)
    scratch = _Scratch()
    with open(os.devnull if stdin is None else stdin, "rb") as given:
        process = _popen(command, given.fileno(), scratch)
    assert process.stdout is not None and process.stderr is not None
    tail = _Tail(process.stderr, STDERR_BYTES, on_stderr)
    output: list[bytes] = []
    stdout = process.stdout
    reader = threading.Thread(target=lambda: output.append(stdout.read()), daemon=True, name="stdout")
    reader.start()
    deadline = time.monotonic() + seconds
    try:
        while process.poll() is None:
            if cancel is not None and cancel.is_set():
                raise ProcessError(Ending.CANCELLED, "cancelled")
            if time.monotonic() > deadline:
                raise ProcessError(Ending.TIMEOUT, f"no end after {seconds:g} s", tail.text())
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_POLL_SECONDS)
    finally:
        if process.poll() is None:
            kill_group(process)
        scratch.remove()
    reader.join(timeout=5)
    return Completed(process.returncode, output[0] if output else b"", tail.text())


class _Child:
    """One running JSON-lines child. It is started and awaited on a thread of its own: on Linux the death
    signal of `guard.py` follows the *thread* that started the child, which must therefore live as long."""

    def __init__(self, command: Command) -> None:
        _require_program(command)
        self._scratch = _Scratch()
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self._started: queue.Queue[subprocess.Popen[bytes] | ProcessError] = queue.Queue()
        threading.Thread(target=self._own, args=(command,), daemon=True, name="child").start()
        started = self._started.get()
        if isinstance(started, ProcessError):
            raise started
        self.process = started
        assert started.stderr is not None
        self.tail = _Tail(started.stderr, STDERR_BYTES)

    def _own(self, command: Command) -> None:
        try:
            process = _popen(command, subprocess.PIPE, self._scratch)
        except ProcessError as error:
            self._started.put(error)
            return
        self._started.put(process)
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            for line in process.stdout:
                self.lines.put(line)
        process.wait()
        self._scratch.remove()
        self.lines.put(None)

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def end(self) -> str:
        """Kills the child and returns what it said on stderr."""
        kill_group(self.process)
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self._scratch.remove()
        return self.tail.text()


class JsonProcess:
    """A long-lived child that answers one JSON-RPC 2.0 object a line. It starts with the first call, and
    again with the first call after a crash. Calls from several threads wait for each other."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._id = 0

    def call(
        self,
        method: str,
        params: Mapping[str, object],
        seconds: float,
        cancel: threading.Event | None = None,
    ) -> Mapping[str, object]:
        """The `result` object. Raises `RpcError` for an error object and `ProcessError` when none came; after
        a `ProcessError` the child is gone."""
        with self._turn(cancel):
            child = self._running()
            self._id += 1
            request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
            try:
                child.send(json.dumps(request).encode() + b"\n")
                line = self._wait(child, seconds, cancel)
            except OSError as error:
                raise ProcessError(Ending.CRASHED, f"{method}: {error}", self._end()) from error
            except ProcessError as error:
                raise ProcessError(error.ending, f"{method}: {error}", self._end()) from None
            return self._result(method, line)

    def start(self) -> None:
        """Starts the child unless it runs, and does not wait until it is ready. Raises `ProcessError`."""
        with self._turn(None):
            self._running()

    def _running(self) -> _Child:
        if self._child is None or self._child.process.poll() is not None:
            self._end()
            self._child = _Child(self._command)
        return self._child

    @contextlib.contextmanager
    def _turn(self, cancel: threading.Event | None) -> Iterator[None]:
        """Waits for the other threads' calls, or for `cancel`."""
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            if cancel is not None and cancel.is_set():
                raise ProcessError(Ending.CANCELLED, "cancelled")
        try:
            yield
        finally:
            self._lock.release()

    def _wait(self, child: _Child, seconds: float, cancel: threading.Event | None) -> bytes:
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if cancel is not None and cancel.is_set():
                raise ProcessError(Ending.CANCELLED, "cancelled")
            if left <= 0:
                raise ProcessError(Ending.TIMEOUT, f"no answer after {seconds:g} s")
            try:
                line = child.lines.get(timeout=left if cancel is None else min(left, _POLL_SECONDS))
            except queue.Empty:
                continue
            if line is None:
                raise ProcessError(Ending.CRASHED, f"the process {ending(child.process.returncode)}")
            return line

    def _result(self, method: str, line: bytes) -> Mapping[str, object]:
        try:
            reply: object = json.loads(line)
        except ValueError:
            reply = None
        if isinstance(reply, dict) and reply.get("id") == self._id:
            error, result = reply.get("error"), reply.get("result")
            if isinstance(error, dict):
                data = error.get("data")
                raise RpcError(int(error["code"]), str(error["message"]), data if isinstance(data, dict) else {})
            if isinstance(result, dict):
                return result
        raise ProcessError(Ending.CRASHED, f"{method}: not an answer: {line[:200]!r}", self._end())

    def _end(self) -> str:
        if self._child is None:
            return ""
        said = self._child.end()
        self._child = None
        return said

    @property
    def pid(self) -> int | None:
        """The id of the child's process group, while one runs."""
        return None if self._child is None else self._child.process.pid

    def close(self) -> None:
        """Kills the child, also in the middle of another thread's call, which then raises `ProcessError`."""
        child = self._child
        if child is not None:
            child.end()
        with self._lock:
            self._end()
