"""Element types of CUDA Tile IR, under the names that cuTile Rust uses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """The promotion category of an element type."""

    BOOL = "bool"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    STORAGE = "storage"
    """Floats without arithmetic of their own: tf32, f8, f4."""


@dataclass(frozen=True, slots=True)
class DType:
    """An element type. `name` is its cuTile Rust name (`f32`, `u8`, `bool`), `bits` its storage width."""

    name: str
    kind: Kind
    bits: int

    @property
    def is_integer(self) -> bool:
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    @property
    def is_float(self) -> bool:
        return self.kind in (Kind.FLOAT, Kind.STORAGE)

    def __str__(self) -> str:
        return self.name


BOOL = DType("bool", Kind.BOOL, 1)
I8, I16, I32, I64 = (DType(f"i{b}", Kind.SIGNED, b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (DType(f"u{b}", Kind.UNSIGNED, b) for b in (8, 16, 32, 64))
F16, F32, F64 = (DType(f"f{b}", Kind.FLOAT, b) for b in (16, 32, 64))
BF16 = DType("bf16", Kind.FLOAT, 16)
TF32 = DType("tf32", Kind.STORAGE, 32)
F8E4M3FN = DType("f8e4m3fn", Kind.STORAGE, 8)
F8E5M2 = DType("f8e5m2", Kind.STORAGE, 8)
F8E8M0FNU = DType("f8e8m0fnu", Kind.STORAGE, 8)

ALL = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2, F8E8M0FNU)
BY_NAME = {d.name: d for d in ALL}
