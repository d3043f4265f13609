"""The first GPU of this machine through NVIDIA's driver API: modules, guarded memory, launches, events.

Needs a driver, NumPy and `cuda-bindings`. Every failed call is a `GpuFault`, in words.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, SupportsInt

import numpy as np
from cuda.bindings import driver
from numpy.typing import NDArray

GUARD_BYTES = 4096
GUARD_BYTE = 0xA5
L2_BYTES = 128 << 20
"""Overwritten before each timed launch: more than any L2 cache holds."""

Bytes = NDArray[np.uint8]

FAULTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "CUDA_ERROR_NO_DEVICE": ("no GPU", "no NVIDIA GPU is visible to the driver; see `nvidia-smi`"),
        "CUDA_ERROR_OUT_OF_MEMORY": ("out of memory", "the GPU has too little free memory; see `nvidia-smi`"),
        "CUDA_ERROR_NO_BINARY_FOR_GPU": ("wrong GPU", "the cubin is for another architecture; translate for this one"),
        "CUDA_ERROR_INVALID_IMAGE": ("wrong GPU", "the driver does not take the cubin; it may be too old for it"),
        "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": ("old driver", "the driver is older than the compiler; update it"),
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": ("old driver", "the driver and its library do not match; update them"),
        "CUDA_ERROR_DEVICE_UNAVAILABLE": ("GPU busy", "another program has this GPU to itself"),
        "CUDA_ERROR_ASSERT": ("assert", "an assert in the kernel failed, or one of the bounds checks of the Rust"),
        "CUDA_ERROR_ILLEGAL_ADDRESS": ("out of bounds", "the kernel reads or writes outside of its arrays"),
        "CUDA_ERROR_MISALIGNED_ADDRESS": ("out of bounds", "the kernel uses an address that is not aligned"),
        "CUDA_ERROR_ILLEGAL_INSTRUCTION": ("crash", "the kernel executes an instruction that is none"),
        "CUDA_ERROR_INVALID_ADDRESS_SPACE": ("out of bounds", "the kernel uses an address of another memory"),
        "CUDA_ERROR_LAUNCH_TIMEOUT": ("hang", "the kernel takes longer than the system allows"),
        "CUDA_ERROR_LAUNCH_FAILED": ("crash", "the kernel stopped: asserts that fail do that, the Rust's checks too"),
        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": ("too large", "a block needs more registers or memory than there are"),
        "CUDA_ERROR_INVALID_VALUE": ("bad launch", "the driver refuses the launch, perhaps for its grid"),
        "CUDA_ERROR_ECC_UNCORRECTABLE": ("GPU lost", "the memory of the GPU has an error that ECC cannot correct"),
        "CUDA_ERROR_DEVICES_UNAVAILABLE": ("GPU busy", "another program has this GPU to itself"),
    }
)
"""What statuses of the driver mean: a short kind, and what to know or to do."""


class GpuFault(Exception):
    """A call to the driver failed. `kind` is short (`assert`, `out of memory`), the message for people."""

    def __init__(self, status: str) -> None:
        self.kind, words = FAULTS.get(status, ("fault", "the driver refuses"))
        super().__init__(f"{words} ({status})")


def check(result: Sequence[object]) -> object:
    """The value of a driver call. Raises GpuFault."""
    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        raise GpuFault(getattr(status, "name", str(status)))
    return values[0] if values else None


def address_of(pointer: object) -> int:
    """The number that a `CUdeviceptr` holds."""
    assert isinstance(pointer, SupportsInt)
    return int(pointer)


class Memory(NamedTuple):
    """Device memory of `size` bytes with a guard zone before and behind it."""

    base: int
    size: int

    @property
    def address(self) -> int:
        return self.base + GUARD_BYTES


class Device:
    """The device's name and architecture (`sm_90`), and one stream. Raises GpuFault where there is none."""

    def __init__(self) -> None:
        check(driver.cuInit(0))
        device = check(driver.cuDeviceGet(0))
        check(driver.cuCtxSetCurrent(check(driver.cuDevicePrimaryCtxRetain(device))))
        raw = check(driver.cuDeviceGetName(128, device))
        self.name = raw.split(b"\0")[0].decode() if isinstance(raw, bytes) else str(raw)
        kinds = driver.CUdevice_attribute
        major, minor = (
            int(str(check(driver.cuDeviceGetAttribute(kind, device))))
            for kind in (
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.architecture = f"sm_{major}{minor}"
        self.driver_version = int(str(check(driver.cuDriverGetVersion())))
        self.stream = check(driver.cuStreamCreate(0))

    def allocate(self, size: int) -> Memory:
        return Memory(self._bytes(size + 2 * GUARD_BYTES), size)

    def _bytes(self, size: int) -> int:
        return address_of(check(driver.cuMemAlloc(size)))

    def free(self, memory: Memory) -> None:
        check(driver.cuMemFree(memory.base))

    def upload(self, memory: Memory, data: Bytes) -> None:
        """The data, and fresh guard zones around it."""
        check(driver.cuMemsetD8(memory.base, GUARD_BYTE, GUARD_BYTES))
        check(driver.cuMemsetD8(memory.address + memory.size, GUARD_BYTE, GUARD_BYTES))
        if memory.size:
            data = np.ascontiguousarray(data)
            check(driver.cuMemcpyHtoD(memory.address, data.ctypes.data, data.nbytes))

    def download(self, memory: Memory) -> tuple[Bytes, bool]:
        """The data, and whether both guard zones are untouched."""
        data, guards = np.empty(memory.size, np.uint8), np.empty((2, GUARD_BYTES), np.uint8)
        if memory.size:
            check(driver.cuMemcpyDtoH(data.ctypes.data, memory.address, data.nbytes))
        for guard, address in zip(guards, (memory.base, memory.address + memory.size), strict=True):
            check(driver.cuMemcpyDtoH(guard.ctypes.data, address, GUARD_BYTES))
        return data, bool((guards == GUARD_BYTE).all())

    def synchronize(self) -> None:
        check(driver.cuStreamSynchronize(self.stream))


class Kernel:
    """One loaded kernel with its parameters, each given as bytes."""

    def __init__(
        self, device: Device, image: bytes, symbol: str, grid: tuple[int, int, int], words: Sequence[bytes]
    ) -> None:
        self._device, self._grid = device, grid
        self._module = check(driver.cuModuleLoadData(image))
        self._function = check(driver.cuModuleGetFunction(self._module, symbol.encode()))
        self._words = [ctypes.create_string_buffer(word, len(word)) for word in words]
        self._pointers = (ctypes.c_void_p * max(len(words), 1))(*map(ctypes.addressof, self._words))

    def launch(self) -> None:
        """Starts it, in blocks of one thread, as the tile compilers' ABI has it."""
        address = ctypes.addressof(self._pointers)
        check(driver.cuLaunchKernel(self._function, *self._grid, 1, 1, 1, 0, self._device.stream, address, 0))

    def unload(self) -> None:
        check(driver.cuModuleUnload(self._module))


class Timer:
    """Times launches by events, each after the L2 cache was overwritten."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._flush = address_of(check(driver.cuMemAlloc(L2_BYTES)))
        self._begin, self._end = check(driver.cuEventCreate(0)), check(driver.cuEventCreate(0))
        self._trips = 0

    def milliseconds(self, kernel: Kernel) -> float:
        """Of one launch."""
        self._trips += 1
        check(driver.cuMemsetD8Async(self._flush, self._trips & 0xFF, L2_BYTES, self._device.stream))
        check(driver.cuEventRecord(self._begin, self._device.stream))
        kernel.launch()
        check(driver.cuEventRecord(self._end, self._device.stream))
        check(driver.cuEventSynchronize(self._end))
        return float(str(check(driver.cuEventElapsedTime(self._begin, self._end))))

    def close(self) -> None:
        check(driver.cuMemFree(self._flush))
