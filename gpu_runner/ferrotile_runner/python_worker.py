"""Client of the cuTile Python compiler worker: a kernel's source slice to Tile IR bytecode or a cubin."""

from __future__ import annotations

import atexit
import hashlib
import math
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ferrotile.program.dtypes import DType
from ferrotile.signatures.model import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ConstantValue,
    ScalarArgument,
    Signature,
)
from msgspec import Struct

from ferrotile_runner import json_values as read
from ferrotile_runner.compile_error import CompileError
from ferrotile_runner.host import BYTECODE_VERSION, Specialization
from ferrotile_runner.process import Command, JsonProcess, RpcError
from ferrotile_runner.toolchain import cache_directory
from ferrotile_runner.workers import python_compiler

COMPILE_SECONDS = 120.0
CUBIN_SECONDS = 300.0


class PythonCompileError(CompileError):
    """cuTile Python refused the kernel; the place is in the source slice."""


class CompiledPython(Struct, frozen=True):
    """`data` is Tile IR bytecode or a cubin; `ms` is the compiler's time."""

    data: bytes
    ms: float


def _argument_json(argument: Argument, divisors: Specialization | None) -> dict[str, object]:
    match argument:
        case ArrayArgument(dtype=dtype, extents=extents):
            array: dict[str, object] = {"kind": "array", "dtype": dtype.name, "rank": len(extents)}
            if divisors is not None:
                # The last stride is the constant 1, about which nothing may be assumed.
                strides = [*divisors.stride_div[:-1], 1][: len(extents)]
                array |= {
                    "shape_div": list(divisors.shape_div),
                    "stride_div": strides,
                    "ptr_div": divisors.ptr_div,
                }
            return array
        case ScalarArgument(dtype=dtype):
            return {"kind": "scalar", "dtype": dtype.name}
        case ConstantArgument(value=value):
            return {"kind": "constant", "value": _constant(value)}


def _constant(value: ConstantValue) -> object:
    """A constant as JSON: what JSON has no form for is an object with one key that names its kind."""
    match value:
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case DType(name=name):
            return {"dtype": name}
        case tuple():
            return {"tuple": [_constant(v) for v in value]}
        case _:
            return value


def _slice_path(source_slice: str) -> Path:
    """Keeps the text in a file named by its content: `inspect` and error places need one, and the worker
    loads it once. Where the cache folder cannot be written, the file is a temporary one."""
    digest = hashlib.sha256(source_slice.encode()).hexdigest()[:16]
    try:
        return _keep(source_slice, cache_directory() / "slices" / f"kernel_{digest}.py")
    except OSError:
        return _keep(source_slice, _temporary_folder() / f"kernel_{digest}.py")


@cache
def _temporary_folder() -> Path:
    """One folder for the life of this process."""
    folder = Path(tempfile.mkdtemp(prefix="ferrotile-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _keep(source_slice: str, path: Path) -> Path:
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        partial.write_text(source_slice, encoding="utf-8", newline="")
        os.replace(partial, path)
    return path


class PythonCompiler:
    """A warm worker process. It executes the slice, so the caller asks only in trusted workspaces. Methods
    raise `PythonCompileError` for a refused kernel and `ProcessError` for a crash, a time-out or a cancel;
    the next call then starts a new process. Safe to share between threads."""

    def __init__(self, python: str = sys.executable) -> None:
        self._process = JsonProcess(Command((python, "-I", python_compiler.__file__), {"CUDA_TILE_CACHE_DIR": "0"}))

    def version(self) -> Mapping[str, object]:
        """`{cuda_tile, python}`; imports `cuda.tile`, so the next compile is warm."""
        return self._process.call("version", {}, 60.0)

    def compile(
        self,
        source_slice: str,
        kernel: str,
        signature: Signature,
        bytecode_version: str = BYTECODE_VERSION,
        *,
        specialization: Mapping[str, Specialization] | None = None,
        seconds: float = COMPILE_SECONDS,
        cancel: threading.Event | None = None,
    ) -> CompiledPython:
        """Tile IR bytecode for no particular architecture. Arrays have 32-bit extents and strides, a unit
        last stride and, without `specialization`, no divisibility; they do not overlap. The entry's symbol is
        the kernel's name."""
        return self._call(source_slice, kernel, signature, bytecode_version, None, specialization, seconds, cancel)

    def cubin(
        self,
        source_slice: str,
        kernel: str,
        signature: Signature,
        target: str,
        bytecode_version: str = BYTECODE_VERSION,
        *,
        specialization: Mapping[str, Specialization] | None = None,
        seconds: float = CUBIN_SECONDS,
        cancel: threading.Event | None = None,
    ) -> CompiledPython:
        """The cubin for `target` (`sm_90`), as cuTile Python itself would make it."""
        return self._call(source_slice, kernel, signature, bytecode_version, target, specialization, seconds, cancel)

    def _call(
        self,
        source_slice: str,
        kernel: str,
        signature: Signature,
        bytecode_version: str,
        target: str | None,
        specialization: Mapping[str, Specialization] | None,
        seconds: float,
        cancel: threading.Event | None,
    ) -> CompiledPython:
        divisors = specialization or {}
        params = {
            "path": str(_slice_path(source_slice)),
            "kernel": kernel,
            "symbol": kernel,
            "arguments": [_argument_json(a, divisors.get(a.name)) for a in signature.arguments],
            "bytecode_version": bytecode_version,
            "target": target,
        }
        try:
            result = self._process.call("compile", params, seconds, cancel)
        except RpcError as error:
            line, column = error.data.get("line"), error.data.get("column")
            place = read.integer_or_none(line), read.integer_or_none(column)
            raise PythonCompileError(error.message, *place) from None
        data = read.binary(result["bytecode" if target is None else "cubin"])
        return CompiledPython(data, read.number(result["ms"]))

    def close(self) -> None:
        self._process.close()
