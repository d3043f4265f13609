"""The `<typecheck>` docstring, constants of every type in a directive, and a signature in rows."""

from __future__ import annotations

import pytest
from ferrotile.program.dtypes import BF16, BOOL, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, I8, TF32, U64, DType
from ferrotile.signatures.describe import describe_signature
from ferrotile.signatures.directive import constant_text, read_directive
from ferrotile.signatures.model import Source
from ferrotile.signatures.values import Constant
from ferrotile.syntax.document import Document
from signature_support import HEAD, all_shown, infer


def checked(*lines: str, directive: str = "") -> str:
    block = "\n".join(f"    {line}" for line in lines)
    return f'''{HEAD}{directive}
@ct.kernel
def k(x, y, s, T: ct.Constant[int], F: ct.Constant[bool]):
    """Copies.

    <typecheck>
{block}
    </typecheck>
    """
    ct.store(y, index=(0, 0), tile=ct.load(x, index=(0, 0), shape=(1, T)) * s)
'''


GOOD = (
    'Tensor((1024, 2048), dtype="float16")',
    'Tensor((n, 8), dtype="bf16")  # n is a symbol',
    "",
    "1e-5",
    "32",
    "True",
)


def test_typecheck_gives_types_and_values_but_no_extents() -> None:
    result = infer(checked(*GOOD))
    assert all_shown(result) == ["x: f16[D0, D1], y: bf16[n, D2], s: f32, T=32, F=True | ?"]
    assert {a.source for a in result.signatures[0].arguments} == {Source.DIRECTIVE}
    assert [d.code for d in result.diagnostics] == ["FT106"]


def test_a_directive_is_stronger_than_typecheck() -> None:
    (only,) = all_shown(infer(checked(*GOOD, directive="# ferrotile: x: f32[M, N], T=64, grid=(M)")))
    assert only == "x: f32[M, N], y: bf16[n, D2], s: f32, T=64, F=True | (M)"


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (GOOD[:-1], "<typecheck>"),
        ((*GOOD[:-1], "maybe("), "maybe("),
        (('Tensor((4, 4), dtype="float99")', *GOOD[1:]), 'Tensor((4, 4), dtype="float99")'),
        (("Tensor(4)", *GOOD[1:]), "Tensor(4)"),
        ((*GOOD[:-1], "__import__('os')"), "__import__('os')"),
    ],
)
def test_mistakes_are_told_at_their_line(lines: tuple[str, ...], place: str) -> None:
    text = checked(*lines)
    found = [d for d in infer(text).diagnostics if d.code == "FT104"]
    assert [Document(text).slice(d.span).startswith(place) for d in found] == [True]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f8e4m3", F8E4M3FN), ("f8e4m3fn", F8E4M3FN), ("f8e5m2", F8E5M2), ("f8e8m0", F8E8M0FNU), ("tf32", TF32),
        ("bf16", BF16), ("torch.float16", F16), ("ct.uint64", U64), ("bool", BOOL), ("i8", I8), ("(1, 2)", (1, 2)),
        ("(8,)", (8,)), ("()", ()), ("(f32, ('a', None))", (F32, ("a", None))), ("-3", -3), ("None", None),
        ("'a b'", "a b"),
    ],
)  # fmt: skip
def test_constants_of_every_type(text: str, value: Constant) -> None:
    document = Document(f"# ferrotile: C={text}, D=1\n")
    directive = read_directive(document.comments)
    assert not directive.diagnostics
    assert directive.constants["C"][0] == value and directive.constants["D"][0] == 1
    again = read_directive(Document(f"# ferrotile: C={constant_text(value)}\n").comments)
    assert again.constants["C"][0] == value


@pytest.mark.parametrize(
    "name", ["f8e4m3", "float8_e5m2", "f8e8m0", "tf32", "bfloat16", "half", "u16", "bool", "torch.int64"]
)
def test_element_types_of_arrays_and_scalars(name: str) -> None:
    directive = read_directive(Document(f"# ferrotile: x: {name}[M, 4], s: {name}\n").comments)
    assert not directive.diagnostics
    assert isinstance(directive.declared["x"].dtype, DType)
    assert directive.declared["x"].dtype == directive.declared["s"].dtype


def test_a_constant_element_type_and_tuple_reach_the_kernel() -> None:
    from ferrotile.translate import translate_document

    text = (
        HEAD
        + """
# ferrotile: x: f32[N], OUT=bf16, SHAPE=(64,), grid=(N/64)
@ct.kernel
def k(x, OUT: ct.Constant, SHAPE: ct.Constant):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), SHAPE).astype(OUT).astype(ct.float32))
"""
    )
    (one,) = translate_document(Document(text)).kernels
    assert one.rust is not None, one.diagnostics
    assert "bf16" in one.rust and "64" in one.rust


def test_a_signature_in_rows() -> None:
    text = (
        HEAD
        + """
@ct.kernel
def k(x, y, n: int, s, T: ct.Constant[int], U: ct.Constant[int]):
    ct.store(y, (0, 0), ct.load(x, (0, 0), (T, U)) * s)
def f(x: torch.Tensor, scale: float):
    ct.launch(0, (4, 1), k, (x, torch.empty(8, 8, dtype=torch.float16), 3, scale, 64, pick()))
"""
    )
    (signature,) = infer(text).signatures
    rows = describe_signature(signature)
    assert [(r.part, r.what, r.source, r.origin) for r in rows] == [
        ("x", "f16[D0, D1]", Source.ASSUMED, "element type: assumed; rank: usage in the kernel"),
        ("y", "f16[D2, D3]", Source.LAUNCH, "launch"),
        ("n", "i32", Source.ANNOTATION, "annotation"),
        ("s", "f32", Source.LAUNCH, "launch"),
        ("T", "64", Source.LAUNCH, "launch"),
        ("U", "32", Source.ASSUMED, "assumed"),
        ("grid", "(4)", Source.LAUNCH, "launch"),
    ]
    assert Document(text).slice(rows[-1].span).startswith("ct.launch(0, (4, 1)")
