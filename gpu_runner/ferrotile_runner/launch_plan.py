"""A launch plan: two cubins and what the GPU worker needs to launch both sides on the same inputs.

`write_plan` compiles here, where the compilers are and no GPU need be; `workers.gpu` runs there, with a driver only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from ferrotile.passes.accesses import find_accesses
from ferrotile.program.ir import Program
from ferrotile.signatures.model import ArrayArgument, ConstantArgument, GridFactor, ScalarArgument, Signature
from ferrotile.translation import KernelTranslation

from ferrotile_runner.host import HostClient, Specialization
from ferrotile_runner.launch_grid import rust_grid
from ferrotile_runner.python_worker import PythonCompiler

DIVISOR = 16
"""Extents, outer strides and base pointers are multiples of this, as both dispatchers find for aligned tensors."""

_STORES = frozenset({"store_view", "store_ptr", "store_special", "scatter"})
"""Operations that overwrite elements without a look at them."""


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
            found[argument.name] = Specialization(tuple(map(_divisor, shape)), tuple(map(_divisor, strides)), DIVISOR)
    return found


class Initial(StrEnum):
    """What an array holds before a launch. Values are those of the plan file."""

    NORMAL = "normal"
    """Normally distributed; integers are uniform in [0, `below`), where `below` is in the plan."""
    UNIFORM = "uniform"
    """Uniform in [0, 1), for what must not be negative; integers as above."""
    ZEROS = "zeros"
    POISON = "poison"
    """NaN, or the largest integer: an element that no block stores shows."""


def roles(program: Program) -> dict[str, str]:
    """`in` for arrays that are only read, `out` for those that are only stored to, else `inout`."""
    names = {p.value.id: p.name for p in program.parameters}
    found: dict[str, str] = {}
    accesses = find_accesses(program)
    for access in accesses:
        name = names.get(access.array, "")
        role = "out" if access.operation.opcode in _STORES else "inout" if access.store else "in"
        found[name] = role if found.get(name, role) == role else "inout"
    # An access to an array that is not known may be to any.
    return dict.fromkeys(found, "inout") if "" in found else found


def write_plan(
    folder: Path,
    kernel: KernelTranslation,
    source_slice: str,
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
    target: str,
    host: HostClient,
    python: PythonCompiler,
    initial: Mapping[str, Initial] = MappingProxyType({}),
) -> Path:
    """Compiles both sides of a kernel for `target` and writes `NAME.json` and both cubins to `folder`. `initial` says
    what arrays hold at first; without it, those that are read are `NORMAL`, those that are only stored `POISON`.

    Raises `HostError`, `PythonCompileError` or `ProcessError` when a side cannot be compiled, ValueError for a kernel
    that is not translated, whose grid is unknown, or that reads a copy of an array that it writes.
    """
    signature, entry = kernel.signature, kernel.entry
    if signature is None or entry is None or kernel.rust is None or signature.grid is None or kernel.program is None:
        raise ValueError(f"{kernel.name}: needs a translation and a known grid")
    if any(p.copy_of is not None for p in entry.parameters):
        raise ValueError(f"{kernel.name}: a plan has no copies of arrays; translate it with `unsafe` set to `proved`")
    divisors = specialization(signature, sizes)
    original = python.cubin(source_slice, kernel.name, signature, target, specialization=divisors)
    strides = {p.rust or p.name: p.strides for p in entry.parameters if p.kind != "scalar"}
    known = {p.rust or p.name: divisors[p.name] for p in entry.parameters if p.name in divisors}
    compiled = host.compile(
        kernel.rust, entry.module, entry.name, entry.generics, strides, target, specialization=known
    )
    folder.mkdir(parents=True, exist_ok=True)
    cubins = {"python": original.data, "rust": host.assemble(compiled.bytecode, target)}
    for side, data in cubins.items():
        (folder / f"{kernel.name}.{side}.cubin").write_bytes(data)

    tiles = {p.name: list(p.tile) for p in entry.parameters if p.kind == "tensor_mut"}
    role = roles(kernel.program)
    parameters: list[dict[str, object]] = []
    shapes: dict[str, list[int]] = {}
    below = min((n for n in sizes.values() if n > 1), default=1)
    for argument in signature.arguments:
        match argument:
            case ArrayArgument(name=name, dtype=dtype, extents=extents):
                shapes[name] = [_extent(e, sizes) for e in extents]
                own = role.get(name, "in")
                usual = Initial.POISON if own == "out" else Initial.NORMAL
                array: dict[str, object] = {"kind": "array", "name": name, "role": own}
                array |= {"initial": initial.get(name, usual).value, "below": below}
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
            "grid": list(rust_grid(entry.parameters, shapes, grid)),
        },
    }
    path = folder / f"{kernel.name}.json"
    path.write_text(json.dumps(plan, indent=1))
    return path
