"""Keystroke to diagnostics, through the language server, in a kernel file of 2,000 lines."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lsp_client import Client
from measuring import Times, print_table

LINES = 2000
KEYS = 30
BIN = Path(sys.executable).parent

KERNEL = """
# ferrotile: a: f16[M, K], b: f16[K, N], c: f16[M, N], TM=128, TN=128, TK=64, grid=(M/TM, N/TN)
@ct.kernel
def matmul_{n}(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        ta = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ta, tb, acc)
    scaled = acc * 2.0
    ct.store(c, index=(i, j), tile=scaled.astype(c.dtype))
"""


def source() -> str:
    """Kernels until there are 2,000 lines."""
    kernel_lines = KERNEL.count("\n")
    return "import cuda.tile as ct\n" + "".join(KERNEL.format(n=n) for n in range(LINES // kernel_lines))


def keystrokes(command: Sequence[str], text: str) -> Times:
    """Type into a name in mid-file: every other key breaks it, so the diagnostics change each time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.py")
        file.write_text(text, encoding="utf-8")
        client = Client(command, Path(folder))
        document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        client.diagnostics(1)
        lines = text.split("\n")
        line = next(n for n in range(len(lines) // 2, len(lines)) if "scaled.astype" in lines[n])
        column = lines[line].index("scaled") + len("scaled")
        times = []
        for key in range(KEYS):
            version = key + 2
            place = {"line": line, "character": column}
            if key % 2 == 0:
                change = {"range": {"start": place, "end": place}, "text": "x"}
            else:
                end = {"line": line, "character": column + 1}
                change = {"range": {"start": place, "end": end}, "text": ""}
            start = time.perf_counter()
            client.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": file.as_uri(), "version": version}, "contentChanges": [change]},
            )
            client.diagnostics(version)
            times.append((time.perf_counter() - start) * 1e3)
        client.close()
        return Times(tuple(times))


def main() -> None:
    text = source()
    rows = [("ferrotile server", keystrokes([str(BIN / "ferrotile"), "server"], text))]
    rows.append(("ruff server", keystrokes([str(BIN / "ruff"), "server"], text)))
    pyright = shutil.which("pyright-langserver")
    if pyright is not None:
        rows.append(("pyright", keystrokes([pyright, "--stdio"], text)))
    print_table(f"keystroke to diagnostics, {text.count(chr(10))} lines", rows)


if __name__ == "__main__":
    main()
