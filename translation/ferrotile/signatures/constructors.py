"""Constructors of torch, CuPy, NumPy and JAX: which tensor each gives."""

from __future__ import annotations

from ferrotile.program.dtypes import BOOL, F32, F64, I64, DType
from ferrotile.signatures.tensors import Arguments, element_type, shape_of, tensor_of
from ferrotile.signatures.values import FloatValue, Int, Known, Sequence, Shape, Tensor, Value

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
    "random_sample",
    "device_array",
    "pinned_array",
}
_LIKE = {
    "empty_like",
    "zeros_like",
    "ones_like",
    "rand_like",
    "randn_like",
    "full_like",
    "randint_like",
    "device_array_like",
}
_PLACES = {
    "empty": 1, "zeros": 1, "ones": 1, "full": 2, "array": 1, "asarray": 1, "arange": 3, "empty_like": 1,
    "zeros_like": 1, "ones_like": 1, "full_like": 2, "ascontiguousarray": 1, "eye": 3, "identity": 1,
    "device_array": 1, "pinned_array": 1, "standard_normal": 1,
}  # fmt: skip
"""Where NumPy's constructors and their like take an element type by position."""
_ROOTS = ("torch", "cupy", "numpy", "jax", "numba.cuda")


def construct(dotted: str, arguments: Arguments) -> Value | None:
    """The result of a tensor constructor, None where `dotted` is not one."""
    root = next((r for r in _ROOTS if dotted.startswith(r + ".")), None)
    if root is None:
        return None
    name = dotted.rpartition(".")[2]
    default = F32 if root in ("torch", "jax") else F64
    given = arguments.named.get("dtype")
    if given is None and root != "torch" and name in _PLACES and len(arguments.positional) > _PLACES[name]:
        given = arguments.positional[_PLACES[name]]
        arguments = Arguments(arguments.positional[: _PLACES[name]], arguments.named)
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
        return tensor_of(size_of(name, arguments), made)
    if name in ("eye", "identity"):
        rows, columns = arguments.get(0, "n", "N"), arguments.get(1, "m", "M")
        sides = tuple(s if isinstance(s, Int) else Int() for s in (rows, columns or rows))
        return tensor_of(sides, default if given is None else dtype)
    if name in ("integers", "random_integers"):
        named = arguments.get(2, "size")
        return tensor_of(shape_of(named), I64 if given is None else dtype)
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
        "to_device",
        "device_put",
        "from_dlpack",
        "as_cuda_array",
    ):
        first = arguments.get(0, "data", "object")
        if isinstance(first, Tensor):
            return first if given is None else Tensor(dtype, first.rank, first.dims)
        found = _literal_type(first, default)
        return tensor_of(_literal_shape(first), found if given is None else dtype)
    return None


def size_of(name: str, arguments: Arguments) -> tuple[Int, ...] | None:
    """The shape that a constructor called `name` is given."""
    named = arguments.get(-1, "size", "shape")
    if named is not None:
        return shape_of(named)
    positional = arguments.positional
    if name == "randint":
        return next((shape_of(p) for p in positional[1:] if isinstance(p, Sequence | Shape)), None)
    if name in ("uniform", "normal"):
        return shape_of(positional[2]) if len(positional) > 2 else None
    if positional and isinstance(positional[0], Sequence | Shape):
        return shape_of(positional[0])
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
