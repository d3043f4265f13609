"""Proof time of the examples: both compilers and the comparison, first cold, then warm."""

from __future__ import annotations

import re
import time
from pathlib import Path

from ferrotile_server.application import Application
from measuring import Budget, Times, print_table

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ("vector_add", "softmax", "silu_mul", "matmul", "layer_norm", "adamw")
WARM_RUNS = 5
BUDGET = Budget(500)


def prove(application: Application, kernel: str, text: str) -> float:
    """Milliseconds until the verdict; raises `RuntimeError` where it is not a proof."""
    start = time.perf_counter()
    reports = application.verify_text(text, kernel, (kernel,), ("proved",))
    ms = (time.perf_counter() - start) * 1e3
    for report in reports:
        if report.rungs["proved"].status != "passed":
            raise RuntimeError(f"{kernel}: {report.rungs['proved'].detail}")
    return ms


def main() -> None:
    application = Application()
    for kernel in KERNELS:
        text = (ROOT / "examples" / f"{kernel}.py").read_text(encoding="utf-8")
        cold = Times((prove(application, kernel, text),))
        # A new comment in the kernel, so that no verdict is remembered.
        texts = [
            re.sub(r"^( *)(ct\.store\()", rf"\1# {n}\n\1\2", text, count=1, flags=re.MULTILINE)
            for n in range(WARM_RUNS)
        ]
        warm = Times(tuple(prove(application, kernel, t) for t in texts))
        print_table(f"proof of {kernel}", [("warm", warm), ("first", cold)], BUDGET)
    application.close()


if __name__ == "__main__":
    main()
