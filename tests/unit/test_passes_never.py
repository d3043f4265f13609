"""Forms without `unsafe`: which kernels have one, under which launch facts, and which must not."""

from __future__ import annotations

import pytest
from ferrotile.passes.own_tiles import equal_counts
from ferrotile.signatures.model import GridFactor
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options

HEAD = "import cuda.tile as ct\n\n"


def never(directive: str, parameters: str, body: str) -> KernelTranslation:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    text = f"{HEAD}# ferrotile: {directive}\n@ct.kernel\ndef k({parameters}):\n{lines}"
    (kernel,) = translate_document(Document(text), Options(unsafe="never")).kernels
    assert kernel.rust is None or "unsafe" not in kernel.rust
    return kernel


def facts(kernel: KernelTranslation) -> tuple[str, ...]:
    assert kernel.entry is not None, kernel.diagnostics
    return kernel.entry.hypotheses


def refusals(kernel: KernelTranslation) -> list[str]:
    assert kernel.rust is None
    return [d.message for d in kernel.diagnostics if d.code == "FT303"]


IN_PLACE = "x: f32[M, N], T=16, grid=(M)"
LOAD = "a = ct.load(x, (i, 0), (1, T))\n"
STORE = "ct.store(x, (i, 0), a)\n"
ROUNDS = "for j in range(4):\n"


@pytest.mark.parametrize(
    "body",
    [
        LOAD + STORE,
        LOAD + "b = ct.load(x, (i, 0), (1, T))\n" + STORE,
        # a load that another block's store might meet says nothing of this block's
        "a = ct.load(x, (0, 0), (1, T))\n" + STORE,
        "a = ct.full((1, T), 0.0, ct.float32)\nif i > 3:\n    " + LOAD + STORE,
        "if i > 3:\n    " + LOAD + "    " + STORE + "else:\n    " + LOAD + "    " + STORE,
        ROUNDS + "    a = ct.load(x, (i, j), (1, T))\n    ct.store(x, (i, j), a)\n",
        # the store is not seen by the rounds before it
        "a = ct.full((1, T), 0.0, ct.float32)\n" + ROUNDS + "    a = a + ct.load(x, (i, j), (1, T))\n" + STORE,
        ROUNDS + "    o = j * T + ct.arange(T, dtype=ct.int32)\n"
        "    ct.scatter(x, (i, o), ct.gather(x, (i, o), check_bounds=True), check_bounds=True)\n",
    ],
)
def test_what_is_read_first_comes_from_a_copy(body: str) -> None:
    kernel = never(IN_PLACE, "x, T: ct.Constant[int]", "i = ct.bid(0)\n" + body)
    assert "x_before is a copy of x from before the launch" in facts(kernel)
    assert kernel.entry is not None
    names = [(p.name, p.kind, p.copy_of) for p in kernel.entry.parameters]
    assert names == [("x", "tensor_mut", None), ("x_before", "tensor", "x")]
    assert kernel.rust is not None and "load_row(&x.partition" not in kernel.rust


@pytest.mark.parametrize(
    "body",
    [
        LOAD + STORE + LOAD + STORE,
        ROUNDS + "    " + LOAD + "    " + STORE,
        # round j reads what round j - 1 wrote
        ROUNDS + "    a = ct.load(x, (i, j), (1, T))\n    ct.store(x, (i, j + 1), a)\n",
        ROUNDS + "    ct.store(x, (i, j), ct.full((1, T), 1.0, ct.float32))\n    a = ct.load(x, (i, j), (1, T))\n"
        "    ct.store(x, (i, j), a)\n",
        # lanes of neighbouring rounds overlap
        ROUNDS + "    o = j * 8 + ct.arange(T, dtype=ct.int32)\n"
        "    ct.scatter(x, (i, o), ct.gather(x, (i, o), check_bounds=True), check_bounds=True)\n",
        "n = 0\nwhile n < 4:\n    " + LOAD + "    " + STORE + "    n = n + 1\n",
        # the copy has another tile than the store
        ROUNDS + "    a = ct.load(x, (i, j), (1, 2 * T))\n    ct.store(x, (i, j), ct.extract(a, (0, 0), (1, T)))\n",
    ],
)
def test_a_block_that_reads_its_own_stores_is_refused(body: str) -> None:
    kernel = never(IN_PLACE, "x, T: ct.Constant[int]", "i = ct.bid(0)\n" + body)
    assert refusals(kernel)


def test_other_blocks_may_wait_for_an_acquiring_kernels_stores() -> None:
    body = (
        "i = ct.bid(0)\na = ct.load(x, (i, 0), (1, T))\nct.store(x, (i, 0), a + 1.0)\n"
        "ct.atomic_add(n, 0, 1, memory_order=ct.MemoryOrder.RELEASE)\n"
    )
    kernel = never("x: f32[M, N], n: i32[1], T=16, grid=(M)", "x, n, T: ct.Constant[int]", body)
    assert refusals(kernel) and "x_before" not in str(kernel.diagnostics)


PERSISTENT = "for t in range(ct.bid(0), ct.cdiv(x.shape[0], T), ct.num_blocks(0)):\n    a = ct.load(x, (t,), (T,))\n"
TWO = "    ct.store(y, (t,), a)\n    ct.store(z, (t,), a)\n"
VECTORS = "x: f32[N], y: f32[N], z: f32[N], T=16"


def test_a_persistent_loop_has_one_trip_on_a_grid_that_is_assumed() -> None:
    kernel = never(VECTORS, "x, y, z, T: ct.Constant[int]", PERSISTENT + TWO)
    assert "grid.x = cdiv(N, 16)" in facts(kernel)
    assert [o.form for o in kernel.outputs] == ["owned", "owned"]


def test_a_grid_that_is_known_is_not_assumed_to_be_another() -> None:
    kernel = never(VECTORS + ", grid=(N)", "x, y, z, T: ct.Constant[int]", PERSISTENT + TWO)
    assert refusals(kernel)


@pytest.mark.parametrize(
    "loop",
    [
        "for t in range(ct.bid(0) + 1, ct.cdiv(x.shape[0], T), ct.num_blocks(0)):\n",
        "for t in range(ct.bid(0), ct.cdiv(x.shape[0], T), ct.num_blocks(1)):\n",
        "for t in range(ct.bid(0), ct.cdiv(x.shape[0], T), 8):\n",
    ],
)
def test_other_loops_have_no_single_trip(loop: str) -> None:
    kernel = never(VECTORS, "x, y, z, T: ct.Constant[int]", loop + "    a = ct.load(x, (t,), (T,))\n" + TWO)
    assert refusals(kernel)


MATRICES = "x: f32[M, N], y: f32[M, N], z: f32[M, K], T=16, grid=(M)"
TILES = "i = ct.bid(0)\nfor j in range(ct.num_tiles(x, 1, (1, T))):\n    a = ct.load(x, (i, j), (1, T))\n"


def test_a_row_of_tiles_is_mapped_with_an_axis_of_its_own() -> None:
    kernel = never(MATRICES, "x, y, z, T: ct.Constant[int]", TILES + "    ct.store(y, (i, j), a)\n")
    assert [o.form for o in kernel.outputs] == ["mapped"]
    rust = kernel.rust or ""
    assert "MappedPartitionMut<f32, { [1, T] }, { [1, 0] }>" in rust
    assert "for j in 0..num_tiles(&y, 1)" in rust and "coord((i, j))" in rust


@pytest.mark.parametrize(
    "stores",
    [
        "    ct.store(y, (i, j), a)\n    ct.store(z, (i, j), a)\n",  # other extents in one loop
        "    ct.store(y, (i, j + 1), a)\n",
        "    ct.store(y, (i // 2, j), a)\n",
        "    ct.store(y, (0, j), a)\n",
        "    for r in range(2):\n        ct.store(y, (i, j), a + r)\n",  # the rounds write one tile
        "    ct.store(y, (i, j), a)\n    ct.store(y, (i, j), a + 1.0)\n",
    ],
)
def test_rows_that_are_not_a_blocks_own_are_refused(stores: str) -> None:
    assert refusals(never(MATRICES, "x, y, z, T: ct.Constant[int]", TILES + stores))


def test_a_store_that_may_lie_outside_stands_under_a_test() -> None:
    body = "o = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)\nct.scatter(y, (ct.bid(1), o), ct.gather(x, o))\n"
    kernel = never("x: f32[N], y: f32[K, 64], T=16, grid=(N/T, K)", "x, y, T: ct.Constant[int]", body)
    assert kernel.rust is not None and "if i < ceil_div(y.shape()[1], T)" in kernel.rust
    assert "cdiv(N, 16) = 4" in facts(kernel)


@pytest.mark.parametrize(("start", "loads"), [("i * 16", 2), ("i * 8 + 24", 4), ("i * 4", 8)])
def test_a_vector_that_starts_between_tiles_is_made_of_pieces(start: str, loads: int) -> None:
    body = f"i = ct.bid(0)\nv = ct.gather(x, {start} + ct.arange(T, dtype=ct.int32))\nct.store(y, (i,), v)\n"
    kernel = never("x: f32[N], y: f32[M], T=32, grid=(M/T)", "x, y, T: ct.Constant[int]", body)
    assert kernel.rust is not None
    assert kernel.rust.count(" load_vec(") == loads
    assert kernel.rust.count("= cat(") == loads - 1


@pytest.mark.parametrize("start", ["i + 1", "i * 2", "i * 3"])
def test_a_vector_of_no_few_pieces_is_refused(start: str) -> None:
    body = f"i = ct.bid(0)\nv = ct.gather(x, {start} + ct.arange(T, dtype=ct.int32))\nct.store(y, (i,), v)\n"
    assert refusals(never("x: f32[N], y: f32[M], T=1024, grid=(M/T)", "x, y, T: ct.Constant[int]", body))


def test_indices_from_memory_are_refused() -> None:
    body = "j = ct.load(x, (ct.bid(0),), (T,)).astype(ct.int32)\nct.scatter(y, j, ct.gather(x, j))\n"
    assert len(refusals(never("x: f32[N], y: f32[N], T=16, grid=(N/T)", "x, y, T: ct.Constant[int]", body))) == 2


A, B, EIGHT = GridFactor("A"), GridFactor("B", 16), GridFactor(8)


@pytest.mark.parametrize(
    ("given", "wanted", "numbers", "found"),
    [
        ((A,), (A,), False, ()),
        ((A,), (B,), False, ("A = cdiv(B, 16)",)),
        ((A, B), (B,), True, ("A = 1",)),
        ((A, B), (GridFactor("C"), B), False, None),
        ((A, B), (GridFactor("C"), B), True, ("A = C",)),
        ((EIGHT,), (B,), True, ("cdiv(B, 16) = 8",)),
        ((EIGHT,), (B,), False, None),
        ((GridFactor(3), A), (EIGHT,), True, None),
        ((GridFactor(4), A), (EIGHT,), True, ("A = 2",)),
        ((A, B), (EIGHT,), True, None),
        ((GridFactor("B", 8),), (B,), True, None),
    ],
)
def test_facts_that_make_two_products_equal(
    given: tuple[GridFactor, ...], wanted: tuple[GridFactor, ...], numbers: bool, found: tuple[str, ...] | None
) -> None:
    assert equal_counts(given, wanted, numbers) == found
