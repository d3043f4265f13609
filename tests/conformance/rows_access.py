"""Conformance of memory operations: loads and stores with every keyword, elements, atomics, views, raw memory."""

from __future__ import annotations

from rows import ASSEMBLED, PROVED, Row, file_of

PADDINGS = ("UNDETERMINED", "ZERO", "NEG_ZERO", "NAN", "POS_INF", "NEG_INF")
_VECTOR = "x: f32[N], y: f32[N], T=16, grid=(N/T)"
_VECTOR_PARAMETERS = "x, y, T: ct.Constant[int]"


def _vector(name: str, text: str, expect: str = PROVED, more: str = "", parameters: str = "") -> Row:
    """A kernel over blocks of `x` and `y`; `more` declares further arrays."""
    return Row(name, file_of(more + _VECTOR, parameters + _VECTOR_PARAMETERS, "i = ct.bid(0)\n" + text), expect)


def _view_rows() -> list[Row]:
    rows = [
        _vector(
            f"load-{padding.lower()}",
            f"a = ct.load(x, (i,), (T,), padding_mode=ct.PaddingMode.{padding})\n"
            "ct.store(y, (i,), a + ct.max(a, keepdims=True))\n"
            if padding != "UNDETERMINED"
            else f"a = ct.load(x, (i,), (T,), padding_mode=ct.PaddingMode.{padding})\nct.store(y, (i,), a)\n",
        )
        for padding in PADDINGS
    ]
    rows += [
        _vector(
            "load-hints",
            "a = ct.load(x, i, T, latency=3, allow_tma=False)\nct.store(y, i, a, latency=2, allow_tma=False)\n",
        ),
        _vector(
            "load-order-of-memory",
            "a = ct.load(x, (i,), (T,), memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.DEVICE)\n"
            "b = ct.load(x, (i,), (T,), memory_order=ct.MemoryOrder.ACQUIRE, memory_scope=ct.MemoryScope.SYS)\n"
            "ct.store(y, (i,), a + b, memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.BLOCK)\n",
            PROVED,
        ),
        _vector(
            "load-weak",
            "a = ct.load(x, (i,), (T,), memory_order=ct.MemoryOrder.WEAK, memory_scope=ct.MemoryScope.NONE)\n"
            "ct.store(y, (i,), a)\n",
        ),
        Row(
            "load-permuted",
            file_of(
                "x: f32[M, N], y: f32[N, M], grid=(N/8, M/4)",
                "x, y",
                "a = ct.load(x, (ct.bid(0), ct.bid(1)), (8, 4), order='F')\n"
                "b = ct.load(x, (ct.bid(0), ct.bid(1)), (8, 4), order=(1, 0))\n"
                "ct.store(y, (ct.bid(0), ct.bid(1)), a + b)\n",
            ),
            PROVED,
        ),
        _vector(
            "tile-counts",
            "n = ct.num_tiles(x, 0, (T,)) + ct.num_blocks(0) + x.shape[0] + x.ndim\n"
            "a = ct.load(x, (i,), (T,)) * n\nct.store(y, (i,), a.astype(x.dtype))\n",
        ),
        _vector(
            "tiled-view",
            "v = x.tiled_view((T,), padding_mode=ct.PaddingMode.ZERO)\nw = y.tiled_view((T,))\n"
            "n = v.num_tiles(0)\nw.store((i,), (v.load((i,)) * n).reshape(w.tile_shape).astype(v.dtype))\n",
        ),
    ]
    return rows


def _element_rows() -> list[Row]:
    lanes = "at = i * T + ct.arange(T, dtype=ct.int32)\n"
    rows = [
        _vector(
            "gather",
            lanes
            + "a = ct.gather(x, at)\nb = ct.gather(x, at + 1, padding_value=2.0)\n"
            + "c = ct.gather(x, at, mask=at % 2 == 0, padding_value=-1.0)\nct.store(y, (i,), a + b + c)\n",
        ),
        _vector("scatter", lanes + "a = ct.load(x, (i,), (T,))\nct.scatter(y, at, a, mask=at % 3 != 1)\n", PROVED),
        _vector(
            "raw-memory",
            lanes
            + "at = ct.minimum(at, x.shape[0] - 1)\nm = x.get_raw_memory()\nw = y.get_raw_memory()\n"
            + "a = m.load_offset(at).astype(m.dtype)\nw.store_offset(at, a * 2)\n",
            PROVED,
        ),
    ]
    old = {
        "add": "i32 f32 u64",
        "max": "i32 u32",
        "min": "i64 u32",
        "and": "i32",
        "or": "u32",
        "xor": "i64",
        "xchg": "i32",
    }
    for name, dtypes in old.items():
        for d in dtypes.split():
            rows.append(
                Row(
                    f"atomic-{name}-{d}",
                    file_of(
                        f"x: {d}[N], y: {d}[N], T=16, grid=(N/T)",
                        _VECTOR_PARAMETERS,
                        "i = ct.bid(0)\n"
                        + lanes
                        + "a = ct.load(x, (i,), (T,))\n"
                        + f"ct.atomic_{name}(y, at, a)\n"
                        + f"ct.atomic_{name}(y, at, a, memory_order=ct.MemoryOrder.RELAXED)\n",
                    ),
                    PROVED,
                )
            )
    raw = "".join(
        f"w.atomic_{n}_offset(at, a{', a' if n == 'cas' else ''})\n"
        for n in ("add", "max", "min", "and", "or", "xor", "xchg", "cas")
    )
    view = "".join(f"w.atomic_store_{n}((i,), a)\n" for n in ("add", "max", "min", "and", "or", "xor"))
    integers = "x: i32[N], y: i32[N], T=16, grid=(N/T)"
    load = "i = ct.bid(0)\n" + lanes + "a = ct.load(x, (i,), (T,))\n"
    rows += [
        Row(
            "atomic-cas",
            file_of(
                integers,
                _VECTOR_PARAMETERS,
                load + ("ct.atomic_cas(y, at, a, a + 1, memory_order=ct.MemoryOrder.ACQ_REL)\n"),
            ),
            PROVED,
        ),
        Row("raw-atomics", file_of(integers, _VECTOR_PARAMETERS, load + "w = y.get_raw_memory()\n" + raw), PROVED),
        Row("view-atomics", file_of(integers, _VECTOR_PARAMETERS, load + "w = y.tiled_view((T,))\n" + view), PROVED),
        Row(
            "traversal-steps",
            file_of(
                "x: f32[N], y: f32[N], grid=(1)",
                "x, y",
                "v = x.tiled_view((16,), traversal_steps=(8,), padding_mode=ct.PaddingMode.ZERO)\n"
                "a = v.load((0,)) + v.load((1,)) + v.traversal_steps[0]\nct.store(y, (0,), a)\n",
            ),
            PROVED,
        ),
        Row(
            "slice",
            file_of(
                "x: f32[N], y: f32[N], n: i32, T=16, grid=(1)",
                "x, y, n, T: ct.Constant[int]",
                "part = x.slice(axis=0, start=1, stop=x.shape[0] - 1)\n"
                "a = ct.load(part, (0,), (T,), padding_mode=ct.PaddingMode.ZERO)\nct.store(y, (0,), a)\n",
            ),
            PROVED,
        ),
        Row(
            "advanced-indexing",
            file_of(
                "x: f32[M, N], y: f32[16, 8], k: i32[16], grid=(1)",
                "x, y, k",
                "rows = ct.load(k, (0,), (16,))\n"
                "a = ct.load_advanced_indexing(x, (rows, ct.Slice(0, 8)), padding_mode=ct.PaddingMode.ZERO)\n"
                "ct.store_advanced_indexing(y, (ct.arange(16, dtype=ct.int32), ct.Slice(0, 8)), a)\n",
            ),
            PROVED,
        ),
        Row(
            "strides",
            file_of(
                "x: f32[M, N], y: f32[N], T=16, grid=(N/T)",
                _VECTOR_PARAMETERS,
                "i = ct.bid(0)\na = ct.load(x, (0, i), (1, T)).reshape((T,))\nct.store(y, (i,), a + x.strides[0])\n",
            ),
            PROVED,
        ),
        Row(
            "foreign-pointer",
            file_of(_VECTOR, _VECTOR_PARAMETERS, "p = x.foreign_pointer\nct.store(y, (0,), 1.0)\n"),
            "FT205",
            "x.foreign_pointer",
        ),
        Row(
            "from-foreign",
            file_of(_VECTOR, _VECTOR_PARAMETERS, "p = ct.Array.from_foreign(x, (4,), (1,))\nct.store(y, (0,), 1.0)\n"),
            "FT205",
            "ct.Array.from_foreign(x, (4,), (1,))",
        ),
        Row(
            "cluster-scope",
            file_of(
                _VECTOR,
                _VECTOR_PARAMETERS,
                "a = ct.load(x, (0,), (T,), memory_order=ct.MemoryOrder.RELAXED, memory_scope=ct.MemoryScope.CLUSTER)\n"
                "ct.store(y, (0,), a)\n",
            ),
            "FT301",
            "ct.MemoryScope.CLUSTER",
        ),
        Row(
            "insert",
            file_of(
                "x: f32[4, 8], y: f32[4, 8], grid=(1)",
                "x, y",
                "a = ct.load(x, (0, 0), (4, 8))\nb = ct.insert(a, (1, 1), ct.extract(a, (0, 0), (2, 4)))\n"
                "ct.store(y, (0, 0), b.insert((3, 7), 1.5))\n",
            ),
            ASSEMBLED,
        ),
    ]
    return rows


_ANNOTATED = """from typing import Annotated

import cuda.tile as ct

WIDTH = 16
Number = Annotated[int, ct.ConstantAnnotation()]


@ct.function
def scaled(t: ct.Tile, factor: ct.Scalar) -> ct.Tile:
    return t * factor


# ferrotile: x: f32[N], y: f32[N], k: i32, m: i64, T=16, F=3, grid=(N/T)
@ct.kernel
def row(
    x: ct.Array,
    y: Annotated[ct.Array, ct.ArrayAnnotation()],
    k: int,
    m: ct.ScalarInt64[int],
    T: ct.Constant[int],
    F: Number,
):
    ct.static_assert(T == WIDTH, "T is the width")
    a = ct.load(x, (ct.bid(0),), (T,))
    for step in ct.static_iter(range(F)):
        a = scaled(a, k) + step + ct.static_eval(T // 2) + ct.ensure_constant(F)
    if F > 100:
        raise ct.static_exception(ValueError("F is too large"))
    ct.store(y, (ct.bid(0),), a + m)
"""


ROWS = (*_view_rows(), *_element_rows(), Row("language-names", _ANNOTATED, PROVED))
