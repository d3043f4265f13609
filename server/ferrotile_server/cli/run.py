"""`ferrotile run`: a kernel and its translation on the same inputs, compared."""

from __future__ import annotations

import sys

from ferrotile_runner.gpu.presence import usable_gpu
from msgspec.structs import replace

from ferrotile_server.cli import run_elsewhere, verify
from ferrotile_server.cli.arguments import Arguments

RUNG_OF_BACKEND = {"simulate": "simulated", "cuda": "matched"}


def run(arguments: Arguments) -> int:
    """The rung that the backend stands for, alone."""
    if arguments.host:
        return run_elsewhere.run(arguments)
    backend = arguments.backend
    if backend == "auto":
        found = usable_gpu()
        backend = "simulate" if found.name is None else "cuda"
        print(f"ferrotile: {found}", file=sys.stderr)
    return verify.run(replace(arguments, rungs=("translated", RUNG_OF_BACKEND[backend])))
