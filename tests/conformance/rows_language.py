"""Conformance rows of the language: tuples, compile-time code, classes, helpers and control flow.

A row that ends early is compared by simulation; what has no early exit must be proved."""

from __future__ import annotations

from rows import PROVED, SIMULATED, Row, file_of

_DIRECTIVE = "x: f32[N], y: f32[N], n: i32, T=16, grid=(N/T)"
_PARAMETERS = "x, y, n, T: ct.Constant[int]"
_LOAD = "t = ct.load(x, ct.bid(0), T)\n"
_STORE = "\nct.store(y, ct.bid(0), t)"


def _row(name: str, text: str, expect: str = PROVED, before: str = "") -> Row:
    """`text` changes the tile `t`, which is loaded before and stored after it."""
    return Row(f"language {name}", file_of(_DIRECTIVE, _PARAMETERS, _LOAD + text.strip("\n") + _STORE, before), expect)


def _refused(name: str, text: str, code: str, at: str, before: str = "") -> Row:
    return Row(f"language {name}", file_of(_DIRECTIVE, _PARAMETERS, _LOAD + text + _STORE, before), code, at)


_DATACLASS = """from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Config:
    block: int
    scale: float = 2.0

    def scaled(self, v):
        return v * self.scale

    @property
    def half(self):
        return self.block // 2


CONFIG = Config(16)


"""
_ENUM = "import enum\n\n\nclass Act(enum.Enum):\n    EXP = 1\n    NONE = 2\n\n\nACT = Act.EXP\n\n\n"

VALUES = (
    _row("tuples", "a, (b,) = 1, (2,)\np = (a, *(b, 3.0))[1:]\nt = t * p[0] + p[-1]"),
    _row("tuple comparison", "t = t * 2.0 if (n, 2) == (3, n) else t + 1.0", PROVED),
    _row(
        "tuple comprehension", "w = tuple(i * 2.0 for i in ct.static_iter(range(4)) if i != 2)\nt = t * w[2] + len(w)"
    ),
    _row("in", "t = t * 2.0 if n in (1, 2, 5) else t + 1.0", PROVED),
    _row("ternary of a parameter and a rank-0 tile", "s = n if n > 2 else ct.max(t.astype(ct.int32))\nt = t * s"),
    _row(
        "if of a rank-0 tile and a parameter",
        "s = ct.max(t.astype(ct.int32))\nif n > 2:\n    s = n\nt = t * s",
    ),
    _row("chained comparison", "t = t * 2.0 if 0 < n <= 4 else t + 1.0", PROVED),
    Row(
        "language chained comparison counts twice",
        file_of(
            "c: i32[N], y: i32[M], n: i32, grid=(M,)",
            "c, y, n",
            "t = ct.load(y, ct.bid(0), 1)\n"
            "if 0 < ct.atomic_add(c, 0, 1) < n:\n    t = t + 1\n"
            "ct.store(y, ct.bid(0), t)",
        ),
        PROVED,
    ),
    _row("and or", "c = n > 2 and n < 9 or n == 0\nt = t * 2.0 if c else t + 1.0", PROVED),
    _row("static_eval", "t = t * ct.static_eval(sum([i * i for i in range(t.shape[0])]) / 2)"),
    _row("static_iter", "for i, s in ct.static_iter(enumerate((2.0, 3.0))):\n    t = t * s + i"),
    _row("static_assert", "ct.static_assert(t.shape == (T,) and x.ndim == 1, f'{T}')\nt = t + 1.0"),
    _row(
        "constant branches",
        "if T > 8:\n    t = t * 2.0\nelse:\n    t = ct.nope(t)\nif x.dtype == ct.float16:\n    t = (t,)[n]",
    ),
    _row(
        "augmented assignment",
        "a = n\na += 3\na *= 2\na -= 1\na //= 3\na &= 7\na |= 8\na ^= 1\na <<= 1\na >>= 1\nt += a",
    ),
    _row(
        "module constants", "t = (t * E + B) * P[1]", before="A = 3\nB = A * 2 + 1\nE = 1 / 4\nP = (A, float(B))\n\n\n"
    ),
    _row("dataclass", "c = replace(CONFIG, block=4)\nt = CONFIG.scaled(t) + c.half", before=_DATACLASS),
    _row("enum", "if ACT == Act.EXP:\n    t = ct.exp(t)\nelse:\n    t = ct.nope(t)", before=_ENUM),
    _row(
        "class constants",
        "t = C.twice(t) + C.B",
        before="class C:\n    B = 3\n\n    @staticmethod\n    def twice(v):\n        return v * 2.0\n\n\n",
    ),
)
HELPERS = (
    _row(
        "nested function", "s = 3.0\n\ndef f(v, b=s, *, c=1.0):\n    return v * b + c * s\n\ns = 4.0\nt = f(t, c=2.0)"
    ),
    _row("lambda and closure", "def make(s):\n    return lambda v: v * s\n\nt = make(2.0)(t)"),
    _row("star arguments", "def f(a, *rest, **named):\n    return a * rest[0] + named['b']\n\nt = f(*(t, 2.0), b=1.0)"),
    _row("tuple returns", "def f(v):\n    return v + 1.0, (v * 2.0, 3.0)\n\na, (b, c) = f(t)\nt = a * b + c"),
    _row("function decorator", "t = f(t)", before="@ct.function\ndef f(v):\n    return v * 2.0\n\n\n"),
    _row("recursion at compile time", "def f(a):\n    return 1.0 if a <= 1 else a * f(a - 1)\n\nt = t * f(4)"),
    _row(
        "early return of a helper",
        "def f(v, a):\n    if a > 3:\n        return v * 2.0\n    return v\n\nt = f(t, n)",
        PROVED,
    ),
    _row(
        "return of a helper in a loop",
        "def f(a):\n    for i in range(a):\n        if i * i > a:\n            return i\n    return 0\n\nt = t * f(n)",
        SIMULATED,
    ),
    _row(
        "return of a helper in two loops",
        "def f(a):\n    for i in range(a):\n        for j in range(a):\n"
        "            if i * j > a:\n                return i, j\n    return 0, 1\n\n"
        "p, q = f(n)\nt = t * p + q",
        SIMULATED,
    ),
    _row(
        "return of a helper in a while",
        "def f(a):\n    i = 0\n    while True:\n        i += 1\n        if i == 3:\n"
        "            continue\n        if i > a:\n            return i\n\nt = t * f(n)",
        SIMULATED,
    ),
)
FLOW = (
    _row("while", "i = 0\nwhile i < n and i < 5:\n    t = t * 2.0\n    i += 1", PROVED),
    _row(
        "while True",
        "i = 0\nwhile True:\n    z = i * 2\n    i += 1\n    if i > n:\n        break\nt = t + z",
        PROVED,
    ),
    _row(
        "continue in while",
        "i = 0\nwhile i < n:\n    i += 1\n    if i % 3 == 0:\n        continue\n    t = t + i",
        PROVED,
    ),
    _row("break in for", "for i in range(n):\n    if i > 2:\n        break\n    t = t * 2.0", PROVED),
    _row(
        "break in nested loops",
        "for i in range(n):\n    for j in range(n):\n        if j > i:\n"
        "            break\n        t = t + j\n    if i > 3:\n        break",
        PROVED,
    ),
    _row("continue in for", "for i in range(0, n, 2):\n    if i == 4:\n        continue\n    t = t + i", PROVED),
    _row("loop variable afterwards", "i = 5\nfor i in range(n):\n    t = t + i\nt = t * i"),
    _row("tuples carried", "p = (0, t)\nfor i in range(n):\n    p = (p[0] + i, p[1] * 2.0)\nt = p[1] + p[0]"),
    _row(
        "two carries of one name", "p = (0, 1)\nfor i in range(n):\n    p = (p[0] + i, p[1] * 2)\nt = t * p[0] + p[1]"
    ),
    _row("return in nested if", "if n > 1:\n    if n > 3:\n        return\n    t = t * 2.0", SIMULATED),
    _row("return in for", "for i in range(n):\n    if i > 3:\n        return\n    t = t * 2.0", PROVED),
    _row(
        "return in two loops",
        "for i in range(n):\n    for j in range(n):\n        if i + j > 5:\n"
        "            return\n        t = t + j\n    if i > 3:\n        continue\n"
        "    t = t * 2.0",
        SIMULATED,
    ),
    _row("return in while", "i = 0\nwhile i < n:\n    if i > 3:\n        return\n    i += 1\n    t = t + i", SIMULATED),
)
REFUSED = (
    _refused("list", "t = [t]", "FT201", "[t]"),
    _refused("for else", "for i in range(n):\n    pass\nelse:\n    t = t + 1.0", "FT201", "t = t + 1.0"),
    _refused("break in static_iter", "for i in ct.static_iter(range(3)):\n    break", "FT201", "break"),
    _refused("type changed in a loop", "a = 0\nfor i in range(n):\n    a = a + 1.0", "FT207", "a"),
    _refused("set on one path", "if n > 1:\n    a = 1.0\nt = t + a", "FT202", "if n > 1"),
    _refused("failed assertion", "ct.static_assert(T == 3, 'no')", "FT211", "ct.static_assert(T == 3, 'no')"),
    _refused("endless loop", "while True:\n    t = t + 1.0", "FT201", "while True:\n        t = t + 1.0"),
    _refused("array chosen at run time", "a = x if n > 1 else y\nt = ct.load(a, 0, T)", "FT302", "y"),
    _refused(
        "int64 range", "for i in range(n.astype(ct.int64)):\n    t = t + 1.0", "FT302", "range(n.astype(ct.int64))"
    ),
    _refused(
        "unknown decorator",
        "t = f(t)",
        "FT205",
        "f",
        "def twice(g):\n    return lambda v: g(g(v))\n\n\n@twice\ndef f(v):\n    return v + 1.0\n\n\n",
    ),
)
ROWS = (*VALUES, *HELPERS, *FLOW, *REFUSED)
