"""`ferrotile run`: a kernel and its translation on the same inputs, compared."""

from __future__ import annotations

import sys

from ferrotile_runner.gpu.presence import usable_gpu
from msgspec.structs import replace

from ferrotile_server.cli import run_elsewhere, verify
from ferrotile_server.cli.arguments import Arguments

BROKEN = 2
RUNG_OF_BACKEND = {"simulate": "simulated", "cuda": "matched"}


def run(arguments: Arguments) -> int:
    """The rung that the backend stands for, alone."""
    if arguments.host:
        return run_elsewhere.run(arguments)
    found = usable_gpu() if arguments.backend == "auto" else None
    backend = arguments.backend if found is None else "simulate" if found.name is None else "cuda"
    code = verify.run(replace(arguments, rungs=("translated", RUNG_OF_BACKEND[backend])))
    if found is not None and code != BROKEN:
        print(f"ferrotile: {found}", file=sys.stderr)
    return code
