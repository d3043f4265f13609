"""Files that are not open, and buffers of files that others import: what the analysis of a kernel makes of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from .lsp_client import StrictClient, timely

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning"),
]

KERNEL = """import cuda.tile as ct
from .maths import twice


# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)
@ct.kernel
def k(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), twice(ct.load(x, (i,), (T,))))
"""
MATHS = "import cuda.tile as ct\n\n\ndef twice(t):\n    return t * 2.0\n"
WRONG = MATHS.replace("t * 2.0", "ct.no_such(t)")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    folder = tmp_path / "p"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "maths.py").write_text(MATHS)
    (folder / "ops.py").write_text(KERNEL)
    return folder


async def codes(client: StrictClient, path: Path) -> list[object]:
    params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(path.as_uri()))
    report = await timely(client.text_document_diagnostic_async(params))
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    return [d.code for d in report.items if d.severity is types.DiagnosticSeverity.Error]


async def becomes(client: StrictClient, path: Path, expected: list[object]) -> None:
    """Asks until the answer is as expected, 20 s at most."""
    for _ in range(100):
        if await codes(client, path) == expected:
            return
        await asyncio.sleep(0.2)
    assert await codes(client, path) == expected


def told(client: StrictClient, path: Path, kind: types.FileChangeType) -> None:
    event = types.FileEvent(path.as_uri(), kind)
    client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


async def test_files_on_disk_are_used_and_followed(real: StrictClient, package: Path) -> None:
    ops, maths = package / "ops.py", package / "maths.py"
    real.open(ops.as_uri(), KERNEL)
    await becomes(real, ops, [])
    maths.write_text(WRONG)
    told(real, maths, types.FileChangeType.Changed)
    await becomes(real, ops, ["FT210"])
    maths.unlink()
    told(real, maths, types.FileChangeType.Deleted)
    await becomes(real, ops, ["FT205"])
    maths.write_text(MATHS)
    told(real, maths, types.FileChangeType.Created)
    await becomes(real, ops, [])


async def test_an_open_buffer_wins_over_the_file(real: StrictClient, package: Path) -> None:
    ops, maths = package / "ops.py", package / "maths.py"
    real.open(ops.as_uri(), KERNEL)
    await becomes(real, ops, [])
    real.open(maths.as_uri(), WRONG)
    await becomes(real, ops, ["FT210"])
    whole = types.TextDocumentContentChangeWholeDocument(MATHS)
    real.text_document_did_change(
        types.DidChangeTextDocumentParams(types.VersionedTextDocumentIdentifier(uri=maths.as_uri(), version=2), [whole])
    )
    await becomes(real, ops, [])
    maths.write_text(WRONG)
    real.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(maths.as_uri())))
    told(real, maths, types.FileChangeType.Changed)
    await becomes(real, ops, ["FT210"])
