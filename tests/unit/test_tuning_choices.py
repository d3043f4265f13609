"""What a tuner tries alone, in which order."""

from __future__ import annotations

from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.gpu.tuning import single_choices


def tried(value: str) -> list[str]:
    text = (
        "import cuda.tile as ct\n\n\n# ferrotile: x: f16[64, 64], y: f32[64, 64], grid=(1,)\n"
        "@ct.kernel\ndef kernel(x, y):\n    t = ct.load(x, (0, 0), (64, 64))\n"
        f"    ct.store(y, (0, 0), {value})\n"
    )
    (only,) = translate_document(Document(text)).kernels
    assert only.program is not None, only.diagnostics
    return [str(choices) for choices in single_choices(only.program)]


def test_two_ctas_for_products_alone() -> None:
    product = tried("ct.mma(t, t, ct.zeros((64, 64), ct.float32))")
    assert "num_ctas=2" in product and product[0] == "occupancy=2"
    assert "num_ctas=2" not in tried("t.astype(ct.float32)")


def test_hints_of_the_entry_come_before_those_of_an_access() -> None:
    found = tried("t.astype(ct.float32)")
    assert found[-4:] == ["x.load=tma", "x.load=plain", "y.store=tma", "y.store=plain"]
    assert all(one.startswith("occupancy=") for one in found[:-4])
