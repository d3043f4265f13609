"""The author's hints: on the entry, on loads and stores."""

from __future__ import annotations

from ferrotile.choices import Choices
from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options


def kernel(decorator: str, load: str = "", store: str = "", unsafe: str = "proved") -> KernelTranslation:
    text = (
        "import cuda.tile as ct\n\nWARPS = 8\n\n"
        "# ferrotile: x: f32[M, N], y: f32[M, N], TM=64, TN=64, grid=(M/TM, N/TN)\n"
        f"@ct.kernel{decorator}\ndef scale(x, y, TM: ct.Constant[int], TN: ct.Constant[int]):\n"
        "    i, j = ct.bid(0), ct.bid(1)\n"
        f"    t = ct.load(x, index=(i, j), shape=(TM, TN){load})\n"
        f"    ct.store(y, index=(i, j), tile=t * 2.0{store})\n"
    )
    (only,) = translate_document(Document(text), Options(unsafe=unsafe)).kernels
    return only


def test_no_hints() -> None:
    assert "    #[cutile::entry()]\n" in (kernel("").rust or "")


def test_a_hint_for_all_targets() -> None:
    rust = kernel("(occupancy=2, num_ctas=WARPS)").rust or ""
    expected = "optimization_hints = (default = (occupancy = 2, num_cta_in_cga = 8,),)"
    assert f"    #[cutile::entry({expected})]\n" in rust


def test_hints_by_target() -> None:
    decorator = "(occupancy=ct.ByTarget(sm_90=4, default=1), num_ctas=ct.ByTarget(sm_100=4, sm_90=2))"
    assert (
        "    #[cutile::entry(optimization_hints = (\n"
        "        default = (occupancy = 1,),\n"
        "        sm_100 = (num_cta_in_cga = 4,),\n"
        "        sm_90 = (occupancy = 4, num_cta_in_cga = 2,),\n"
        "    ))]\n"
    ) in (kernel(decorator).rust or "")


def test_an_optimisation_level_is_noted() -> None:
    found = kernel("(opt_level=2)")
    (note,) = [d for d in found.diagnostics if d.code == "FT405"]
    assert note.severity is Severity.INFORMATION and "CompileOptions::default().opt_level(2)" in note.message
    assert found.rust is not None
    assert not [d for d in kernel("(opt_level=3)").diagnostics if d.code == "FT405"]


def test_a_hint_that_cutile_python_rejects() -> None:
    found = kernel("(occupancy=33)")
    assert [d.code for d in found.diagnostics if d.severity is Severity.ERROR] == ["FT205"]


def test_warps_that_the_assembler_does_not_know() -> None:
    found = kernel("(num_worker_warps=2)")
    assert "FT405" in [d.code for d in found.diagnostics]
    assert "    #[cutile::entry()]\n" in (found.rust or "")


def test_latency_of_a_load() -> None:
    assert ".load_pipelined::<3>([i, j])" in (kernel("", ", latency=3").rust or "")


def test_no_tma_where_the_author_says_so() -> None:
    rust = kernel("", ", allow_tma=False", ", allow_tma=False, latency=2").rust or ""
    assert rust.count("tma::Disabled") == 2
    assert "Some(2), tma::Disabled" in rust


def test_the_safe_store_wins_over_a_hint_without_unsafe() -> None:
    rust = kernel("", store=", allow_tma=False", unsafe="never").rust or ""
    assert "unsafe" not in rust and "y.store(" in rust


ROWS = """\
import cuda.tile as ct


# ferrotile: x: f32[M, N], w: f32[N], y: f32[M, N], TN=256, grid=(M,)
@ct.kernel
def rows(x, w, y, TN: ct.Constant[int]):
    i = ct.bid(0)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, TN))):
        scale = ct.load(w, index=(INDEX,), shape=(TN,))
        tile = ct.load(x, index=(i, j), shape=(1, TN))
        ct.store(y, index=(i, j), tile=tile * ct.reshape(scale, (1, TN)))
"""


def rows(index: str, target: str = "sm_90") -> str:
    (only,) = translate_document(Document(ROWS.replace("INDEX", index)), Options(target=target)).kernels
    assert only.rust is not None
    return only.rust


def test_a_vector_that_every_block_reads_goes_without_tma() -> None:
    """10 times slower in an RMS norm of rows of 256, and 2.5 times in a layer norm, on an H200."""
    assert "load_vec(&pw, [j])" in rows("j")
    assert "load_view_tko(p, i, Weak, TileBlock, None, tma::Disabled)" in rows("j")
    assert "load_vec(&pw, [0i32])" in rows("0")
    assert "load_vec" not in rows("j", "sm_100")


def test_a_vector_of_the_blocks_own_may_go_through_tma() -> None:
    assert "load_vec" not in rows("i")


def shifted(checks: str) -> str:
    text = (
        "import cuda.tile as ct\n\n\n# ferrotile: x: f32[M, N], y: f32[M, N], grid=(M/64, N/64)\n"
        "@ct.kernel\ndef shifted(x, y):\n    i, j = ct.bid(0), ct.bid(1)\n"
        "    ct.store(y, index=(i + 1, j), tile=ct.load(x, index=(i, j), shape=(64, 64)))\n"
    )
    (only,) = translate_document(Document(text), Options(checks=checks)).kernels
    assert only.rust is not None
    return only.rust


def test_a_store_whose_check_would_stay_goes_without_it() -> None:
    """1.66 times slower in a matrix product of tiles in groups, although the check runs once behind the loop."""
    assert "unsafe { store(&mut py, " in shifted("free")
    assert "py.store(" in shifted("keep") and "store_view_tko_mut" not in shifted("keep")


PRODUCT = """\
import cuda.tile as ct


# ferrotile: a: f16[M, K], b: f16[K, N], s: f32[K/32, N], z: f32[M, N], grid=(M/64, N/64)
@ct.kernel
def product(a, b, s, z):
    i, j = ct.bid(0), ct.bid(1)
    total = ct.zeros((64, 64), ct.float32)
    for k in range(ct.num_tiles(b, axis=0, shape=(32, 64))):
        scale = ct.load(s, index=(k, j), shape=(1, 64))
        left, right = ct.load(a, index=(i, k), shape=(64, 32)), ct.load(b, index=(k, j), shape=(32, 64))
        total += ct.mma(left, right, ct.zeros((64, 64), ct.float32)) * scale
    ct.store(z, index=(i, j), tile=total)
"""


def test_a_row_loaded_beside_the_factors_of_a_product_goes_through_tma() -> None:
    """1.2 to 1.6 times slower without it in a recurrence of products, on an H200."""
    (only,) = translate_document(Document(PRODUCT)).kernels
    assert only.rust is not None and "load_row" not in only.rust


def gathered(array: str, bounds: str = "", rows: bool | None = False, unsafe: str = "proved") -> str:
    text = (
        "import cuda.tile as ct\n\n\n# ferrotile: x: f32[M, N], y: f32[M, N], grid=(M,)\n"
        "@ct.kernel\ndef gathered(x, y):\n    i = ct.bid(0)\n    at = (i, ct.arange(256, dtype=ct.int32))\n"
        f"    ct.scatter(y, at, ct.gather({array}, at{bounds}))\n"
    )
    options = Options(unsafe=unsafe, choices=Choices(rows=rows))
    (only,) = translate_document(Document(text), options).kernels
    assert only.rust is not None, only.diagnostics
    return only.rust


def test_a_masked_gather_of_part_of_a_row_stays_one_where_that_is_chosen() -> None:
    """It is a view else, which is safe but compares both indices of each lane."""
    assert "gather_at(x, i, " in gathered("x")
    assert "gather_at" not in gathered("x", rows=None) and "gather_at" not in gathered("x", rows=True)
    assert "gather_at" not in gathered("x", unsafe="never")
    assert "gather_at" not in gathered("y")  # which is written: its tile is this block's own
    assert "gather_at" not in gathered("x", ", check_bounds=False")  # nothing would keep the lanes inside


def product(tile: tuple[int, int, int], decorator: str = "", target: str = "sm_90", parts: int = 1) -> str:
    """The entry of a kernel that multiplies tiles of these extents in a loop, `parts` times a round."""
    m, n, k = tile
    more = "".join("        other = ct.mma(left, right, other)\n" for _ in range(parts - 1))
    last = " + other" if parts > 1 else ""
    text = (
        "import cuda.tile as ct\n\n\n"
        f"# ferrotile: a: f16[M, K], b: f16[K, N], z: f32[M, N], grid=(M/{m}, N/{n})\n"
        f"@ct.kernel{decorator}\ndef product(a, b, z):\n    i, j = ct.bid(0), ct.bid(1)\n"
        f"    total = ct.zeros(({m}, {n}), dtype=ct.float32)\n    other = ct.zeros(({m}, {n}), dtype=ct.float32)\n"
        f"    for r in range(ct.num_tiles(a, axis=1, shape=({m}, {k}))):\n"
        f"        left, right = ct.load(a, (i, r), ({m}, {k})), ct.load(b, (r, j), ({k}, {n}))\n"
        f"        total = ct.mma(left, right, total)\n{more}"
        f"    ct.store(z, (i, j), total{last})\n"
    )
    (only,) = translate_document(Document(text), Options(target=target)).kernels
    assert only.rust is not None, only.diagnostics
    (line,) = (line.strip() for line in only.rust.splitlines() if "cutile::entry" in line)
    return line


TWO = "#[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,),))]"


def test_two_blocks_at_a_time_where_the_products_leave_room() -> None:
    """64 KiB of results and 32 of factors: 0.87 of the time on an H200."""
    assert product((128, 128, 64)) == TWO
    assert product((64, 64, 64), parts=2) == TWO


def test_one_block_at_a_time_where_factors_or_results_fill_a_processor() -> None:
    """160 KiB of factors took 2.2 times as long in two; 96 KiB of results gain nothing."""
    assert product((64, 64, 512)) == "#[cutile::entry()]"
    assert product((64, 128, 64), parts=3) == "#[cutile::entry()]"


def test_two_ctas_where_one_cannot_hold_the_results() -> None:
    """128 KiB of results in the registers of 128 threads: 0.08 of the time in two CTAs on an H200."""
    assert product((128, 256, 64)) == "#[cutile::entry(optimization_hints = (sm_90 = (num_cta_in_cga = 2,),))]"
    assert product((256, 256, 64)) == "#[cutile::entry()]"


def test_the_author_knows_better_and_other_gpus_were_not_measured() -> None:
    assert (
        product((128, 128, 64), "(occupancy=1)")
        == "#[cutile::entry(optimization_hints = (default = (occupancy = 1,),))]"
    )
    assert product((128, 128, 64), target="sm_100") == "#[cutile::entry()]"
    assert product((128, 128, 64), "(num_ctas=2)").endswith("(default = (num_cta_in_cga = 2,),))]")


def test_a_masked_gather_in_a_loop_stays_one() -> None:
    """The nearest tile of each round, and a comparison for it, took 2.4 times as long on an H200."""
    text = (
        "import cuda.tile as ct\n\n\n# ferrotile: x: i32[N], y: i32[1], n: i32, grid=(1,)\n"
        "@ct.kernel\ndef total(x, y, n):\n    s = ct.zeros((1,), dtype=ct.int32)\n"
        "    for k in range(n):\n        s = s + ct.gather(x, k + ct.arange(1, dtype=ct.int32))\n"
        "    ct.store(y, (0,), s)\n"
    )
    by = {
        unsafe: translate_document(Document(text), Options(unsafe=unsafe)).kernels[0].rust
        for unsafe in ("proved", "never")
    }
    assert by["proved"] is not None and "gather_at(x, " in by["proved"]
    assert by["never"] is None or "gather_at" not in by["never"]


def test_a_gather_is_padded_by_its_load() -> None:
    """As in the Python, with indices widened before they are spread: the same machine code for products by experts."""
    text = (
        "import cuda.tile as ct\n\n\n# ferrotile: x: f16[M, K], at: i32[32], z: f16[32, 16], grid=(1,)\n"
        "@ct.kernel\ndef pick(x, at, z):\n    rows = ct.load(at, (0,), (32,))\n"
        "    columns = ct.arange(16, dtype=ct.int32)\n"
        "    ct.store(z, (0, 0), ct.gather(x, (rows[:, None], columns[None, :])PAD))\n"
    )
    (plain,) = translate_document(Document(text.replace("PAD", ""))).kernels
    rust = plain.rust or ""
    assert "let i: Tile<u64, { [M, 1] }> = exti(i);\n        let i = i.broadcast(shape![M, N]);\n" in rust
    assert "let fill: Tile<E, { [M, N] }> = constant(E::ZERO, shape![M, N]);" in rust
    assert "load_padded_2(" in rust and "select(" not in rust
    (other,) = translate_document(Document(text.replace("PAD", ", padding_value=1.0"))).kernels
    assert "padding: E,\n" in (other.rust or "") and "padding.broadcast(shape![M, N])" in (other.rust or "")
    (byte,) = translate_document(Document(text.replace("PAD", "").replace("f16[", "i8["))).kernels
    assert "E::ZERO" not in (byte.rust or "")  # the JIT knows none of i8
