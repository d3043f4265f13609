"""Conformance of reductions and scans, with keywords and with the author's own functions."""

from __future__ import annotations

from rows import ASSEMBLED, PROVED, SIMULATED, Row, file_of, refused, tiled

FLOATS = ("f16", "bf16", "f32", "f64")
WIDE = ("i32", "i64", "u32", "u64")
SMALL = ("i8", "u8", "i16", "u16")


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
                # cuTile Python 1.7 writes the identity of an f64 maximum without its sign.
                SIMULATED if d == "f64" else PROVED,
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
                SIMULATED if d == "f64" else PROVED,
            )
        )
        rows.append(
            tiled(
                f"scan-{d}",
                {"a": (d, "4, 8")},
                {
                    "z0": (d, "4, 8", "ct.cumsum(a)"),
                    "z1": (d, "4, 8", "ct.cumsum(a, axis=0, reverse=True)"),
                },
            )
        )
        rows.append(
            tiled(
                f"scan-axis-1-{d}",
                {"a": (d, "4, 8")},
                {
                    "z0": (d, "4, 8", "ct.cumsum(a, axis=1)"),
                    "z1": (d, "4, 8", "ct.cumsum(a, axis=-1, reverse=True)"),
                },
                PROVED,
            )
        )
        rows.append(
            tiled(
                f"scan-product-{d}",
                {"a": (d, "4, 8")},
                {"z0": (d, "4, 8", "ct.cumprod(a)"), "z1": (d, "4, 8", "ct.cumprod(a, 1, reverse=True)")},
                PROVED,
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
                PROVED,
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
            PROVED,
        ),
        tiled("scan-rounding", {"a": ("f32", "4, 8")}, {"z0": ("f32", "4, 8", f"ct.cumsum(a, {rnd})")}, PROVED),
        refused("reduce-axis", {"a": "f32"}, "b = ct.sum(a, axis=2)\nct.store(a_, (i,), a)", "FT204", "2"),
        refused(
            "reduce-repeated", {"a": "f32"}, "b = ct.sum(a, axis=(0, -1))\nct.store(a_, (i,), a)", "FT204", "(0, -1)"
        ),
        refused("reduce-f8", {"a": "f8e4m3fn"}, "b = ct.sum(a)\nct.store(a_, (i,), a)", "FT203", "a"),
        refused(
            "reduce-mode", {"a": "f16"}, "b = ct.sum(a, flush_to_zero=True)\nct.store(a_, (i,), a)", "FT203", "True"
        ),
    ]
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
            PROVED,
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


def _open_rows() -> list[Row]:
    """0/0 on the one lane that is there, and on no other one unless padding makes it so: then the maximum is NaN, or
    the identity, whose integers differ."""
    text = (
        "t = ct.load(x, (ct.bid(0), 0), (4, 8))\nm = ct.max((n == -1) / t, axis=1, keepdims=True)\n"
        "ct.store(y, (ct.bid(0), 0), ct.broadcast_to(m, (4, 8)).astype(ct.int64))"
    )
    return [
        Row(
            "reduction of a row of NaN that open lanes decide",
            file_of("x: u64[M, N], y: i64[M, N], n: i32, grid=(M/4,)", "x, y, n", text),
            SIMULATED,
        )
    ]


ROWS = (*_reduction_rows(), *_function_rows(), *_open_rows())
