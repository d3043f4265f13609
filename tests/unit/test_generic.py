"""Type parameters: one Rust text for every element type, or none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ferrotile.program.dtypes import BF16, F16, F32, F64, I32, DType, DTypeVariableError, Kind
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile.translation import KernelTranslation

HEAD = "import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x, y, z, T: ct.Constant[int]):\n    i = ct.bid(0)\n"
LOADS = "    a = ct.load(x, (i,), (T,))\n    b = ct.load(y, (i,), (T,))\n"


def translated(body: str) -> KernelTranslation:
    (kernel,) = translate_document(Document(HEAD + LOADS + body)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return kernel


def entry(kernel: KernelTranslation) -> str:
    assert kernel.rust is not None
    found = re.search(r"fn k<(.*?)>\s*\(", kernel.rust, re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.mark.parametrize(
    ("body", "generics"),
    [
        # Each array keeps a type of its own while only conversions to f32 lie between them.
        ("    s = a.astype(ct.float32) + b.astype(ct.float32)\n    ct.store(z, (i,), s.astype(z.dtype))\n", "X Y Z"),
        # Operands of one operation have one type; so has what is stored without a conversion.
        ("    ct.store(z, (i,), (a + b).astype(z.dtype))\n", "X Y"),
        ("    ct.store(z, (i,), ct.exp(a) * b)\n", "X"),
        # A comparison of two unknown types makes them one: the Rust takes equal types only.
        ("    if x.dtype != y.dtype:\n        a = b\n    ct.store(z, (i,), (a + b).astype(z.dtype))\n", "X Y"),
        # 0.5 is exact in all three types.
        ("    ct.store(z, (i,), a * 0.5 + b)\n", "X"),
        # 0.1 is another number in each type, but the f32 0.1 rounded to it, as cuTile Python makes literals: also where
        # rounding once gives another one (1 + 2^-11 + 2^-30 in f16).
        ("    ct.store(z, (i,), a * 0.1 + b)\n", "X"),
        ("    ct.store(z, (i,), a * 1.0004882821813226 + b)\n", "X"),
    ],
)
def test_generic(body: str, generics: str) -> None:
    kernel = translated(body)
    assert entry(kernel) == ", ".join([*(f"{g}: ElementType" for g in generics.split()), "const T: i32"])
    assert kernel.entry is not None
    assert kernel.entry.generics[0] == "f16"
    assert not [d for d in kernel.diagnostics if d.code == "FT101"]


def test_factors_of_unknown_types_have_one() -> None:
    text = (
        "import cuda.tile as ct\n\n\n@ct.kernel\ndef k(x, y, z, T: ct.Constant[int]):\n"
        "    a, b = ct.load(x, (0, 0), (T, T)), ct.load(y, (0, 0), (T, T))\n"
        "    product = ct.mma(a, b, ct.zeros((T, T), dtype=ct.float32))\n"
        "    ct.store(z, (0, 0), product.astype(z.dtype))\n"
    )
    (kernel,) = translate_document(Document(text)).kernels
    assert entry(kernel) == "X: ElementType, Y: ElementType, const T: i32"


@pytest.mark.parametrize(
    "body",
    [
        "    if x.dtype == ct.float16:\n        a = a + a\n    ct.store(z, (i,), a + b)\n",
        "    if x.dtype in (ct.float32, ct.float64):\n        a = a + a\n    ct.store(z, (i,), a + b)\n",
        # f16 with f16 stays, bf16 with f16 does not combine.
        "    ct.store(z, (i,), a + b.astype(ct.float16))\n",
        # A literal store is typed by the array; a bit pattern has the width of its type.
        "    ct.store(z, (i,), ct.bitcast(a, ct.int32).astype(z.dtype))\n",
    ],
)
def test_what_asks_for_the_type_is_not_generic(body: str) -> None:
    kernel = translated(body)
    assert "ElementType" not in entry(kernel)
    assert {d.code for d in kernel.diagnostics} >= {"FT101"}


def test_a_directive_decides() -> None:
    text = HEAD.replace("@ct", "# ferrotile: x: f16[N], y: f16[N], z: f16[N], T=64\n@ct") + LOADS
    (kernel,) = translate_document(Document(text + "    ct.store(z, (i,), a + b)\n")).kernels
    assert kernel.rust is not None
    assert "ElementType" not in kernel.rust
    assert "Tensor<f16, " in kernel.rust


def test_comparing_a_variable_raises_instead_of_answering() -> None:
    e, f = DType("f16", Kind.FLOAT, 16, "X"), DType("f16", Kind.FLOAT, 16, "F")
    assert e == DType("f16", Kind.FLOAT, 16, "X")
    assert e != I32
    assert e != F64
    for other in (F16, BF16, F32, f):
        with pytest.raises(DTypeVariableError):
            _ = e == other
        with pytest.raises(DTypeVariableError):
            _ = e in (other,)


def test_no_code_asks_for_the_identity_of_a_type() -> None:
    """`dtype is F32` would answer False for a variable that stands for f32, without raising."""
    root = Path(__file__).parents[2] / "translation"
    names = r"(dtypes\.)?(BOOL|[IU](8|16|32|64)|B?F\d+\w*|TF32)\b"
    pattern = re.compile(rf"\bis (not )?{names}")
    found = [p.name for p in root.rglob("*.py") if pattern.search(p.read_text())]
    assert found == []
