"""What to write for functions of other libraries that authors look for in `cuda.tile`."""

from __future__ import annotations

from collections.abc import Container, Mapping

INSTEAD: Mapping[str, str] = {
    # Activations and elementwise functions
    "sigmoid": "1.0 / (1.0 + ct.exp(-x))",
    "silu": "x / (1.0 + ct.exp(-x))",
    "swish": "x / (1.0 + ct.exp(-x))",
    "relu": "ct.maximum(x, 0)",
    "gelu": "0.5 * x * (1.0 + ct.tanh(0.7978846 * (x + 0.044715 * x * x * x)))",
    "softplus": "ct.log(1.0 + ct.exp(x))",
    "softmax": "e = ct.exp(x - ct.max(x, axis, keepdims=True)), then e / ct.sum(e, axis, keepdims=True)",
    "log_softmax": "s = x - ct.max(x, axis, keepdims=True), then s - ct.log(ct.sum(ct.exp(s), axis, keepdims=True))",
    "log1p": "ct.log(1.0 + x)",
    "expm1": "ct.exp(x) - 1.0",
    "log10": "ct.log(x) * 0.4342945",
    "square": "x * x",
    "reciprocal": "1.0 / x",
    "sign": "ct.where(x > 0, 1, ct.where(x < 0, -1, 0))",
    "round": "ct.floor(x + 0.5)",
    "rint": "ct.floor(x + 0.5)",
    "trunc": "x.astype(ct.int32), or ct.where(x < 0, ct.ceil(x), ct.floor(x))",
    "clamp": "ct.minimum(ct.maximum(x, low), high)",
    "clip": "ct.minimum(ct.maximum(x, low), high)",
    "power": "ct.pow(x, y)",
    "fma": "a * b + c, which is fused",
    "multiply": "ct.mul(x, y)",
    "subtract": "ct.sub(x, y)",
    "divide": "ct.truediv(x, y)",
    "div": "ct.truediv(x, y)",
    "remainder": "ct.mod(x, y)",
    "fmod": "ct.mod(x, y)",
    "neg": "-x",
    "logical_and": "a & b",
    "logical_or": "a | b",
    "logical_not": "~a",
    "logical_xor": "a ^ b",
    "isinf": "ct.abs(x) == float('inf')",
    "isfinite": "ct.abs(x) < float('inf')",
    # Reductions
    "mean": "ct.sum(x, axis) / n",
    "var": "m = ct.sum(x, axis, keepdims=True) / n, then ct.sum((x - m) * (x - m), axis) / n",
    "any": "ct.max(mask.astype(ct.int32)) != 0",
    "all": "ct.min(mask.astype(ct.int32)) != 0",
    "amax": "ct.max(x, axis)",
    "amin": "ct.min(x, axis)",
    "dot": "ct.mma(x, y, acc), or ct.matmul(x, y)",
    "bmm": "ct.matmul(x, y)",
    "mm": "ct.matmul(x, y)",
    "associative_scan": "ct.scan(x, axis, func, identity)",
    "norm": "ct.sqrt(ct.sum(x * x, axis))",
    # Making and shaping tiles
    "zeros_like": "ct.zeros(x.shape, x.dtype)",
    "ones_like": "ct.ones(x.shape, x.dtype)",
    "full_like": "ct.full(x.shape, value, x.dtype)",
    "empty": "ct.zeros(shape, dtype)",
    "iota": "ct.arange(n, dtype=ct.int32)",
    "cast": "ct.astype(x, dtype)",
    "to": "ct.astype(x, dtype)",
    "convert": "ct.astype(x, dtype)",
    "view": "ct.reshape(x, shape), or ct.bitcast(x, dtype)",
    "squeeze": "ct.reshape(x, shape)",
    "unsqueeze": "ct.expand_dims(x, axis)",
    "flatten": "ct.reshape(x, (-1,))",
    "ravel": "ct.reshape(x, (-1,))",
    "concatenate": "ct.cat((a, b), axis)",
    "concat": "ct.cat((a, b), axis)",
    "join": "ct.cat((a, b), axis)",
    "stack": "ct.cat((ct.expand_dims(a, axis), ct.expand_dims(b, axis)), axis)",
    "trans": "ct.transpose(x)",
    "broadcast": "ct.broadcast_to(x, shape)",
    "expand": "ct.broadcast_to(x, shape)",
    "tensor": "ct.astile(values, dtype=...)",
    "array": "ct.astile(values, dtype=...)",
    # Ids, counts and compile time
    "program_id": "ct.bid(axis)",
    "block_id": "ct.bid(axis)",
    "num_programs": "ct.num_blocks(axis)",
    "num_bids": "ct.num_blocks(axis)",
    "ceil_div": "ct.cdiv(x, y)",
    "ceildiv": "ct.cdiv(x, y)",
    "constexpr": "ct.Constant[int]",
    "static_range": "ct.static_iter(range(n))",
    "device_print": "ct.printf(format, x)",
    "device_assert": "ct.assert_(condition, message)",
    "atomic_sub": "ct.atomic_add(array, indices, -update)",
    # Element types and numbers
    "bool": "ct.bool_",
    "half": "ct.float16",
    "float": "ct.float32",
    "double": "ct.float64",
    "int": "ct.int32",
    "long": "ct.int64",
    "float8_e4m3": "ct.float8_e4m3fn",
    "float8e4nv": "ct.float8_e4m3fn",
    "float8e5": "ct.float8_e5m2",
    "tf32": "ct.tfloat32",
    "nan": "float('nan')",
    "inf": "float('inf')",
    "pi": "math.pi",
}
"""By the name that is missing: Python that cuTile accepts."""

NOTHING: Mapping[str, str] = {
    "sync_threads": "a tile block has no threads to wait for",
    "syncthreads": "a tile block has no threads to wait for",
    "debug_barrier": "a tile block has no threads to wait for",
    "barrier": "a tile block has no threads to wait for",
    "thread_id": "a tile block has no threads; ct.arange numbers the elements of a tile",
    "tid": "a tile block has no threads; ct.arange numbers the elements of a tile",
    "shared": "a tile block has no shared memory; tiles are values",
    "erf": "use an approximation, such as the tanh form of GELU",
    "rand": "hash the index with integer operations",
    "randint": "hash the index with integer operations",
    "randn": "hash the index with integer operations",
    "sort": "sort by comparing and exchanging halves, or take ct.argmax again and again",
    "topk": "take ct.argmax again and again",
    "argsort": "take ct.argmin again and again",
}
"""By the name that is missing, where no single expression does it: why, or what to do."""


ATTRIBUTES: Mapping[str, str] = {
    "T": "ct.transpose(x)",
    "mT": "ct.transpose(x)",
    "t": "ct.transpose(x)",
    "to": "x.astype(dtype)",
    "type": "x.astype(dtype)",
    "half": "x.astype(ct.float16)",
    "bfloat16": "x.astype(ct.bfloat16)",
    "float": "x.astype(ct.float32)",
    "double": "x.astype(ct.float64)",
    "int": "x.astype(ct.int32)",
    "long": "x.astype(ct.int64)",
    "view": "x.reshape(shape)",
    "flatten": "x.reshape((-1,))",
    "dim": "x.ndim",
    "size": "x.shape[axis]",
    "numel": "the product of x.shape",
    "nelement": "the product of x.shape",
    "stride": "x.strides[axis]",
    "load": "ct.load(x, index, shape)",
    "store": "ct.store(x, index, tile)",
    "tolist": "x.item()",
}
"""By the missing attribute of a tile or an array."""


def advice(name: str) -> str:
    """The end of a sentence about a missing name; empty where there is nothing to say."""
    if name in INSTEAD:
        return f": write `{INSTEAD[name]}`"
    return f": {NOTHING[name]}" if name in NOTHING else ""


def attribute_advice(name: str, functions: Container[str]) -> str:
    """The end of a sentence about a missing attribute. `functions` are those of `cuda.tile`."""
    if name in ATTRIBUTES:
        return f": write `{ATTRIBUTES[name]}`"
    return f": write `ct.{name}(x, ...)`" if name in functions else advice(name)
