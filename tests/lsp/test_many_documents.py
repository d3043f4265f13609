"""Many documents, large ones, and those that come and go."""

from __future__ import annotations

import pytest

from .conftest import capabilities
from .strict_client import REAL, Client
from .texts import KERNEL, REFUSED

pytestmark = pytest.mark.timeout(60)

LARGE_LINES = 50_000


def found(client: Client, uri: str) -> list[int]:
    """The lines of a document's diagnostics."""
    report = client.request("textDocument/diagnostic", {"textDocument": {"uri": uri}})
    assert isinstance(report, dict)
    return [item["range"]["start"]["line"] for item in report["items"]]


def test_a_hundred_documents_are_kept_apart(vscode: Client) -> None:
    uris = [f"file:///w/{n}.py" for n in range(100)]
    for n, uri in enumerate(uris):
        vscode.open(uri, "\n" * n + (REFUSED if n % 2 else KERNEL))
    line = REFUSED.split("\n").index("    REFUSE")
    assert [found(vscode, uri) for uri in uris] == [[n + line] if n % 2 else [] for n in range(100)]
    for n, uri in enumerate(uris):  # each is moved down by one line, alone
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        vscode.change(uri, 1, {"range": place, "text": "\n" * (n % 3)})
    assert [found(vscode, uri) for uri in uris] == [[n + n % 3 + line] if n % 2 else [] for n in range(100)]
    for uri in uris[::2]:
        vscode.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert [len(found(vscode, uri)) for uri in uris] == [n % 2 for n in range(100)]


def test_closed_and_reopened(vscode: Client) -> None:
    uri = "file:///w/k.py"
    for turn in range(30):
        vscode.open(uri, "\n" * turn + REFUSED, version=30 - turn)  # a new life: versions may begin anew
        assert found(vscode, uri) == [turn + 8]
        vscode.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert found(vscode, uri) == []
    vscode.open(uri, KERNEL)
    vscode.open(uri, REFUSED)  # opened twice: the last text counts
    assert found(vscode, uri) == [8]


def test_versions_that_go_backwards(vscode: Client) -> None:
    uri = "file:///w/k.py"
    vscode.open(uri, KERNEL, 10)
    for version, text, expected in ((9, REFUSED, []), (-5, REFUSED, []), (10, REFUSED, [8]), (12, KERNEL, [])):
        vscode.change(uri, version, {"text": text})
        assert found(vscode, uri) == expected
    vscode.change(uri, 11, {"text": REFUSED})
    assert found(vscode, uri) == []


def test_a_file_of_fifty_thousand_lines() -> None:
    """Plain code around one wrong kernel: opened, edited at both ends, and other documents stay quick."""
    body = "".join(f"    v{n} = a * {n}\n    # one\n    # two\n    # three\n" for n in range(12))
    lines = "".join(f"def f{n}(a):\n{body}\n" for n in range(LARGE_LINES // 100))
    head = "import cuda.tile as ct\n\n\n# ferrotile: x: f32[N], T=64, grid=(N/T)\n@ct.kernel\n"
    kernel = head + "def k(x, T):\n    ct.no_such(x)\n\n\n"
    uri, other = "file:///w/large.py", "file:///w/small.py"
    client = Client(REAL)
    try:
        client.initialize(capabilities("vscode"))
        client.open(other, kernel)
        assert found(client, other) == [6]
        client.open(uri, lines + kernel + lines)
        waiting = client.start("textDocument/diagnostic", {"textDocument": {"uri": uri}})
        client.request("ferrotile/debugInformation", {})
        assert not client.is_answered(waiting)  # the large file is still read
        report = client.wait(waiting)["result"]
        assert [i["range"]["start"]["line"] for i in report["items"]] == [LARGE_LINES // 2 + 6]  # type: ignore[index]
        for version, line in enumerate((0, LARGE_LINES), 1):
            place = {"line": line, "character": 0}
            client.change(uri, version, {"range": {"start": place, "end": place}, "text": "\n"})
        assert found(client, uri) == [LARGE_LINES // 2 + 7]
        client.stop()
    finally:
        client.kill()
