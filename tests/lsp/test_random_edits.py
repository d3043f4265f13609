"""Ten thousand edits: the text is what the editor has, its parse is that of a fresh text, and memory stays."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from ferrotile.syntax.document import Document
from ferrotile.syntax.positions import Encoding
from ferrotile_server.lsp.changes import Change
from ferrotile_server.lsp.documents import Documents

from .conftest import capabilities
from .strict_client import REAL, Client
from .texts import URI

pytestmark = pytest.mark.timeout(60)

EDITS = 10_000
MOST = 1_500
LINE_END = re.compile(r"\r\n|\r|\n")
PIECES = (
    "a", "é", "😀", "\n", "\r", "\r\n", "\x0c", "\u2028", "    ", "#", '"""', "(", ")", ":", "'", "\\", "\0",
    "def f():\n", "@ct.kernel\n", "x = 1\n", "import cuda.tile as ct\n", "    return 1\n", "class C:\n",
    "# ferrotile: x: f32[N]\n",
)  # fmt: skip
WIDTH = {
    Encoding.UTF8: lambda text: len(text.encode()),
    Encoding.UTF16: lambda text: len(text.encode("utf-16-le")) // 2,
    Encoding.UTF32: len,
}


def place(text: str, offset: int, encoding: Encoding) -> tuple[int, int]:
    """Line and column of a code point, as LSP defines them."""
    ends = [m.end() for m in LINE_END.finditer(text) if m.end() <= offset]
    return len(ends), WIDTH[encoding](text[ends[-1] if ends else 0 : offset])


def between(text: str, chance: random.Random) -> int:
    """A place that LSP can name: not within a line end."""
    offset = chance.randint(0, len(text))
    return offset + 1 if text[offset - 1 : offset + 1] == "\r\n" and offset else offset


@pytest.mark.parametrize("encoding", Encoding)
def test_random_edits_equal_a_fresh_parse(encoding: Encoding) -> None:
    chance = random.Random(encoding.value)
    documents, model = Documents(), ""
    documents.open(URI, 0, model)
    version = 0
    while version < EDITS // len(Encoding):
        changes = []
        for _ in range(chance.choice((1, 1, 1, 5))):
            version += 1
            start, end = sorted((between(model, chance), between(model, chance)))
            if len(model) < MOST:
                end = start if chance.random() < 0.6 else min(end, between(model[: start + 6], chance))
                end = max(start, end)
            new = "".join(chance.choices(PIECES, k=chance.randint(0, 4)))
            changes.append(Change(new, place(model, start, encoding), place(model, end, encoding)))
            model = model[:start] + new + model[end:]
        made = documents.change(URI, version, changes, encoding)
        assert made is not None and made.document.text == model
        if chance.random() < 0.08:
            fresh = Document(model)
            assert made.document.items == fresh.items
            assert made.document.comments == fresh.comments
    fresh = Document(model)
    assert str(made.document.tree.root_node) == str(fresh.tree.root_node)


def resident(client: Client) -> int:
    """Resident memory of the server in KiB."""
    status = Path(f"/proc/{client.process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_stays_over_ten_thousand_edits() -> None:
    kernel = "import cuda.tile as ct\n\n\n# ferrotile: x: f32[N], y: f32[N], T=64, grid=(N/T)\n@ct.kernel\n"
    kernel += "def k(x, y, T):\n    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (T,)))\n"
    client = Client(REAL, forked=False)

    def edit(versions: range) -> None:
        for version in versions:
            name = "".join(chr(ord("a") + int(digit)) for digit in str(version))  # so that no text comes twice
            client.change(URI, version, {"range": spot, "text": f"# {name}"})
            if version % 25 == 0:
                client.request("textDocument/diagnostic", {"textDocument": {"uri": URI}})

    try:
        client.initialize(capabilities("vscode"))
        client.open(URI, kernel)
        spot = {"start": {"line": 7, "character": 0}, "end": {"line": 7, "character": 100}}
        edit(range(1, 2_001))
        before = resident(client)
        edit(range(2_001, 2_001 + EDITS))
        assert resident(client) - before < 5 * 1024
        client.stop()
    finally:
        client.kill()
