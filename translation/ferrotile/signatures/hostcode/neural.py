"""`torch.nn`: modules as objects, their weights, and casts of all of them."""

from __future__ import annotations

from collections.abc import Mapping

from ferrotile.program.dtypes import BF16, F16, F32, F64, DType
from ferrotile.signatures.hostcode.objects import base_names
from ferrotile.signatures.hostcode.run import Run
from ferrotile.signatures.tensors import Arguments, element_type, extent, shape_of, tensor_of
from ferrotile.signatures.values import UNKNOWN, Instance, Int, Known, Tensor, Value

_CASTS: Mapping[str, DType] = {"half": F16, "bfloat16": BF16, "float": F32, "double": F64}
_SAME = ("cuda", "cpu", "eval", "train", "requires_grad_", "to_empty", "share_memory")
_DEPTH = 4
_KIND = "()layer"


def is_module(run: Run, value: Value) -> bool:
    """Whether an object is of a class that derives from `torch.nn.Module`."""
    return isinstance(value, Instance) and value.of is not None and "torch.nn.Module" in base_names(run, value.of)


def is_module_method(run: Run, owner: Instance, name: str) -> bool:
    return (name in _CASTS or name in _SAME or name in ("to", "register_buffer", "register_parameter")) and (
        is_module(run, owner)
    )


def module_method(owner: Instance, name: str, arguments: Arguments) -> Value:
    """`module.half()`, `module.to(dtype)`: the module, its weights cast; `register_buffer`."""
    if name.startswith("register_"):
        match arguments.get(0, "name"), arguments.get(1, "tensor", "param"):
            case Known(value=str(field)), value if value is not None:
                owner.fields[field] = value
            case _:
                pass
        return Known(None)
    dtype = _CASTS.get(name)
    if name == "to":
        types = [element_type(v) for v in (*arguments.positional, arguments.named.get("dtype"))]
        dtype = next((t for t in types if t is not None), None)
    if dtype is not None:
        _cast(owner, dtype, 0)
    return owner


def _cast(owner: Instance, dtype: DType, depth: int) -> None:
    for field, value in owner.fields.items():
        match value:
            case Tensor(dtype=DType() as own, rank=rank, dims=dims) if own.is_float:
                owner.fields[field] = Tensor(dtype, rank, dims)
            case Instance() if depth < _DEPTH:
                _cast(value, dtype, depth + 1)
            case _:
                continue


def layer(dotted: str, arguments: Arguments) -> Instance | None:
    """A layer of `torch.nn` whose weights host code may pass on; None for another name."""
    root, _, name = dotted.rpartition(".")
    if root != "torch.nn":
        return None
    given = element_type(arguments.named.get("dtype"))
    dtype = F32 if "dtype" not in arguments.named else given
    first, second = arguments.get(0), arguments.get(1)
    match name:
        case "Linear":
            inputs = arguments.get(0, "in_features")
            outputs = arguments.get(1, "out_features")
            dims = tuple(d if isinstance(d, Int) else Int() for d in (outputs, inputs))
            flag = arguments.get(2, "bias")
            bias: Value = UNKNOWN if flag not in (None, Known(True), Known(False)) else tensor_of(dims[:1], dtype)
            bias = Known(None) if flag == Known(False) else bias
            return Instance(None, {_KIND: Known(name), "weight": tensor_of(dims, dtype), "bias": bias})
        case "Embedding":
            dims = tuple(d if isinstance(d, Int) else Int() for d in (first, second))
            return Instance(None, {_KIND: Known(name), "weight": tensor_of(dims, dtype)})
        case "LayerNorm" | "RMSNorm":
            shape = shape_of(first)
            fields: dict[str, Value] = {"weight": tensor_of(shape, dtype), "bias": tensor_of(shape, dtype)}
            return Instance(None, {_KIND: Known(name), **fields})
        case _:
            return None


def call_layer(layer: Instance, arguments: Arguments) -> Tensor | None:
    """What a layer of `torch.nn` gives; None for another object."""
    kind, weight, given = layer.fields.get(_KIND), layer.fields.get("weight"), arguments.get(0, "input")
    if not isinstance(kind, Known) or not isinstance(weight, Tensor) or not isinstance(given, Tensor):
        return None
    if kind.value in ("LayerNorm", "RMSNorm"):
        return given
    if given.rank is None:
        return Tensor(weight.dtype)
    leading = tuple(extent(given, Int(axis)) for axis in range(given.rank - (kind.value == "Linear")))
    last = extent(weight, Int(0 if kind.value == "Linear" else 1))
    return tensor_of((*leading, last), weight.dtype)
