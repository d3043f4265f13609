"""Owned boxes of several tiles, merged views, split grids and mapped partitions."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options

PERSISTENT = (
    "# ferrotile: x: f32[M, N], y: f32[M, N], TM=16, TN=32, grid=(8,)\n"
    "@ct.kernel\ndef k(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):\n"
    "    n = ct.cdiv(x.shape[1], TN)\n"
    "    for t in range(ct.bid(0), ct.cdiv(x.shape[0], TM) * n, ct.num_blocks(0)):\n"
    "        i, j = t // n, t % n\n"
    "        ct.store(y, index=(i, j), tile=ct.load(x, index=(i, j), shape=(TM, TN)) * 2.0)\n"
)
GROUPED = (
    "# ferrotile: x: f32[M, N], y: f32[M, N], TM=16, TN=32, GROUP=8, grid=(M/TM * N/TN,)\n"
    "@ct.kernel\ndef k(x, y, TM: ct.Constant[int], TN: ct.Constant[int], GROUP: ct.Constant[int]):\n"
    "    t = ct.bid(0)\n    rows, cols = ct.cdiv(x.shape[0], TM), ct.cdiv(x.shape[1], TN)\n"
    "    inside = GROUP * cols\n    first = t // inside * GROUP\n    size = min(rows - first, GROUP)\n"
    "    i = first + t % size\n    j = (t % inside) // size\n"
    "    ct.store(y, index=(i, j), tile=ct.load(x, index=(i, j), shape=(TM, TN)) * 2.0)\n"
)


def kernel(text: str, unsafe: str = "proved") -> KernelTranslation:
    (only,) = translate_document(Document("import cuda.tile as ct\n\n\n" + text), Options(unsafe=unsafe)).kernels
    assert only.rust is not None and only.entry is not None, only.diagnostics
    return only


def vector(body: str, grid: str, extra: str = "") -> str:
    return (
        f"# ferrotile: x: f32[N], y: f32[N], T=16, grid={grid}{extra}\n"
        "@ct.kernel\ndef k(x, y, T: ct.Constant[int]):\n    b = ct.bid(0)\n" + body
    )


def test_a_constant_stride_owns_several_tiles() -> None:
    body = (
        "    for i in range(4):\n"
        "        ct.store(y, index=(b * 4 + i,), tile=ct.load(x, index=(b * 4 + i,), shape=(T,)))\n"
    )
    found = kernel(vector(body, "(N/64,)"))
    assert found.outputs[-1].form == "owned-row"
    assert "y: &mut Tensor<f32, { [ROW] }>" in (found.rust or "")
    assert found.entry is not None and found.entry.parameters[1].tile == (64,)
    assert (found.unsafe.proved, found.unsafe.assumed) == (0, 0)
    assert ".store(" in (found.rust or "") and ", [i]);" in (found.rust or "")


def test_neighbours_that_share_a_tile_own_nothing() -> None:
    body = (
        "    for i in range(5):\n"
        "        ct.store(y, index=(b * 4 + i,), tile=ct.load(x, index=(b * 4 + i,), shape=(T,)))\n"
    )
    found = kernel(vector(body, "(N/64,)"))
    assert found.outputs[-1].form == "full"
    assert found.unsafe.assumed == 2


def test_two_halves_of_a_row() -> None:
    text = (
        "# ferrotile: x: f32[M, N], y: f32[M, N], TM=16, TN=32, grid=(M/TM,)\n"
        "@ct.kernel\ndef k(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):\n    i = ct.bid(0)\n"
        "    a = ct.load(x, index=(i, 0), shape=(TM, TN))\n    b = ct.load(x, index=(i, 1), shape=(TM, TN))\n"
        "    ct.store(y, index=(i, 0), tile=b)\n    ct.store(y, index=(i, 1), tile=a)\n"
    )
    found = kernel(text)
    assert found.outputs[-1].form == "owned-row"
    assert found.entry is not None and found.entry.hypotheses == ("cdiv(N, 64) = 1",)
    assert "py.store(b, [0, 0]);\n        py.store(a, [0, 1]);" in (found.rust or "")


def test_two_arms_of_a_branch_own_one_tile() -> None:
    body = (
        "    t = ct.load(x, index=(b,), shape=(T,))\n    if b > 3:\n        ct.store(y, index=(b,), tile=t)\n"
        "    else:\n        ct.store(y, index=(b,), tile=-t)\n"
    )
    assert kernel(vector(body, "(N/T,)"), "never").outputs[-1].form == "owned"


HEADS = (
    "# ferrotile: x: f32[B, H, S, D], y: f32[B, H, S, D], H=8, D=32, T=64, grid=(S/T, B*H)\n"
    "@ct.kernel\ndef k(x, y, H: ct.Constant[int], D: ct.Constant[int], T: ct.Constant[int]):\n"
    "    m, bh = ct.bid(0), ct.bid(1)\n    b, h = bh // H, bh % H\n"
    "    t = ct.load(x, index=(b, h, m, 0), shape=(1, 1, T, D))\n"
    "    ct.store(y, index=(b, h, m, 0), tile=t * 2.0)\n"
)


def test_leading_axes_are_merged() -> None:
    found = kernel(HEADS, "never")
    assert found.entry is not None
    assert found.entry.parameters[1].rank == 3 and found.entry.parameters[1].tile == (1, 64, 32)
    assert set(found.entry.hypotheses) == {"grid.x is Rust grid.y", "grid.y is Rust grid.x", "y is contiguous"}


def test_axes_are_not_merged_under_another_number_of_heads() -> None:
    found = kernel(HEADS.replace("bh // H, bh % H", "bh // 4, bh % 4"))
    assert found.outputs[-1].form == "full"


def test_a_flat_grid_is_split() -> None:
    text = (
        "# ferrotile: x: f32[M, N], y: f32[M, N], TM=16, TN=32, grid=(M/TM * N/TN,)\n"
        "@ct.kernel\ndef k(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):\n"
        "    t, n = ct.bid(0), ct.cdiv(x.shape[1], TN)\n    i, j = t // n, t % n\n"
        "    ct.store(y, index=(i, j), tile=ct.load(x, index=(i, j), shape=(TM, TN)) * 2.0)\n"
    )
    found = kernel(text, "never")
    assert found.outputs[-1].form == "owned"
    assert found.entry is not None
    assert found.entry.hypotheses == ("python bid.x = cdiv(N, 32) * bid.x + bid.y", "bid.y < cdiv(N, 32)")
    assert "let (i, j) = (program_id(0), program_id(1));" in (found.rust or "")


@pytest.mark.parametrize("change", [("TM * N/TN", "TM * N/16"), ("x.shape[1], TN", "x.shape[1], 16")])
def test_a_grid_that_does_not_fit_is_not_split(change: tuple[str, str]) -> None:
    text = (
        "# ferrotile: x: f32[M, N], y: f32[M, N], TM=16, TN=32, grid=(M/TM * N/TN,)\n"
        "@ct.kernel\ndef k(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):\n"
        "    t, n = ct.bid(0), ct.cdiv(x.shape[1], TN)\n    i, j = t // n, t % n\n"
        "    ct.store(y, index=(i, j), tile=ct.load(x, index=(i, j), shape=(TM, TN)) * 2.0)\n"
    )
    assert kernel(text.replace(*change)).outputs[-1].form == "full"


@pytest.mark.parametrize(
    "use",
    [
        "    ct.store(w, index=(b, h, m, 0), tile=t)\n",  # whose two leading axes are merged: by the block id itself
        "    ct.scatter(r, bh, 1.0)\n",
        "    c = bh if m > 0 else 0\n    ct.scatter(r, c, 1.0)\n",
    ],
)
def test_a_grid_is_not_split_where_its_block_id_is_used_otherwise(use: str) -> None:
    """A store has no result, and a branch gives the block id itself."""
    arrays = "y: f32[B, H, S], r: f32[R], w: f32[B, H, S, D]"
    text = HEADS.replace("y: f32[B, H, S, D]", arrays).replace("def k(x, y", "def k(x, y, r, w")
    text = text.replace("    ct.store(y, index=(b, h, m, 0), tile=t * 2.0)\n", "")
    stored = text + "    ct.store(y, index=(b, h, m), tile=ct.sum(t, axis=3))\n"
    alone, beside = kernel(stored), kernel(stored + use)
    assert alone.entry is not None and beside.entry is not None
    assert "python bid.y = 8 * bid.x + bid.y" in alone.entry.hypotheses
    assert not any(fact.startswith("python bid") for fact in beside.entry.hypotheses)


@pytest.mark.parametrize("unsafe", ["proved", "never"])
def test_a_persistent_loop_is_a_mapped_partition(unsafe: str) -> None:
    found = kernel(PERSISTENT, unsafe)
    assert found.outputs[-1].form == "mapped"
    rust = found.rust or ""
    assert "mut y: MappedPartitionMut<f32, { [TM, TN] }, { [1, 1] }>" in rust
    assert "for tile in y.iter_indices() {\n            let (i, j) = tile.components();\n" in rust
    assert "unsafe" not in rust and "program_id" not in rust


@pytest.mark.parametrize(
    "change",
    [
        ("ct.cdiv(x.shape[0], TM) * n", "ct.cdiv(x.shape[0], TM) * n - 1"),
        ("t // n, t % n", "t % n, t // n"),
        ("ct.bid(0), ct.cdiv", "ct.bid(0) + 1, ct.cdiv"),
        ("* 2.0", "* t"),
    ],
)
def test_other_loops_are_not(change: tuple[str, str]) -> None:
    """Fewer tiles, other tiles, another start, or a value that depends on the tile's number."""
    assert kernel(PERSISTENT.replace(*change)).outputs[-1].form == "full"


def test_grouped_blocks_are_proved_apart() -> None:
    found = kernel(GROUPED)
    assert (found.unsafe.proved, found.unsafe.assumed) == (2, 0)
    assert "let i = first + t % size;\n        let j = t % inside / size;\n" in (found.rust or "")


def test_grouped_blocks_without_unsafe_are_mapped() -> None:
    rust = kernel(GROUPED, "never").rust or ""
    assert "MappedPartitionMut<f32, { [TM, TN] }, { [GROUP, 1] }>" in rust
    assert "unsafe" not in rust


def test_a_grouping_beyond_the_grid_keeps_pythons_division() -> None:
    """More blocks than tiles: the last group may be empty, so that signs matter."""
    rust = kernel(GROUPED.replace("grid=(M/TM * N/TN,)", "grid=(4096,)")).rust or ""
    assert "rounding::NegativeInf" in rust


def test_a_mapped_partition_of_one_axis_has_coordinates() -> None:
    """`components` begins with two axes."""
    body = (
        "    for t in range(b, ct.cdiv(x.shape[0], T), ct.num_blocks(0)):\n"
        "        ct.store(y, index=(t,), tile=ct.load(x, index=(t,), shape=(T,)))\n"
    )
    rust = kernel(vector(body, "(8,)"), "never").rust or ""
    assert "MappedPartitionMut<f32, { [T] }, { [1] }>" in rust
    assert ".coords();\n" in rust and "components" not in rust
