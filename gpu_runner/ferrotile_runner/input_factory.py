"""Inputs from a function of the user's file that the directive names: `# ferrotile: inputs=make_inputs`."""

from __future__ import annotations

import re
import sys
import tempfile
import threading
from pathlib import Path

from ferrotile.signatures.directive import read_directive
from ferrotile.syntax.module import FunctionSource, Module

from ferrotile_runner.input_error import InputError
from ferrotile_runner.process import Command, Ending, ProcessError, run
from ferrotile_runner.slice import slice_source
from ferrotile_runner.workers import input_factory as worker

SECONDS = 30.0
MEMORY_BYTES = 4 << 30
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def factory_of(module: Module, kernel: FunctionSource) -> str | None:
    """The function that the kernel's directive names."""
    return read_directive(module.document.comments_above(kernel.span.start)).inputs


def make_inputs(
    module: Module, name: str, seed: int, folder: Path, cancel: threading.Event | None = None
) -> tuple[Path, ...]:
    """Runs the function `name`, and what it names in its file, in a process of its own; the files that it made in
    `folder`, one a launch. The caller answers for trust. Raises InputError for a function that is not there, that
    needs what is not run, or that fails; ProcessError where it takes too long or too much memory."""
    function = module.function(name)
    if function is None:
        raise InputError(f"inputs={name}: this file has no function of that name")
    made = slice_source(module, function)
    if made.missing:
        raise InputError(f"{name} needs {', '.join(made.missing)}, which is not run: make the arrays with numpy")
    with tempfile.TemporaryDirectory(prefix="ferrotile-") as place:
        path = Path(place) / "inputs.py"
        path.write_text(made.text, encoding="utf-8")
        arguments = (sys.executable, "-I", worker.__file__, str(path), name, str(seed), str(folder))
        done = run(Command(arguments, ONE_THREAD, memory=MEMORY_BYTES), SECONDS, cancel=cancel)
    if done.returncode == worker.REFUSED:
        said = done.stderr.strip()
        match = re.match(r"(\d+):(.*)", said, re.DOTALL)
        line = made.file_line(int(match[1]) - 1) if match and int(match[1]) else None
        where = "" if line is None else f" (line {line + 1})"
        raise InputError(f"{name}: {match[2] if match else said}{where}")
    if done.returncode != 0:
        raise ProcessError(Ending.CRASHED, f"{name} ended with status {done.returncode}", done.stderr)
    return tuple(sorted(folder.glob("*.npz"), key=lambda file: int(file.stem)))
