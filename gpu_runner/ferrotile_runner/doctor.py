"""What works on this machine, and what to run where something does not."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from ferrotile_runner import mcp_sdk
from ferrotile_runner.host import HostClient, HostError
from ferrotile_runner.process import ProcessError, RpcError
from ferrotile_runner.toolchain import Toolchain, cache_directory, locate

RUST_VERSION = (1, 89)
_COMPILERS = "pip install 'ferrotile[compilers]'"
_RUST = "rustup update stable"
_SETUP = "ferrotile setup"


class Status(Enum):
    OK = "ok"
    OPTIONAL = "optional"
    """Absent, and only some rungs need it."""
    FAILED = "failed"


class Check(Struct, frozen=True):
    """One line of the report; `fix` is a command to run, empty when there is nothing to do."""

    name: str
    status: Status
    detail: str
    fix: str = ""


def _present(name: str, path: Path | None, fix: str) -> Check:
    if path is None:
        return Check(name, Status.FAILED, "not found", fix)
    return Check(name, Status.OK, str(path))


def _python() -> Check:
    return Check("Python", Status.OK, f"{sys.version.split()[0]} at {sys.executable}")


def _cuda_tile(toolchain: Toolchain) -> Check:
    if not toolchain.cuda_tile:
        return Check("cuTile Python", Status.FAILED, "not installed", _COMPILERS)
    try:
        return Check("cuTile Python", Status.OK, f"cuda-tile {metadata.version('cuda-tile')}")
    except metadata.PackageNotFoundError:
        return Check("cuTile Python", Status.OK, "cuda.tile, of unknown version")


def _tileiras(toolchain: Toolchain) -> Check:
    check = _present("tileiras", toolchain.tileiras, _COMPILERS)
    if toolchain.tileiras is None:
        return check
    beside = toolchain.tileiras.parent / ("ptxas.exe" if sys.platform == "win32" else "ptxas")
    if not beside.is_file():
        return Check("tileiras", Status.FAILED, f"{toolchain.tileiras} has no ptxas beside it", _COMPILERS)
    return check


def _headers(toolchain: Toolchain) -> Check:
    if toolchain.cuda is None:
        return Check("CUDA headers", Status.FAILED, "no cuda.h", _COMPILERS)
    header = toolchain.cuda / "include" / "cuda.h"
    if not (header.parent / "curand.h").is_file():
        return Check("CUDA headers", Status.FAILED, f"no curand.h in {header.parent}", _COMPILERS)
    found = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(errors="replace"))
    version = int(found.group(1)) if found else 0
    shown = f"{version // 1000}.{version % 1000 // 10}"
    if version < 13020:
        return Check("CUDA headers", Status.FAILED, f"CUDA {shown} is older than 13.2", _COMPILERS)
    return Check("CUDA headers", Status.OK, f"CUDA {shown} in {header.parent}")


def _libclang(toolchain: Toolchain) -> Check:
    check = _present("libclang", toolchain.libclang, _COMPILERS)
    if toolchain.libclang is not None and toolchain.clang_headers is None:
        return Check("libclang", Status.FAILED, "no builtin headers: neither gcc nor clang found", "install gcc")
    return check


def _cargo(toolchain: Toolchain) -> Check:
    if toolchain.cargo is None:
        return Check("Rust", Status.FAILED, "no cargo", "install Rust with rustup")
    try:
        asked = [str(toolchain.cargo), "--version"]
        output = subprocess.run(asked, capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("Rust", Status.FAILED, str(error), _RUST)
    found = re.search(r"(\d+)\.(\d+)", output)
    if found is None or (int(found.group(1)), int(found.group(2))) < RUST_VERSION:
        return Check("Rust", Status.FAILED, f"{output or 'cargo'}: 1.89 or later is needed", _RUST)
    return Check("Rust", Status.OK, output)


def _host(toolchain: Toolchain) -> Check:
    name = "ferrotile-host"
    if toolchain.host_source is None:
        return Check(
            name,
            Status.FAILED,
            "sources missing from the installation",
            "pip install --force-reinstall ferrotile",
        )
    if toolchain.host is None:
        return Check(name, Status.FAILED, "not built", _SETUP)
    client = HostClient(toolchain)
    try:
        version = client.version()
    except (ProcessError, HostError, RpcError) as error:
        return Check(name, Status.FAILED, str(error), _SETUP)
    finally:
        client.close()
    return Check(name, Status.OK, f"{version.get('host')} with cutile {version.get('cutile')}")


def _cache() -> Check:
    folder = cache_directory()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if os.access(existing, os.W_OK):
        return Check("cache", Status.OK, str(folder))
    return Check("cache", Status.FAILED, f"{existing} is not writable", "export XDG_CACHE_HOME=DIR")


def _gpu() -> Check:
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(library)
    except OSError:
        return Check("GPU", Status.OPTIONAL, "no NVIDIA driver: kernels are simulated on the CPU")
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return Check("GPU", Status.OPTIONAL, "a driver, but no usable GPU")
    return Check("GPU", Status.OK, f"{count.value} usable")


def _solver() -> Check:
    try:
        return Check("z3", Status.OK, f"z3-solver {metadata.version('z3-solver')}")
    except metadata.PackageNotFoundError:
        lacking = "not installed: what the prover's rules leave of a check is not proved"
        return Check("z3", Status.OPTIONAL, lacking, _COMPILERS)


def _mcp() -> Check:
    problem = mcp_sdk.problem()
    if problem is not None:
        return Check("mcp", Status.OPTIONAL, f"{problem}: `ferrotile mcp` cannot serve agents", mcp_sdk.INSTALL)
    return Check("mcp", Status.OK, f"mcp {mcp_sdk.installed()}")


def _openai() -> Check:
    try:
        return Check("openai", Status.OK, f"openai {metadata.version('openai')}")
    except metadata.PackageNotFoundError:
        lacking = "not installed: `ferrotile draft` can ask no model"
        return Check("openai", Status.OPTIONAL, lacking, "pip install 'ferrotile[draft]'")


def doctor(toolchain: Toolchain | None = None) -> tuple[Check, ...]:
    """All checks, in the order in which to repair them; a second at most. Never raises."""
    found = toolchain if toolchain is not None else locate()
    checks: tuple[Callable[[], Check], ...] = (
        _python,
        lambda: _cuda_tile(found),
        lambda: _headers(found),
        lambda: _tileiras(found),
        lambda: _present("tileirdisasm", found.tileirdisasm, _COMPILERS),
        lambda: _libclang(found),
        lambda: _cargo(found),
        lambda: _host(found),
        _solver,
        _mcp,
        _openai,
        _cache,
        _gpu,
    )
    return tuple(check() for check in checks)
