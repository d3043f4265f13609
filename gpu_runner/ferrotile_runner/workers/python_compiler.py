"""Compiles cuTile Python kernels; a program: one JSON-RPC 2.0 object a line on stdin, one answer a line on
stdout.

`compile` {path, kernel, symbol, arguments, bytecode_version, target} -> {bytecode | cubin: base64, ms}. With
a `target` the answer is a cubin, without one it is bytecode for no architecture in particular. `arguments`,
in Python order, are {kind: "array", dtype, rank, shape_div, stride_div, ptr_div}, {kind: "scalar", dtype} or
{kind: "constant", value}. The file at `path` is executed: the caller has cut it down to the kernel and what
it names.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import linecache
import math
import os
import sys
import time
import traceback
from collections.abc import Mapping
from types import ModuleType

os.environ["CUDA_TILE_CACHE_DIR"] = "0"

COMPILE_FAILED = -32000
INVALID_PARAMS = -32602

DTYPES = {
    "bool": "bool_",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "tf32": "tfloat32",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "f8e8m0fnu": "float8_e8m0fnu",
}
"""cuTile Rust's names of element types, and cuTile Python's."""

_SPECIAL_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Refused(Exception):
    """Line from 1, column from 0 in characters; None = unknown."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def load(path: str, modules: dict[str, ModuleType]) -> ModuleType:
    """Imports the file at `path` once; a path stands for one content."""
    if path in modules:
        return modules[path]
    name = f"ferrotile_slice_{len(modules)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Refused(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise Refused(f"SyntaxError: {error.msg}", error.lineno, max((error.offset or 1) - 1, 0)) from error
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
        line = frames[-1].lineno if frames else None
        raise Refused(f"{type(error).__name__}: {error}", line, 0 if frames else None) from error
    modules[path] = module
    return module


def _constant(value: object) -> object:
    """A constant from JSON: an object with one key stands for what JSON has no form for."""
    import cuda.tile as ct

    match value:
        case {"float": str(text)}:
            return _SPECIAL_FLOATS[text]
        case {"dtype": str(name)}:
            return getattr(ct, DTYPES[name])
        case {"tuple": list(items)}:
            return tuple(_constant(i) for i in items)
        case _:
            return value


def constraint(argument: Mapping[str, object]) -> object:
    """The `cuda.tile.compilation` form of one argument."""
    import cuda.tile as ct
    from cuda.tile import compilation

    kind = argument["kind"]
    if kind == "constant":
        return _constant(argument["value"])
    dtype = getattr(ct, DTYPES[str(argument["dtype"])])
    if kind == "scalar":
        return compilation.ScalarConstraint(dtype)
    if kind != "array":
        raise Refused(f"an argument of kind {kind!r}")
    rank = argument["rank"]
    assert isinstance(rank, int)
    return compilation.ArrayConstraint(
        dtype,
        rank,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=[],
        may_alias_internally=False,
        stride_constant=[None] * (rank - 1) + [1] * min(rank, 1),
        shape_divisible_by=argument.get("shape_div") or 1,
        stride_divisible_by=argument.get("stride_div") or 1,
        base_addr_divisible_by=argument.get("ptr_div") or 1,
    )


def compile_kernel(params: Mapping[str, object], modules: dict[str, ModuleType]) -> dict[str, object]:
    import cuda.tile as ct
    from cuda.tile import compilation

    started = time.perf_counter()
    path, name, target = str(params["path"]), str(params["kernel"]), params.get("target")
    kernel = getattr(load(path, modules), name, None)
    if not isinstance(kernel, ct.kernel):
        raise Refused(f"`{name}` is not a cuTile kernel of the file")
    arguments = params["arguments"]
    assert isinstance(arguments, list)
    out = io.BytesIO()
    try:
        signature = compilation.KernelSignature(
            [constraint(argument) for argument in arguments],
            compilation.CallingConvention.cutile_python_v2(),
            symbol=str(params.get("symbol") or name),
        )
        compilation.export_kernel(
            kernel,
            [signature],
            out,
            gpu_code=target,
            output_format="cubin" if target else "tileir_bytecode",
            bytecode_version=params.get("bytecode_version"),
        )
    except Refused:
        raise
    except Exception as error:
        raise located(error, path) from error
    encoded = base64.b64encode(out.getvalue()).decode()
    ms = (time.perf_counter() - started) * 1e3
    return {"cubin" if target else "bytecode": encoded, "ms": ms}


def located(error: Exception, path: str) -> Refused:
    """Finds the innermost place of a compiler error that is in the file at `path`."""
    message = getattr(error, "message", None)
    text = f"{type(error).__name__}: {message if isinstance(message, str) else error}"
    place = getattr(error, "loc", None)
    while place is not None and getattr(place, "filename", None) != path:
        place = getattr(place, "call_site", None)
    if place is None:
        return Refused(text)
    before = linecache.getline(path, place.line).encode()[: place.col]
    return Refused(text, place.line, len(before.decode(errors="ignore")))


def version() -> dict[str, object]:
    import cuda.tile as ct

    return {"cuda_tile": ct.__version__, "python": sys.version.split()[0]}


def answer(request: Mapping[str, object], modules: dict[str, ModuleType]) -> dict[str, object]:
    reply: dict[str, object] = {"jsonrpc": "2.0", "id": request.get("id")}
    params = request.get("params")
    try:
        if request.get("method") == "version":
            reply["result"] = version()
        elif request.get("method") == "compile" and isinstance(params, dict):
            reply["result"] = compile_kernel(params, modules)
        else:
            reply["error"] = {"code": INVALID_PARAMS, "message": "expected `version` or `compile`"}
    except Refused as error:
        place = {"line": error.line, "column": error.column}
        reply["error"] = {"code": COMPILE_FAILED, "message": str(error), "data": place}
    except Exception as error:
        traceback.print_exc()
        reply["error"] = {"code": INVALID_PARAMS, "message": f"{type(error).__name__}: {error}"}
    return reply


def main() -> None:
    """Serves until stdin ends. Whatever the file prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    modules: dict[str, ModuleType] = {}
    for line in sys.stdin:
        if line.strip():
            answers.write(json.dumps(answer(json.loads(line), modules)) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
