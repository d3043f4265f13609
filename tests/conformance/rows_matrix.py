"""Conformance of matrix products, printing, assertions and facts."""

from __future__ import annotations

from rows import ASSEMBLED, PROVED, Row, file_of, refused, tiled


def _matrix_rows() -> list[Row]:
    rows = []
    pairs = [
        ("f16", "f16"),
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f32", "f32"),
        ("f64", "f64"),
        ("f8e4m3fn", "f32"),
        ("f8e5m2", "f16"),
        ("f8e5m2", "f32"),
        ("f8e4m3fn", "f16"),
        ("i8", "i32"),
        ("u8", "i32"),
    ]
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
            {
                "a": ("f8e4m3fn", "128, 64"),
                "s": ("f8e8m0fnu", "128, 2"),
                "b": ("f8e4m3fn", "64, 128"),
                "t": ("f8e8m0fnu", "2, 128"),
                "c": ("f32", "128, 128"),
            },
            {"z0": ("f32", "128, 128", "ct.mma_scaled(a, s, b, t, c)")},
            PROVED,
            target="sm_100",
        ),
        tiled(
            "mma-scaled-f4",
            {
                "a": ("u8", "4096"),
                "s": ("f8e4m3fn", "128, 4"),
                "b": ("u8", "4096"),
                "t": ("f8e4m3fn", "4, 128"),
                "c": ("f32", "128, 128"),
            },
            {"z0": ("f32", "128, 128", "ct.mma_scaled(p, s, q, t, c)")},
            PROVED,
            lines=(
                "p = ct.unpack_from_bytes(a, ct.float4_e2m1fn).reshape((128, 64))\n"
                "q = ct.unpack_from_bytes(b, ct.float4_e2m1fn).reshape((64, 128))\n"
            ),
            target="sm_100",
        ),
    ]
    f16 = {"a": "f16"}
    wrong = {
        "types": (
            "ct.mma(a.reshape((4, 4)), a.reshape((4, 4)).astype(ct.float32), ct.zeros((4, 4), ct.float32))",
            "FT203",
        ),
        "accumulator": ("ct.mma(a.reshape((4, 4)), a.reshape((4, 4)), ct.zeros((4, 4), ct.int32))", "FT203"),
        "inner": ("ct.mma(a.reshape((4, 4)), a.reshape((2, 8)), ct.zeros((4, 8), ct.float32))", "FT204"),
        "shape": ("ct.mma(a.reshape((4, 4)), a.reshape((4, 4)), ct.zeros((8, 4), ct.float32))", "FT204"),
        "integers": ("a.astype(ct.int32).reshape((4, 4)) @ a.astype(ct.int32).reshape((4, 4))", "FT203"),
    }
    rows += [
        refused(f"mma-{n}", f16, f"b = {call}\nct.store(a_, (i,), a)", code, call) for n, (call, code) in wrong.items()
    ]
    rows.append(
        refused("mma-rank", f16, "b = ct.mma(a, a, a)\nct.store(a_, (i,), a)", "FT204", "a"),
    )
    rows.append(
        refused(
            "mma-fast-f16",
            f16,
            "m = a.reshape((4, 4))\nb = ct.mma(m, m, m, use_fast_acc=True)\nct.store(a_, (i,), a)",
            "FT203",
            "True",
        ),
    )
    return rows


def _gathered_rows() -> list[Row]:
    """Products in a loop whose factors are gathered, padded with a scalar and with a tile."""
    rows = []
    for d, acc, padding in (
        ("f16", "f32", "1.5"),
        ("bf16", "f32", "-1.0"),
        ("f8e4m3fn", "f32", "0.0"),
        ("i8", "i32", "3"),
        ("f32", "f32", "ct.full((16, 16), 2.0, ct.float32)"),
    ):
        kind = {"f32": "ct.float32", "i32": "ct.int32"}[acc]
        text = (
            f"i, j = ct.bid(0), ct.bid(1)\ntotal = ct.zeros((16, 16), {kind})\n"
            "own = ct.gather(order, i * 16 + ct.arange(16, dtype=ct.int32), padding_value=-1)\n"
            "for k in range(ct.num_tiles(b, axis=0, shape=(16, 16))):\n"
            "    at = k * 16 + ct.arange(16, dtype=ct.int32)\n"
            f"    left = ct.gather(a, (own[:, None], at[None, :]), padding_value={padding})\n"
            "    right = ct.load(b, (k, j), (16, 16), padding_mode=ct.PaddingMode.ZERO)\n"
            "    total = ct.mma(left, right, total)\n"
            "ct.store(z, (i, j), total)\n"
        )
        name = f"mma-gathered-{d}"
        directive = f"a: {d}[M, K], b: {d}[K, N], order: i32[M], z: {acc}[M, N], grid=(M/16, N/16)"
        rows.append(Row(name, file_of(directive, "a, b, order, z", text), PROVED))
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
            PROVED,
        ),
        Row(
            "assert",
            file_of(head, parameters, load + 'ct.assert_(n > 0, "n is positive")\nct.assert_(a == a)\n' + store),
            PROVED,
        ),
        Row(
            "assume",
            file_of(
                "x: f32[N], y: f32[N], n: i32, T=16, grid=(N/T)",
                "x, y, n, T: ct.Constant[int]",
                load + "m = ct.assume_divisible_by(n, 8)\na = a + m // 8 + ct.assume_divisible_by(16, 4)\n" + store,
            ),
            PROVED,
        ),
    ]
    rows += [
        Row(
            "dependent-launch",
            file_of(
                head,
                parameters,
                "ct.grid_dependency_control_wait()\n"
                + load
                + "ct.grid_dependency_control_launch_dependents()\n"
                + store,
            ),
            ASSEMBLED,
        ),
        Row(
            "f8e5m3",
            file_of(head, parameters, load + "b = a.astype(ct.float8_e5m3fnu)\n" + store),
            "FT301",
            "ct.float8_e5m3fnu",
        ),
    ]
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


ROWS = (*_matrix_rows(), *_gathered_rows(), *_debug_rows())
