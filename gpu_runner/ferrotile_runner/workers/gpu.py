"""The GPU worker: launches the original's cubin and the translation's on the same inputs, compares, times.

Run as `python -m ferrotile_runner.workers.gpu PLAN.json`, one disposable process a kernel: a failed device assert
poisons its CUDA context. Needs a driver, NumPy and `cuda-bindings`; no compiler, and none of ferrotile's other
dependencies. Cubin paths are relative to the plan file.

Launch ABI (both compilers): an array of rank r is `ptr u64, extents i32 x r, strides i32 x r` (in elements), a scalar
is passed by value; the Rust `&mut Tensor` has `tile i32 x r, tile strides i32 x r` after that. Block size is (1, 1, 1).
"""

from __future__ import annotations

import ctypes
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cuda.bindings import driver
from numpy.typing import NDArray

from ferrotile_runner import json_values as read

GUARD_BYTES = 4096
GUARD_BYTE = 0xA5
LAUNCHES = 25
WARM_UP = 3
L2_BYTES = 128 << 20

Words = list[ctypes.c_uint64 | ctypes.c_int32 | ctypes.c_float | ctypes.c_int64 | ctypes.c_bool]
Data = NDArray[np.generic]

_DTYPES = {"f16": "float16", "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}
_INTEGERS: dict[str, type[ctypes.c_int32 | ctypes.c_int64 | ctypes.c_bool]] = {
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "bool": ctypes.c_bool,
}


class CudaError(RuntimeError):
    """A driver call failed; the message names the call's status."""


def check(result: Sequence[object]) -> object:
    """The value of a driver call. Raises CudaError with the status's name."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise CudaError(str(status))
    return values[0] if values else None


def allocate(size: int) -> int:
    """The device address of `size` new bytes."""
    status, address = driver.cuMemAlloc(size)
    check((status,))
    return int(address)


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """A guarded device copy of `host`: `GUARD_BYTES` of a known byte lie before and after the data."""

    name: str
    host: Data
    base: int
    mutable: bool
    tile: tuple[int, ...]

    @property
    def address(self) -> int:
        return self.base + GUARD_BYTES

    def words(self, rust: bool) -> Words:
        """The kernel arguments of this array for one side."""
        strides = [s // self.host.itemsize for s in self.host.strides]
        words: Words = [ctypes.c_uint64(self.address)]
        words += [ctypes.c_int32(n) for n in (*self.host.shape, *strides)]
        if rust and self.tile:
            tile_strides = [math.prod(self.tile[d + 1 :]) for d in range(len(self.tile))]
            words += [ctypes.c_int32(n) for n in (*self.tile, *tile_strides)]
        return words


def upload(array: DeviceArray) -> None:
    guard = np.full(GUARD_BYTES, GUARD_BYTE, np.uint8)
    data = np.concatenate([guard, array.host.view(np.uint8).reshape(-1), guard])
    check(driver.cuMemcpyHtoD(array.base, data.ctypes.data, data.nbytes))


def download(array: DeviceArray) -> tuple[Data, bool]:
    """The array's data, and whether both guard zones are untouched."""
    data = np.empty(array.host.nbytes + 2 * GUARD_BYTES, np.uint8)
    check(driver.cuMemcpyDtoH(data.ctypes.data, array.base, data.nbytes))
    guards = np.concatenate([data[:GUARD_BYTES], data[-GUARD_BYTES:]])
    body = data[GUARD_BYTES:-GUARD_BYTES].view(array.host.dtype).reshape(array.host.shape)
    return body.copy(), bool((guards == GUARD_BYTE).all())


def initial(fill: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], below: int, seed: Sequence[int]) -> Data:
    """What an array holds before each launch; `fill` is one of `launch_plan.Initial`."""
    random = np.random.default_rng(list(seed))
    floating = np.issubdtype(dtype, np.floating)
    match fill:
        case "zeros":
            return np.zeros(shape, dtype)
        case "poison" if floating:
            return np.full(shape, np.nan, dtype)
        case "poison":
            return np.full(shape, np.iinfo(np.dtype(dtype.str)).max, dtype)
        case "normal" if floating:
            return random.standard_normal(shape).astype(dtype)
        case "uniform" if floating:
            return random.random(shape).astype(dtype)
        case "normal" | "uniform":
            return random.integers(0, max(1, below), shape).astype(dtype)
        case _:
            raise ValueError(f"no arrays are filled by {fill!r}")


def make_arrays(parameters: Sequence[Mapping[str, object]], seed: int) -> dict[str, DeviceArray]:
    """The arrays of a plan, each with the contents that it starts every launch with."""
    arrays = {}
    for number, p in enumerate(parameters):
        if p["kind"] != "array":
            continue
        name, dtype = read.text(p["name"]), np.dtype(_DTYPES[read.text(p["dtype"])])
        shape = tuple(map(read.integer, read.items(p["shape"])))
        host = initial(read.text(p["initial"]), shape, dtype, read.integer(p["below"]), (seed, number))
        tile = tuple(map(read.integer, read.items(p.get("tile", []))))
        arrays[name] = DeviceArray(name, host, allocate(host.nbytes + 2 * GUARD_BYTES), p["role"] != "in", tile)
    return arrays


class Side:
    """One loaded kernel: its function, grid and packed arguments."""

    def __init__(self, plan: Mapping[str, object], side: str, folder: Path, arrays: Mapping[str, DeviceArray]) -> None:
        spec = read.mapping(plan[side])
        image = (folder / read.text(spec["cubin"])).read_bytes()
        self.module = check(driver.cuModuleLoadData(image))
        self.function = check(driver.cuModuleGetFunction(self.module, read.text(spec["symbol"]).encode()))
        self.grid = tuple(map(read.integer, read.items(spec["grid"])))
        self.values: Words = []
        for p in map(read.mapping, read.items(plan["parameters"])):
            if p["kind"] == "array":
                self.values += arrays[read.text(p["name"])].words(side == "rust")
            elif p["dtype"] == "f32":
                self.values.append(ctypes.c_float(read.number(p["value"])))
            else:
                self.values.append(_INTEGERS[read.text(p["dtype"])](read.integer(p["value"])))
        self.pointers = (ctypes.c_void_p * len(self.values))(*[ctypes.addressof(v) for v in self.values])

    def launch(self, stream: object) -> None:
        x, y, z = (*self.grid, 1, 1)[:3]
        address = ctypes.addressof(self.pointers)
        check(driver.cuLaunchKernel(self.function, x, y, z, 1, 1, 1, 0, stream, address, 0))


def run_once(side: Side, arrays: dict[str, DeviceArray], stream: object) -> tuple[dict[str, Data], bool]:
    for a in arrays.values():
        upload(a)
    side.launch(stream)
    check(driver.cuStreamSynchronize(stream))
    results = {name: download(a) for name, a in arrays.items()}
    guards = all(intact for _, intact in results.values())
    return {n: data for n, (data, _) in results.items() if arrays[n].mutable}, guards


def time_sides(sides: dict[str, Side], stream: object) -> dict[str, list[float]]:
    """Milliseconds of each launch, interleaved, with the L2 cache overwritten before each."""
    flush = allocate(L2_BYTES)
    begin, end = check(driver.cuEventCreate(0)), check(driver.cuEventCreate(0))
    times: dict[str, list[float]] = {name: [] for name in sides}
    for trip in range(WARM_UP + LAUNCHES):
        for name, side in sides.items():
            check(driver.cuMemsetD8Async(flush, trip & 0xFF, L2_BYTES, stream))
            check(driver.cuEventRecord(begin, stream))
            side.launch(stream)
            check(driver.cuEventRecord(end, stream))
            check(driver.cuEventSynchronize(end))
            if trip >= WARM_UP:
                times[name].append(float(str(check(driver.cuEventElapsedTime(begin, end)))))
    return times


def run_plan(path: Path) -> tuple[dict[str, object], bool]:
    """Runs one launch plan. Gives its verdict (bit equality, guards, times, ratio), and whether all is well."""
    plan = read.mapping(json.loads(path.read_text()))
    parameters = [read.mapping(p) for p in read.items(plan["parameters"])]
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    context = check(driver.cuDevicePrimaryCtxRetain(device))
    check(driver.cuCtxSetCurrent(context))
    status, raw_name = driver.cuDeviceGetName(128, device)
    check((status,))
    name = bytes(raw_name).split(b"\0")[0].decode()
    stream = check(driver.cuStreamCreate(0))
    arrays = make_arrays(parameters, read.integer(plan.get("seed", 0)))
    sides = {side: Side(plan, side, path.parent, arrays) for side in ("python", "rust")}
    results = {side: run_once(kernel, arrays, stream) for side, kernel in sides.items()}
    equal, unwritten = {}, {}
    for output in results["python"][0]:
        ours, theirs = results["rust"][0][output], results["python"][0][output]
        equal[output] = ours.tobytes() == theirs.tobytes()
        unwritten[output] = int((ours != ours).sum())
    times = time_sides(sides, stream)
    medians = {side: statistics.median(t) for side, t in times.items()}
    ratios = sorted(r / p for r, p in zip(times["rust"], times["python"], strict=True))
    intact = {side: guards for side, (_, guards) in results.items()}
    verdict: dict[str, object] = {
        "kernel": plan["kernel"],
        "device": name,
        "shapes": {name: list(a.host.shape) for name, a in arrays.items()},
        "bit_equal": equal,
        "nan_elements": unwritten,
        "guards_intact": intact,
        "median_ms": {side: round(t, 5) for side, t in medians.items()},
        "time_ratio": round(medians["rust"] / medians["python"], 4),
        "ratio_quartiles": [round(ratios[len(ratios) // 4], 4), round(ratios[3 * len(ratios) // 4], 4)],
    }
    return verdict, all(equal.values()) and all(intact.values())


def main() -> int:
    verdict, well = run_plan(Path(sys.argv[1]))
    print(json.dumps(verdict))
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
