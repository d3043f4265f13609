"""Conformance of tile making, shape operations, reductions, scans, matrix products, printing and hints."""

from __future__ import annotations

from rows import ASSEMBLED, SIMULATED, Row, file_of, refused, tiled

FLOATS = ("f16", "bf16", "f32", "f64")
WIDE = ("i32", "i64", "u32", "u64")
SMALL = ("i8", "u8", "i16", "u16")


def _making_rows() -> list[Row]:
    return [
        tiled(
            "make",
            {},
            {
                "z0": ("i32", "16", "ct.arange(16, dtype=ct.int32)"),
                "z1": ("i32", "16", "ct.arange(16, dtype=ct.int32, start=3, step=2)"),
                "z2": ("f32", "16", "ct.arange(16, dtype=ct.float32)"),
                "z3": ("f32", "16", "ct.arange(16, dtype=ct.float32, start=0.5, step=0.25)"),
                "z4": ("u8", "16", "ct.arange(16, dtype=ct.uint8)"),
                "z5": ("i64", "4, 8", "ct.full((4, 8), 7, ct.int64)"),
                "z6": ("f16", "4, 8", "ct.ones((4, 8), ct.float16)"),
                "z7": ("bf16", "4, 8", "ct.zeros((4, 8), ct.bfloat16)"),
                "z8": ("u32", "4, 8", "ct.full((4, 8), 4000000000, ct.uint32)"),
                "z9": ("u8", "4, 8", "ct.full((4, 8), 200, ct.uint8)"),
                "za": ("bool", "4, 8", "ct.full((4, 8), True, ct.bool_)"),
                "zb": ("i8", "4, 8", "ct.full((4, 8), 300, ct.int8)"),
                "zc": ("i32", "4, 8", "ct.full((4, 8), 2.7, ct.int32)"),
                "zd": ("u64", "4, 8", "ct.full((4, 8), 2**63 + 5, ct.uint64)"),
                "ze": ("f64", "4, 8", "ct.full((4, 8), 0.1, ct.float64)"),
                "zf": ("bf16", "4, 8", "ct.full((4, 8), -float('inf'), ct.bfloat16)"),
            },
        ),
        tiled(
            "make-f8",
            {},
            {
                "z0": ("f32", "8", "ct.full((8,), 0.3, ct.float8_e4m3fn).astype(ct.float32)"),
                "z1": ("f32", "8", "ct.full((8,), 1.1, ct.float8_e5m2).astype(ct.float32)"),
                "z2": ("f32", "8", "ct.full((8,), 0.1, ct.tfloat32).astype(ct.float32)"),
            },
        ),
        tiled(
            "astile",
            {"a": ("i32", "1")},
            {
                "z0": ("f32", "4", "ct.astile((1, 2.5, 3, n.astype(ct.float32)), dtype=ct.float32)"),
                "z1": ("i32", "2, 2", "ct.astile(((1, n), (n + 1, 4)), dtype=ct.int32)"),
                "z2": ("i32", "2", "ct.astile((5, 5), dtype=ct.int32)"),
                "z3": ("i64", "1", "ct.astile(n, dtype=ct.int64)"),
            },
            lines="n = a.item()\n",
        ),
        tiled("astile-constants", {}, {"z0": ("f32", "4", "ct.astile((1, 2.5, 3, 4), dtype=ct.float32)")}, SIMULATED),
        refused("astile-length", {"a": "f32"}, "b = ct.astile((1, 2, 3), dtype=ct.float32)\nct.store(a_, (i,), a)",
                "FT204", "(1, 2, 3)"),
        refused("arange-length", {"a": "f32"}, "b = ct.arange(12, dtype=ct.int32)\nct.store(a_, (i,), a)", "FT204", "12"),
    ]  # fmt: skip


def _shape_rows() -> list[Row]:
    rows = [
        tiled(
            f"shape-{d}",
            {"a": (d, "4, 8"), "b": (d, "8")},
            {
                "z0": (d, "8, 4", "a.reshape((8, 4))"),
                "z1": (d, "2, 16", "ct.reshape(a, (2, -1))"),
                "z2": (d, "8, 4", "ct.transpose(a)"),
                "z3": (d, "8, 4", "a.permute((1, 0))"),
                "z4": (d, "4, 1, 8", "ct.expand_dims(a, 1)"),
                "z5": (d, "1, 8", "b[None, :]"),
                "z6": (d, "4, 8", "ct.broadcast_to(b, (4, 8))"),
                "z7": (d, "8, 8", "ct.cat((a, a), 0)"),
                "z8": (d, "4, 16", "ct.cat((a, a), -1)"),
                "z9": (d, "2, 4", "ct.extract(a, (1, 0), (2, 4))"),
                "za": (d, "4, 8", "ct.cat((a,), 0)"),
                "zb": (d, "1", "a.extract((3, 5), ()).reshape((1,))"),
                "zc": (d, "8, 1", "b[..., None]"),
            },
        )
        for d in ("f32", "i8", "bf16", "bool", "u16", "f64")
    ]
    rows += [
        tiled(
            "shape-rank-4",
            {"a": ("f32", "2, 4, 2, 8")},
            {
                "z0": ("f32", "8, 2, 4, 2", "ct.permute(a, (3, 0, 1, 2))"),
                "z1": ("f32", "2, 2, 4, 8", "ct.transpose(a, 1, -2)"),
                "z2": ("f32", "16, 8", "a.reshape((-1, 8))"),
                "z3": ("f32", "2, 4, 2, 16", "ct.cat((a, a), 3)"),
                "z4": ("f32", "1, 2, 2, 4", "a.extract((1, 1, 0, 1), (1, 2, 2, 4))"),
            },
        ),
        tiled(
            "extract-run-time",
            {"a": ("f32", "4, 8"), "n": ("i32", "1")},
            {"z0": ("f32", "2, 8", "ct.extract(a, (k, 0), (2, 8))"), "z1": ("f32", "1", "a.extract((k, 3), (1, 1)).reshape((1,))")},
            lines="k = n.item() & 1\n",
        ),
        tiled(
            "item",
            {"a": ("f32", "1"), "b": ("i64", "1, 1")},
            {"z0": ("f32", "1", "(a.item() * 2).reshape((1,))"), "z1": ("i64", "8", "ct.full((8,), b.item(), ct.int64)")},
        ),
        tiled(
            "pack",
            {"a": ("i32", "8"), "b": ("f16", "8"), "c": ("i8", "16"), "d": ("u8", "32")},
            {
                "z0": ("u8", "32", "ct.pack_to_bytes(a)"),
                "z1": ("u8", "16", "ct.pack_to_bytes(b)"),
                "z2": ("u8", "16", "ct.pack_to_bytes(c)"),
                "z3": ("i32", "8", "ct.unpack_from_bytes(d, ct.int32)"),
                "z4": ("f16", "16", "ct.unpack_from_bytes(d, ct.float16)"),
                "z5": ("i8", "32", "ct.unpack_from_bytes(d, ct.int8)"),
            },
        ),
        tiled(
            "pack-f4",
            {"a": ("f32", "16"), "d": ("u8", "8")},
            {
                "z0": ("u8", "8", "ct.pack_to_bytes(a.astype(ct.float4_e2m1fn))"),
                "z1": ("f32", "16", "ct.unpack_from_bytes(d, ct.float4_e2m1fn).astype(ct.float32)"),
            },
            target="sm_100",
        ),
        tiled(
            "e8m0",
            {"a": ("f32", "16"), "b": ("f8e8m0fnu", "16")},
            {
                "z0": ("f8e8m0fnu", "16", "a.astype(ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RP)"),
                "z1": ("f8e8m0fnu", "16", "a.astype(ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RZ)"),
                "z2": ("f32", "16", "b.astype(ct.float32)"),
                "z3": ("bf16", "16", "b.astype(ct.bfloat16)"),
                "z4": ("f8e8m0fnu", "16", "ct.full((16,), 4.0, ct.float8_e8m0fnu)"),
            },
            target="sm_100",
        ),
    ]
    one = {"a": "f32"}
    wrong = {
        "reshape-count": ("ct.reshape(a, (4, 8))", "FT204", "(4, 8)"),
        "reshape-power": ("ct.reshape(a, (3, 5))", "FT204", "(3, 5)"),
        "permute-repeated": ("ct.permute(a, (0, 0))", "FT204", "(0, 0)"),
        "transpose-rank": ("ct.transpose(a)", "FT204", "ct.transpose(a)"),
        "broadcast-shape": ("ct.broadcast_to(a, (8,))", "FT204", "(8,)"),
        "cat-three": ("ct.cat((a, a, a), 0)", "FT205", "(a, a, a)"),
        "cat-types": ("ct.cat((a, a.astype(ct.float16)), 0)", "FT203", "(a, a.astype(ct.float16))"),
        "extract-range": ("ct.extract(a, (4,), (4,))", "FT204", "(4,)"),
        "extract-divides": ("ct.extract(a, (0,), (32,))", "FT204", "ct.extract(a, (0,), (32,))"),
        "extract-int64": ("ct.extract(a, (ct.bid(1).astype(ct.int64),), (4,))", "FT203", "(ct.bid(1).astype(ct.int64),)"),
        "expand-axis": ("ct.expand_dims(a, 3)", "FT204", "3"),
        "unpack-type": ("ct.unpack_from_bytes(a, ct.int32)", "FT203", "a"),
        "item-many": ("a.item()", "FT204", "a.item()"),
    }
    rows += [
        refused(f"shape-{name}", one, f"b = {call}\nct.store(a_, (i,), a)", code, at) for name, (call, code, at) in wrong.items()
    ]
    return rows


def _reduction_rows() -> list[Row]:
    rows = []
    for d in (*FLOATS, *WIDE):
        rows.append(
            tiled(
                f"reduce-{d}",
                {"a": (d, "4, 8")},
                {
                    "z0": (d, "4", "ct.sum(a, axis=1)"),
                    "z1": (d, "8", "ct.max(a, axis=0)"),
                    "z2": (d, "4, 1", "ct.min(a, axis=-1, keepdims=True)"),
                    "z3": (d, "1", "ct.sum(a).reshape((1,))"),
                    "z4": (d, "1, 1", "ct.max(a, keepdims=True)"),
                    "z5": (d, "1", "ct.min(a, axis=(1, 0)).reshape((1,))"),
                    "z6": (d, "4", "ct.prod(a, 1)"),
                },
            )
        )
        rows.append(
            tiled(
                f"arg-reduce-{d}",
                {"a": (d, "4, 8")},
                {
                    "z0": ("i32", "4", "ct.argmax(a, axis=1)"),
                    "z1": ("i32", "1, 8", "ct.argmin(a, axis=0, keepdims=True)"),
                    "z2": ("i32", "1", "ct.argmax(a).reshape((1,))"),
                    "z3": ("i32", "1, 1", "ct.argmin(a, keepdims=True)"),
                    "z4": ("i32", "4", "ct.argmax(a, axis=1, propagate_nan=True)"),
                },
                SIMULATED,
            )
        )
        rows.append(
            tiled(
                f"scan-{d}",
                {"a": (d, "4, 8")},
                {
                    "z0": (d, "4, 8", "ct.cumsum(a)"),
                    "z1": (d, "4, 8", "ct.cumsum(a, axis=0, reverse=True)"),
                    "z2": (d, "4, 8", "ct.cumsum(a, axis=1)"),
                    "z3": (d, "4, 8", "ct.cumsum(a, axis=-1, reverse=True)"),
                },
            )
        )
        rows.append(
            tiled(
                f"scan-product-{d}",
                {"a": (d, "4, 8")},
                {"z0": (d, "4, 8", "ct.cumprod(a)"), "z1": (d, "4, 8", "ct.cumprod(a, 1, reverse=True)")},
                SIMULATED,
            )
        )
    for d in (*SMALL, "bool"):
        wide = "i32" if d == "bool" else d
        rows.append(
            tiled(
                f"reduce-{d}",
                {"a": (d, "4, 8")},
                {
                    "z0": (wide, "4", "ct.sum(a, axis=1)"),
                    "z1": (wide, "8", "ct.max(a, axis=0)"),
                    "z2": (wide, "4, 1", "ct.min(a, axis=1, keepdims=True)"),
                    "z3": (wide, "1", "ct.sum(a).reshape((1,))"),
                    "z4": (wide, "4", "ct.prod(a, 1)"),
                    "z5": ("i32", "4", "ct.argmax(a, axis=1)"),
                    "z6": ("i32", "8", "ct.argmin(a, axis=0)"),
                    "z7": (wide, "4, 8", "ct.cumsum(a, 1)"),
                    "z8": (wide, "4, 8", "ct.cumprod(a, 0)"),
                },
                SIMULATED,
            )
        )
    rnd, ftz = "rounding_mode=ct.RoundingMode.RZ", "flush_to_zero=True"
    rows += [
        tiled(
            "reduce-keywords",
            {"a": ("f32", "4, 8")},
            {
                "z0": ("f32", "4", "ct.max(a, axis=1, propagate_nan=True)"),
                "z1": ("f32", "8", "ct.min(a, axis=0, propagate_nan=True)"),
                "z2": ("f32", "4", f"ct.max(a, axis=1, {ftz})"),
                "z3": ("f32", "4", f"ct.sum(a, axis=1, {ftz})"),
                "z4": ("f32", "1", f"ct.prod(a, {ftz}).reshape((1,))"),
                "z5": ("f32", "4", "ct.sum(a, axis=1, rounding_mode=ct.RoundingMode.RN)"),
            },
            SIMULATED,
        ),
        tiled("reduce-rounding", {"a": ("f32", "4, 8")}, {"z0": ("f32", "4", f"ct.sum(a, axis=1, {rnd})")}, ASSEMBLED),
        tiled(
            "scan-keywords",
            {"a": ("f32", "4, 8")},
            {"z0": ("f32", "4, 8", f"ct.cumsum(a, {ftz})"), "z1": ("f32", "4, 8", f"ct.cumprod(a, {ftz})")},
            SIMULATED,
        ),
        tiled("scan-rounding", {"a": ("f32", "4, 8")}, {"z0": ("f32", "4, 8", f"ct.cumsum(a, {rnd})")}, ASSEMBLED),
        refused("reduce-axis", {"a": "f32"}, "b = ct.sum(a, axis=2)\nct.store(a_, (i,), a)", "FT204", "2"),
        refused("reduce-repeated", {"a": "f32"}, "b = ct.sum(a, axis=(0, -1))\nct.store(a_, (i,), a)", "FT204", "(0, -1)"),
        refused("reduce-f8", {"a": "f8e4m3fn"}, "b = ct.sum(a)\nct.store(a_, (i,), a)", "FT203", "a"),
        refused("reduce-mode", {"a": "f16"}, "b = ct.sum(a, flush_to_zero=True)\nct.store(a_, (i,), a)", "FT203", "True"),
    ]  # fmt: skip
    return rows


_FUNCTIONS = """def add(a, b):
    return a + b


def best(value, index, other, place):
    first = (value > other) | ((value == other) & (index < place))
    return ct.where(first, value, other), ct.where(first, index, place)


def mean(mean, count, other, places):
    total = count + places
    return mean + (other - mean) * places / total, total


def affine(a, b, c, d):
    return a * c, b * c + d


"""


def _function_rows() -> list[Row]:
    rows = [
        tiled(
            "own-reduce",
            {"a": ("f32", "4, 8"), "b": ("i32", "4, 8")},
            {
                "z0": ("f32", "4", "ct.reduce(a, 1, add, 0)"),
                "z1": ("f32", "8", "ct.reduce(a, 0, lambda p, q: max(p, q), -float('inf'))"),
                "z2": ("i32", "4, 1", "ct.reduce(b, -1, lambda p, q: ct.minimum(q, p), 2**31 - 1, keepdims=True)"),
                "z3": ("i32", "4", "ct.reduce(b, 1, operator.mul, 1)"),
            },
            before=_FUNCTIONS,
        ),
        tiled(
            "own-reduce-bits",
            {"b": ("i32", "4, 8"), "c": ("bool", "4, 8")},
            {
                "z0": ("i32", "4", "ct.reduce(b, 1, lambda p, q: p | q, 0)"),
                "z1": ("i32", "8", "ct.reduce(b, 0, operator.and_, -1)"),
                "z2": ("i32", "8", "ct.reduce(b, 0, lambda p, q: p ^ q, 0)"),
                "z3": ("bool", "4", "ct.reduce(c, 1, lambda p, q: p & q, True)"),
                "z4": ("bool", "4", "ct.reduce(c, 1, lambda p, q: p | q, False)"),
                "z5": ("bool", "8", "ct.reduce(c, 0, lambda p, q: p ^ q, False)"),
                "z6": ("i32", "4", "ct.reduce(b, 1, lambda p, q: (p + q) * 1, 0)"),
            },
            SIMULATED,
            before=_FUNCTIONS,
        ),
        tiled(
            "own-reduce-tuple",
            {"a": ("f32", "4, 8")},
            {"z0": ("f32", "4", "high"), "z1": ("i32", "4", "place"), "z2": ("f32", "4, 1", "average")},
            SIMULATED,
            before=_FUNCTIONS,
            lines=(
                "lanes = ct.arange(8, dtype=ct.int32)\n"
                "high, place = ct.reduce((a, lanes), 1, best, (-float('inf'), 0))\n"
                "average, _ = ct.reduce((a, ct.ones((4, 8), ct.float32)), 1, mean, (0, 0), keepdims=True)\n"
            ),
        ),
        tiled(
            "own-scan",
            {"a": ("f32", "8, 4"), "b": ("i32", "8, 4"), "c": ("u32", "8")},
            {
                "z0": ("f32", "8, 4", "ct.scan(a, 0, add, 0)"),
                "z1": ("i32", "8, 4", "ct.scan(b, 0, lambda p, q: p | q, 0, reverse=True)"),
                "z2": ("u32", "8", "ct.scan(c, 0, lambda p, q: max(p, q), 0)"),
            },
            before=_FUNCTIONS,
        ),
        tiled(
            "own-scan-neutral",
            {"a": ("f32", "8, 4"), "b": ("i32", "8, 4"), "c": ("i16", "8"), "d": ("u8", "8")},
            {
                "z0": ("f32", "8, 4", "ct.scan(a, 0, lambda p, q: max(p, q), -float('inf'))"),
                "z1": ("i32", "8, 4", "ct.scan(b, 1, lambda p, q: min(p, q), 2**31 - 1, reverse=True)"),
                "z2": ("i16", "8", "ct.scan(c, 0, lambda p, q: max(p, q), -(2**15))"),
                "z3": ("u8", "8", "ct.scan(d, 0, lambda p, q: p & q, 255)"),
                "z4": ("i32", "8, 4", "ct.scan(b, 1, lambda p, q: p & q, -1)"),
            },
            SIMULATED,
        ),
        tiled(
            "own-scan-tuple",
            {"a": ("f32", "4, 8"), "b": ("f32", "4, 8"), "c": ("i32", "8")},
            {
                "z0": ("f32", "4, 8", "ct.scan((a, b), 1, affine, (1, 0))[1]"),
                "z1": ("f32", "4, 8", "ct.scan((a, b), 0, affine, (1, 0), reverse=True)[0]"),
                "z2": ("i32", "8", "ct.scan(c, 0, lambda p, q: p + q + 0, 0)"),
            },
            SIMULATED,
            before=_FUNCTIONS,
        ),
    ]
    wrong = {
        "identity": ("ct.reduce(a, 0, lambda p, q: p + q, 1)", "FT203", "1"),
        "type": ("ct.reduce(a.astype(ct.float16), 0, lambda p, q: p + 1.0 * a, 0)", "FT206", None),
        "tuple": ("ct.reduce((a, a), 0, lambda p, q, r, s: p + r, (0, 0))", "FT203", "lambda p, q, r, s: p + r"),
        "identities": ("ct.reduce((a, a), 0, lambda p, q, r, s: (p, q), (0,))", "FT205", "(0,)"),
        "nested": ("ct.reduce(a, 0, lambda p, q: ct.sum((p + q).reshape((1,))), 0)", "FT201", None),
        "callable": ("ct.reduce(a, 0, 3, 0)", "FT205", None),
    }
    for name, (call, code, at) in wrong.items():
        if at is not None:
            rows.append(refused(f"own-{name}", {"a": "f32"}, f"b = {call}\nct.store(a_, (i,), a)", code, at))
    return rows


def _matrix_rows() -> list[Row]:
    rows = []
    pairs = [("f16", "f16"), ("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("f64", "f64"), ("f8e4m3fn", "f32"),
             ("f8e5m2", "f16"), ("f8e5m2", "f32"), ("f8e4m3fn", "f16"), ("i8", "i32"), ("u8", "i32")]  # fmt: skip
    for a, acc in pairs:
        rows.append(
            tiled(
                f"mma-{a}-{acc}",
                {"a": (a, "16, 32"), "b": (a, "32, 16"), "c": (acc, "16, 16")},
                {"z0": (acc, "16, 16", "ct.mma(a, b, c)")},
            )
        )
    for d in ("f16", "bf16", "f32", "f64", "f8e4m3fn", "f8e5m2"):
        rows.append(
            tiled(
                f"matmul-{d}",
                {"a": (d, "16, 32"), "b": (d, "32, 16")},
                {"z0": (d, "16, 16", "a @ b"), "z1": (d, "16, 16", "ct.matmul(a, b)")},
            )
        )
    rows += [
        tiled(
            "matmul-i8",
            {"a": ("i8", "16, 32"), "b": ("i8", "32, 16"), "c": ("u8", "32, 16")},
            {"z0": ("i8", "16, 16", "a @ b"), "z1": ("i32", "16, 16", "ct.mma(a, c, ct.zeros((16, 16), ct.int32))")},
        ),
        tiled(
            "matmul-rank-1",
            {"a": ("f32", "16"), "b": ("f32", "16, 8"), "c": ("f32", "8, 16")},
            {"z0": ("f32", "8", "a @ b"), "z1": ("f32", "8", "c @ a"), "z2": ("f32", "1", "(a @ a).reshape((1,))")},
        ),
        tiled(
            "matmul-batch",
            {"a": ("f16", "2, 16, 32"), "b": ("f16", "2, 32, 16"), "c": ("f16", "32, 16"), "d": ("f32", "2, 16, 16")},
            {
                "z0": ("f32", "2, 16, 16", "ct.mma(a, b, d)"),
                "z1": ("f32", "2, 16, 16", "ct.mma(a, c, d)"),
                "z2": ("f16", "2, 16, 16", "a @ b"),
            },
        ),
        tiled(
            "matmul-promotes",
            {"a": ("f16", "16, 16"), "b": ("f32", "16, 16")},
            {"z0": ("f32", "16, 16", "a @ b")},
        ),
        tiled(
            "mma-tf32",
            {"a": ("f32", "16, 16"), "b": ("f32", "16, 16"), "c": ("f32", "16, 16")},
            {"z0": ("f32", "16, 16", "ct.mma(a.astype(ct.tfloat32), b.astype(ct.tfloat32), c)")},
        ),
        tiled(
            "mma-fast",
            {"a": ("f8e4m3fn", "16, 32"), "b": ("f8e4m3fn", "32, 16"), "c": ("f32", "16, 16")},
            {"z0": ("f32", "16, 16", "ct.mma(a, b, c, use_fast_acc=True)")},
        ),
        tiled(
            "mma-scaled-f8",
            {"a": ("f8e4m3fn", "128, 64"), "s": ("f8e8m0fnu", "128, 2"), "b": ("f8e4m3fn", "64, 128"),
             "t": ("f8e8m0fnu", "2, 128"), "c": ("f32", "128, 128")},
            {"z0": ("f32", "128, 128", "ct.mma_scaled(a, s, b, t, c)")},
            ASSEMBLED,
            target="sm_100",
        ),
        tiled(
            "mma-scaled-f4",
            {"a": ("u8", "4096"), "s": ("f8e4m3fn", "128, 4"), "b": ("u8", "4096"),
             "t": ("f8e4m3fn", "4, 128"), "c": ("f32", "128, 128")},
            {"z0": ("f32", "128, 128", "ct.mma_scaled(p, s, q, t, c)")},
            ASSEMBLED,
            lines=(
                "p = ct.unpack_from_bytes(a, ct.float4_e2m1fn).reshape((128, 64))\n"
                "q = ct.unpack_from_bytes(b, ct.float4_e2m1fn).reshape((64, 128))\n"
            ),
            target="sm_100",
        ),
    ]  # fmt: skip
    f16 = {"a": "f16"}
    wrong = {
        "types": ("ct.mma(a.reshape((4, 4)), a.reshape((4, 4)).astype(ct.float32), ct.zeros((4, 4), ct.float32))", "FT203"),
        "accumulator": ("ct.mma(a.reshape((4, 4)), a.reshape((4, 4)), ct.zeros((4, 4), ct.int32))", "FT203"),
        "inner": ("ct.mma(a.reshape((4, 4)), a.reshape((2, 8)), ct.zeros((4, 8), ct.float32))", "FT204"),
        "shape": ("ct.mma(a.reshape((4, 4)), a.reshape((4, 4)), ct.zeros((8, 4), ct.float32))", "FT204"),
        "integers": ("a.astype(ct.int32).reshape((4, 4)) @ a.astype(ct.int32).reshape((4, 4))", "FT203"),
    }
    rows += [refused(f"mma-{n}", f16, f"b = {call}\nct.store(a_, (i,), a)", code, call) for n, (call, code) in wrong.items()]
    rows.append(
        refused("mma-rank", f16, "b = ct.mma(a, a, a)\nct.store(a_, (i,), a)", "FT204", "a"),
    )
    rows.append(
        refused("mma-fast-f16", f16,
                "m = a.reshape((4, 4))\nb = ct.mma(m, m, m, use_fast_acc=True)\nct.store(a_, (i,), a)", "FT203", "True"),
    )  # fmt: skip
    return rows


def _debug_rows() -> list[Row]:
    head = "x: f32[N], y: f32[N], n: i32, s: f32, T=16, grid=(N/T)"
    parameters = "x, y, n, s, T: ct.Constant[int]"
    load, store = "i = ct.bid(0)\na = ct.load(x, (i,), (T,))\n", "ct.store(y, (i,), a)\n"
    rows = [
        Row(
            "print",
            file_of(
                head,
                parameters,
                load
                + 'ct.print("block", i, "scale", s, sep=": ", end=" 100%\\n")\nprint("tile", a)\n'
                + 'ct.printf("%d of %f\\n", n, s)\nprint(f"n={n} s={s:f}")\n'
                + store,
            ),
            ASSEMBLED,
        ),
        Row(
            "assert",
            file_of(
                head, parameters, load + 'ct.assert_(n > 0, "n is positive")\nct.assert_(a == a)\n' + store
            ),
            ASSEMBLED,
        ),
        Row(
            "assume",
            file_of(
                "x: f32[N], y: f32[N], n: i32, T=16, grid=(N/T)",
                "x, y, n, T: ct.Constant[int]",
                load + "m = ct.assume_divisible_by(n, 8)\na = a + m // 8 + ct.assume_divisible_by(16, 4)\n" + store,
            ),
            ASSEMBLED,
        ),
    ]
    rows += [
        Row(
            "dependent-launch",
            file_of(
                head,
                parameters,
                "ct.grid_dependency_control_wait()\n" + load + "ct.grid_dependency_control_launch_dependents()\n" + store,
            ),
            ASSEMBLED,
        ),
        Row("f8e5m3", file_of(head, parameters, load + "b = a.astype(ct.float8_e5m3fnu)\n" + store), "FT301",
            "ct.float8_e5m3fnu"),
    ]  # fmt: skip
    for name, (statement, code, at) in {
        "print-spec": ('ct.printf("%5.3f\\n", s)', "FT302", 'ct.printf("%5.3f\\n", s)'),
        "print-hex": ('ct.printf("%x\\n", n)', "FT302", 'ct.printf("%x\\n", n)'),
        "print-wide": ("print(n.astype(ct.int64))", "FT302", "print(n.astype(ct.int64))"),
        "print-mismatch": ('ct.printf("%d\\n", s)', "FT203", 'ct.printf("%d\\n", s)'),
        "print-missing": ('ct.printf("%d\\n")', "FT205", 'ct.printf("%d\\n")'),
        "assert-type": ("ct.assert_(n)", "FT203", "n"),
        "assume-float": ("s = ct.assume_divisible_by(s, 8)", "FT203", "s"),
        "assume-zero": ("n = ct.assume_divisible_by(n, 0)", "FT203", "0"),
    }.items():
        rows.append(Row(name, file_of(head, parameters, load + statement + "\n" + store), code, at))
    return rows


ROWS = (
    *_making_rows(),
    *_shape_rows(),
    *_reduction_rows(),
    *_function_rows(),
    *_matrix_rows(),
    *_debug_rows(),
)
