"""`ferrotile run --on HOST`: compiled here, run on the GPU of a machine that the user's own `ssh` reaches."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from ferrotile_runner.gpu.elsewhere import objects_of, run_on
from ferrotile_runner.process import ProcessError

from ferrotile_server.cli import bundle
from ferrotile_server.cli.arguments import Arguments
from ferrotile_server.cli.gpu_text import verdict_lines
from ferrotile_server.cli.paths import PathError


def run(arguments: Arguments) -> int:
    """The verdicts, as text or as the JSON lines of the worker; its exit code."""
    with tempfile.TemporaryDirectory(prefix="ferrotile-") as folder:
        path = Path(folder) / "bundle.zip"
        bundle.complain(bundle.make(arguments, path))
        try:
            done = run_on(arguments.host, path)
        except ProcessError as error:
            raise PathError(str(error)) from error
        except KeyboardInterrupt:
            return 130
    lines = objects_of(done)
    if arguments.format == "json":
        print(json.dumps(lines))
    else:
        print("\n".join(verdict_lines(lines)))
    if done.stderr.strip():
        print(done.stderr.strip(), file=sys.stderr)
    return done.returncode
