"""The type-checked rung: rustc's verdict on kernel texts, all of them in one `cargo check`."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.process import Command, Ending, ProcessError, run
from ferrotile_runner.toolchain import Toolchain, cache_directory

CHECK_SECONDS = 900.0
"""The first check also compiles cuTile Rust's own crates."""

LOCK_POLL_SECONDS = 0.05

_LIBRARY = "#![allow(unused, non_snake_case, clippy::all)]\n"


class TypeCheckError(Exception):
    """`cargo check` itself failed: no verdict on any kernel. The message ends with cargo's output."""


class RustDiagnostic(Struct, frozen=True):
    """A message of rustc. `line` and `column` count from 1, in characters of the kernel text; `code` is like
    `E0308` or empty; `label` is what rustc writes under the place; `rendered` is the whole message as rustc
    prints it."""

    message: str
    code: str
    line: int
    column: int
    end_line: int
    end_column: int
    label: str
    rendered: str


@contextlib.contextmanager
def _exclusive(path: Path, seconds: float, cancel: threading.Event | None) -> Iterator[None]:
    """Holds a file lock: processes share the project folder. Raises `ProcessError` where another holds it for longer
    than `seconds`, or on `cancel`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        deadline = time.monotonic() + seconds
        while not _locked(handle):
            if cancel is not None and cancel.is_set():
                raise ProcessError(Ending.CANCELLED, "cancelled")
            if time.monotonic() > deadline:
                raise ProcessError(Ending.TIMEOUT, f"another ferrotile has been type-checking for {seconds:g} s")
            time.sleep(LOCK_POLL_SECONDS)
        yield


def _locked(handle: IO[str]) -> bool:
    """Whether the lock is ours now."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write_if_changed(path: Path, text: str) -> None:
    """Leaves the time of an unchanged file alone, by which cargo knows that nothing is to be done."""
    data = text.encode()
    if not path.is_file() or path.read_bytes() != data:
        path.write_bytes(data)


def _manifest(source: Path) -> str:
    """The host's own manifest under another name: same crates, same features, same profile, so their builds
    are shared."""
    return (source / "Cargo.toml").read_text().replace("ferrotile-host", "ferrotile-check", 1)


def _write_project(folder: Path, source: Path, texts: Mapping[int, str]) -> None:
    code = folder / "src"
    code.mkdir(parents=True, exist_ok=True)
    _write_if_changed(folder / "Cargo.toml", _manifest(source))
    if not (folder / "Cargo.lock").is_file():
        shutil.copy(source / "Cargo.lock", folder / "Cargo.lock")
    names = {f"k{index}": text for index, text in texts.items()}
    for stale in code.glob("k*.rs"):
        if stale.stem not in names:
            stale.unlink()
    for name, text in names.items():
        _write_if_changed(code / f"{name}.rs", text)
    _write_if_changed(code / "lib.rs", _LIBRARY + "".join(f"mod {name};\n" for name in names))


def _kernel_span(span: Mapping[str, object] | None) -> tuple[int, Mapping[str, object]] | None:
    """The kernel's index and the span in its text, looking out of macro expansions."""
    while span is not None:
        stem = Path(read.text(span["file_name"])).stem
        if stem[:1] == "k" and stem[1:].isdigit():
            return int(stem[1:]), span
        expansion = span.get("expansion")
        span = read.mapping(read.mapping(expansion)["span"]) if expansion is not None else None
    return None


def _notes(message: Mapping[str, object]) -> str:
    children = [read.mapping(child) for child in read.items(message["children"])]
    return "".join(f"\n{read.text(c['level'])}: {read.text(c['message'])}" for c in children)


def _diagnostic(message: Mapping[str, object]) -> tuple[int, RustDiagnostic] | None:
    spans = [read.mapping(span) for span in read.items(message["spans"])]
    spans.sort(key=lambda span: span["is_primary"] is not True)
    for outer in spans:
        found = _kernel_span(outer)
        if found is None:
            continue
        index, span = found
        code = message["code"]
        label = outer.get("label")
        rendered = message.get("rendered")
        return index, RustDiagnostic(
            message=read.text(message["message"]) + _notes(message),
            code=read.text(read.mapping(code)["code"]) if code is not None else "",
            line=read.integer(span["line_start"]),
            column=read.integer(span["column_start"]),
            end_line=read.integer(span["line_end"]),
            end_column=read.integer(span["column_end"]),
            label=label if isinstance(label, str) else "",
            rendered=rendered if isinstance(rendered, str) else "",
        )
    return None


def parse_messages(output: bytes, count: int) -> tuple[tuple[RustDiagnostic, ...], ...]:
    """The errors of each of `count` kernels in cargo's `--message-format=json` output."""
    errors: list[list[RustDiagnostic]] = [[] for _ in range(count)]
    for line in output.splitlines():
        if not line.startswith(b"{"):
            continue
        record = read.mapping(json.loads(line))
        if record.get("reason") != "compiler-message":
            continue
        message = read.mapping(record["message"])
        if read.text(message["level"]).startswith("error"):
            found = _diagnostic(message)
            if found is not None and found[0] < count:
                errors[found[0]].append(found[1])
    return tuple(map(tuple, errors))


def type_check(
    toolchain: Toolchain,
    texts: Sequence[str],
    *,
    seconds: float = CHECK_SECONDS,
    on_line: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
) -> tuple[tuple[RustDiagnostic, ...], ...]:
    """rustc's errors for each of `texts` (`#[cutile::module] mod ... { }`), in the same order; empty =
    accepted. A macro error hides the type errors of its own text. An error of an early stage also hides what
    later stages would say of the other texts, so these are checked again without the refused ones: accepted
    means that rustc ran to its end. `on_line` gets what cargo says meanwhile; `seconds` limits each run.
    Raises `TypeCheckError`, and `ProcessError` on a time-out or `cancel`."""
    if toolchain.cargo is None or toolchain.host_source is None:
        raise ProcessError(Ending.MISSING, "cargo is not installed; see `ferrotile doctor`")
    if not texts:
        return ()
    folder = cache_directory() / "typecheck"
    command = Command(
        (
            str(toolchain.cargo),
            "check",
            "--release",
            "--message-format=json",
            "--manifest-path",
            str(folder / "Cargo.toml"),
        ),
        toolchain.environment,
        memory=0,
    )
    errors: list[tuple[RustDiagnostic, ...]] = [()] * len(texts)
    left = dict(enumerate(texts))
    with _exclusive(folder / "lock", seconds, cancel):
        while left:
            _write_project(folder, toolchain.host_source, left)
            done = run(command, seconds, on_stderr=on_line, cancel=cancel)
            found = parse_messages(done.stdout, len(texts))
            if done.returncode == 0:
                break
            if not any(found):
                raise TypeCheckError(f"cargo ended with status {done.returncode}\n{done.stderr[-4000:]}")
            for index, of_kernel in enumerate(found):
                if of_kernel:
                    errors[index] = of_kernel
                    del left[index]
    return tuple(errors)
