"""Conformance of emission: where rustc or the JIT cannot find a type or a name without help, kind by kind. All of it
is ordinary Python; what a row guards is that the Rust is accepted and still says the same."""

from __future__ import annotations

from rows import PROVED, Row, file_of

_DIRECTIVE = "x: f32[N], y: f32[N], n: i32, f: f32, T=16, grid=(N/T)"
_PARAMETERS = "x, y, n, f, T: ct.Constant[int]"
_LOAD = "i = ct.bid(0)\nt = ct.load(x, (i,), (T,))\n"
_STORE = "\nct.store(y, (i,), t)"


def _row(name: str, text: str, expect: str = PROVED) -> Row:
    """`text` changes the tile `t`, which is loaded before and stored after it."""
    return Row(f"emission {name}", file_of(_DIRECTIVE, _PARAMETERS, _LOAD + text.strip("\n") + _STORE), expect)


def _named(kernel: str, array: str = "x", constant: str = "T", scalar: str = "n", expect: str = PROVED) -> Row:
    """A kernel of that name, with parameters of those names."""
    source = (
        "import cuda.tile as ct\n\n\n"
        f"# ferrotile: {array}: f32[N], y: f32[N], {scalar}: i32, {constant}=16, grid=(N/{constant})\n@ct.kernel\n"
        f"def {kernel}({array}, y, {scalar}, {constant}: ct.Constant[int]):\n"
        f"    t = ct.load({array}, (ct.bid(0),), ({constant},))\n"
        f"    ct.store(y, (ct.bid(0),), t + ct.astype({scalar}, ct.float32))\n"
    )
    return Row(f"emission named {kernel} {array} {constant} {scalar}", source, expect)


SCALARS = (
    _row("converted scalar as operand", "s = ct.astype(n, ct.float32)\nt = t * s + s"),
    _row("converted scalar in arithmetic", "s = 3.0 + ct.astype(n, ct.float32) / 7.0\nt = t * s"),
    _row("converted scalar in a call", "s = min(ct.astype(f, ct.int32), 4)\nt = t + s"),
    _row("converted extent", "t = t * (1.0 / ct.astype(x.shape[0], ct.float32))"),
    _row("nested min and max", "m = min(max(n, 1), 4)\nt = t + m"),
    _row("cdiv of an extent", "m = ct.cdiv(x.shape[0], 4)\nt = t + m"),
    _row("count of tiles as operand", "t = t + ct.num_tiles(x, 0, (T,))"),
    _row("comparison as operand", "b = n > 2\nt = t + ct.astype(b, ct.float32)"),
    _row("xor of bools", "b = (n > 2) ^ (i == 0)\nt = ct.where(b, t, -t)"),
    _row("scalar select", "s = ct.where(n > 2, f, 1.0)\nt = t * s"),
)
LOOPS = (
    _row("counter of constant bounds", "for k in range(4):\n    t = t * ct.astype(k, ct.float32) + min(k, n)"),
    _row("counter with a constant step", "for k in range(0, 8, 2):\n    t = t + k"),
    _row("counter with a bound that converts", "for k in range(min(n, 3)):\n    t = t + k"),
)
_CARRIED = "a, b = 0, 1\nfor k in range(n):\n{}\nt = t + a * 3 + b"
CARRIES = tuple(
    _row(f"carried: {name}", _CARRIED.format("\n".join(f"    {line}" for line in body)))
    for name, body in {
        "what an inner loop left is read later": (
            "for m in range(k):", "    a = a + m", "c = a + 1", "b = b + a * 2", "a = c",
        ),
        "a branch reads what it replaces": ("if k > 1:", "    c = a + k", "    b = b + a", "    a = c"),
        "a branch after an inner loop": (
            "for m in range(k):", "    a = a + m", "if k > 1:", "    c = a", "    a = k + 1", "    b = b + c * 2",
        ),
        "a branch within a branch": ("if k > 1:", "    if b == 1:", "        a = a + k", "        b = k"),
        "swapped in a branch": ("if k > 1:", "    a, b = b + 1, a"),
        "both branches": ("if k > 1:", "    a = b", "else:", "    b = a + 2"),
        "left alone for a turn": ("if k == 1:", "    continue", "a = a + k", "if a > 4:", "    b = a"),
        "a branch that ends with an operator": ("c = a", "if k > 1:", "    a = a + k", "b = b + c"),
    }.items()
)  # fmt: skip
ROUNDING = (
    _row("floor division of scalars", "m = (n - 5) // 3\nt = t + m"),
    _row("remainder of scalars", "m = (n - 5) % 3\nt = t + m"),
    _row("remainder by a scalar", "m = (5 - n) % (n - 20)\nt = t + (n - 9) // (n - 20) * m"),
)
PARTS = (
    Row(
        "emission part of a part of any element type",
        file_of("T=8, grid=(1,)", "x, y, T: ct.Constant[int]",
                "p = x.slice(axis=0, start=4, stop=16).slice(axis=0, start=2, stop=10)\n"
                "ct.store(y, (0,), ct.load(p, (0,), (T,)))"),
        PROVED,
    ),
)  # fmt: skip
HELD = (
    *(
        Row(
            f"emission number held as a tile carried through {loop}",
            file_of(
                "x: f32[M, N], y: f32[M, N], n: i32, grid=(M/4,)",
                "x, y, n",
                f"i = ct.bid(0)\nv = ct.load(x, (i, 0), (1, 1)).item()\nw = v * 2\n{text}\n"
                "ct.store(y, (i, 0), ct.broadcast_to(v - w, (4, 8)))",
            ),
            PROVED,
        )
        for loop, text in (
            ("a for", "for k in range(1, 4):\n    v = v + v"),
            ("an if in a for", "for k in range(3):\n    if n > 2:\n        v = v + w"),
            ("a while", "while v < 3:\n    v = v * v + 1\n"),
        )
    ),
)
COUNTERS = tuple(
    Row(
        f"emission {value} of a counter to {end} on lanes",
        file_of(
            "x: i32[M, N], y: i32[M, N], n: i32, grid=(M/4,)",
            "x, y, n",
            f"i = ct.bid(0)\nfor k in range({end}):\n    ct.store(y, (i, k), ct.broadcast_to({value}, (4, 8)))",
        ),
        PROVED,
    )
    for end in ("ct.num_tiles(x, axis=1, shape=(4, 8))", "ct.cdiv(x.shape[1], 8)", "min(n, 1)", "n")
    for value in ("k", "ct.maximum(k, n)", "~k")
)
NEGATIVES = (
    Row(
        "emission negative numbers that come first",
        file_of(
            "x: i32[M, N], y: f32[M, N], f: f32, n: i32, grid=(M/4,)",
            "x, y, f, n",
            "i = ct.bid(0)\nv = ct.load(x, (i, 0), (4, 8)) + -3 * n\n"
            "w = ct.load(x, (i, 0), (4, 8)).astype(ct.float32) - -0.0 * f\n"
            "if -0.5 * f < -2.0:\n    w = w * (-2.0 / f) + ct.exp(-1.5 - f)\n"
            "ct.store(y, (i, 0), v + w + (-2 - n))",
        ),
        PROVED,
    ),
    *(
        Row(
            f"emission remainder of a number by {divisor}",
            file_of(
                "y: f32[M, N], f: f32, grid=(M/4,)",
                "y, f",
                f"ct.store(y, (ct.bid(0), 0), ct.broadcast_to({value} % {divisor}, (4, 8)))",
            ),
            PROVED,
        )
        for value, divisor in (("ct.sin(f)", "-1.5"), ("f", "-1.5"), ("f", "2.5"), ("f", "-1e-42"))
    ),
)
NAMES = (
    *(_named(k) for k in ("s1", "T", "exp", "loop", "vec", "Option", "f32", "load_first")),
    _named("keywords", "loop", "fn", "mut"),
    _named("core", "shape", "E", "exp"),
    _named("prelude", "Some", "f16", "Ok"),
)
TARGETS = (
    Row(
        "emission needs a newer target",
        file_of(
            "a: f8e4m3fn[16, 64], b: f8e4m3fn[64, 16], sa: f8e8m0fnu[16, 2], sb: f8e8m0fnu[2, 16], z: f32[16, 16], "
            "grid=(1,)",
            "a, b, sa, sb, z",
            "t = ct.load(a, (0, 0), (16, 64))\nu = ct.load(b, (0, 0), (64, 16))\n"
            "p = ct.load(sa, (0, 0), (16, 2))\nq = ct.load(sb, (0, 0), (2, 16))\n"
            "ct.store(z, (0, 0), ct.mma_scaled(t, p, u, q, ct.zeros((16, 16), ct.float32)))",
        ),
        PROVED,
    ),
)

ROWS = (*SCALARS, *LOOPS, *CARRIES, *ROUNDING, *PARTS, *HELD, *COUNTERS, *NEGATIVES, *NAMES, *TARGETS)
