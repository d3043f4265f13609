"""Keystroke to diagnostics over the wire, in a kernel file of 2,000 lines, beside other servers on the same text.

Two questions. *Server time*: the editor asks for diagnostics right after the change (pull), so nothing waits.
*As the editor sees it*: the server tells by itself (push), after its own pause for the typist: 40 ms in ferrotile's,
none in ruff's, 250 ms in pyright's."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lsp_client import Client, Json
from measuring import Budget, Times, print_table

LINES = 2000
BIN = Path(sys.executable).parent
SERVER_TIME = Budget(10, 30)
SEEN = Budget(60, 100)

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

TYPED = "x("
"""Typed into a name and taken away again: an unknown name, then a syntax error, so each key changes what is found."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server to time. `pull`: ask for the diagnostics instead of waiting to be told."""

    name: str
    command: tuple[str, ...]
    pull: bool
    keys: int = 200


def servers() -> tuple[list[Server], list[Server]]:
    """Those to ask, and those that tell; ferrotile first. pyright only where it is installed."""
    ferrotile = (sys.executable, "-P", "-m", "ferrotile_server.lsp")
    ruff = (str(BIN / "ruff"), "server")
    pyright = (str(BIN / "pyright-langserver"), "--stdio")
    asked = [Server("ferrotile", ferrotile, True), Server("ruff", ruff, True)]
    telling = [Server("ferrotile", ferrotile, False), Server("ruff", ruff, False)]
    if Path(pyright[0]).exists():
        asked.append(Server("pyright", pyright, True, 20))
        telling.append(Server("pyright", pyright, False, 20))
    return asked, telling


def source() -> str:
    """Kernels until there are 2,000 lines."""
    kernel_lines = KERNEL.count("\n")
    return "import cuda.tile as ct\n" + "".join(KERNEL.format(n=n) for n in range(LINES // kernel_lines))


def keystrokes(server: Server, text: str) -> Times:
    """Milliseconds from each key to its diagnostics. The first round of keys is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.py")
        file.write_text(text, encoding="utf-8")
        client = Client(server.command, Path(folder), server.pull)
        document: dict[str, Json] = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        client.diagnostics(file.as_uri(), 1)
        times = []
        lines = text.split("\n")
        line = next(n for n in range(len(lines) // 2, len(lines)) if "scaled.astype" in lines[n])
        column = lines[line].index("scaled") + len("scaled")
        keys = [_key(line, column, n) for n in range(2 * len(TYPED))]
        for n in range(server.keys + len(keys)):
            version = n + 2
            start = time.perf_counter()
            client.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": file.as_uri(), "version": version}, "contentChanges": [keys[n % len(keys)]]},
            )
            client.diagnostics(file.as_uri(), version)
            times.append((time.perf_counter() - start) * 1e3)
        client.close()
        return Times(tuple(times[len(keys) :]))


def _key(line: int, column: int, n: int) -> Json:
    """The `n`-th change: each character of `TYPED`, then as many backspaces."""
    typed = len(TYPED)
    before = n if n < typed else 2 * typed - n - 1
    start: Json = {"line": line, "character": column + before}
    end: Json = start if n < typed else {"line": line, "character": column + before + 1}
    return {"range": {"start": start, "end": end}, "text": TYPED[n] if n < typed else ""}


def table(title: str, chosen: Sequence[Server], text: str, budget: Budget) -> None:
    """Time all servers and print them."""
    print_table(title, [(s.name, keystrokes(s, text)) for s in chosen], budget)


def main() -> None:
    text = source()
    asked, telling = servers()
    size = f"{text.count(chr(10)):,} lines"
    table(f"keystroke to diagnostics, {size}: server time (pull)", asked, text, SERVER_TIME)
    table(f"keystroke to diagnostics, {size}: as the editor sees it (push)", telling, text, SEEN)


if __name__ == "__main__":
    main()
