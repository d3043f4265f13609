"""`ferrotile run`: a kernel and its translation on the same inputs, compared."""

from __future__ import annotations

from msgspec.structs import replace

from ferrotile_server.cli import verify
from ferrotile_server.cli.arguments import Arguments

RUNG_OF_BACKEND = {"simulate": "simulated"}


def run(arguments: Arguments) -> int:
    """The rung that the backend stands for, alone."""
    return verify.run(replace(arguments, rungs=("translated", RUNG_OF_BACKEND[arguments.backend])))
