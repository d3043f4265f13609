"""Conformance of element accesses and their lifting to views: index types, shapes, masks, padding, orders, parts."""

from __future__ import annotations

from rows import ASSEMBLED, PROVED, Row, file_of

_LANES = "o = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)\n"
_ROWS = "ix = ct.load(k, (ct.bid(0),), (T,), padding_mode=ct.PaddingMode.ZERO)\n"


def _indexed(
    name: str, text: str, expect: str = PROVED, index: str = "i32", element: str = "f32", rank: int = 1
) -> Row:
    """Elements of `x` at the data-dependent indices `ix`, result `t` of shape (T,) stored in `y`."""
    extents = ", ".join("PQR"[:rank])
    directive = f"x: {element}[{extents}], k: {index}[M], y: {element}[M], n: i32, T=16, grid=(M/T)"
    body = _ROWS + text + "ct.store(y, (ct.bid(0),), t)\n"
    return Row(f"element-{name}", file_of(directive, "x, k, y, n, T: ct.Constant[int]", body), expect)


def _gather_rows() -> list[Row]:
    integers = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
    elements = ("i8", "u16", "i64", "f16", "bf16", "f64", "bool")
    rows = [_indexed(f"index-{d}", "t = ct.gather(x, ix)\n", index=d) for d in integers]
    rows += [_indexed(f"type-{d}", "t = ct.gather(x, ix)\n", element=d) for d in elements]
    lanes = "ct.arange(8, dtype=ct.int64)"
    texts = {
        "constant": "t = ct.gather(x, 3) + ct.gather(x, (ix,))\n",
        "negative": "t = ct.gather(x, -1) + ct.gather(x, ix - 3, padding_value=2)\n",
        "mask": "t = ct.gather(x, ix, mask=ix > 3)\n",
        "mask-scalar": "t = ct.gather(x, ix, mask=n > 3, padding_value=1.5)\n",
        "padding-infinite": "t = ct.gather(x, ix, padding_value=-float('inf'))\n",
        "padding-nan": "t = ct.gather(x, ix, padding_value=float('nan'))\n",
        "padding-run-time": "t = ct.gather(x, ix, padding_value=n)\n",
        "padding-tile": "t = ct.gather(x, ix, mask=ix != 4, padding_value=ix.astype(ct.float32))\n",
        "latency": "t = ct.gather(x, ix, latency=7)\n",
    }
    # A NaN is the bits of an integer in the Rust.
    rows += [_indexed(name, text, PROVED) for name, text in texts.items()]
    rows += [
        _indexed("unchecked", "t = ct.gather(x, ct.minimum(ix, 0) * 0, check_bounds=False)\n"),
        _indexed("unchecked-mask", "t = ct.gather(x, ix, mask=(ix >= 0) & (ix < x.shape[0]), check_bounds=False)\n"),
        _indexed("rank-2", f"t = ct.sum(ct.gather(x, (ix[:, None], {lanes}), padding_value=3.0), axis=1)\n", rank=2),
        _indexed("rank-2-scalar", "t = ct.gather(x, (n, ix), padding_value=-4.0)\n", rank=2),
        _indexed(
            "rank-3",
            f"a = ct.gather(x, (ix[:, None, None], {lanes}[None, :, None], ct.arange(2, dtype=ct.uint8)))\n"
            "t = ct.sum(ct.sum(a, axis=2), axis=1)\n",
            rank=3,
        ),
        _indexed("scalars", "t = ct.full((T,), ct.gather(x, (n, n)), ct.float32)\n", rank=2),
        _indexed("in-a-loop", "t = ct.zeros((T,), ct.float32)\nfor j in range(n):\n    t += ct.gather(x, ix + j)\n"),
    ]
    return rows


def _scatter_rows() -> list[Row]:
    texts = {
        "scatter": (1, "ct.scatter(x, ix, t)\n"),
        "scatter-value": (1, "ct.scatter(x, ix, 2)\n"),
        "scatter-mask": (1, "ct.scatter(x, ix, t, mask=ix > 2, latency=2)\n"),
        "scatter-scalar": (1, "ct.scatter(x, n, ct.sum(t))\n"),
        "scatter-rank-2": (2, "ct.scatter(x, (ix[:, None], ct.arange(8, dtype=ct.int32)), t[:, None])\n"),
        "scatter-twice": (1, "ct.scatter(x, ix, t)\nct.scatter(x, ix + 1, t)\n"),
        "scatter-read": (1, "t = t + ct.gather(x, ix)\nct.scatter(x, ix, t)\n"),
        "scatter-loop": (1, "for j in range(n):\n    ct.scatter(x, ix + j, t + ct.gather(x, ix))\n"),
    }
    head = "t = ct.full((T,), 1.5, ct.float32)\n"
    # Lanes and blocks may meet on an element, and which of them wins is open: simulated on its own order only.
    return [_indexed(name, head + text, rank=rank) for name, (rank, text) in texts.items()]


def _atomic_rows() -> list[Row]:
    words = "i32 i64 u32 u64"
    types = {
        "add": f"{words} f16 bf16 f32 f64", "xchg": f"{words} f32 f64", "cas": f"{words} f32 f64",
        **dict.fromkeys(("max", "min", "and", "or", "xor"), words),
    }  # fmt: skip
    rows: list[Row] = []
    for mode, dtypes in types.items():
        for dtype in dtypes.split():
            values = "ix.astype(x.dtype)" if mode != "cas" else "ix.astype(x.dtype), (ix + 1).astype(x.dtype)"
            text = f"t = ct.atomic_{mode}(x, ix, {values})\nct.atomic_{mode}(x, 2, {values.replace('ix', 'n')})\n"
            rows.append(_indexed(f"atomic-{mode}-{dtype}", text, element=dtype))
    for order in ("RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL"):
        for scope in ("BLOCK", "DEVICE", "SYS"):
            how = f"memory_order=ct.MemoryOrder.{order}, memory_scope=ct.MemoryScope.{scope}"
            text = f"t = ct.atomic_add(x, ix, 1, {how}).astype(ct.float32).astype(ct.int32)\n"
            rows.append(_indexed(f"atomic-{order.lower()}-{scope.lower()}", text, element="i32"))
    checks = "t = ct.atomic_max(x, ct.minimum(ix, 0) * 0, 5, check_bounds=False)\n"
    rows += [
        _indexed("atomic-unchecked", checks, element="i32"),
        _indexed("atomic-rank-2", "t = ct.atomic_add(x, (ix, n), 1)\n", element="i32", rank=2),
        _indexed("atomic-unused", "ct.atomic_add(x, ix, 1.0)\nt = ct.zeros((T,), ct.float32)\n"),
    ]
    return rows


def _lifted_rows() -> list[Row]:
    """Whole aligned tiles: these are views in the Rust, and pointers in the Python."""

    def vector(name: str, text: str, expect: str = PROVED) -> Row:
        directive = "x: f32[N], y: f32[N], n: i32, T=16, grid=(N/T)"
        return Row(f"lifted-{name}", file_of(directive, "x, y, n, T: ct.Constant[int]", _LANES + text), expect)

    def row(name: str, text: str, expect: str = PROVED) -> Row:
        directive = "x: f32[M, N], y: f32[M, N], w: f32[N], n: i32, T=16, grid=(M)"
        head = "r = ct.bid(0)\no = ct.arange(T, dtype=ct.int32)\n"
        return Row(f"lifted-{name}", file_of(directive, "x, y, w, n, T: ct.Constant[int]", head + text), expect)

    return [
        vector("copy", "ct.scatter(y, o, ct.gather(x, o))\n"),
        vector("padded", "ct.scatter(y, o, ct.gather(x, o, padding_value=float('-inf')))\n"),
        vector("padded-odd", "t = ct.gather(x, o, padding_value=-5.0)\nct.scatter(y, o, t - ct.min(t))\n"),
        vector("masked", "ct.scatter(y, o, ct.gather(x, o, mask=o % 2 == 0, padding_value=1.0))\n"),
        vector("shifted", "ct.scatter(y, o, ct.gather(x, o + 1))\n"),
        vector("shifted-tile", "ct.scatter(y, o, ct.gather(x, o + T))\n"),
        vector("in-place", "ct.scatter(x, o, ct.gather(x, o) + 1.0)\n"),
        vector("swapped", "a = ct.gather(x, o)\nb = ct.gather(y, o)\nct.scatter(x, o, b)\nct.scatter(y, o, a)\n"),
        vector("masked-store", "ct.scatter(y, o, ct.gather(x, o), mask=o > n)\n"),
        vector("unaligned", "ct.scatter(y, o + n, ct.gather(x, o + n))\n"),
        row("row", "ct.scatter(y, (r, o), ct.gather(x, (r, o)) * ct.gather(w, o))\n"),
        row(
            "row-loop",
            "for j in range(ct.cdiv(x.shape[1], T)):\n    at = j * T + o\n"
            "    ct.scatter(y, (r, at), ct.gather(x, (r, at)) * ct.gather(w, at))\n",
        ),
        row("other-row", "ct.scatter(y, (r, o), ct.gather(x, (r + n, o), padding_value=2.0))\n"),
        Row(
            "lifted-turned",
            file_of(
                "x: f32[M, N], y: f32[N, M], T=16, grid=(M/T, N/T)",
                "x, y, T: ct.Constant[int]",
                _LANES + "p = ct.bid(1) * T + ct.arange(T, dtype=ct.int32)\n"
                "t = ct.gather(x, (o[None, :], p[:, None]))\nct.scatter(y, (p[:, None], o[None, :]), t)\n",
            ),
            PROVED,
        ),
        Row(
            "lifted-lookup",
            file_of(
                "k: i32[R], x: f32[V, D], y: f32[R, D], T=16, grid=(R)",
                "k, x, y, T: ct.Constant[int]",
                "r = ct.bid(0)\no = ct.arange(T, dtype=ct.int32)\n"
                "ct.scatter(y, (r, o), ct.gather(x, (ct.gather(k, r), o)))\n",
            ),
            PROVED,
        ),
    ]


def _part_rows() -> list[Row]:
    head = "x: f32[P, Q], y: f32[M, N], a: i32, T=16, grid=(1)"  # one block: `y` is one tile, `x` any
    parameters = "x, y, a, T: ct.Constant[int]"
    zero = "padding_mode=ct.PaddingMode.ZERO"
    texts = {
        "outer": (
            f"p = x.slice(0, a, x.shape[0])\nct.store(y, (0, 0), ct.load(p, (0, 0), (4, T), {zero}))\n", PROVED
        ),
        "inner": (
            f"p = x.slice(1, 1, x.shape[1]).slice(-2, 1, x.shape[0])\n"
            f"t = ct.load(p, (0, 0), (4, T), {zero})\nct.store(y, (0, 0), t + p.shape[0] + p.shape[1])\n", PROVED
        ),
        "stored": ("p = y.slice(0, 1, y.shape[0])\nct.store(p, (0, 0), ct.ones((4, T), ct.float32))\n", PROVED),
        "gathered": (
            "p = x.slice(0, 1, x.shape[0])\no = ct.arange(T, dtype=ct.int32)\n"
            "ct.scatter(y, (0, o), ct.gather(p, (a, o)))\n", PROVED
        ),
        "counted": (
            "p = x.slice(0, 0, a)\nt = ct.zeros((1, T), ct.float32)\nfor j in range(ct.num_tiles(p, 0, (1, T))):\n"
            f"    t += ct.load(p, (j, 0), (1, T), {zero})\nct.store(y, (0, 0), t)\n", PROVED
        ),
    }  # fmt: skip
    rows = [Row(f"part-{n}", file_of(head, parameters, text), expect) for n, (text, expect) in texts.items()]
    rows.append(
        Row(
            "turned-store",
            file_of(
                "x: f32[M, N], y: f32[N, M], grid=(M/8, N/4)",
                "x, y",
                f"t = ct.load(x, (ct.bid(0), ct.bid(1)), (8, 4), {zero})\n"
                "ct.store(y, (ct.bid(0), ct.bid(1)), t, order='F')\n",
            ),
            PROVED,
        )
    )
    return rows


def _order_rows() -> list[Row]:
    """Locks and flags: other blocks see the order of different arrays."""
    return [
        Row(
            "order-flag",
            file_of(
                "x: f32[N], y: f32[N], f: i32[N], T=16, grid=(N/T)",
                "x, y, f, T: ct.Constant[int]",
                "i = ct.bid(0)\nct.store(y, (i,), ct.load(x, (i,), (T,)))\n"
                "ct.atomic_xchg(f, i, 1, memory_order=ct.MemoryOrder.RELEASE)\n",
            ),
            PROVED,
        ),
        Row(
            "order-lock",
            file_of(
                "x: f32[M, N], p: f32[G, N], lock: i32[G], T=16, G=4, grid=(M)",
                "x, p, lock, T: ct.Constant[int], G: ct.Constant[int]",
                "g = ct.bid(0) % G\nt = ct.load(x, (ct.bid(0), 0), (1, T))\n"
                "while ct.atomic_cas(lock, g, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:\n    pass\n"
                "ct.store(p, (g, 0), t + ct.load(p, (g, 0), (1, T)))\n"
                "ct.atomic_xchg(lock, g, 0, memory_order=ct.MemoryOrder.RELEASE)\n",
            ),
            ASSEMBLED,  # and proved; the simulator, which may wait for a lock forever, runs out of time
        ),
    ]


def _refused_rows() -> list[Row]:
    cases = {
        "index-count": ("ct.gather(x, (o, o))", "FT105", "x: f32[N]"),
        "index-float": ("ct.gather(x, o * 0.5)", "FT203", "o * 0.5"),
        "index-shapes": ("ct.gather(z, (o, ct.arange(8, dtype=ct.int32)))", "FT204", ""),
        "mask-type": ("ct.gather(x, o, mask=o)", "FT203", "o"),
        "mask-shape": ("ct.gather(x, o, mask=(o > 0)[:, None])", "FT204", "(o > 0)[:, None]"),
        "padding-shape": ("ct.gather(x, o, padding_value=ct.zeros((2, T), ct.float32))", "FT204",
                          "ct.zeros((2, T), ct.float32)"),
        "padding-lossy": ("ct.gather(k, o, padding_value=1.5)", "FT206", ""),
        "latency": ("ct.gather(x, o, latency=11)", "FT205", "11"),
        "value-lossy": ("ct.scatter(k, o, ct.zeros((T,), ct.float32))", "FT206", ""),
        "value-shape": ("ct.scatter(x, 0, ct.zeros((T,), ct.float32))", "FT204", "ct.zeros((T,), ct.float32)"),
        "atomic-type": ("ct.atomic_max(x, o, 1.0)", "FT203", "x"),
        "atomic-weak": ("ct.atomic_add(x, o, 1.0, memory_order=ct.MemoryOrder.WEAK)", "FT205", "ct.MemoryOrder.WEAK"),
        "atomic-no-scope": ("ct.atomic_add(x, o, 1.0, memory_scope=ct.MemoryScope.NONE)", "FT205",
                            "ct.MemoryScope.NONE"),
        "atomic-bitwise-cast": ("ct.atomic_xor(m, o, 1)", "FT203", "1"),
        "atomic-literal": ("ct.atomic_add(h, o, 1.5)", "FT206", ""),
        "load-release": ("ct.load(x, 0, T, memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.SYS)",
                         "FT205", "ct.MemoryOrder.RELEASE"),
        "load-unsigned": ("ct.load(x, ct.uint32(0), T)", "FT203", "ct.uint32(0)"),
        "load-scoped-weak": ("ct.load(x, 0, T, memory_scope=ct.MemoryScope.SYS)", "FT205", "ct.MemoryScope.SYS"),
        "order-no-permutation": ("ct.load(z, (0, 0), (4, T), order=(0, 0))", "FT204", "(0, 0)"),
        "slice-negative": ("x.slice(0, -1, 4)", "FT204", "-1"),
        "slice-empty": ("x.slice(0, 4, 2)", "FT204", "2"),
        "slice-axis": ("x.slice(1, 0, 2)", "FT204", "1"),
        "view-rank": ("z.tiled_view((T,))", "FT105", "z: f32[M, N]"),
        "view-steps": ("x.tiled_view((T,), traversal_steps=(0,))", "FT204", "(0,)"),
        "advanced-rank": ("ct.load_advanced_indexing(x, (o,))", "FT204", "x"),
        "advanced-dense": ("ct.load_advanced_indexing(z, (ct.Slice(0, 4), ct.Slice(0, 4)))", "FT203",
                           "(ct.Slice(0, 4), ct.Slice(0, 4))"),
        "advanced-length": ("ct.load_advanced_indexing(z, (o, ct.Slice(0, 3)))", "FT204", "(o, ct.Slice(0, 3))"),
    }  # fmt: skip
    directive = "x: f32[N], z: f32[M, N], k: i32[N], m: u32[N], h: f16[N], T=16, grid=(1)"
    parameters = "x, z, k, m, h, T: ct.Constant[int]"
    head = "o = ct.arange(T, dtype=ct.int32)\n"
    rows = [
        Row(f"refused-{name}", file_of(directive, parameters, head + statement), code, at or statement)
        for name, (statement, code, at) in cases.items()
    ]
    rows.append(Row("refused-no-axes", file_of("x: f32[], grid=(1)", "x", "ct.scatter(x, (), 1.0)"), "FT302",
                    "ct.scatter(x, (), 1.0)"))  # fmt: skip
    return rows


ROWS = (
    *_gather_rows(),
    *_scatter_rows(),
    *_atomic_rows(),
    *_lifted_rows(),
    *_part_rows(),
    *_order_rows(),
    *_refused_rows(),
)
