"""Constants that the Rust must not write as literals, because cutile 0.5 would read another number."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document

_KERNEL = """import cuda.tile as ct

# ferrotile: z: {dtype}[N], T=16, grid=(N/T)
@ct.kernel
def k(z, T: ct.Constant[int]):
    ct.store(z, (ct.bid(0),), {value})
"""


def _rust(value: str, dtype: str) -> str:
    (kernel,) = translate_document(Document(_KERNEL.format(value=value, dtype=dtype))).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return kernel.rust


def test_false_is_broadcast() -> None:
    """`constant(false, ..)` lowers to a tile of true."""
    rust = _rust("ct.full((T,), False, ct.bool_)", "bool")
    assert "constant(false" not in rust
    assert "let no: bool = false;" in rust and "no.broadcast(shape![T])" in rust


def test_true_is_a_literal() -> None:
    assert "constant(true, shape![T])" in _rust("ct.full((T,), True, ct.bool_)", "bool")


@pytest.mark.parametrize(("value", "dtype", "bits"), [(200, "uint8", "-56i8"), (4294967295, "uint32", "-1")])
def test_unsigned_constants_above_the_signed_maximum_are_bits(value: int, dtype: str, bits: str) -> None:
    rust = _rust(f"ct.full((T,), {value}, ct.{dtype})", {"uint8": "u8", "uint32": "u32"}[dtype])
    assert f"constant({bits}, shape![T])" in rust and "bitcast(" in rust


def test_e8m0_constants_are_exponents() -> None:
    """4 is 2 to the power 2, whose biased exponent is 129: as u8, above the signed maximum."""
    rust = _rust("ct.full((T,), 4.0, ct.float8_e8m0fnu)", "f8e8m0fnu")
    assert f"constant({129 - 256}i8, shape![T])" in rust
