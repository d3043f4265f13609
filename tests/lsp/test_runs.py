"""Run, cancel, what earlier verdicts said, all kernels of a workspace: the real server around a fake verifier."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from .conftest import TRUSTED, capabilities
from .strict_client import Client
from .texts import KERNEL

pytestmark = pytest.mark.timeout(60)
NUMBERS = count()


@pytest.fixture(scope="module")
def editor() -> Iterator[Client]:
    """One trusted session for the file; each test has a document of its own."""
    yield from _session({})


@pytest.fixture(scope="module")
def with_gpu() -> Iterator[Client]:
    """The same where there is a GPU."""
    yield from _session({"FAKE_GPU": "NVIDIA Test"})


def _session(environment: dict[str, str]) -> Iterator[Client]:
    made = Client(environment=environment)
    try:
        made.initialize(capabilities("vscode"), TRUSTED)
        yield made
        made.stop()
    finally:
        made.kill()


def opened(client: Client, text: str) -> str:
    """A new document with this text."""
    uri = f"file:///w/kernels_{next(NUMBERS)}.py"
    client.open(uri, text)
    return uri


def titles(client: Client, uri: str) -> list[str]:
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert isinstance(lenses, list)
    return [lens["command"]["title"] for lens in lenses]


def hover(client: Client, uri: str) -> str:
    params = {"textDocument": {"uri": uri}, "position": {"line": 3, "character": 5}}
    found = client.request("textDocument/hover", params)
    assert isinstance(found, dict)
    text = found["contents"]["value"]
    assert isinstance(text, str)
    return text


def command(client: Client, name: str, *arguments: object) -> object:
    return client.request("workspace/executeCommand", {"command": f"ferrotile.server.{name}", "arguments": arguments})


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_run_simulates_where_there_is_no_gpu(editor: Client) -> None:
    uri = opened(editor, KERNEL)
    made = editor.request("ferrotile/run", {"uri": uri, "kernel": "add"})
    assert isinstance(made, dict)
    assert (made["backend"], made["where"]) == ("simulate", "none in a test")
    assert [r["rung"] for r in made["kernels"][0]["rungs"]] == ["translated", "simulated"]
    assert titles(editor, uri) == ["Verify", "Run", "Preview Rust", "✓ simulated"]


def test_run_on_a_gpu_says_how_long_it_took(with_gpu: Client) -> None:
    uri = opened(with_gpu, KERNEL)
    made = with_gpu.request("ferrotile/run", {"uri": uri})
    assert isinstance(made, dict)
    assert (made["backend"], made["where"]) == ("cuda", "NVIDIA Test")
    assert titles(with_gpu, uri)[-1] == "✓ matched in 0.85 of the Python's time"


def test_a_run_keeps_what_verify_found_of_the_same_kernel(with_gpu: Client) -> None:
    uri = opened(with_gpu, KERNEL)
    with_gpu.request("ferrotile/verify", {"uri": uri})
    command(with_gpu, "run", uri, "add")
    until(lambda: titles(with_gpu, uri)[-1] == "✓ proved, matched in 0.85 of the Python's time")
    with_gpu.change(uri, 1, {"text": KERNEL.replace("pass", "return")})
    assert titles(with_gpu, uri)[-1] == "changed since it was verified"
    with_gpu.request("ferrotile/run", {"uri": uri})
    assert titles(with_gpu, uri)[-1] == "✓ matched in 0.85 of the Python's time"


def test_a_run_that_differs_is_an_error_at_the_line_to_blame(editor: Client) -> None:
    uri = opened(editor, KERNEL.replace("add", "wrong"))
    made = editor.request("ferrotile/run", {"uri": uri, "kernel": "wrong"})
    assert isinstance(made, dict)
    kernel = made["kernels"][0]
    assert (kernel["verdict"], kernel["failed"]) == ("simulated failed", True)
    assert [m["range"]["start"]["line"] for m in kernel["messages"]] == [4, 3]
    assert titles(editor, uri)[-1] == "✗ simulated failed"


@pytest.mark.parametrize(
    ("method", "params"), [("ferrotile/run", {"uri": "file:///w/k.py"}), ("ferrotile/verifyWorkspace", {})]
)
def test_running_needs_trust(client: Client, method: str, params: object) -> None:
    client.initialize(capabilities("vscode"))
    client.open("file:///w/k.py", KERNEL)
    code, message = client.error(method, params)
    assert code == -32803 and "not trusted" in message
    assert titles(client, "file:///w/k.py") == ["Verify", "Preview Rust"]


@pytest.mark.parametrize("params", [{}, {"uri": 1}, {"uri": "file:///w/k.py", "rungs": []}, []])
def test_malformed_runs_are_refused(editor: Client, params: object) -> None:
    assert editor.error("ferrotile/run", params)[0] == -32602


@pytest.mark.parametrize("params", [None, [], {"uri": "file:///w/k.py"}, {"rungs": ["none"]}])
def test_malformed_requests_for_all_are_refused(editor: Client, params: object) -> None:
    assert editor.error("ferrotile/verifyWorkspace", params)[0] == -32602


def test_the_lens_cancels_what_runs(editor: Client) -> None:
    uri = opened(editor, KERNEL.replace("add", "slow"))
    running = editor.start("ferrotile/verify", {"uri": uri})
    until(lambda: titles(editor, uri) == ["Cancel", "Preview Rust"])
    assert command(editor, "cancel", uri, "other") is False
    assert command(editor, "cancel", uri, "slow") is True
    answer = editor.wait(running, 5)
    assert answer["error"]["code"] == -32800  # type: ignore[index]
    until(lambda: titles(editor, uri) == ["Verify", "Run", "Preview Rust"])
    assert command(editor, "cancel") is False


def test_what_waits_for_its_turn_can_be_cancelled(editor: Client) -> None:
    first, second = (opened(editor, KERNEL.replace("add", "slow")) for _ in range(2))
    ahead = editor.start("ferrotile/verify", {"uri": first})
    until(lambda: titles(editor, first)[0] == "Cancel")
    behind = editor.start("ferrotile/verify", {"uri": second})
    until(lambda: titles(editor, second)[0] == "Cancel")
    command(editor, "cancel", second)
    assert editor.wait(behind, 5)["error"]["code"] == -32800  # type: ignore[index]
    assert titles(editor, first)[0] == "Cancel"
    command(editor, "cancel")
    assert editor.wait(ahead, 5)["error"]["code"] == -32800  # type: ignore[index]


def test_hover_says_what_earlier_verdicts_were(editor: Client) -> None:
    uri = opened(editor, KERNEL)
    editor.request("ferrotile/verify", {"uri": uri})
    assert "earlier" not in hover(editor, uri)
    wrong = KERNEL.replace("def add", "def wrong")
    for version, text in enumerate((wrong, wrong + "\n", KERNEL), 1):
        editor.change(uri, version, {"text": text})
        editor.request("ferrotile/verify", {"uri": uri})
    lines = hover(editor, uri).split("\n\n")
    assert lines[0].startswith("add: proved;")
    assert lines[1].startswith("earlier: ") and lines[1].endswith(" proved") and ";" not in lines[1]
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    editor.open(uri, KERNEL)
    assert hover(editor, uri).startswith("add: translated, not verified yet")
    editor.request("ferrotile/verify", {"uri": uri})
    assert hover(editor, uri).split("\n\n")[1].count(" proved") == 2


def test_all_kernels_of_a_workspace(client: Client, tmp_path: Path) -> None:
    for name, kernel in (("a", "add"), ("b", "wrong"), ("c", "none")):
        (tmp_path / f"{name}.py").write_text(KERNEL.replace("add", kernel) if kernel != "none" else "x = 1\n")
    client.initialize(capabilities("vscode"), TRUSTED)
    folder = {"added": [{"uri": tmp_path.as_uri(), "name": "w"}], "removed": []}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": folder})
    opened_uri = (tmp_path / "a.py").as_uri()
    client.open(opened_uri, KERNEL.replace("add", "typed"))  # what the editor has counts, not the disk
    made = client.request("ferrotile/verifyWorkspace", {})
    assert isinstance(made, dict)
    found = {f["uri"].rsplit("/", 1)[1]: [(k["name"], k["verdict"]) for k in f["kernels"]] for f in made["files"]}
    assert found == {"a.py": [("typed", "proved")], "b.py": [("wrong", "proved failed")]}
    assert titles(client, opened_uri)[-1] == "✓ proved"

    made = client.request("ferrotile/verifyWorkspace", {"partialResultToken": "p", "workDoneToken": "w"})
    assert made == {"files": []}
    told = []
    while len(told) < 2:
        params = client.notification("$/progress")
        if params["token"] == "p":
            assert isinstance(params["value"], dict)
            told += [f["uri"].rsplit("/", 1)[1] for f in params["value"]["files"]]
    assert told == ["a.py", "b.py"]


def test_all_kernels_of_a_workspace_are_cancelled_at_once(client: Client, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.py").write_text(KERNEL.replace("add", "slow"))
    client.initialize(capabilities("vscode"), TRUSTED)
    folder = {"added": [{"uri": tmp_path.as_uri(), "name": "w"}], "removed": []}
    client.notify("workspace/didChangeWorkspaceFolders", {"event": folder})
    running = client.start("ferrotile/verifyWorkspace", {"workDoneToken": "w"})
    while "proving" not in str(client.notification("$/progress")["value"]):
        pass
    client.notify("window/workDoneProgress/cancel", {"token": "w"})
    assert client.wait(running, 5)["error"]["code"] == -32800  # type: ignore[index]
