"""A launch of a bundle on the GPU: both sides on the same arrays, compared and timed. Needs NumPy."""

from __future__ import annotations

import math
import statistics
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ferrotile_runner.workers.array_verdict import SUMMED, ArrayVerdict, compare_bits
from ferrotile_runner.workers.bundle_format import SIDES, BundleArray, BundleLaunch, BundleSide
from ferrotile_runner.workers.element_bits import Bits
from ferrotile_runner.workers.gpu_device import Bytes, Device, Kernel, Memory, Timer

LAUNCHES = 25
WARM_UP = 3
PERIOD = (1 << 20) + 7
"""After so many elements random values come again: they are made faster than they would be drawn."""


class Loaded(NamedTuple):
    """An array on the device, and the bytes that it holds before every launch."""

    array: BundleArray
    memory: Memory
    before: Bytes


def contents(array: BundleArray, archive: zipfile.ZipFile) -> Bytes:
    """What an array holds before the launch."""
    count = math.prod(array.shape)
    if array.data is not None:
        return np.frombuffer(archive.read(array.data), np.uint8)
    if array.blank:  # NaN for floats, -1 for integers
        return np.full(count * array.bytes, 0xFF if array.dtype != "bool" else 1, np.uint8)
    random = np.random.default_rng([array.seed, len(array.shape)])
    some = min(count, PERIOD)
    match array.dtype:
        case "f64" | "f32" | "tf32" | "f16":
            values = random.standard_normal(some, np.float32).astype(f"f{array.bytes}")
        case "bf16":
            values = (random.standard_normal(some, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        case "f8e5m2" | "f8e4m3fn":  # both signs, about 1: no special value has these exponents
            one = {"f8e5m2": 15 << 2, "f8e4m3fn": 7 << 3}[array.dtype]
            values = (one - 8 + random.integers(0, 16, some) + 128 * random.integers(0, 2, some)).astype(np.uint8)
        case "bool":
            values = random.integers(0, 2, some, np.uint8)
        case _:
            values = random.integers(0, max(1, min(array.below, 100)), some).astype(f"u{array.bytes}")
    return np.resize(values, count).view(np.uint8)


def load(device: Device, launch: BundleLaunch, archive: zipfile.ZipFile) -> dict[str, Loaded]:
    """The arrays of a launch, those that are copies of others too."""
    loaded: dict[str, Loaded] = {}
    for array in launch.arrays:
        # The device has less memory than the host, and says so at once.
        memory = device.allocate(math.prod(array.shape) * array.bytes)
        loaded[array.name] = Loaded(array, memory, contents(array, archive))
    for name, of in launch.copies.items():
        original = loaded[of]
        copy = original.array._replace(name=name, written=False)
        loaded[name] = Loaded(copy, device.allocate(original.before.nbytes), original.before)
    return loaded


def kernel_of(device: Device, side: BundleSide, loaded: Mapping[str, Loaded], archive: zipfile.ZipFile) -> Kernel:
    def word(text: str) -> bytes:
        if text.startswith("="):
            return bytes.fromhex(text[1:])
        return loaded[text].memory.address.to_bytes(8, "little")

    return Kernel(device, archive.read(side.cubin), side.symbol, side.grid, [word(text) for text in side.words])


class Outcome(NamedTuple):
    """What a launch made of the arrays that it may write, by name; whether it left all others and all guard zones."""

    results: Mapping[str, Bytes]
    touched: tuple[str, ...]


def run_once(device: Device, kernel: Kernel, loaded: Mapping[str, Loaded]) -> Outcome:
    for one in loaded.values():
        device.upload(one.memory, one.before)
    kernel.launch()
    device.synchronize()
    results: dict[str, Bytes] = {}
    touched: list[str] = []
    for name, one in loaded.items():
        data, intact = device.download(one.memory)
        if not intact:
            touched.append(f"around {name}")
        if one.array.written:
            results[name] = data
        elif not np.array_equal(data, one.before):
            touched.append(name)
    return Outcome(results, tuple(touched))


def time_sides(device: Device, kernels: Sequence[Kernel]) -> list[list[float]]:
    """Milliseconds of each launch of each kernel, interleaved."""
    timer = Timer(device)
    times: list[list[float]] = [[] for _ in kernels]
    for trip in range(WARM_UP + LAUNCHES):
        for kernel, found in zip(kernels, times, strict=True):
            milliseconds = timer.milliseconds(kernel)
            if trip >= WARM_UP:
                found.append(milliseconds)
    timer.close()
    return times


def time_json(original: Sequence[float], translation: Sequence[float]) -> dict[str, object]:
    """Medians, and the ratio translation / original with its quartiles over pairs of launches."""
    medians = statistics.median(original), statistics.median(translation)
    ratios = sorted(t / o for o, t in zip(original, translation, strict=True))
    low, high = ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]
    return {
        "original_ms": round(medians[0], 5),
        "translation_ms": round(medians[1], 5),
        "ratio": round(medians[1] / medians[0], 4),
        "quartiles": [round(low, 4), round(high, 4)],
        "launches": len(ratios),
    }


def verdict_json(verdict: ArrayVerdict) -> dict[str, object]:
    return {**verdict._asdict(), "words": str(verdict)}


class Launch:
    """A launch in the making: its arrays on the device, and what each side has made of them so far."""

    def __init__(self, device: Device, launch: BundleLaunch, archive: zipfile.ZipFile) -> None:
        self._device, self._launch, self._archive = device, launch, archive
        self._loaded = load(device, launch, archive)
        self._kernels: dict[str, Kernel] = {}
        self._outcomes: dict[str, Outcome] = {}

    def kernel(self, side: BundleSide) -> Kernel:
        """A kernel on the arrays of the launch, loaded."""
        return kernel_of(self._device, side, self._loaded, self._archive)

    def run(self, side: str) -> tuple[str, ...]:
        """Launches one side. Gives what it touched that is not its own: arrays that it only reads, guard zones."""
        kernel = self._kernels[side] = self.kernel(self._launch.side(side))
        self._outcomes[side] = run_once(self._device, kernel, self._loaded)
        return self._outcomes[side].touched

    def compare(self, keep: Path | None) -> dict[str, object]:
        """`{arrays: {name: verdict}, interpreter: {name: verdict}}`: of the two sides, and of the original and what the
        interpreter expects. Results of the original are written into the folder `keep`."""
        original, translation = (self._outcomes[side].results for side in SIDES)
        arrays: dict[str, object] = {}
        interpreter: dict[str, object] = {}
        for name, data in original.items():
            array = self._loaded[name].array
            found, mask = _elements(data, array), self._mask(array)
            other = _elements(translation[name], array)
            verdict = compare_bits(found, other, array.dtype, self._launch.depth, mask)
            arrays[name] = verdict_json(self._explained(verdict, array))
            if array.expected is not None:
                expected = _elements(np.frombuffer(self._archive.read(array.expected), np.uint8), array)
                verdict = compare_bits(expected, found, array.dtype, self._launch.interpreted, mask)
                interpreter[name] = verdict_json(self._explained(verdict, array))
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                np.save(keep / f"{name}.npy", found)
        return {"arrays": arrays, "interpreter": interpreter}

    def _explained(self, verdict: ArrayVerdict, array: BundleArray) -> ArrayVerdict:
        """With the value in f64 at the worst place, or why there is none."""
        if verdict.bit_equal:
            return verdict
        if array.reference is None:
            why = array.no_reference or ("not interpreted at this size" if array.expected is None else "")
            return verdict._replace(reference=f"not known, {why}" if why else "")
        exact = np.frombuffer(self._archive.read(array.reference), np.float64).reshape(array.shape)
        return verdict._replace(reference=f"{exact[verdict.worst]:.17g}")

    def _mask(self, array: BundleArray) -> Bits | None:
        if array.mask is None:
            return np.full(array.shape, SUMMED, np.uint8) if array.summed else None
        return np.frombuffer(self._archive.read(array.mask), np.uint8).reshape(array.shape)

    def time(self) -> dict[str, object]:
        """As `time_json`."""
        return time_json(*time_sides(self._device, [self._kernels[side] for side in SIDES]))

    def close(self) -> None:
        for kernel in self._kernels.values():
            kernel.unload()
        for one in self._loaded.values():
            self._device.free(one.memory)


def _elements(data: Bytes, array: BundleArray) -> Bits:
    return data.view(f"u{array.bytes}").reshape(array.shape)
