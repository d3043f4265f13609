"""What a parameter's annotation says: `ct.Constant[int]`, `Annotated[...]`, plain `int`, `float`, `bool`."""

from __future__ import annotations

import ast
from enum import Enum

from msgspec import Struct

from ferrotile.program.dtypes import BOOL, F32, I32, I64, DType
from ferrotile.signatures.dtype_names import dtype_of
from ferrotile.syntax.module import Module

PYTHON_SCALARS: dict[str, DType] = {"int": I32, "float": F32, "bool": BOOL}


class Role(Enum):
    CONSTANT = "constant"
    SCALAR = "scalar"
    ARRAY = "array"
    UNKNOWN = "unknown"


class Annotation(Struct, frozen=True):
    """`python` is the constant's Python type (`int`, `float`, `bool`, `str`) where it is said. `wide`: an array with
    64-bit extents and strides. `listed`: a list of arrays."""

    role: Role
    dtype: DType | None = None
    python: str | None = None
    wide: bool = False
    listed: bool = False


NONE = Annotation(Role.UNKNOWN)


def read_annotation(module: Module, expression: ast.expr | None, depth: int = 0) -> Annotation:
    """Read an annotation, through module-level aliases (`ConstInt = ct.Constant[int]`) and strings."""
    if expression is None or depth > 4:
        return NONE
    dotted = module.resolve(expression)
    if dotted is not None:
        return _global(dotted)
    match expression:
        case ast.Constant(value=str(text)):
            try:
                inner = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return NONE
            return read_annotation(module, inner, depth + 1)
        case ast.Name(id=name) if name in module.constants:
            return read_annotation(module, module.constants[name], depth + 1)
        case ast.Name(id=name) if name in PYTHON_SCALARS:
            return Annotation(Role.SCALAR, PYTHON_SCALARS[name], name)
        case ast.Subscript(value=value, slice=inner):
            return _subscript(module, module.resolve(value) or "", inner, depth)
        case _:
            return NONE


def _global(dotted: str) -> Annotation:
    match dotted:
        case "cuda.tile.Constant" | "cuda.tile.ConstantAnnotation":
            return Annotation(Role.CONSTANT)
        case "cuda.tile.ScalarInt64":
            return Annotation(Role.SCALAR, I64, "int")
        case "cuda.tile.IndexedWithInt64":
            return Annotation(Role.ARRAY, wide=True)
        case "cuda.tile.Array" | "torch.Tensor" | "numpy.ndarray" | "cupy.ndarray":
            return Annotation(Role.ARRAY)
        case _:
            dtype = dtype_of(dotted)
            return NONE if dtype is None else Annotation(Role.SCALAR, dtype)


def _subscript(module: Module, dotted: str, inner: ast.expr, depth: int) -> Annotation:
    if dotted == "cuda.tile.Constant":
        python = inner.id if isinstance(inner, ast.Name) else None
        return Annotation(Role.CONSTANT, None, python)
    if dotted in ("cuda.tile.ScalarInt64", "cuda.tile.IndexedWithInt64"):
        return _global(dotted)
    if dotted.rpartition(".")[2] == "Annotated" and isinstance(inner, ast.Tuple) and inner.elts:
        first = read_annotation(module, inner.elts[0], depth + 1)
        for mark in inner.elts[1:]:
            callee = mark.func if isinstance(mark, ast.Call) else mark
            match module.resolve(callee):
                case "cuda.tile.ConstantAnnotation":
                    return Annotation(Role.CONSTANT, None, first.python)
                case "cuda.tile.ListAnnotation":
                    return Annotation(Role.ARRAY, listed=True)
                case "cuda.tile.ArrayAnnotation":
                    return Annotation(Role.ARRAY, wide=not _is_narrow(module, mark, "index_dtype"))
                case "cuda.tile.ScalarAnnotation":
                    narrow = _is_narrow(module, mark, "dtype")
                    return Annotation(Role.SCALAR, I32 if narrow else I64, "int")
        return first
    if dotted in ("cuda.tile.Array", "cuda.tile.ListOf"):
        return Annotation(Role.ARRAY)
    return NONE


def _is_narrow(module: Module, mark: ast.expr, keyword: str) -> bool:
    """Whether an annotation chooses 32 bits: it takes no other type than `ct.int32` and `ct.int64`."""
    keywords = mark.keywords if isinstance(mark, ast.Call) else []
    return all(k.arg != keyword or module.resolve(k.value) == "cuda.tile.int32" for k in keywords)
