"""Where the compilers are: CUDA's from PyPI wheels (or a toolkit), Rust's from the user's installation."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

HOST_NAME = "ferrotile-host.exe" if sys.platform == "win32" else "ferrotile-host"


class Toolchain(Struct, frozen=True):
    """Paths of what was found; None = absent. `cuda` is the folder that holds `bin/tileiras` and
    `include/cuda.h`; `clang_headers` the compiler's builtin headers; `host` the `ferrotile-host` built from
    `host_source` as it is now."""

    cuda: Path | None
    tileiras: Path | None
    tileirdisasm: Path | None
    libclang: Path | None
    clang_headers: Path | None
    cargo: Path | None
    host_source: Path | None
    host: Path | None
    cuda_tile: bool

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of absent parts, in the order in which they are needed."""
        parts: tuple[tuple[str, object], ...] = (
            ("cuda-tile", self.cuda_tile or None),
            ("CUDA headers", self.cuda),
            ("tileiras", self.tileiras),
            ("tileirdisasm", self.tileirdisasm),
            ("libclang", self.libclang),
            ("cargo", self.cargo),
            ("ferrotile-host sources", self.host_source),
            ("ferrotile-host", self.host),
        )
        return tuple(name for name, found in parts if found is None)

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables under which `cargo` builds cuTile Rust and `ferrotile-host` runs."""
        variables = {"CARGO_TARGET_DIR": str(target_directory()), "CARGO_TERM_COLOR": "never"}
        if self.cuda is not None:
            variables["CUDA_TOOLKIT_PATH"] = str(self.cuda)
        if self.tileiras is not None:
            variables["CUTILE_TILEIRAS_PATH"] = str(self.tileiras)
        if self.libclang is not None:
            variables["LIBCLANG_PATH"] = str(self.libclang.parent)
        if self.clang_headers is not None and "BINDGEN_EXTRA_CLANG_ARGS" not in os.environ:
            variables["BINDGEN_EXTRA_CLANG_ARGS"] = shlex.quote(f"-I{self.clang_headers}")
        return variables


def cache_directory() -> Path:
    """`ferrotile` in the user's cache folder (`XDG_CACHE_HOME` or `~/.cache`). It need not exist."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ferrotile"


def target_directory() -> Path:
    """The one target folder that all of ferrotile's `cargo` runs share."""
    return cache_directory() / "target"


def host_source() -> Path | None:
    """The folder of the `ferrotile-host` crate: inside the package in a wheel, beside it in a checkout."""
    here = Path(__file__).parent
    candidates = (here / "host_crate", here.parent / "host")
    return next((path.resolve() for path in candidates if (path / "Cargo.toml").is_file()), None)


def source_digest(source: Path) -> str:
    """Identifies the crate's content and the platform: 16 hexadecimal digits."""
    digest = hashlib.sha256(f"{platform.system()}-{platform.machine()}".encode())
    for path in sorted([source / "Cargo.toml", source / "Cargo.lock", *(source / "src").glob("*.rs")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def host_binary(source: Path) -> Path:
    """Where the binary built from `source` is kept, built or not."""
    return cache_directory() / "host" / source_digest(source) / HOST_NAME


def _package_folders(name: str) -> tuple[Path, ...]:
    spec = importlib.util.find_spec(name)
    return tuple(Path(folder) for folder in (spec.submodule_search_locations or ())) if spec else ()


def _file(path: Path | None) -> Path | None:
    return path if path is not None and path.is_file() else None


def _find_cuda() -> Path | None:
    named = [Path(os.environ[name]) for name in ("CUDA_TOOLKIT_PATH", "CUDA_HOME") if os.environ.get(name)]
    wheels = [folder / "cu13" for folder in _package_folders("nvidia")]
    candidates = (*named, *wheels, Path("/usr/local/cuda"))
    return next((path for path in candidates if (path / "include" / "cuda.h").is_file()), None)


def _find_program(name: str, cuda: Path | None) -> Path | None:
    """A CUDA program: from the wheels first, since they hold versions that work together."""
    folders = [folder / "cu13" for folder in _package_folders("nvidia")] + ([cuda] if cuda else [])
    suffix = ".exe" if sys.platform == "win32" else ""
    found = (folder / "bin" / f"{name}{suffix}" for folder in folders)
    on_path = shutil.which(name)
    return next((path for path in found if path.is_file()), _file(Path(on_path) if on_path else None))


def _find_libclang() -> Path | None:
    names = ("libclang.so", "libclang.dylib", "libclang.dll", "libclang.so.1")
    named = os.environ.get("LIBCLANG_PATH")
    folders = ([Path(named)] if named else []) + [path / "native" for path in _package_folders("clang")]
    folders += sorted(Path("/usr/lib").glob("llvm-*/lib"), reverse=True)
    return next((path / name for path in folders for name in names if (path / name).is_file()), None)


@cache
def _find_clang_headers() -> Path | None:
    """The folder with `stddef.h`: the `libclang` wheel has none, but gcc's and clang's own serve."""
    for compiler, arguments in (("clang", ("-print-resource-dir",)), ("gcc", ("-print-file-name=include",))):
        program = shutil.which(compiler)
        if program is None:
            continue
        try:
            output = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=10).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        folder = Path(output.strip())
        for candidate in (folder / "include", folder):
            if (candidate / "stddef.h").is_file():
                return candidate
    return None


def _find_cargo() -> Path | None:
    on_path = shutil.which("cargo")
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    return Path(on_path) if on_path else _file(home / "bin" / ("cargo.exe" if os.name == "nt" else "cargo"))


def locate() -> Toolchain:
    """Looks for everything; milliseconds, no side effects, never raises for what is absent."""
    cuda = _find_cuda()
    source = host_source()
    return Toolchain(
        cuda=cuda,
        tileiras=_find_program("tileiras", cuda),
        tileirdisasm=_find_program("tileirdisasm", cuda),
        libclang=_find_libclang(),
        clang_headers=_find_clang_headers(),
        cargo=_find_cargo(),
        host_source=source,
        host=_file(host_binary(source)) if source else None,
        cuda_tile=bool(_package_folders("cuda.tile")),
    )
