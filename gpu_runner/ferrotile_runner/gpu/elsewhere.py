"""Runs a bundle on another machine, through the user's own `ssh`."""

from __future__ import annotations

import json
import shlex
import shutil
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from ferrotile_runner.process import Command, Completed, Ending, ProcessError, run

SECONDS = 3600.0
REMOTE = """set -e
f=$(mktemp -d)
trap 'rm -rf "$f"' EXIT
cat > "$f/bundle.zip"
python3 "$f/bundle.zip" {options}"""
"""What the other machine does: it needs a driver, and NumPy and `cuda-bindings` in its `python3`."""


def run_on(
    host: str,
    bundle: Path,
    options: tuple[str, ...] = (),
    *,
    seconds: float = SECONDS,
    cancel: threading.Event | None = None,
    on_stderr: Callable[[str], None] | None = None,
) -> Completed:
    """Copies the bundle to `host`, runs it there and leaves nothing behind. `host` is what `ssh` takes as one. Raises
    `ProcessError` without `ssh`, for a time-out or a cancel."""
    ssh = shutil.which("ssh")
    if ssh is None:
        raise ProcessError(Ending.MISSING, "`ssh` is not installed")
    if host.startswith("-"):
        raise ProcessError(Ending.MISSING, f"{host} is no host")
    script = REMOTE.format(options=shlex.join(options))
    command = Command((ssh, "-T", "-o", "BatchMode=yes", "--", host, script))
    return run(command, seconds, stdin=bundle, cancel=cancel, on_stderr=on_stderr)


def objects_of(done: Completed) -> list[Mapping[str, object]]:
    """The JSON objects that a bundle's worker printed, among whatever else a shell prints."""
    return [json.loads(line) for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("{")]
