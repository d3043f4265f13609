"""What the setting `unsafe = "never"` does to operations that cutile 0.5 has only as unsafe functions."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation, Options

_KERNEL = """import cuda.tile as ct

# ferrotile: x: f32[N], y: f32[N], n: i32, T=16, grid=(N/T)
@ct.kernel
def k(x, y, n, T: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, (i,), (T,))
    ct.store(y, (i,), {})
"""
_APPROXIMATE = "ct.exp(a, rounding_mode=ct.RoundingMode.APPROX)"
_ASSUMED = "a * ct.assume_divisible_by(n, 8)"


def _translate(expression: str, unsafe: str) -> KernelTranslation:
    (kernel,) = translate_document(Document(_KERNEL.format(expression)), Options(unsafe=unsafe)).kernels
    return kernel


@pytest.mark.parametrize("unsafe", ["proved", "never"])
def test_an_approximation_is_declared_for_the_one_type_that_has_it(unsafe: str) -> None:
    rust = _translate(_APPROXIMATE, unsafe).rust or ""
    assert "exp_approx<const S: [i32; 1]>(x: Tile<f32, S>) -> Tile<f32, S>" in rust
    assert 'name = "cuda_tile.exp"' in rust and "rounding_mode=approx" in rust and "unsafe" not in rust


def test_an_assumption_is_only_left_out() -> None:
    never = _translate(_ASSUMED, "never").rust or ""
    assert never and "unsafe" not in never and "assume_div_by" not in never
    assert "assume_div_by::<_, 8>" in (_translate(_ASSUMED, "proved").rust or "")
