"""Scatters of different blocks are proved apart only when enumerating small launches finds no shared element."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation

HEAD = "import cuda.tile as ct\n\n\n"
GRID = (3, 4)
LANES = 4
SIGNATURE = "# ferrotile: x: f32[A, B], y: f32[A, B], z: f32[C], ids: i32[A], T=4, grid=(3, 4)\n"
KERNEL = (
    "@ct.kernel\ndef k(x, y, z, ids, T: ct.Constant[int]):\n    b, c = ct.bid(0), ct.bid(1)\n"
    "    l = ct.arange(T, dtype=ct.int32)\n    t = ct.gather(x, (b, l * 5))\n"
)

Element = Callable[[int, int, int], tuple[int, ...]]
CASES: dict[str, tuple[str, Element]] = {
    "a row of its own": ("ct.scatter(y, (b * 4 + c, l * 3), t)", lambda b, c, k: (b * 4 + c, k * 3)),
    "columns of its own": ("ct.scatter(y, (b, c * T + l + 1), t)", lambda b, c, k: (b, c * 4 + k + 1)),
    "overlapping columns": ("ct.scatter(y, (b, c * 3 + l + 1), t)", lambda b, c, k: (b, c * 3 + k + 1)),
    "one digit too many": ("ct.scatter(y, (b * 3 + c, l * 3), t)", lambda b, c, k: (b * 3 + c, k * 3)),
    "the other block is lost": ("ct.scatter(y, (b, l + 1), t)", lambda b, c, k: (b, k + 1)),
    "three digits": ("ct.scatter(z, b * 32 + c * 8 + l * 2, t)", lambda b, c, k: (b * 32 + c * 8 + k * 2,)),
    "interleaved": ("ct.scatter(z, l * 12 + b * 4 + c, t)", lambda b, c, k: (k * 12 + b * 4 + c,)),
    "interleaved too closely": ("ct.scatter(z, l * 11 + b * 4 + c, t)", lambda b, c, k: (k * 11 + b * 4 + c,)),
    "lanes that meet": ("ct.scatter(y, (b * 4 + c, l // 2 + 1), t)", lambda b, c, k: (b * 4 + c, k // 2 + 1)),
}


def translated(body: str, signature: str = SIGNATURE) -> KernelTranslation:
    (kernel,) = translate_document(Document(HEAD + signature + KERNEL + body)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return kernel


@pytest.mark.parametrize("name", CASES)
def test_proved_apart_means_apart(name: str) -> None:
    store, element = CASES[name]
    proved = translated(f"    {store}\n").unsafe.assumed == 0
    lanes = [(b, c, k) for b in range(GRID[0]) for c in range(GRID[1]) for k in range(LANES)]
    assert proved == (len({element(*lane) for lane in lanes}) == len(lanes))


def test_rows_from_memory_are_not_proved_apart() -> None:
    row = "    r = ct.gather(ids, b * 4 + c)\n"
    assert translated(f"{row}    ct.scatter(y, (r, l * 3), t)\n").unsafe.assumed == 1
    assert translated(f"{row}    ct.scatter(y, (b * 4 + c, r + l * 3), t)\n").unsafe.assumed == 0


def test_two_stores_and_a_read_of_one_array() -> None:
    both = "    ct.scatter(y, (b * 4 + c, l * 3), t)\n    ct.scatter(y, (b * 4 + c{}, l * 3 + 1), t)\n"
    assert translated(both.format("")).unsafe.assumed == 0
    assert translated(both.format(" + 1")).unsafe.assumed > 0
    change = "    ct.scatter(y, (b * 4 + c, l * 3), ct.gather(y, (b * 4 + c{}, l * 3)) + t)\n"
    assert translated(change.format("")).unsafe.assumed == 0
    assert translated(change.format(" - 1")).unsafe.assumed > 0


def test_an_unknown_grid_becomes_a_launch_fact() -> None:
    signature = SIGNATURE.replace(", grid=(3, 4)", "")
    kernel = translated("    ct.scatter(y, (b * 4 + c, l * 3), t)\n", signature)
    assert kernel.entry is not None
    assert kernel.unsafe.assumed == 0
    assert "grid.y = 4" in kernel.entry.hypotheses
