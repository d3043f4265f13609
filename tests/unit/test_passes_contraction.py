"""What cuTile Python's compiler fuses, kernel by kernel: each expectation was read off its own Tile IR (`fma` or
`mulf` and `addf`)."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

HEAD = """import cuda.tile as ct


def early(a, b, flag):
    if flag:
        return a * b
    return a + b


def late(a, b):
    return a * b


# ferrotile: x: f32[N], y: f32[N], z: f32[N], n: i32, f: f32, grid=(N/16,)
@ct.kernel
def k(x, y, z, n, f):
    i = ct.bid(0)
    a = ct.load(x, (i,), (16,))
    b = ct.load(y, (i,), (16,))
"""
FUSED = {
    "a loop-invariant product": "p = a * b\nr = a\nfor k in range(n):\n    r = r + p",
    "on both sides of a branch": "p = a * b\nif n > 2:\n    r = p * a + a\nelse:\n    r = p * b - a",
    "a use in a loop that nobody needs": "p = a * b\nd = p\nfor k in range(n):\n    d = d + p\nr = p + a",
    "a use in a dead `while`": "s = f * f\nj = f\nwhile j < s:\n    j = j + 1.0\nr = a + (s + f)",
    "a helper's value": "r = late(a, b) + a",
    "behind a branch that returns": "p = a * b\nif n > 2:\n    return\nelse:\n    q = p\n    p = q\nr = p + b",
    "assigned where the other branch returns": "if n > 2:\n    return\nelse:\n    p = a * b\nr = p + b",
    "a known condition": "p = a * b\nif True:\n    q = p\n    p = q\nr = p + b",
    "a dead variable of a branch": "p = a * b\nc = a\nif n > 2:\n    c = p\nr = p + b",
}
APART = {
    "left product used twice, right one free": "p = a * b\nq = a * a\nr = (p + q) / p",
    "left product of other modes": "p = ct.mul(a, b, rounding_mode=ct.RoundingMode.RZ)\nr = p + a * a",
    "carried unchanged": "p = a * b\nfor k in range(n):\n    t = p\n    p = t\n    a = a + b\nr = p + a",
    "assigned to itself in a branch": "p = a * b\nif n > 2:\n    t = p\n    p = t\n    a = a + b\nr = p + a",
    "one value on both sides": "p = a * b\nq = p if n > 2 else p\nr = q + b",
    "a helper's early value": "r = early(a, b, True) + b",
    "assigned where the branch behind it returns":
        "p = a * b\nif n > 2:\n    q = p\n    p = q\nelse:\n    return\nr = p + b",
    "twice in one sum": "p = a * b\nr = p + p",
}  # fmt: skip


def opcodes(body: str) -> set[str]:
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + "    ct.store(z, (i,), r)\n"
    (kernel,) = translate_document(Document(text)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return {word for word in ("mul_add(", "fma(") if word in kernel.rust}


@pytest.mark.parametrize("body", FUSED.values(), ids=FUSED.keys())
def test_fused(body: str) -> None:
    assert opcodes(body)


@pytest.mark.parametrize("body", APART.values(), ids=APART.keys())
def test_apart(body: str) -> None:
    assert not opcodes(body)
