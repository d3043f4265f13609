"""Workers that die or hang: a result for the one request that needed them, and nothing else."""

from __future__ import annotations

import pytest

from .conftest import TRUSTED, capabilities
from .strict_client import Client
from .texts import KERNEL, URI, head

pytestmark = pytest.mark.timeout(60)


def test_a_worker_that_dies_is_an_error_and_the_next_run_works(vscode: Client) -> None:
    vscode.open(URI, KERNEL.replace("add", "dies") + KERNEL)
    code, message = vscode.error("ferrotile/verify", {"uri": URI, "kernel": "dies"})
    assert code == -32803 and "signal 9" in message
    report = vscode.request("ferrotile/verify", {"uri": URI, "kernel": "add"})
    assert isinstance(report, dict) and [k["failed"] for k in report["kernels"]] == [False]


def test_while_a_worker_hangs_everything_else_is_served() -> None:
    client = Client()
    try:
        client.initialize(capabilities("vscode"), TRUSTED)
        client.open(URI, KERNEL.replace("add", "stubborn"))
        client.request("textDocument/hover", head())
        work = client.start("ferrotile/verify", {"uri": URI})
        client.wait_request("window/workDoneProgress/create")
        for version in range(1, 11):
            client.change(URI, version, {"text": KERNEL + "\n" * version})
            assert client.request("textDocument/hover", head()) is not None
        assert not client.is_answered(work)
        client.notify("$/cancelRequest", {"id": work})
        answer = client.wait(work, 5)
        assert "error" in answer, answer
        assert answer["error"]["code"] == -32800  # type: ignore[index]
        client.stop()  # although the worker still hangs
    finally:
        client.kill()
