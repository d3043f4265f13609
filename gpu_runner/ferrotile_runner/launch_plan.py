"""A launch plan: two cubins and what the GPU worker needs to launch both sides on the same inputs.

`write_plan` compiles here, where the compilers are and no GPU need be; `workers.gpu` runs there, with a driver only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, ScalarArgument, Signature
from ferrotile.translation import KernelTranslation, RustParameter

from ferrotile_runner.host import HostClient, Specialization
from ferrotile_runner.python_worker import PythonCompiler

DIVISOR = 16
"""Extents, outer strides and base pointers are multiples of this, as both dispatchers find for aligned tensors."""


def _extent(extent: str | int, sizes: Mapping[str, int]) -> int:
    return extent if isinstance(extent, int) else sizes[extent]


def _blocks(factors: Sequence[GridFactor], sizes: Mapping[str, int]) -> int:
    return math.prod(-(-_extent(f.extent, sizes) // f.tile) for f in factors)


def _divisor(number: int) -> int:
    return math.gcd(number, DIVISOR)


def specialization(signature: Signature, sizes: Mapping[str, int]) -> dict[str, Specialization]:
    """What the actual sizes divide by, per array: what a launcher would specialise on."""
    found = {}
    for argument in signature.arguments:
        if isinstance(argument, ArrayArgument):
            shape = [_extent(e, sizes) for e in argument.extents]
            strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
            found[argument.name] = Specialization(
                tuple(map(_divisor, shape)), tuple(map(_divisor, strides)), DIVISOR
            )
    return found


def rust_grid(
    parameters: Sequence[RustParameter], shapes: Mapping[str, Sequence[int]], otherwise: Sequence[int]
) -> list[int]:
    """The grid of the entry: the partition grid of its first `&mut` tensor, else the original's."""
    for parameter in parameters:
        if parameter.kind == "tensor_mut":
            return [-(-n // t) for n, t in zip(shapes[parameter.name], parameter.tile, strict=True)]
    return list(otherwise)


def write_plan(
    folder: Path,
    kernel: KernelTranslation,
    source_slice: str,
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    target: str,
    host: HostClient,
    python: PythonCompiler,
) -> Path:
    """Compiles both sides of a kernel for `target` and writes `NAME.json` and both cubins to `folder`.

    Raises `HostError`, `PythonCompileError` or `ProcessError` when a side cannot be compiled, ValueError for a kernel
    that is not translated, whose grid is unknown, or that updates an array in place.
    """
    signature, entry = kernel.signature, kernel.entry
    if signature is None or entry is None or kernel.rust is None or signature.grid is None:
        raise ValueError(f"{kernel.name}: needs a translation and a known grid")
    if any(d.code == "FT402" for d in kernel.diagnostics):
        raise ValueError(f"{kernel.name}: arrays updated in place have no initial values in a plan yet")
    divisors = specialization(signature, sizes)
    original = python.cubin(source_slice, kernel.name, signature, target, specialization=divisors)
    strides = {p.name: p.strides for p in entry.parameters if p.kind != "scalar"}
    compiled = host.compile(
        kernel.rust, entry.module, entry.name, entry.generics, strides, target, specialization=divisors
    )
    folder.mkdir(parents=True, exist_ok=True)
    cubins = {"python": original.data, "rust": host.assemble(compiled.bytecode, target)}
    for side, data in cubins.items():
        (folder / f"{kernel.name}.{side}.cubin").write_bytes(data)

    tiles = {p.name: list(p.tile) for p in entry.parameters if p.kind == "tensor_mut"}
    written = {o.name for o in kernel.outputs}
    parameters: list[dict[str, object]] = []
    shapes: dict[str, list[int]] = {}
    for argument in signature.arguments:
        match argument:
            case ArrayArgument(name=name, dtype=dtype, extents=extents):
                shapes[name] = [_extent(e, sizes) for e in extents]
                role = "out" if name in written else "in"
                array: dict[str, object] = {"kind": "array", "name": name, "role": role}
                array |= {"dtype": dtype.name, "shape": shapes[name]}
                if name in tiles:
                    array["tile"] = tiles[name]
                parameters.append(array)
            case ScalarArgument(name=name, dtype=dtype):
                parameters.append({"kind": "scalar", "name": name, "dtype": dtype.name, "value": scalars[name]})
            case ConstantArgument():
                pass
    grid = [_blocks(factors, sizes) for factors in signature.grid]
    plan = {
        "kernel": kernel.name,
        "target": target,
        "parameters": parameters,
        "python": {"cubin": f"{kernel.name}.python.cubin", "symbol": kernel.name, "grid": grid},
        "rust": {
            "cubin": f"{kernel.name}.rust.cubin",
            "symbol": f"{entry.name}_entry",
            "grid": rust_grid(entry.parameters, shapes, grid),
        },
    }
    path = folder / f"{kernel.name}.json"
    path.write_text(json.dumps(plan, indent=1))
    return path
