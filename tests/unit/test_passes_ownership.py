"""Output forms, renamed grid axes, launch facts, and memory order."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options


def kernel(text: str, unsafe: str = "proved") -> KernelTranslation:
    (only,) = translate_document(Document("import cuda.tile as ct\n\n\n" + text), Options(unsafe=unsafe)).kernels
    return only


def copy(index: str, grid: str, before: str = "    i, j = ct.bid(0), ct.bid(1)\n", tile: str = "TM, TN") -> str:
    return (
        f"# ferrotile: x: f32[M, N], z: f32[M, N], TM=16, TN=32, grid={grid}\n"
        "@ct.kernel\ndef copy(x, z, TM: ct.Constant[int], TN: ct.Constant[int]):\n"
        f"{before}    t = ct.load(x, index=({index}), shape=({tile}))\n"
        f"    ct.store(z, index=({index}), tile=t)\n"
    )


def form(translation: KernelTranslation) -> str:
    assert translation.rust is not None, translation.diagnostics
    return translation.outputs[-1].form


def hypotheses(translation: KernelTranslation) -> tuple[str, ...]:
    assert translation.entry is not None
    return translation.entry.hypotheses


def test_a_tile_at_the_block_id_is_owned() -> None:
    found = kernel(copy("i, j", "(M/TM, N/TN)"))
    assert form(found) == "owned"
    assert hypotheses(found) == ()
    assert "unsafe" not in (found.rust or "")


def test_swapped_grid_axes_are_renamed() -> None:
    found = kernel(copy("j, i", "(N/TN, M/TM)"))
    assert form(found) == "owned"
    assert hypotheses(found) == ("grid.x is Rust grid.y", "grid.y is Rust grid.x")
    assert "let (i, j) = (program_id(1), program_id(0));" in (found.rust or "")


def test_a_constant_axis_needs_one_tile() -> None:
    found = kernel(copy("i, 0", "(M/TM,)", "    i = ct.bid(0)\n"))
    assert form(found) == "owned"
    assert hypotheses(found) == ("cdiv(N, 32) = 1",)


@pytest.mark.parametrize("grid", ["(M/32, N/TN)", "(M/TM, N/TN, 2)", "(7, N/TN)"])
def test_a_grid_that_is_not_the_partition_grid_is_not_owned(grid: str) -> None:
    assert form(kernel(copy("i, j", grid))) == "full"


def test_shifted_tiles_are_proved_disjoint() -> None:
    found = kernel(copy("i + 1, j", "(M/TM, N/TN)"))
    assert form(found) == "full"
    assert (found.unsafe.proved, found.unsafe.assumed) == (2, 0), "the view of all, and the store without a check"


def test_tiles_that_ignore_a_block_axis_are_assumed() -> None:
    found = kernel(copy("i // 2, j", "(M/TM, N/TN)"))
    assert (found.unsafe.proved, found.unsafe.assumed) == (0, 2)


def test_quotient_and_remainder_together_are_disjoint() -> None:
    found = kernel(copy("b // 4, b % 4", "(M/TM * 4,)", "    b = ct.bid(0)\n"))
    assert (found.unsafe.proved, found.unsafe.assumed) == (2, 0)


def test_never_refuses_what_needs_unsafe() -> None:
    found = kernel(copy("i + 1, j", "(M/TM, N/TN)"), "never")
    assert found.rust is None
    assert [d.code for d in found.diagnostics] == ["FT303"]


def test_a_loop_over_one_tile_carries_tokens() -> None:
    text = (
        "# ferrotile: z: f32[N], n: i32, T=16, grid=(N/T,)\n"
        "@ct.kernel\ndef grow(z, n, T: ct.Constant[int]):\n"
        "    i = ct.bid(0)\n    for _ in range(n):\n"
        "        t = ct.load(z, index=(i,), shape=(T,))\n"
        "        ct.store(z, index=(i,), tile=t + 1.0)\n"
    )
    found = kernel(text)
    assert form(found) == "full"
    rust = found.rust or ""
    assert "let mut z_order: Token = z.token();" in rust
    assert "Some(z_order)," in rust
    assert "z_order = unsafe {" in rust
    assert "FT402" in [d.code for d in found.diagnostics]


def test_a_straight_line_in_place_loads_first() -> None:
    text = (
        "# ferrotile: x: f32[N], y: f32[N], T=16, grid=(N/T,)\n"
        "@ct.kernel\ndef swap(x, y, T: ct.Constant[int]):\n    i = ct.bid(0)\n"
        "    tx = ct.load(x, index=(i,), shape=(T,))\n    ty = ct.load(y, index=(i,), shape=(T,))\n"
        "    ct.store(x, index=(i,), tile=ty)\n    ct.store(y, index=(i,), tile=tx)\n"
    )
    rust = kernel(text).rust or ""
    assert "        let tx = load_first(x);\n        let ty = load_first(y);\n" in rust
    assert "        x.store(ty);\n        y.store(tx);\n" in rust
    assert "unsafe { z.set_token(done) };" in rust


def test_loads_between_two_stores_start_from_one_token() -> None:
    """They need not wait for each other, only the next store for them; a load after a store waits for that."""
    text = (
        "# ferrotile: x: f32[M, N], T=16, grid=(M,)\n"
        "@ct.kernel\ndef turn(x, T: ct.Constant[int]):\n    i = ct.bid(0)\n"
        "    a = ct.load(x, index=(i, 0), shape=(1, T))\n    b = ct.load(x, index=(i, 1), shape=(1, T))\n"
        "    ct.store(x, index=(i, 0), tile=a - b)\n    ct.store(x, index=(i, 1), tile=a + b)\n"
    )
    rust = kernel(text).rust or ""
    assert "        let x_start = x.token();\n" in rust
    assert rust.count("x_start)") + rust.count("x_start,\n") == 2
    assert "Some(start)" in rust and "unsafe { z.set_token(join_tokens(&[z.token(), done])) };" in rust
