"""Whether this machine has a GPU that kernels can be launched on. Starts no process and keeps no context."""

from __future__ import annotations

import ctypes
import importlib.util
import sys

from msgspec import Struct

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
NAME_BYTES = 128


class Presence(Struct, frozen=True):
    """The GPU's `name`, or None and `why` there is none."""

    name: str | None
    why: str = ""

    def __str__(self) -> str:
        if self.name is not None:
            return f"on {self.name}"
        return f"simulated on the CPU: {self.why}"


def usable_gpu() -> Presence:
    """The first GPU, through the driver's own library."""
    try:
        driver = ctypes.CDLL(LIBRARY)
    except OSError:
        return Presence(None, "no NVIDIA driver")
    count, device = ctypes.c_int(0), ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return Presence(None, "the NVIDIA driver sees no GPU")
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        return Presence(None, "`cuda-bindings` is not installed: pip install 'ferrotile[cuda]'")
    name = ctypes.create_string_buffer(NAME_BYTES)
    if driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, NAME_BYTES, device):
        return Presence(None, "the NVIDIA driver does not give its GPU")
    return Presence(name.value.decode(errors="replace"))
