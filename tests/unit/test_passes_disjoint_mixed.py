"""Disjoint stores: tiles beside elements, loops bounded by a minimum, grids of which one extent is not known."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation

HEAD = "import cuda.tile as ct\n\n"


def translated(directive: str, parameters: str, body: str) -> KernelTranslation:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"{HEAD}# ferrotile: {directive}\n@ct.kernel\ndef k({parameters}):\n{lines}"
    (kernel,) = translate_document(Document(text)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return kernel


def assumed(directive: str, parameters: str, body: str) -> int:
    return translated(directive, parameters, body).unsafe.assumed


MATRIX = "y: f32[M, N], ids: i32[M], T=16, grid=(M)"
SECOND = "o = {} + ct.arange(T, dtype=ct.int32)\nct.scatter(y, (i, o), t, check_bounds=True)\n"
FIRST = "i = ct.bid(0)\nt = ct.full((T,), 1.0, ct.float32)\nct.store(y, (i, 0), ct.reshape(t, (1, T)))\n"


@pytest.mark.parametrize("start", ["T", "0", "3"])
def test_a_tile_and_elements_of_one_blocks_row(start: str) -> None:
    assert assumed(MATRIX, "y, ids, T: ct.Constant[int]", FIRST + SECOND.format(start)) == 0


@pytest.mark.parametrize(
    "body",
    [
        FIRST + SECOND.format("T").replace("(i, o)", "(i + 1, o)"),
        FIRST.replace("(i, 0)", "(i // 2, 0)") + SECOND.format("T"),
        FIRST + "r = ct.load(ids, (i,), (1,)).item()\n" + SECOND.format("T").replace("(i, o)", "(r, o)"),
    ],
)
def test_a_tile_and_elements_that_blocks_share(body: str) -> None:
    assert assumed(MATRIX, "y, ids, T: ct.Constant[int]", body) > 0


def loop(limit: int, stride: int) -> str:
    return (
        "i = ct.bid(0)\n"
        f"for c in range(ct.cdiv(min({limit}, n - {limit} * i), T)):\n"
        f"    ct.store(y, (0, {stride} * i + c), ct.full((1, T), 1.0, ct.float32))\n"
    )


ROW = "y: f32[8, N], n: i32, T=16, grid=(G)"


@pytest.mark.parametrize(("limit", "stride", "proved"), [(32, 2, True), (33, 3, True), (33, 2, False), (48, 2, False)])
def test_a_loop_that_a_minimum_bounds(limit: int, stride: int, proved: bool) -> None:
    found = assumed(ROW.replace("G", "N/32"), "y, n, T: ct.Constant[int]", loop(limit, stride))
    assert (found == 0) is proved


RADIX = "i, j = ct.bid(0), ct.bid(1)\nct.store(y, (i + 4 * j,), ct.full((T,), 1.0, ct.float32))\n"


def test_a_grid_axis_whose_extent_is_not_known_has_as_many_blocks_as_the_stride() -> None:
    kernel = translated("x: f32[A, B], y: f32[N], T=16, grid=(A/8, B)", "x, y, T: ct.Constant[int]", RADIX)
    assert kernel.unsafe.assumed == 0 and kernel.entry is not None
    assert "cdiv(A, 8) = 4" in kernel.entry.hypotheses


@pytest.mark.parametrize("grid", ["(5, B)", "(A * B, 3)"])
def test_a_grid_that_is_another_number_or_of_two_extents_is_not_assumed(grid: str) -> None:
    directive = f"x: f32[A, B], y: f32[N], T=16, grid={grid}"
    assert assumed(directive, "x, y, T: ct.Constant[int]", RADIX) > 0
