"""Methods and indexing of tensors: which tensor or number each gives."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ferrotile.program.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, DType
from ferrotile.signatures.constructors import size_of
from ferrotile.signatures.tensors import (
    Arguments,
    element_type,
    extent,
    identity,
    numel,
    product_of,
    shape_of,
    tensor_of,
)
from ferrotile.signatures.values import (
    UNKNOWN,
    ElementType,
    FloatValue,
    Int,
    Known,
    Sequence,
    Shape,
    Tensor,
    Unknown,
    Value,
)

_CASTS: Mapping[str, DType] = {
    "half": F16, "float": F32, "bfloat16": BF16, "double": F64, "int": I32, "long": I64, "short": I16,
    "char": I8, "byte": U8, "bool": BOOL,
}  # fmt: skip
_SAME = {
    "contiguous", "cuda", "cpu", "clone", "detach", "requires_grad_", "uniform_", "normal_", "zero_", "fill_",
    "random_", "copy", "abs", "relu", "clamp", "mul_", "add_", "clamp_", "pin_memory", "get", "data", "requires_grad",
    "copy_", "square", "neg", "div_", "sub_", "exp_", "triu", "tril", "floor", "ceil", "round", "sign", "relu_",
    "clamp_min", "clamp_max", "clip", "exponential_", "bernoulli_", "geometric_", "cauchy_", "log_normal_",
    "to_device", "block_until_ready", "set", "copy_to_host", "share_memory_", "retain_grad",
}  # fmt: skip
_REAL = {
    "exp", "sin", "cos", "tan", "sigmoid", "exp2", "log2", "log1p", "expm1", "silu", "gelu", "reciprocal",
    "softmax", "log_softmax", "tanh", "sqrt", "rsqrt", "log", "cumsum", "pow", "erf",
}  # fmt: skip
"""Methods that keep the shape, and the element type of floats only."""

OF_TENSORS = frozenset(("view", "reshape", "contiguous", "flatten", "ravel", "unsqueeze", "squeeze", "permute"))
"""Methods that tell by their name that their object is a tensor."""


def method(tensor: Tensor, name: str, arguments: Arguments) -> Value:
    """The result of `tensor.name(...)`."""
    if name in _CASTS:
        return Tensor(_CASTS[name], tensor.rank, tensor.dims)
    if name in ("to", "astype", "type"):
        given = [v for v in (*arguments.positional, arguments.named.get("dtype")) if v is not None]
        types = [v for v in given if isinstance(v, ElementType) or element_type(v) is not None]
        if types:
            return Tensor(element_type(types[0]), tensor.rank, tensor.dims)
        if any(isinstance(v, Unknown) and not _is_device(v) for v in given):
            return Tensor(None, tensor.rank, tensor.dims)  # perhaps an element type
        other = next((v for v in given if isinstance(v, Tensor)), None)
        return tensor if other is None else Tensor(other.dtype, tensor.rank, tensor.dims)
    if name in _SAME:
        return tensor
    if name in _REAL:
        kept = tensor.dtype if tensor.dtype is not None and tensor.dtype.is_float else None
        given_type = arguments.named.get("dtype")
        dtype = kept if given_type is None or given_type == Known(None) else element_type(given_type)
        return Tensor(dtype, tensor.rank, tensor.dims)
    if name in ("view", "reshape"):
        return _reshape(tensor, arguments.positional)
    if name.startswith("new_"):
        dtype = element_type(arguments.named["dtype"]) if "dtype" in arguments.named else tensor.dtype
        return tensor_of(size_of(name.removeprefix("new_"), arguments), dtype)
    if name in ("view_as", "reshape_as", "expand_as", "type_as", "to_dense"):
        like = arguments.get(0, "other")
        if not isinstance(like, Tensor):
            return Tensor(tensor.dtype)
        if name == "type_as":
            return Tensor(like.dtype, tensor.rank, tensor.dims)
        return Tensor(tensor.dtype, like.rank, like.dims)
    if name == "ravel" or (name == "flatten" and tensor.rank is None and not arguments.positional):
        return tensor_of((numel(tensor),), tensor.dtype)
    if name == "flatten":
        return _flatten(tensor, arguments)
    if name in ("outer", "ger"):
        return _outer(tensor, arguments.get(0, "vec2", "other"))
    if name in ("unsqueeze", "squeeze"):
        return _squeeze(tensor, name, arguments.get(0, "dim"))
    if name in ("expand", "repeat", "narrow", "index_select", "masked_fill", "masked_fill_", "roll", "flip"):
        keeps = name in ("narrow", "index_select", "masked_fill", "masked_fill_", "roll", "flip")
        return Tensor(tensor.dtype, tensor.rank if keeps else None)
    if name in ("sum", "mean", "amax", "amin"):
        return _reduced(tensor, arguments)
    if name in ("chunk", "split", "unbind"):
        count = arguments.get(0, "chunks")
        rank = None if tensor.rank is None else tensor.rank - (name == "unbind")
        if name == "chunk" and isinstance(count, Int) and count.value is not None and 0 < count.value <= 16:
            return Sequence(tuple(Tensor(tensor.dtype, rank) for _ in range(count.value)))
        return UNKNOWN
    if name in ("t", "transpose", "permute", "swapaxes"):
        return _permute(tensor, name, arguments.positional)
    if name == "size":
        return extent(tensor, arguments.positional[0]) if arguments.positional else Shape(tensor)
    if name in ("dim", "ndimension"):
        return Int(tensor.rank)
    if name in ("numel", "nelement"):
        return numel(tensor)
    if name == "item":
        if tensor.dtype is None:
            return UNKNOWN
        return FloatValue() if tensor.dtype.is_float else Int()
    if name == "element_size" and tensor.dtype is not None:
        return Int(max(tensor.dtype.bits // 8, 1))
    if name in ("data_ptr", "element_size", "storage_offset", "get_device"):
        return Int()
    if name == "stride":
        return Int() if arguments.positional else UNKNOWN
    if name == "is_floating_point" and tensor.dtype is not None:
        return Known(tensor.dtype.is_float)
    if name in ("is_contiguous", "is_floating_point"):
        return Unknown(None, "bool", True)
    return Tensor()


def _is_device(value: Unknown) -> bool:
    return value.kind in ("device", "str") or (value.ident is not None and "device" in value.ident.partition(":")[0])


def _reshape(tensor: Tensor, positional: tuple[Value, ...]) -> Tensor:
    if len(positional) == 1 and isinstance(positional[0], ElementType):
        return Tensor(positional[0].dtype, tensor.rank)
    if len(positional) == 1 and isinstance(positional[0], Known):
        return Tensor()
    dims = shape_of(positional[0]) if len(positional) == 1 else shape_of(Sequence(positional))
    if dims is None:
        return Tensor(tensor.dtype)
    total = numel(tensor)
    filled: list[Int] = []
    for dim in dims:
        if dim.value != -1:
            filled.append(dim)
        elif len(dims) == 1:
            filled.append(total)
        else:
            filled.append(_rest(tensor, total, [d for d in dims if d is not dim]))
    return tensor_of(tuple(filled), tensor.dtype)


def _rest(tensor: Tensor, total: Int, others: list[Int]) -> Int:
    """The extent that -1 stands for beside `others`: what is left of the tensor's own extents, where that is told."""
    left = [extent(tensor, Int(axis)) for axis in range(tensor.rank or 0)]
    idents = [identity(other) or f"#{other.value}" for other in others]
    for ident in [part for whole in idents for part in (whole[1:].split("*") if whole[0] == "*" else [whole])]:
        same = next((d for d in left if d.ident == ident), None)
        if same is None:
            break
        left.remove(same)
    else:
        if tensor.rank is not None:
            return left[0] if len(left) == 1 else product_of(left)
    if total.value is not None and all(d.value is not None for d in others):
        return Int(total.value // max(prod(d.value or 1 for d in others), 1), derived=True)
    beside = prod(max(d.likely or 1, 1) for d in others)
    return Int(derived=True, guess=None if total.likely is None else max(total.likely // beside, 1))


def _flatten(tensor: Tensor, arguments: Arguments) -> Tensor:
    first, last = arguments.get(0, "start_dim"), arguments.get(1, "end_dim")
    rank = tensor.rank
    start = 0 if first is None else first.value if isinstance(first, Int) else None
    end = -1 if last is None else last.value if isinstance(last, Int) else None
    if rank is None or start is None or end is None or not -rank <= start < rank or not -rank <= end < rank:
        return Tensor(tensor.dtype)
    dims = [extent(tensor, Int(a)) for a in range(rank)]
    cut = slice(start % rank, end % rank + 1)
    dims[cut] = [product_of(dims[cut])]
    return tensor_of(tuple(dims), tensor.dtype)


def _outer(tensor: Tensor, other: Value | None) -> Tensor:
    if not isinstance(other, Tensor) or tensor.rank != 1 or other.rank != 1:
        return Tensor(tensor.dtype)
    same = tensor.dtype if tensor.dtype == other.dtype else None
    return Tensor(same, 2, {0: extent(tensor, Int(0)), 1: extent(other, Int(0))})


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


def _squeeze(tensor: Tensor, name: str, axis: Value | None) -> Tensor:
    at = axis.value if isinstance(axis, Int) else None
    if tensor.rank is None or at is None:
        return Tensor(tensor.dtype)
    dims = [extent(tensor, Int(a)) for a in range(tensor.rank)]
    if name == "unsqueeze":
        dims.insert(at if at >= 0 else at + tensor.rank + 1, Int(1))
        return tensor_of(tuple(dims), tensor.dtype)
    at = at if at >= 0 else at + tensor.rank
    if not 0 <= at < tensor.rank or dims[at].value != 1:
        return Tensor(tensor.dtype)  # whether the axis goes depends on its extent
    del dims[at]
    return tensor_of(tuple(dims), tensor.dtype)


def _reduced(tensor: Tensor, arguments: Arguments) -> Tensor:
    axis, keep = arguments.get(0, "dim", "axis"), arguments.get(1, "keepdim", "keepdims")
    dtype = tensor.dtype if tensor.dtype is not None and tensor.dtype.is_float else None
    if "dtype" in arguments.named:
        dtype = element_type(arguments.named["dtype"])
    if tensor.rank is None or not isinstance(axis, Int) or axis.value is None or tensor.rank == 0:
        return Tensor(dtype)
    at = axis.value % tensor.rank
    kept = isinstance(keep, Known) and keep.value is True
    dims = [extent(tensor, Int(a)) for a in range(tensor.rank)]
    dims[at : at + 1] = [Int(1)] if kept else []
    return tensor_of(tuple(dims), dtype)


def item(tensor: Tensor, index: Sequence) -> Tensor:
    """`tensor[index]`: an int takes an axis away, None (`Known`) adds one, a slice (`UNKNOWN`) keeps it, cut."""
    if tensor.rank is None or not all(isinstance(i, Int | Unknown) or i == Known(None) for i in index.items):
        return Tensor(tensor.dtype)
    dims: list[Int] = []
    axis = 0
    for one in index.items:
        if isinstance(one, Unknown):
            if axis >= tensor.rank:
                return Tensor(tensor.dtype)
            whole = one.kind == "whole"
            dims.append(extent(tensor, Int(axis)) if whole else Int())
        elif isinstance(one, Known):
            dims.append(Int(1))
            continue
        axis += 1
    if axis > tensor.rank:
        return Tensor(tensor.dtype)
    dims.extend(extent(tensor, Int(a)) for a in range(axis, tensor.rank))
    return tensor_of(tuple(dims), tensor.dtype)
