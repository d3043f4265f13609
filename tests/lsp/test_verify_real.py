"""Verify from the editor on the real path: the real translator, both compilers, over LSP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from ferrotile_runner.toolchain import locate
from lsprotocol import types

from .lsp_client import StrictClient, refusal, timely, titles

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.compilers,
    pytest.mark.timeout(400),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]

EXAMPLES = Path(__file__).parents[2] / "examples"
VERIFY = "ferrotile/verify"
RUNGS = ["type-checked", "assembled", "proved", "simulated"]
SECONDS = 180.0


async def lens_titles(client: StrictClient, uri: str) -> list[str]:
    params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
    return titles(await timely(client.text_document_code_lens_async(params)))


async def verified(client: StrictClient, uri: str, identity: str | None = None) -> dict[str, dict[str, str]]:
    """Statuses by kernel and rung."""
    request = client.protocol.send_request_async(VERIFY, {"uri": uri, "rungs": RUNGS}, identity)
    result = await timely(request, SECONDS)
    return {k.name: {r.rung: f"{r.status} {r.detail}" for r in k.rungs} for k in result.kernels}


async def test_a_kernel_is_proved_from_the_editor(real: StrictClient) -> None:
    if locate().host is None:
        pytest.skip("NOT RUN: ferrotile-host is not built (run `ferrotile setup`)")
    path = EXAMPLES / "vector_add.py"
    uri, text = path.as_uri(), path.read_text(encoding="utf-8")
    real.open(uri, text)
    assert await lens_titles(real, uri) == ["Verify", "Run", "Preview Rust"]

    (rungs,) = (await verified(real, uri)).values()
    assert {r: rungs[r].split()[0] for r in RUNGS} == dict.fromkeys(RUNGS, "passed"), rungs
    await real.asked(types.WORKSPACE_CODE_LENS_REFRESH)
    assert any("proved" in t and "not verified" not in t for t in await lens_titles(real, uri))
    (reports,) = real.progress_reports.values()
    said = " ".join(r.message or "" for r in reports[1:-1])
    assert all(rung in said for rung in ("assembled", "proved", "simulated"))

    # Once more: the same verdict.
    (again,) = (await verified(real, uri)).values()
    assert {r: again[r].split()[0] for r in RUNGS} == dict.fromkeys(RUNGS, "passed"), again

    # An edit makes the verdict stale; a comment far from the kernel does not.
    real.change(uri, 1, text + "# the end\n")
    assert any("proved" in t for t in await lens_titles(real, uri))
    real.change(uri, 2, text.replace("def vector_add", "def vector_sum", 1).replace("vector_add", "vector_sum"))
    assert not any("proved" in t.split(";")[0] for t in await lens_titles(real, uri))

    # Cancelled while a compiler works: the answer says so, and the next verification runs.
    running = asyncio.ensure_future(verified(real, uri, "stopped"))
    token_reports = await _next_report(real, 2)
    assert token_reports
    real.cancel_request(types.CancelParams("stopped"))
    number, _ = await refusal(running)
    assert number == -32800
    (rungs,) = (await verified(real, uri)).values()
    assert rungs["proved"].startswith("passed"), rungs


async def _next_report(client: StrictClient, known: int) -> bool:
    """Wait until a work beyond the `known` ones says what it does."""
    async with asyncio.timeout(120):
        while len(client.progress_reports) <= known or len(list(client.progress_reports.values())[-1]) < 2:
            await asyncio.sleep(0.01)
    return True
