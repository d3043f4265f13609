"""Names and types that rustc or the JIT would not find by themselves, and the target that a refusal asks for."""

from __future__ import annotations

import pytest
from ferrotile.passes import naming
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.targets import needed_target


def _rust(text: str) -> str:
    source = (
        f"import cuda.tile as ct\n\n\n# ferrotile: x: f32[N], y: f32[N], n: i32, T=16, grid=(N/T)\n@ct.kernel\n"
        f"def k(x, y, n, T: ct.Constant[int]):\n    i = ct.bid(0)\n    t = ct.load(x, (i,), (T,))\n    {text}\n"
        "    ct.store(y, (i,), t)\n"
    )
    (kernel,) = translate_document(Document(source)).kernels
    assert kernel.rust is not None, kernel.diagnostics
    return kernel.rust


def test_a_converted_scalar_says_its_type() -> None:
    rust = _rust("s = ct.astype(n, ct.float32) / 7.0\n    t = t * s")
    assert "let s: f32 = convert_scalar::<f32>(n) / 7.0;" in rust


def test_arithmetic_of_typed_scalars_does_not() -> None:
    assert "let m = n * 2;" in _rust("m = n * 2\n    t = t + m")


def test_a_counter_between_literals_is_typed_by_one() -> None:
    assert "for k in 0i32..4 {" in _rust("for k in range(4):\n        t = t + k")


def test_a_counter_with_a_typed_bound_or_no_use_is_not() -> None:
    assert "for k in 0..n {" in _rust("for k in range(n):\n        t = t + k")
    assert "for _ in 0..4 {" in _rust("for k in range(4):\n        t = t + t")


def test_a_keyword_as_the_name_of_an_array() -> None:
    (kernel,) = translate_document(
        Document(
            "import cuda.tile as ct\n\n\n# ferrotile: loop: f32[N], y: f32[N], T=16, grid=(N/T)\n@ct.kernel\n"
            "def k(loop, y, T: ct.Constant[int]):\n    ct.store(y, (ct.bid(0),), ct.load(loop, (ct.bid(0),), (T,)))\n"
        )
    ).kernels
    assert kernel.entry is not None and kernel.rust is not None
    assert [(p.name, p.rust) for p in kernel.entry.parameters] == [("loop", "loop_"), ("y", None)]
    assert "loop_: &Tensor<f32" in kernel.rust


@pytest.mark.parametrize(
    ("wish", "taken", "name"),
    [
        ("softmax", (), "softmax"),
        ("exp", (), "exp_kernel"),
        ("loop", (), "loop_kernel"),
        ("T", ("T",), "T_kernel"),
        ("T", ("N",), "T"),
        ("vec", (), "vec_kernel"),
        ("Option", (), "Option_kernel"),
    ],
)
def test_entry_names(wish: str, taken: tuple[str, ...], name: str) -> None:
    assert naming.item(wish, taken) == name


@pytest.mark.parametrize(("wish", "name"), [("T", "T"), ("E", "E_"), ("fn", "fn_"), ("i32", "i32_"), ("Some", "Some_")])
def test_constant_names(wish: str, name: str) -> None:
    assert naming.constant(wish) == name


@pytest.mark.parametrize(
    ("message", "target", "expected"),
    [
        ("cuda_tile.mmaf_scaled requires sm_100 or newer; selected Tile IR 13.3, target sm_90", "sm_90",
         ("sm_100", "cuda_tile.mmaf_scaled")),
        ("cuda_tile.ftof using F4E2M1FN requires sm_100 or newer; selected Tile IR 13.3, target sm_90", "sm_90",
         ("sm_100", "cuda_tile.ftof using F4E2M1FN")),
        ("cuda_tile.mmaf_scaled requires sm_100 or newer; selected Tile IR 13.3, target sm_120", "sm_120", None),
        ("Failed to infer type for lit expr 4.", "sm_90", None),
    ],
)  # fmt: skip
def test_the_target_that_a_refusal_asks_for(message: str, target: str, expected: tuple[str, str] | None) -> None:
    assert needed_target(message, target) == expected
