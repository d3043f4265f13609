"""Tile IR bytecode to the text that `tileirdisasm` prints."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ferrotile_runner.process import Command, Ending, ProcessError, run
from ferrotile_runner.toolchain import Toolchain


class DisassemblyError(Exception):
    """The bytecode is malformed."""


def disassemble(toolchain: Toolchain, bytecode: bytes, *, locations: bool = False, seconds: float = 30.0) -> str:
    """One `cuda_tile.module`; with `locations` each operation carries `loc("file":line:column)` of its
    source. Raises `DisassemblyError`, and `ProcessError` when the tool is absent or hangs."""
    if toolchain.tileirdisasm is None:
        raise ProcessError(Ending.MISSING, "tileirdisasm is not installed; see `ferrotile doctor`")
    with tempfile.TemporaryDirectory(prefix="ferrotile-") as folder:
        path = Path(folder) / "kernel.bc"
        path.write_bytes(bytecode)
        options = ("-g",) if locations else ()
        done = run(Command((str(toolchain.tileirdisasm), *options, str(path))), seconds)
    if done.returncode != 0:
        raise DisassemblyError(done.stderr.strip() or f"tileirdisasm ended with status {done.returncode}")
    return done.stdout.decode()
