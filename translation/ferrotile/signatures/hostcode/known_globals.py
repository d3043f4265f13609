"""Names of libraries that host code computes with: constants, limits of element types, generators of random numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ferrotile.program.dtypes import DType
from ferrotile.signatures.tensors import Arguments, element_type, shape_of, tensor_of
from ferrotile.signatures.values import ElementType, Global, Instance, Int, Known, Sequence, Value

_CONSTANTS: Mapping[str, float] = {
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "inf": math.inf,
    "nan": math.nan,
}
_LIBRARIES = ("math", "numpy", "torch", "cupy", "jax.numpy")

_LARGEST: Mapping[str, float] = {
    "f8e4m3fn": 448.0,
    "f8e5m2": 57344.0,
    "f16": 65504.0,
    "bf16": (2.0 - 2.0**-7) * 2.0**127,
    "f32": (2.0 - 2.0**-23) * 2.0**127,
    "f64": (2.0 - 2.0**-52) * 2.0**1023,
}
"""The largest finite value of a float type."""

_EPSILON: Mapping[str, int] = {"f8e4m3fn": -3, "f8e5m2": -2, "f16": -10, "bf16": -7, "f32": -23, "f64": -52}
"""The exponent of the distance from 1 to the next value."""


def known_global(dotted: str) -> Known | None:
    """`math.pi` and its like."""
    root, _, name = dotted.rpartition(".")
    return Known(_CONSTANTS[name]) if root in _LIBRARIES and name in _CONSTANTS else None


def library_call(dotted: str, arguments: Arguments) -> Value | None:
    """`torch.finfo(dtype)`, `numpy.random.default_rng(0)`, `torch.nn.Parameter(x)`; None for another call."""
    root, _, name = dotted.rpartition(".")
    first = arguments.get(0, "dtype", "type", "data")
    match name:
        case "finfo" | "iinfo" if root in _LIBRARIES:
            return _limits(element_type(first))
        case "default_rng" | "RandomState" | "Generator" if root in ("numpy.random", "cupy.random"):
            return Global(root)
        case "Parameter" | "Buffer" if root in ("torch.nn", "torch.nn.parameter"):
            return first
        case "OutputPlaceholder" | "ShapeDtypeStruct" if root.startswith(("cuda.tile.jax", "jax")):
            kind = element_type(arguments.get(1, "dtype"))
            return tensor_of(shape_of(arguments.get(0, "shape")), kind)
        case "InputOutput" if root.startswith("cuda.tile.jax"):
            return first or arguments.get(0, "array", "value")
        case "param" if dotted == "pytest.param":
            return Sequence(arguments.positional) if len(arguments.positional) != 1 else first
        case _:
            return None


def of_element_type(kind: ElementType, name: str) -> Value | None:
    """An attribute of an element type that host code computes with."""
    dtype = kind.dtype
    match name:
        case "itemsize" if dtype is not None:
            return Int(max(dtype.bits // 8, 1))
        case "is_floating_point" if dtype is not None:
            return Known(dtype.is_float)
        case _:
            return None


def _limits(dtype: DType | None) -> Value | None:
    if dtype is None:
        return None
    if dtype.name in _LARGEST:
        top = _LARGEST[dtype.name]
        epsilon = Known(2.0 ** _EPSILON[dtype.name])
        return Instance(None, {"max": Known(top), "min": Known(-top), "eps": epsilon, "bits": Int(dtype.bits)})
    if dtype.is_float or dtype.bits < 8:
        return None
    signed = dtype.name.startswith("i")
    low = -(1 << (dtype.bits - 1)) if signed else 0
    high = (1 << (dtype.bits - signed)) - 1
    return Instance(None, {"max": Int(high), "min": Int(low), "bits": Int(dtype.bits)})
