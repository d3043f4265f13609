"""Builds `ferrotile-host`, once for each content of its sources."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from ferrotile_runner.process import Command, run
from ferrotile_runner.toolchain import HOST_NAME, Toolchain, host_binary, locate, target_directory

Progress = Callable[[float, str], None]
"""Gets the finished fraction in [0, 1] and what is being done."""

BUILD_SECONDS = 1800.0


class SetupError(Exception):
    """The host cannot be built; the message says why, with the end of cargo's output."""


def _silent(_fraction: float, _message: str) -> None:
    pass


def _package_count(source: Path) -> int:
    return (source / "Cargo.lock").read_text().count("[[package]]")


def _counter(total: int, progress: Progress) -> Callable[[str], None]:
    """Turns cargo's `Compiling NAME vX` lines into fractions."""
    done = 0

    def on_line(line: str) -> None:
        nonlocal done
        words = line.split()
        if words[:1] == ["Compiling"] and len(words) > 1:
            done += 1
            progress(min(0.99, done / max(total, 1)), f"Compiling {words[1]}")
        elif words[:1] and words[0] in ("Downloading", "Downloaded", "Updating", "Locking"):
            progress(0.0, " ".join(words[:2]))

    return on_line


def setup(progress: Progress = _silent, *, cancel: threading.Event | None = None) -> Toolchain:
    """Builds the host unless it is built, and returns the toolchain with it: minutes the first time, then
    milliseconds. Raises `SetupError`, and `ProcessError` on a time-out (half an hour) or `cancel`."""
    toolchain = locate()
    if toolchain.host is not None:
        progress(1.0, "ferrotile-host is built")
        return toolchain
    lacking = [name for name in toolchain.missing if name in ("CUDA headers", "libclang", "cargo")]
    if lacking or toolchain.host_source is None or toolchain.cargo is None:
        names = ", ".join(lacking) or "ferrotile-host sources"
        raise SetupError(f"cannot build ferrotile-host without {names}; see `ferrotile doctor`")
    source = toolchain.host_source
    arguments = ("build", "--release", "--locked", "--manifest-path", str(source / "Cargo.toml"))
    built = run(
        Command((str(toolchain.cargo), *arguments), toolchain.environment, memory=0),
        BUILD_SECONDS,
        on_stderr=_counter(_package_count(source), progress),
        cancel=cancel,
    )
    if built.returncode != 0:
        raise SetupError(f"cargo ended with status {built.returncode}\n{built.stderr[-4000:]}")
    binary = host_binary(source)
    try:
        binary.parent.mkdir(parents=True, exist_ok=True)
        partial = binary.with_suffix(f".{os.getpid()}")
        shutil.copy2(target_directory() / "release" / HOST_NAME, partial)
        os.replace(partial, binary)
    except OSError as error:
        raise SetupError(f"{error}: choose another cache folder with XDG_CACHE_HOME") from error
    progress(1.0, "ferrotile-host is built")
    return replace(toolchain, host=binary)
