"""Kernels and short forms for the tests of signatures."""

from __future__ import annotations

from ferrotile.signatures.describe import grid_text
from ferrotile.signatures.infer import SignatureResult, infer_signatures
from ferrotile.signatures.launch import collect_launches
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, ScalarArgument, Signature, Source
from ferrotile.signatures.workspace import Workspace
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import Module, parse_module

HEAD = "import functools\nimport math\nimport types\nimport cuda.tile as ct\nimport torch\n"
COPY = """
@ct.kernel
def k(x, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(T,)))
"""
ROWS = """
@ct.kernel
def k(x, y, n, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i, 0), tile=ct.load(x, index=(i, 0), shape=(1, T)))
"""


def infer(text: str, name: str = "k", workspace: Workspace | None = None, module_name: str = "") -> SignatureResult:
    """The signatures of the kernel `name` in a file with this text, which must be free of syntax errors."""
    return infer_signatures(*_parsed(text, name, workspace, module_name))


def _parsed(text: str, name: str, workspace: Workspace | None, module_name: str):  # type: ignore[no-untyped-def]
    module: Module = parse_module(Document(text))
    assert not module.diagnostics
    kernel = module.function(name)
    assert kernel is not None
    return module, kernel, collect_launches(module, workspace, module_name)


def shown(signature: Signature) -> str:
    """`x: f32[N]*, T=64 | (N/64)`; a star marks what is assumed."""
    parts = []
    for argument in signature.arguments:
        mark = "*" if argument.source is Source.ASSUMED else ""
        match argument:
            case ArrayArgument(name=name, dtype=dtype, extents=extents, rank_source=rank_source):
                rank = "?" if rank_source is Source.ASSUMED else ""
                parts.append(f"{name}: {dtype.name}{mark}[{', '.join(map(str, extents))}]{rank}")
            case ScalarArgument(name=name, dtype=dtype):
                parts.append(f"{name}: {dtype}{mark}")
            case ConstantArgument(name=name, value=value):
                parts.append(f"{name}={value}{mark}")
    grid = "?" if signature.grid is None else grid_text(signature.grid)
    return f"{', '.join(parts)} | {grid}"


def launched(host: str, kernel: str = ROWS) -> list[str]:
    """The signatures of `kernel` beside host code."""
    return all_shown(infer(HEAD + kernel + host))


def all_shown(result: SignatureResult) -> list[str]:
    return [shown(s) for s in result.signatures]
