"""Abstract tensors: what constructors and methods of torch, CuPy and NumPy give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from ferrotile.program.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType
from ferrotile.signatures.dtype_names import NAMES
from ferrotile.signatures.values import (
    UNKNOWN,
    ElementType,
    FloatValue,
    Int,
    Known,
    Sequence,
    Shape,
    Tensor,
    Value,
)

_SERIAL = count()
"""Identities of extents that nothing names: compared and never shown, so their order does not matter."""

_SIZED = {
    "empty",
    "zeros",
    "ones",
    "rand",
    "randn",
    "full",
    "randint",
    "random",
    "uniform",
    "normal",
    "standard_normal",
}
_LIKE = {"empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "full_like", "randint_like"}
_CASTS: Mapping[str, DType] = {
    "half": F16, "float": F32, "bfloat16": BF16, "double": F64, "int": I32, "long": I64, "short": I16,
    "char": I8, "byte": U8, "bool": BOOL,
}  # fmt: skip
_SAME = {
    "contiguous", "cuda", "cpu", "clone", "detach", "requires_grad_", "uniform_", "normal_", "zero_", "fill_",
    "random_", "copy", "abs", "exp", "sin", "cos", "relu", "sigmoid", "clamp", "mul",
    "add", "sub", "div", "mul_", "add_",
    "clamp_", "pin_memory", "get", "softmax", "tanh", "sqrt", "data",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Arguments:
    """Evaluated arguments of one call."""

    positional: tuple[Value, ...]
    named: Mapping[str, Value]

    def get(self, position: int, *names: str) -> Value | None:
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.positional[position] if 0 <= position < len(self.positional) else None


def tensor_of(dims: tuple[Int, ...] | None, dtype: DType | None) -> Tensor:
    """A new tensor. A literal extent is identified by its value: equal literals are taken as the same extent,
    but not twice in one tensor."""
    if dims is None:
        return Tensor(dtype)
    seen: dict[int, int] = {}
    named: dict[int, Int] = {}
    for axis, dim in enumerate(dims):
        if dim.ident is None and (dim.derived or dim.value is None):
            dim = Int(dim.value, f"@{next(_SERIAL)}", dim.terms, True)
        elif dim.ident is None and dim.value is not None:
            before = seen.get(dim.value, 0)
            seen[dim.value] = before + 1
            dim = Int(dim.value, f"#{dim.value}" + "'" * before)
        named[axis] = dim
    return Tensor(dtype, len(dims), named)


def shape_of(value: Value | None) -> tuple[Int, ...] | None:
    """A shape argument as extents; an extent of unknown value is an Int that knows nothing."""
    match value:
        case Int():
            return (value,)
        case Sequence(items=items):
            return tuple(i if isinstance(i, Int) else Int() for i in items)
        case Shape(tensor=tensor) if tensor.rank is not None:
            return tuple(extent(tensor, Int(axis)) for axis in range(tensor.rank))
        case _:
            return None


def element_type(value: Value | None) -> DType | None:
    match value:
        case ElementType(dtype=dtype):
            return dtype
        case Known(value=str(name)):
            return NAMES.get(name.rpartition(".")[2])
        case _:
            return None


def construct(dotted: str, arguments: Arguments) -> Value | None:
    """The result of a tensor constructor, None where `dotted` is not one."""
    root = dotted.partition(".")[0]
    if root not in ("torch", "cupy", "numpy", "jax"):
        return None
    name = dotted.rpartition(".")[2]
    default = F32 if root in ("torch", "jax") else F64
    given = arguments.named.get("dtype")
    dtype = element_type(given)
    if name in _LIKE:
        base = arguments.get(0, "input", "a")
        if not isinstance(base, Tensor):
            return Tensor(dtype)
        return Tensor(base.dtype if given is None else dtype, base.rank, base.dims)
    if name in _SIZED:
        made = default if given is None else dtype
        if name == "randint":
            made = I64 if given is None else dtype
        if name == "full" and given is None:
            made = _fill_type(arguments.get(1, "fill_value"), default)
        return tensor_of(_size(name, arguments), made)
    if name in ("arange", "linspace"):
        return _range(name, arguments, default if given is None else dtype, given is None)
    if name in (
        "tensor",
        "array",
        "asarray",
        "as_tensor",
        "ascontiguousarray",
        "from_numpy",
        "asfortranarray",
    ):
        first = arguments.get(0, "data", "object")
        if isinstance(first, Tensor):
            return first if given is None else Tensor(dtype, first.rank, first.dims)
        found = _literal_type(first, default)
        return tensor_of(_literal_shape(first), found if given is None else dtype)
    return None


def _size(name: str, arguments: Arguments) -> tuple[Int, ...] | None:
    named = arguments.get(-1, "size", "shape")
    if named is not None:
        return shape_of(named)
    positional = arguments.positional
    if name == "randint":
        return next((shape_of(p) for p in positional[1:] if isinstance(p, Sequence | Shape)), None)
    if name in ("uniform", "normal"):
        return shape_of(positional[2]) if len(positional) > 2 else None
    if name == "full":
        return shape_of(positional[0]) if positional else None
    if len(positional) == 1:
        return shape_of(positional[0])
    return shape_of(Sequence(positional))


def _fill_type(value: Value | None, default: DType) -> DType | None:
    match value:
        case Int():
            return I64
        case Known(value=bool()):
            return BOOL
        case Known(value=float()) | FloatValue():
            return default
        case _:
            return None


def _range(name: str, arguments: Arguments, dtype: DType | None, free: bool) -> Tensor:
    positional = arguments.positional
    if name == "linspace":
        steps = arguments.get(2, "steps", "num")
        return tensor_of((steps if isinstance(steps, Int) else Int(),), dtype)
    whole = all(isinstance(p, Int) for p in positional)
    made = I64 if free and whole else dtype
    if len(positional) == 1 and isinstance(positional[0], Int):
        return tensor_of((positional[0],), made)
    match positional:
        case (Int(value=0), Int() as stop):
            return tensor_of((stop,), made)
        case (Int(value=int(start)), Int(value=int(stop_value))):
            return tensor_of((Int(max(stop_value - start, 0)),), made)
        case _:
            return tensor_of((Int(),), made)


def _literal_shape(value: Value | None) -> tuple[Int, ...] | None:
    match value:
        case Sequence(items=items):
            inner = _literal_shape(items[0]) if items else ()
            return None if inner is None else (Int(len(items)), *inner)
        case Int() | Known() | FloatValue():
            return ()
        case _:
            return None


def _literal_type(value: Value | None, default: DType) -> DType | None:
    match value:
        case Sequence(items=items):
            kinds = [_literal_type(i, default) for i in items]
            if None in kinds or not kinds:
                return None
            return next((k for k in kinds if k is not None and k.is_float), kinds[0])
        case _:
            return _fill_type(value, default)


def method(tensor: Tensor, name: str, arguments: Arguments) -> Value:
    """The result of `tensor.name(...)`."""
    if name in _CASTS:
        return Tensor(_CASTS[name], tensor.rank, tensor.dims)
    if name in ("to", "astype", "type"):
        given = [v for v in (*arguments.positional, arguments.named.get("dtype")) if v is not None]
        types = [v for v in given if isinstance(v, ElementType) or element_type(v) is not None]
        if types:
            return Tensor(element_type(types[0]), tensor.rank, tensor.dims)
        other = next((v for v in given if isinstance(v, Tensor)), None)
        return tensor if other is None else Tensor(other.dtype, tensor.rank, tensor.dims)
    if name in _SAME:
        return tensor
    if name in ("view", "reshape"):
        return _reshape(tensor, arguments.positional)
    if name.startswith("new_"):
        dtype = element_type(arguments.named["dtype"]) if "dtype" in arguments.named else tensor.dtype
        return tensor_of(_size(name.removeprefix("new_"), arguments), dtype)
    if name in ("t", "transpose", "permute", "swapaxes"):
        return _permute(tensor, name, arguments.positional)
    if name == "size":
        return extent(tensor, arguments.positional[0]) if arguments.positional else Shape(tensor)
    if name in ("dim", "ndimension"):
        return Int(tensor.rank)
    if name in ("numel", "nelement"):
        return numel(tensor)
    if name == "item":
        return FloatValue() if tensor.dtype is not None and tensor.dtype.is_float else UNKNOWN
    return Tensor()


def extent(tensor: Tensor, axis: Value) -> Int:
    """`tensor.shape[axis]`; the extent gets an identity when it is first asked for."""
    if not isinstance(axis, Int) or axis.value is None:
        return Int()
    at = axis.value
    if at < 0:
        if tensor.rank is None:
            return Int()
        at += tensor.rank
    if at < 0 or (tensor.rank is not None and at >= tensor.rank):
        return Int()
    if at not in tensor.dims:
        tensor.dims[at] = Int(None, f"@{next(_SERIAL)}")
    return tensor.dims[at]


def numel(tensor: Tensor) -> Int:
    if tensor.rank == 1:
        return extent(tensor, Int(0))
    if tensor.rank is None:
        return Int()
    product = 1
    for axis in range(tensor.rank):
        value = tensor.dims.get(axis, Int()).value
        if value is None:
            return Int()
        product *= value
    return Int(product, derived=True)


def _reshape(tensor: Tensor, positional: tuple[Value, ...]) -> Tensor:
    if len(positional) == 1 and isinstance(positional[0], ElementType | Known):
        return Tensor()
    dims = shape_of(positional[0]) if len(positional) == 1 else shape_of(Sequence(positional))
    if dims is None:
        return Tensor(tensor.dtype)
    total = numel(tensor)
    known = 1
    for dim in dims:
        known *= dim.value if dim.value is not None and dim.value > 0 else 1
    filled: list[Int] = []
    for dim in dims:
        if dim.value != -1:
            filled.append(dim)
        elif len(dims) == 1:
            filled.append(total)
        elif total.value is not None and all(d.value is not None for d in dims):
            filled.append(Int(total.value // known, derived=True))
        else:
            filled.append(Int())
    return tensor_of(tuple(filled), tensor.dtype)


def _permute(tensor: Tensor, name: str, positional: tuple[Value, ...]) -> Tensor:
    if len(positional) == 1 and isinstance(positional[0], Sequence):
        positional = positional[0].items
    axes = [p.value for p in positional if isinstance(p, Int) and p.value is not None]
    if tensor.rank is None or len(axes) != len(positional):
        return Tensor(tensor.dtype)
    axes = [a % tensor.rank if tensor.rank else 0 for a in axes]
    order = list(range(tensor.rank))
    if name == "t":
        order.reverse()
    elif name == "permute":
        order = axes
    elif len(axes) == 2:
        order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    dims = {new: tensor.dims[old] for new, old in enumerate(order) if old in tensor.dims}
    return Tensor(tensor.dtype, tensor.rank, dims)
