"""Conformance of tile making and shape operations."""

from __future__ import annotations

from rows import PROVED, SIMULATED, Row, refused, tiled


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
            PROVED,
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
        refused(
            "astile-length",
            {"a": "f32"},
            "b = ct.astile((1, 2, 3), dtype=ct.float32)\nct.store(a_, (i,), a)",
            "FT204",
            "(1, 2, 3)",
        ),
        refused(
            "arange-length", {"a": "f32"}, "b = ct.arange(12, dtype=ct.int32)\nct.store(a_, (i,), a)", "FT204", "12"
        ),
    ]


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
            {
                "z0": ("f32", "2, 8", "ct.extract(a, (k, 0), (2, 8))"),
                "z1": ("f32", "1", "a.extract((k, 3), (1, 1)).reshape((1,))"),
            },
            lines="k = n.item() & 1\n",
        ),
        tiled(
            "item",
            {"a": ("f32", "1"), "b": ("i64", "1, 1")},
            {
                "z0": ("f32", "1", "(a.item() * 2).reshape((1,))"),
                "z1": ("i64", "8", "ct.full((8,), b.item(), ct.int64)"),
            },
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
            expect=PROVED,
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
        "extract-int64": (
            "ct.extract(a, (ct.bid(1).astype(ct.int64),), (4,))",
            "FT203",
            "(ct.bid(1).astype(ct.int64),)",
        ),
        "expand-axis": ("ct.expand_dims(a, 3)", "FT204", "3"),
        "unpack-type": ("ct.unpack_from_bytes(a, ct.int32)", "FT203", "a"),
        "item-many": ("a.item()", "FT204", "a.item()"),
    }
    rows += [
        refused(f"shape-{name}", one, f"b = {call}\nct.store(a_, (i,), a)", code, at)
        for name, (call, code, at) in wrong.items()
    ]
    return rows


ROWS = (*_making_rows(), *_shape_rows())
