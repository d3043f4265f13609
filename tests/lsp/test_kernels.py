"""The lists of kernels that test explorers show, and results that come one by one."""

from __future__ import annotations

import os
from pathlib import Path
from queue import Empty

import pytest

from .conftest import TRUSTED, capabilities
from .strict_client import REAL, Client
from .texts import KERNEL, URI

KERNELS = "ferrotile/kernels"
WORKSPACE = "ferrotile/workspaceKernels"
VERIFY = "ferrotile/verify"
WRONG = KERNEL.replace("add", "wrong")

Kernel = dict[str, object]


@pytest.fixture
def listing(client: Client) -> Client:
    """A trusted VS Code that lists kernels."""
    client.initialize(capabilities("vscode"), {**TRUSTED, "kernels": True})
    return client


def listed(client: Client) -> Kernel:
    """The one kernel of the next list."""
    kernels = client.notification(KERNELS)["kernels"]
    assert isinstance(kernels, list)
    (kernel,) = kernels
    assert isinstance(kernel, dict)
    return kernel


def verified(client: Client, **more: object) -> list[Kernel]:
    result = client.request(VERIFY, {"uri": URI, **more})
    assert isinstance(result, dict)
    kernels = result["kernels"]
    assert isinstance(kernels, list)
    return kernels


def test_the_list_follows_edits_and_verdicts(listing: Client) -> None:
    listing.open(URI, KERNEL)
    kernel = listed(listing)
    line = KERNEL.split("\n").index("def add(a, b):")
    assert (kernel["name"], kernel["translated"], kernel["verdict"]) == ("add", True, None)
    end = {"line": KERNEL.count("\n"), "character": 0}
    assert kernel["range"] == {"start": {"line": line, "character": 0}, "end": end}

    verified(listing)
    proved = listed(listing)
    assert proved["state"] == kernel["state"]
    assert proved["verdict"] == {"line": "proved", "failed": False, "holds": True}

    listing.change(URI, 1, {"text": KERNEL.replace("pass", "return")})
    edited = listed(listing)
    assert edited["state"] != kernel["state"]
    assert edited["verdict"] == {"line": "proved", "failed": False, "holds": False}

    listing.change(URI, 2, {"text": "# moved\n" + KERNEL})
    moved = listed(listing)
    assert moved["state"] == kernel["state"]
    assert moved["range"] == {
        "start": {"line": line + 1, "character": 0},
        "end": {"line": KERNEL.count("\n") + 1, "character": 0},
    }
    assert moved["verdict"] == {"line": "proved", "failed": False, "holds": True}


def test_a_file_opened_anew_is_listed_anew(listing: Client) -> None:
    listing.open(URI, KERNEL)
    before = listed(listing)
    listing.notify("textDocument/didClose", {"textDocument": {"uri": URI}})
    listing.open(URI, KERNEL)
    assert listed(listing) == before


def test_a_kernel_that_does_not_parse_stays_without_a_state() -> None:
    client = Client(REAL)
    try:
        client.initialize(capabilities("vscode"), {**TRUSTED, "kernels": True})
        client.open(URI, KERNEL)
        before = listed(client)
        client.change(URI, 1, {"text": KERNEL.replace("(a, b)", "(a, b")})
        assert listed(client) == {**before, "state": ""}
        client.change(URI, 2, {"text": KERNEL})
        assert listed(client) == before
        client.stop()
    finally:
        client.kill()


def test_a_refused_kernel_is_listed(listing: Client) -> None:
    listing.open(URI, KERNEL.replace("pass", "REFUSE"))
    kernel = listed(listing)
    assert (kernel["name"], kernel["translated"]) == ("add", False)


def test_editors_that_do_not_ask_get_no_list(vscode: Client) -> None:
    vscode.open(URI, KERNEL)
    verified(vscode)
    with pytest.raises(Empty):
        vscode.notification(KERNELS, 0.2)


def test_each_kernel_is_a_partial_result_under_the_tokens_of_the_request(listing: Client) -> None:
    text = KERNEL + WRONG
    listing.open(URI, text)
    assert verified(listing, workDoneToken="work", partialResultToken="part") == []
    told = []
    while not told or told[-1]["value"].get("kind") != "end":
        told.append(listing.notification("$/progress"))
    assert [t["value"]["kind"] for t in told if t["token"] == "work"] == ["begin", "report", "report", "end"]
    (add,), (wrong,) = (t["value"]["kernels"] for t in told if t["token"] == "part")
    assert (add["name"], add["failed"], add["messages"]) == ("add", False, [])
    assert (wrong["name"], wrong["failed"]) == ("wrong", True)
    cause, other = wrong["messages"]
    line = text.rstrip("\n").count("\n")
    assert cause["code"] == "FT504"
    assert cause["range"] == {"start": {"line": line, "character": 4}, "end": {"line": line, "character": 8}}
    assert other["message"] == "proved failed: first difference: addf"
    assert "expected" not in cause
    assert "window/workDoneProgress/create" not in [r["method"] for r in listing.requests]


def test_arrays_that_differ_come_with_an_element(listing: Client) -> None:
    listing.open(URI, KERNEL.replace("add", "differs"))
    (kernel,) = verified(listing)
    assert kernel["failed"]
    (told,) = kernel["messages"]  # type: ignore[misc]
    assert (told["code"], told["expected"], told["actual"]) == ("FT505", "y[3] = 1.0", "y[3] = 2.0")
    assert "from [1] on" in told["message"]


def test_a_refused_kernel_fails_with_its_diagnostics(listing: Client) -> None:
    text = WRONG.replace("pass", "REFUSE; pass")
    listing.open(URI, text)
    (kernel,) = verified(listing)
    messages = kernel["messages"]
    assert isinstance(messages, list)
    line = text.rstrip("\n").count("\n")
    start, end = {"line": line, "character": 4}, {"line": line, "character": 10}
    expected = {"message": "no `REFUSE` here", "code": "FT301", "range": {"start": start, "end": end}}
    assert messages[0] == expected


@pytest.mark.parametrize("token", [1.5, True, [], {}])
def test_tokens_that_are_none(listing: Client, token: object) -> None:
    listing.open(URI, KERNEL)
    for key in ("workDoneToken", "partialResultToken"):
        number, message = listing.error(VERIFY, {"uri": URI, key: token})
        assert number == -32602
        assert key in message


def test_kernels_of_the_workspace(client: Client, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "one.py").write_text(KERNEL)
    (tmp_path / "no_kernel.py").write_text("import cuda.tile as ct\n\n\ndef kernel(): ...\n")
    (tmp_path / "broken.py").write_text("import cuda.tile as ct\n@ct.kernel\ndef f(:\n")
    (tmp_path / "buffer.py").write_text(KERNEL)
    params = {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities("vscode")}
    folders = [{"uri": tmp_path.as_uri(), "name": "w"}]
    client.request("initialize", {**params, "initializationOptions": TRUSTED, "workspaceFolders": folders})
    client.notify("initialized", {})
    client.open((tmp_path / "buffer.py").as_uri(), KERNEL.replace("add", "typed"))
    result = client.request(WORKSPACE, {})
    assert isinstance(result, dict)
    assert result["complete"]
    found = {f["uri"]: [k["name"] for k in f["kernels"]] for f in result["files"]}
    assert found == {
        (tmp_path / "buffer.py").as_uri(): ["typed"],
        (tmp_path / "package" / "one.py").as_uri(): ["add"],
    }


def test_without_folders_there_is_no_kernel(listing: Client) -> None:
    assert listing.request(WORKSPACE, {}) == {"files": [], "complete": True}
