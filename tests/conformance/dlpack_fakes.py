"""Tensors that are said to be on a GPU: DLPack structures made by hand, as DLPack's header has them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

CPU, CUDA, ROCM = 1, 2, 10
INT, FLOAT, BFLOAT = 0, 2, 4
READ_ONLY, IS_COPIED = 1, 2


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class FakeTensor:
    """A producer of DLPack. `old`: it knows unversioned capsules alone. `made`, `deleted`: capsules, and calls of their
    deleters; `streams`: what consumers asked for."""

    def __init__(
        self,
        *shape: int,
        dtype: tuple[int, int] = (FLOAT, 32),
        strides: Sequence[int] | None = None,
        data: int = 1 << 20,
        device: tuple[int, int] = (CUDA, 0),
        flags: int = 0,
        old: bool = False,
    ) -> None:
        self.shape, self.dtype, self.data, self.device, self.flags, self.old = shape, dtype, data, device, flags, old
        contiguous = [1] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            contiguous[axis] = contiguous[axis + 1] * shape[axis + 1]
        self.strides = list(strides or contiguous)
        self.made, self.deleted = 0, 0
        self.streams: list[object] = []
        self._kept: list[object] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, stream: object = None, **more: object) -> object:
        if self.old and more:
            raise TypeError(f"__dlpack__() got an unexpected keyword argument {next(iter(more))!r}")
        self.streams.append(stream)
        self.made += 1

        def delete(_: object) -> None:
            self.deleted += 1

        rank = len(self.shape)
        shape, strides = (ctypes.c_int64 * rank)(*self.shape), (ctypes.c_int64 * rank)(*self.strides)
        dtype = _DataType(*self.dtype, 1)
        tensor = _Tensor(self.data, _Device(*self.device), rank, dtype, shape, strides, 0)
        managed = _Managed(tensor, None, _DELETER(delete))
        versioned = _Versioned(1, 1, None, _DELETER(delete), self.flags, tensor)
        self._kept += [shape, strides, managed, versioned]
        if self.old:
            return _new_capsule(ctypes.addressof(managed), b"dltensor", None)
        return _new_capsule(ctypes.addressof(versioned), b"dltensor_versioned", None)
