"""Every request is answered exactly once: cancelled, repeated, out of order, around the end of the session. The client
fails a test for a second answer; `settled` for one too few."""

from __future__ import annotations

import subprocess

import pytest

from .conftest import TRUSTED, capabilities
from .lsp_client import ENVIRONMENT
from .strict_client import FAKE, Client, Message
from .texts import AT, KERNEL, REFUSED, URI, head

pytestmark = pytest.mark.timeout(60)

CANCELLED = -32800
ASKED: tuple[tuple[str, object], ...] = (
    ("textDocument/hover", head()),
    ("textDocument/diagnostic", AT),
    ("textDocument/codeLens", AT),
    ("textDocument/documentSymbol", AT),
    ("textDocument/completion", head()),
    ("textDocument/implementation", head()),
    (
        "textDocument/inlayHint",
        {**AT, "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}},
    ),
    ("ferrotile/debugInformation", {}),
    ("no/such", {}),
    ("textDocument/hover", {}),
)


def slow() -> Client:
    """A server whose analysis takes 50 ms."""
    made = Client(environment={"FAKE_DELAY": "0.05"})
    made.initialize(capabilities("vscode"), TRUSTED)
    return made


def settled(client: Client, identities: list[int]) -> dict[int, Message]:
    """The answers; then a last request shows that there is nothing to come."""
    answers = {identity: client.wait(identity, 20) for identity in identities}
    client.request("ferrotile/debugInformation", {})
    return answers


def test_cancelled_at_once() -> None:
    client = slow()
    try:
        client.open(URI, REFUSED)
        identities = []
        for method, params in ASKED * 3:
            identities.append(client.start(method, params))
            client.notify("$/cancelRequest", {"id": identities[-1]})
        for answer in settled(client, identities).values():
            assert ("result" in answer) != ("error" in answer)
        client.stop()
    finally:
        client.kill()


def test_cancelled_late_twice_and_never_made(vscode: Client) -> None:
    vscode.open(URI, KERNEL)
    identity = vscode.start("textDocument/hover", head())
    assert "result" in vscode.wait(identity)
    for unknown in (identity, identity, 10_000, "text", None, [], True):
        vscode.notify("$/cancelRequest", {"id": unknown})
    vscode.notify("$/cancelRequest", {})
    assert vscode.request("textDocument/hover", head()) is not None


def test_a_request_waiting_for_its_analysis_is_cancelled() -> None:
    client = Client(environment={"FAKE_DELAY": "1"})
    try:
        client.initialize(capabilities("vscode"), TRUSTED)
        client.open(URI, KERNEL)
        first, second = client.start("textDocument/hover", head()), client.start("textDocument/hover", head())
        client.notify("$/cancelRequest", {"id": first})
        error = client.wait(first)["error"]
        assert isinstance(error, dict) and error["code"] == CANCELLED
        assert not client.is_answered(second)  # the analysis is still to come
        assert client.wait(second)["result"] is not None  # the analysis itself goes on for others
        client.stop()
    finally:
        client.kill()


def test_answers_that_nobody_asked_for(vscode: Client) -> None:
    vscode.open(URI, KERNEL)
    running = vscode.start("ferrotile/debugInformation", {})
    for identity in (running, 77, "nobody", None):
        vscode.send({"jsonrpc": "2.0", "id": identity, "result": None})
        vscode.send({"jsonrpc": "2.0", "id": identity, "error": {"code": 1, "message": "no"}})
    vscode.send({"jsonrpc": "2.0", "id": 78})
    assert "result" in settled(vscode, [running])[running]
    assert vscode.request("textDocument/hover", head()) is not None


def test_changes_before_and_after_their_document(vscode: Client) -> None:
    vscode.change(URI, 4, {"text": "early"})
    assert vscode.request("textDocument/hover", head()) is None
    vscode.open(URI, KERNEL, 5)
    assert vscode.request("textDocument/hover", head()) is not None
    vscode.notify("textDocument/didClose", AT)
    vscode.change(URI, 6, {"text": KERNEL})
    assert vscode.request("textDocument/hover", head()) is None
    vscode.notify("textDocument/didClose", AT)


def test_requests_in_flight_at_shutdown() -> None:
    client = slow()
    try:
        client.open(URI, KERNEL.replace("add", "slow"))
        identities = [client.start(method, params) for method, params in ASKED]
        work = client.start("ferrotile/verify", {"uri": URI})
        arguments = [{"uri": URI, "kernel": "slow"}]
        command = client.start(
            "workspace/executeCommand", {"command": "ferrotile.server.verify", "arguments": arguments}
        )
        end = client.start("shutdown", None)
        late = client.start("textDocument/hover", head())
        assert client.wait(end, 5)["result"] is None
        for identity in (*identities, work, command, late):
            answer = client.wait(identity, 5)
            assert ("result" in answer) != ("error" in answer)
        client.notify("exit", None)
        assert client.process.wait(5) == 0
        assert not client.errors
    finally:
        client.kill()


def test_after_shutdown_everything_is_refused(client: Client) -> None:
    client.initialize({})
    client.request("shutdown", None)
    for method, params in (*ASKED, ("shutdown", None), ("initialize", {"processId": None, "capabilities": {}})):
        assert client.error(method, params)[0] == -32600
    client.open(URI, KERNEL)
    client.notify("exit", None)
    assert client.process.wait(5) == 0


def test_one_identity_for_two_requests(vscode: Client) -> None:
    """The editor's mistake; both are answered, and the server lives."""
    vscode.open(URI, KERNEL)
    for _ in range(2):
        vscode.send({"jsonrpc": "2.0", "id": "same", "method": "textDocument/hover", "params": head()})
    assert vscode.wait("same")["result"] is not None
    vscode.request("ferrotile/debugInformation", {})
    assert vscode.errors == ["second answer to same"]
    vscode.errors.clear()


def test_an_editor_that_reads_no_more_ends_the_server() -> None:
    server = subprocess.Popen(
        FAKE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT, bufsize=0
    )
    try:
        assert server.stdin is not None and server.stdout is not None
        server.stdout.close()
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover"}'
        server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert server.wait(20) == 1
    finally:
        server.kill()
        server.wait()
