"""Reductions by the author's own function: exact ones are silent, those that round say that bits may differ."""

from __future__ import annotations

import pytest
from ferrotile.diagnostics.model import Severity
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from frontend_support import lower

PAIR = "    v = ct.load(x, (0,), (16,))\n    w = ct.load(y, (0,), (16,))\n"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        # Two running sums: floats are added in another order.
        ("ct.reduce((v, v), 0, lambda a, b, c, d: (a + c, b + d), (0.0, 0.0))[0]", ["FT408"]),
        ("ct.reduce(v, 0, lambda a, b: a * b + a, 0.0)", ["FT408"]),
        ("ct.sum(ct.scan((v, w), 0, lambda a, n, b, m: (a + b, n | m), (0.0, 0))[0])", ["FT408"]),
        # The larger with its number: only choices. A sum of integers: the same in every order.
        ("ct.reduce((v, w), 0, lambda a, n, b, m: (ct.where(a > b, a, b), ct.where(a > b, n, m)), (0.0, 0))[0]", []),
        ("ct.reduce((w, w), 0, lambda a, b, c, d: (a + c, b + d), (0, 0))[0].astype(ct.float32)", []),
        # One operation is a reduction of cutile's own.
        ("ct.reduce(v, 0, lambda a, b: a + b, 0.0)", []),
    ],
)
def test_only_functions_that_round_are_warned_about(call: str, told: list[str]) -> None:
    source = f"@ct.kernel\ndef k(x, y, z):\n{PAIR}    ct.store(z, (0,), {call})\n"
    found = lower(source, x="f32[1]", y="i32[1]", z="f32[1]")
    assert found.program is not None, found.diagnostics
    assert [d.code for d in found.diagnostics] == told
    assert all(d.severity is Severity.WARNING for d in found.diagnostics)


def test_a_kernel_with_a_type_parameter_keeps_its_warnings() -> None:
    text = (
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x, z):\n    v = ct.load(x, (0,), (16,)).astype(ct.float32)\n"
        "    s = ct.reduce(v, 0, lambda a, b: a * b + a, 0.0)\n    ct.store(z, (0,), (v * s).astype(z.dtype))\n"
    )
    (kernel,) = translate_document(Document(text)).kernels
    assert kernel.rust is not None and "<X" in kernel.rust
    assert "FT408" in [d.code for d in kernel.diagnostics]
