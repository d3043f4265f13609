"""Stores of different blocks are proved apart exactly when enumerating small grids finds no shared tile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

HEAD = (
    "import cuda.tile as ct\n\n\n"
    "# ferrotile: x: f32[A, B], y: f32[A, B], n: i32, T=16, grid=(X, Y)\n"
    "@ct.kernel\ndef k(x, y, n, T: ct.Constant[int]):\n    b, c = ct.bid(0), ct.bid(1)\n"
    "    t = ct.load(x, index=(0, 0), shape=(T, T))\n"
)

Index = Callable[[int, int, int], list[tuple[int, int]]]
CASES: dict[str, tuple[str, Index]] = {
    "shifted": ("    ct.store(y, index=(b + 1, c), tile=t)\n", lambda b, c, n: [(b + 1, c)]),
    "swapped": ("    ct.store(y, index=(c + 2, b), tile=t)\n", lambda b, c, n: [(c + 2, b)]),
    "sum": ("    ct.store(y, index=(b + c, 1), tile=t)\n", lambda b, c, n: [(b + c, 1)]),
    "skewed": ("    ct.store(y, index=(b + c, c), tile=t)\n", lambda b, c, n: [(b + c, c)]),
    "digits": (
        "    ct.store(y, index=((b * 3 + c % 3) // 3 + 1, c), tile=t)\n",
        lambda b, c, n: [((b * 3 + c % 3) // 3 + 1, c)],
    ),
    "quotient": ("    ct.store(y, index=(b // 4 + 1, c), tile=t)\n", lambda b, c, n: [(b // 4 + 1, c)]),
    "split": (
        "    ct.store(y, index=(b // 4 * 8 + c, b % 4), tile=t)\n",
        lambda b, c, n: [(b // 4 * 8 + c, b % 4)],
    ),
    "loop in a block's range": (
        "    for k in range(b * 4, b * 4 + 4):\n        ct.store(y, index=(k + 1, c), tile=t)\n",
        lambda b, c, n: [(k + 1, c) for k in range(b * 4, b * 4 + 4)],
    ),
    "loop over neighbours": (
        "    for k in range(b * 3, b * 3 + 4):\n        ct.store(y, index=(k + 1, c), tile=t)\n",
        lambda b, c, n: [(k + 1, c) for k in range(b * 3, b * 3 + 4)],
    ),
    "mixed radix": (
        "    for k in range(4):\n        ct.store(y, index=(b * 4 + k + 1, c), tile=t)\n",
        lambda b, c, n: [(b * 4 + k + 1, c) for k in range(4)],
    ),
    "radix too small": (
        "    for k in range(4):\n        ct.store(y, index=(b * 3 + k + 1, c), tile=t)\n",
        lambda b, c, n: [(b * 3 + k + 1, c) for k in range(4)],
    ),
}


UNDECIDED = {"digits"}
"""Kernels whose blocks are apart although that is not proved."""


@pytest.mark.parametrize("name", CASES)
def test_proved_apart_means_apart(name: str) -> None:
    body, index = CASES[name]
    (kernel,) = translate_document(Document(HEAD + body)).kernels
    assert kernel.rust is not None and kernel.entry is not None, kernel.diagnostics
    proved = kernel.unsafe.assumed == 0
    owners: dict[tuple[int, int], tuple[int, int]] = {}
    shared = False
    # Where nothing is known of the grid, a proof may ask for one.
    asked = dict(fact.split(" = ") for fact in kernel.entry.hypotheses if fact.startswith("grid."))
    for b in range(int(asked.get("grid.x", 12))):
        for c in range(int(asked.get("grid.y", 12))):
            for tile in index(b, c, 5):
                shared |= owners.setdefault(tile, (b, c)) != (b, c)
    assert not (proved and shared)
    assert proved or shared or name in UNDECIDED


@pytest.mark.parametrize(
    "digit", ["t % n", "ct.where(t > 3, t % n + n, t % n)", "ct.where(t % n == 0, t % n + n, t % n)"]
)
def test_only_pythons_own_remainder_is_one(digit: str) -> None:
    """Another choice between `r` and `r + n` looks like the sign fix-up of `%`, and may give two blocks one tile."""
    text = (
        "import cuda.tile as ct\n\n\n# ferrotile: x: f32[M, N], y: f32[M, N], grid=(M/4 * N/8,)\n"
        "@ct.kernel\ndef k(x, y):\n    t = ct.bid(0)\n    n = ct.cdiv(x.shape[1], 8)\n"
        f"    ct.store(y, (t // n, {digit}), ct.load(x, (0, 0), (4, 8)))\n"
    )
    (kernel,) = translate_document(Document(text)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    assert (kernel.unsafe.assumed == 0) == (digit == "t % n")


GROUPED = """import cuda.tile as ct


# ferrotile: y: f32[A, B], R: i32, C: i32, T=16, grid=(X,)
@ct.kernel
def k(y, R, C, T: ct.Constant[int]):
    t = ct.bid(0)
    inside = 4 * C
    group = t // inside
    first = group * 4
    size = min(R - first, 4)
    i = first + t % size
    j = (t % inside) // size
    v = ct.full((T, T), 1.0, ct.float32)
{store}
"""


def _safety(store: str) -> int:
    (kernel,) = translate_document(Document(GROUPED.format(store=store))).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return kernel.unsafe.assumed


def test_grouping_under_a_condition_proves_nothing() -> None:
    """With R = 3 and C = 1, blocks 8 and 12 both compute (6, 0): 8 + 8 % -5 and 12 + 12 % -9. Where every block stores,
    such a launch also stores at j = 9 // -5 < 0, which is undefined; under the condition it does not."""
    assert 8 + 8 % -5 == 12 + 12 % -9 == 6
    store = "    ct.store(y, index=(i, j), tile=v)"
    assert _safety(store) == 0
    assert _safety(f"    if t % inside == 0:\n    {store}") > 0
