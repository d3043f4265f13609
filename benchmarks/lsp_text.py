"""The texts that language servers are timed on, and where they are asked."""

from __future__ import annotations

from pathlib import Path

from lsp_client import Json

LINES = 2000

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

HOST = """import cuda.tile as ct
import torch

from .kernels_{n} import scale_{n}


def run_{n}(x: torch.Tensor):
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(x.shape[0], 256),), scale_{n}, (x, y, 256))
    return y
"""
MEMBER = """import cuda.tile as ct


@ct.kernel
def scale_{n}(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, index=(i,), shape=(T,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(i,), tile=t * {n}.0)
"""


def source(lines: int = LINES) -> str:
    """Kernels until there are so many lines."""
    kernel_lines = KERNEL.count("\n")
    return "import cuda.tile as ct\n" + "".join(KERNEL.format(n=n) for n in range(lines // kernel_lines))


class Places:
    """A kernel in the middle of a text: LSP positions in it."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        last = next(n for n in range(len(lines) // 2, len(lines)) if "scaled.astype" in lines[n])
        self.name = {"line": last, "character": lines[last].index("scaled") + len("scaled")}
        """The end of a name that stands for a tile."""
        self.tile = {"line": last, "character": lines[last].index("scaled") + 2}
        directive = next(n for n in range(last, 0, -1) if lines[n].startswith("# ferrotile:"))
        self.directive = {"line": directive, "character": lines[directive].index("[") + 1}
        """Within the extents of an array."""
        self.member = {"line": last - 2, "character": lines[last - 2].index("ct.") + len("ct.")}
        self.visible = {"start": {"line": last - 30, "character": 0}, "end": {"line": last + 30, "character": 0}}
        """What an editor shows of the text."""
        head = next(n for n in range(last, 0, -1) if lines[n].startswith("def "))
        self.kernel = lines[head].removeprefix("def ").partition("(")[0]

    def key(self, n: int) -> Json:
        """The `n`-th change: each character of `TYPED`, then as many backspaces."""
        typed = len(TYPED)
        n %= 2 * typed
        line, column = self.name["line"], self.name["character"]
        before = n if n < typed else 2 * typed - n - 1
        start: Json = {"line": line, "character": column + before}
        end: Json = start if n < typed else {"line": line, "character": column + before + 1}
        return {"range": {"start": start, "end": end}, "text": TYPED[n] if n < typed else ""}


def write_workspace(folder: Path, kernels: int) -> None:
    """So many files with a kernel each, and as many that launch them, in packages of 50."""
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    for n in range(kernels):
        package = folder / f"part_{n // 50}"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        (package / f"kernels_{n}.py").write_text(MEMBER.format(n=n), encoding="utf-8")
        (package / f"host_{n}.py").write_text(HOST.format(n=n), encoding="utf-8")
