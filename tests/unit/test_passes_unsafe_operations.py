"""What the setting `unsafe = "never"` does to operations that cutile 0.5 has only as unsafe functions."""

from __future__ import annotations

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


def test_an_approximation_is_refused_where_nothing_unsafe_may_be() -> None:
    kernel = _translate(_APPROXIMATE, "never")
    assert kernel.rust is None
    (found,) = [d for d in kernel.diagnostics if d.code == "FT303"]
    assert _KERNEL.format(_APPROXIMATE)[found.span.start : found.span.end] == _APPROXIMATE


def test_an_approximation_says_why_it_is_sound() -> None:
    rust = _translate(_APPROXIMATE, "proved").rust or ""
    lines = [line.strip() for line in rust.splitlines()]
    at = next(k for k, line in enumerate(lines) if "exp_with_rounding" in line)
    assert "unsafe {" in lines[at] and lines[at - 1].startswith("// SAFETY: ")


def test_an_assumption_is_only_left_out() -> None:
    never = _translate(_ASSUMED, "never").rust or ""
    assert never and "unsafe" not in never and "assume_div_by" not in never
    assert "assume_div_by::<_, 8>" in (_translate(_ASSUMED, "proved").rust or "")
