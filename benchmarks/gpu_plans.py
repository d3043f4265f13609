"""Writes launch plans and cubins of example kernels into a folder, to be launched where a GPU is.

    python benchmarks/gpu_plans.py FOLDER
    for plan in FOLDER/*/*.json; do python -m ferrotile_runner.workers.gpu $plan; done

The first command needs both compilers and no GPU, the second a driver, NumPy and `cuda-bindings` only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ferrotile.frontends.cutile.discover import find_kernels
from ferrotile.signatures.model import ArrayArgument
from ferrotile.syntax.document import Document
from ferrotile.syntax.module import parse_module
from ferrotile.translate import translate_document
from ferrotile.translation import Options
from ferrotile_runner.host import HostClient
from ferrotile_runner.launch_plan import Initial, write_plan
from ferrotile_runner.python_worker import PythonCompiler
from ferrotile_runner.slice import slice_source
from ferrotile_runner.toolchain import locate

EXAMPLES = Path(__file__).parent.parent / "examples"
SIZES = {
    "vector_add": {"large": (1 << 26,), "tail": (100_003,)},
    "softmax": {"large": (65_536, 1024), "tail": (1037, 1000)},
    "silu_mul": {"large": (8192, 8192), "tail": (1001, 1003)},
    "adamw": {"large": (1 << 25,), "tail": (100_003,)},
    "matmul": {"large": (8192, 8192, 8192), "tail": (1000, 520, 264)},
}
"""Extents of each kernel's symbols, in the order in which its signature names them first."""

SCALARS = {"adamw": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "decay": 0.01}}
INITIAL = {"adamw": {"v": Initial.UNIFORM}}
"""Arrays that must not be negative."""


def main() -> None:
    host, python = HostClient(locate()), PythonCompiler()
    for name, cases in SIZES.items():
        document = Document((EXAMPLES / f"{name}.py").read_text())
        module = parse_module(document)
        (kernel,) = translate_document(document, Options()).kernels
        (function,) = find_kernels(module)
        arrays = [a for a in kernel.signature.arguments if isinstance(a, ArrayArgument)] if kernel.signature else []
        symbols = dict.fromkeys(e for a in arrays for e in a.extents if isinstance(e, str))
        for case, extents in cases.items():
            folder, sizes = Path(sys.argv[1]) / case, dict(zip(symbols, extents, strict=True))
            text = slice_source(module, function).text
            path = write_plan(
                folder, kernel, text, sizes, SCALARS.get(name, {}), "sm_90", host, python, INITIAL.get(name, {})
            )
            print(path)
    host.close()
    python.close()


if __name__ == "__main__":
    main()
