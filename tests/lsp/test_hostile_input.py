"""Input that takes pygls 2.1.1 down, leaves it silent or destroys its text; ours answers and lives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from .conftest import capabilities
from .strict_client import FAKE, REAL, Client
from .texts import AT, KERNEL, URI, head

pytestmark = pytest.mark.timeout(180)

ENCODINGS = {
    "utf-8": lambda text: len(text.encode()),
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
}


def alive(client: Client) -> None:
    assert "text" in client.request("ferrotile/debugInformation", {})  # type: ignore[operator]


def text_of(client: Client, uri: str = URI) -> str:
    """What the server holds, seen through the fake translator's preview: only for texts without kernels."""
    content = client.request("workspace/textDocumentContent", {"uri": f"ferrotile-rs:/x.rs?uri={uri}"})
    assert isinstance(content, dict)
    return str(content["text"])


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/hover", {}),
        ("textDocument/hover", {"textDocument": 5, "position": None}),
        ("textDocument/codeAction", {"textDocument": {"uri": URI}}),
        ("ferrotile/verify", None),
        ("ferrotile/verify", {"uri": 5}),
        ("ferrotile/verify", {"uri": URI, "rungs": ["sudo"]}),
        ("ferrotile/previewUri", []),
        ("codeAction/resolve", {"title": "x", "data": {"uri": 3}}),
        ("workspace/textDocumentContent", {"uri": "file:///etc/passwd"}),
        ("workspace/executeCommand", {"command": "ferrotile.server.translate", "arguments": []}),
        ("workspace/executeCommand", {"command": "rm", "arguments": ["-rf"]}),
    ],
)
def test_bad_parameters_are_answered(vscode: Client, method: str, params: object) -> None:
    assert vscode.error(method, params)[0] == -32602
    alive(vscode)


def test_unknown_request_and_notification(vscode: Client) -> None:
    assert vscode.error("no/such", {})[0] == -32601
    vscode.notify("no/such", {})
    alive(vscode)


def test_unknown_enum_values_in_initialize(client: Client) -> None:
    given = capabilities("vscode")
    given["workspace"]["symbol"] = {"symbolKind": {"valueSet": [1, 2, 9999]}}  # type: ignore[index]
    given["workspace"]["workspaceEdit"]["resourceOperations"] = ["create", "teleport"]  # type: ignore[index]
    given["workspace"]["workspaceEdit"]["failureHandling"] = "shrug"  # type: ignore[index]
    given["textDocument"]["hover"]["contentFormat"] = ["markdown", "hologram"]  # type: ignore[index]
    given["textDocument"]["publishDiagnostics"]["tagSupport"] = {"valueSet": [1, 77]}  # type: ignore[index]
    params = {"processId": None, "rootUri": None, "capabilities": given, "trace": "loud"}
    result = client.request("initialize", params)
    assert result["capabilities"]["hoverProvider"]  # type: ignore[index]
    client.notify("initialized", {})
    client.open(URI, KERNEL)
    assert "```" in str(client.request("textDocument/hover", head()))
    assert "virtual documents True" in str(client.request("ferrotile/debugInformation", {}))


@pytest.mark.parametrize("body", [b'{"jsonrpc": ', b"\xff\xfe{}", b"[" * 100_000])
def test_not_json(vscode: Client, body: bytes) -> None:
    vscode.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert vscode.wait(None)["error"]["code"] == -32700  # type: ignore[index]
    alive(vscode)


def test_batch_and_odd_shapes(vscode: Client) -> None:
    for body in (b"[]", b"5", b'{"id": {}, "method": "shutdown"}', b'{"method": 7, "id": 900}', b"{}"):
        vscode.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    alive(vscode)


def test_header_names_of_any_case(vscode: Client) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": "x", "method": "ferrotile/debugInformation"}).encode()
    vscode.raw(b"content-type: y\r\nCONTENT-length: %d\r\n\r\n%s" % (len(body), body))
    assert "result" in vscode.wait("x")


def test_oversized_message_ends_the_server(vscode: Client) -> None:
    vscode.raw(b"Content-Length: 2000000000\r\n\r\n")
    assert vscode.process.wait(5) == 1
    vscode.process.returncode = 0


def test_life_cycle(client: Client) -> None:
    assert client.error("textDocument/hover", head())[0] == -32002
    client.initialize({})
    assert client.error("initialize", {"processId": None, "rootUri": None, "capabilities": {}})[0] == -32600
    client.request("shutdown", None)
    assert client.error("textDocument/hover", head())[0] == -32600
    client.notify("exit", None)
    assert client.process.wait(5) == 0


def test_exit_without_shutdown(client: Client) -> None:
    client.initialize({})
    client.notify("exit", None)
    assert client.process.wait(5) == 1
    client.process.returncode = 0


def test_end_of_stream(client: Client) -> None:
    client.initialize({})
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(5) == 1
    client.process.returncode = 0


def test_unopened_file(vscode: Client) -> None:
    vscode.change("file:///w/never.py", 2, {"text": "x"})
    vscode.notify("textDocument/didClose", {"textDocument": {"uri": "file:///w/never.py"}})
    assert vscode.request("textDocument/hover", head()) is None
    assert vscode.request("textDocument/codeLens", AT) == []
    alive(vscode)


def test_older_version_is_ignored(vscode: Client) -> None:
    vscode.open(URI, KERNEL, 5)
    vscode.change(URI, 3, {"text": ""})
    assert vscode.request("textDocument/hover", head()) is not None


def test_form_feed_does_not_shift_lines(vscode: Client) -> None:
    vscode.open(URI, "x = 1\x0c\u2028\x85\n" + KERNEL)
    place = {"start": {"line": 5, "character": 4}, "end": {"line": 5, "character": 8}}
    vscode.change(URI, 1, {"range": place, "text": "REFUSE"})
    report = vscode.request("textDocument/diagnostic", AT)
    assert report["items"][0]["range"]["start"] == {"line": 5, "character": 4}  # type: ignore[index]


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_astral_characters(client: Client, encoding: str) -> None:
    given = {**capabilities("vscode"), "general": {"positionEncodings": [encoding]}}
    assert client.initialize(given)["capabilities"]["positionEncoding"] == encoding  # type: ignore[index]
    before = "    s = '😀é\U0001d54f'; "
    client.open(URI, KERNEL.replace("    pass", before + "here"))
    column = ENCODINGS[encoding](before)
    place = {"start": {"line": 4, "character": column}, "end": {"line": 4, "character": column + 4}}
    client.change(URI, 1, {"range": place, "text": "REFUSE"})
    report = client.request("textDocument/diagnostic", AT)
    assert report["items"][0]["range"] == {  # type: ignore[index]
        "start": {"line": 4, "character": column},
        "end": {"line": 4, "character": column + 6},
    }


def test_lone_surrogate_and_absurd_positions(vscode: Client) -> None:
    vscode.raw(b"")
    vscode.open(URI, KERNEL + "# \ud83d\n")
    far = {"start": {"line": 10**6, "character": 0}, "end": {"line": 2**31 - 1, "character": 2**31 - 1}}
    vscode.change(URI, 1, {"range": far, "text": "# end\n"})
    position = {"line": 10**9, "character": 10**9}
    vscode.request("textDocument/hover", {**AT, "position": position})
    alive(vscode)


def test_fault_of_the_translator_is_a_diagnostic(vscode: Client) -> None:
    vscode.open(URI, KERNEL + "# CRASH\n")
    report = vscode.request("textDocument/diagnostic", AT)
    assert report["items"][0]["code"] == "FT900"  # type: ignore[index]
    vscode.change(URI, 1, {"text": KERNEL})
    assert vscode.request("textDocument/hover", head()) is not None


def test_burst_of_100_edits() -> None:
    client = Client(environment={"FAKE_DELAY": "0.02"})
    try:
        client.initialize(capabilities("minimal"))
        client.open(URI, KERNEL)
        client.notification("textDocument/publishDiagnostics")
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        for version in range(1, 101):
            client.change(URI, version, {"range": place, "text": "#x\n"})
        assert client.request("textDocument/hover", head(103)) is not None
        published = [client.notification("textDocument/publishDiagnostics")]
        while published[-1]["version"] != 100:
            published.append(client.notification("textDocument/publishDiagnostics"))
        assert len(published) <= 4
        client.stop()
    finally:
        client.kill()


def test_the_editor_dies() -> None:
    """The server of an editor that was killed ends, although its standard input stays open."""
    script = (
        "import subprocess, sys, time\n"
        "p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,"
        " stderr=subprocess.DEVNULL, pass_fds=())\n"
        "print(p.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    keep, end = os.pipe()
    editor = subprocess.Popen([sys.executable, "-c", script, *FAKE], stdout=subprocess.PIPE, text=True)
    try:
        assert editor.stdout is not None
        server = int(editor.stdout.readline())
        time.sleep(1.5)
        editor.kill()
        editor.wait()
        limit = time.monotonic() + 10
        while time.monotonic() < limit:
            try:
                os.kill(server, 0)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        else:
            os.kill(server, 9)
            pytest.fail("the server outlived its editor")
    finally:
        editor.kill()
        os.close(keep)
        os.close(end)


@pytest.mark.parametrize("text", ["@ct.kernel\ndef broken(a:\n    (((", "\0\0", "def f(:\n" * 50, "(" * 20_000])
def test_the_real_translator_and_broken_text(text: str) -> None:
    client = Client(REAL)
    try:
        client.initialize(capabilities("vscode"))
        client.open(URI, "import cuda.tile as ct\n" + text)
        assert client.request("textDocument/diagnostic", AT) is not None
        client.request("textDocument/hover", head(1))
        client.stop()
    finally:
        client.kill()
