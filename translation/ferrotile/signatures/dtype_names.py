"""Names under which authors write element types: cuTile Rust's, torch's, NumPy's."""

from __future__ import annotations

from ferrotile.program import dtypes
from ferrotile.program.dtypes import DType

NAMES: dict[str, DType] = {
    **dtypes.BY_NAME,
    "bool_": dtypes.BOOL,
    "float16": dtypes.F16,
    "half": dtypes.F16,
    "bfloat16": dtypes.BF16,
    "float32": dtypes.F32,
    "float": dtypes.F32,
    "single": dtypes.F32,
    "float64": dtypes.F64,
    "double": dtypes.F64,
    "int8": dtypes.I8,
    "int16": dtypes.I16,
    "short": dtypes.I16,
    "int32": dtypes.I32,
    "int": dtypes.I32,
    "int64": dtypes.I64,
    "long": dtypes.I64,
    "uint8": dtypes.U8,
    "uint16": dtypes.U16,
    "uint32": dtypes.U32,
    "uint64": dtypes.U64,
    "tfloat32": dtypes.TF32,
    "fp16": dtypes.F16,
    "fp32": dtypes.F32,
    "fp64": dtypes.F64,
    "uint": dtypes.U32,
    "char": dtypes.I8,
    "byte": dtypes.U8,
    "f8e4m3": dtypes.F8E4M3FN,
    "f8e8m0": dtypes.F8E8M0FNU,
    "float8_e4m3": dtypes.F8E4M3FN,
    "float8_e8m0": dtypes.F8E8M0FNU,
    "float8_e4m3fn": dtypes.F8E4M3FN,
    "float8_e5m2": dtypes.F8E5M2,
    "float8_e8m0fnu": dtypes.F8E8M0FNU,
    "float4_e2m1fn": dtypes.F4E2M1FN,
}

CODES: dict[str, DType] = {
    "f2": dtypes.F16,
    "f4": dtypes.F32,
    "f8": dtypes.F64,
    **{f"i{bytes_}": dtypes.BY_NAME[f"i{8 * bytes_}"] for bytes_ in (1, 2, 4, 8)},
    **{f"u{bytes_}": dtypes.BY_NAME[f"u{8 * bytes_}"] for bytes_ in (1, 2, 4, 8)},
    "b1": dtypes.BOOL,
    "?": dtypes.BOOL,
    "e": dtypes.F16,
    "f": dtypes.F32,
    "d": dtypes.F64,
}
"""NumPy's codes, which are texts and no names: `i8` has eight bytes there."""

LIBRARIES = ("torch", "numpy", "cupy", "jax", "cuda.tile", "ml_dtypes")
"""Modules whose attributes of these names are element types."""


def dtype_of(dotted: str) -> DType | None:
    """The element type that a dotted global name means: `torch.float16`, `cuda.tile.bfloat16`."""
    root, _, name = dotted.rpartition(".")
    found = NAMES.get(name)
    if found is None or not any(root == library or root.startswith(library + ".") for library in LIBRARIES):
        return None
    return found
