"""Emitted Rust against lines derived by hand from the reference pairs."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import Cache, translate_document
from ferrotile.translation import KernelTranslation, Options

VECTOR_ADD = """import cuda.tile as ct


# ferrotile: x: f32[N], y: f32[N], z: f32[N], TILE=1024, grid=(N/TILE,)
@ct.kernel
def vector_add(x, y, z, TILE: ct.Constant[int]):
    i = ct.bid(0)
    # both inputs
    tx = ct.load(x, index=(i,), shape=(TILE,))
    ty = ct.load(y, index=(i,), shape=(TILE,))  # second
    ct.store(z, index=(i,), tile=tx + ty)
"""
VECTOR_ADD_RUST = """#[cutile::module]
mod vector_add {
    use cutile::core::*;

    #[cutile::entry()]
    fn vector_add<const TILE: i32>(
        x: &Tensor<f32, { [-1] }>,
        y: &Tensor<f32, { [-1] }>,
        z: &mut Tensor<f32, { [TILE] }>,
    ) {
        let i = program_id(0);
        // both inputs
        let tx = x.partition(shape![TILE]).load([i]);
        // second
        let ty = y.partition(shape![TILE]).load([i]);
        z.store(tx + ty);
    }
}
"""

SOFTMAX = """import cuda.tile as ct


# ferrotile: x: f32[M, N], y: f32[M, N], TN=1024, grid=(M,)
@ct.kernel
def softmax(x, y, TN: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, index=(row, 0), shape=(1, TN), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(t - ct.max(t, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=e / ct.sum(e, axis=1, keepdims=True))
"""

MATMUL = """import cuda.tile as ct


# ferrotile: a: f16[M, K], b: f16[K, N], c: f16[M, N], TM=128, TN=128, TK=64, grid=(M/TM, N/TN)
@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((TM, TN), 0, dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], TK)):
        ta = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        tb = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(ta, tb, acc)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))
"""

CONTROL = """import cuda.tile as ct


# ferrotile: x: f32[N], z: f32[N], n: i32, grid=(N/16,)
@ct.kernel
def control(x, z, n):
    i = ct.bid(0)
    t = ct.load(x, index=(i,), shape=(16,))
    a, b = 0, 1
    while a < n:
        a, b = b, a + b
    for k in range(n):
        if k == b:
            break
        t = t + 1.0
    if n > 3:
        t = t * 2.0
    ct.store(z, index=(i,), tile=t)
"""
ALL = {"vector_add": VECTOR_ADD, "softmax": SOFTMAX, "matmul": MATMUL, "control": CONTROL}


def kernel(text: str, **options: str) -> KernelTranslation:
    (only,) = translate_document(Document(text), Options(**options)).kernels
    assert only.rust is not None, only.diagnostics
    return only


def body(translation: KernelTranslation) -> list[str]:
    lines = (translation.rust or "").splitlines()
    return [line[8:] for line in lines[lines.index("        let row = program_id(0);") :]][:-2]


def test_vector_add_is_the_reference_pair() -> None:
    found = kernel(VECTOR_ADD)
    assert found.rust == VECTOR_ADD_RUST
    assert found.entry is not None
    assert found.entry.generics == ("1024",)
    assert [(p.kind, p.strides, p.tile) for p in found.entry.parameters] == [
        ("tensor", (1,), ()),
        ("tensor", (1,), ()),
        ("tensor_mut", (1,), (1024,)),
    ]


def test_softmax_without_unsafe_masks() -> None:
    found = kernel(SOFTMAX, unsafe="never")
    assert "unsafe" not in (found.rust or "")
    lines = body(found)
    assert "let fill: Tile<f32, { [1, TN] }> = constant(f32::NEG_INFINITY, shape![1, TN]);" in lines
    assert lines[-4:] == [
        "let high: Tile<f32, { [1] }> = reduce_max(t, 1);",
        "let e = exp(t - high.reshape(shape![1, 1]).broadcast(shape![1, TN]));",
        "let sum: Tile<f32, { [1] }> = reduce_sum(e, 1);",
        "y.store(e / sum.reshape(shape![1, 1]).broadcast(shape![1, TN]));",
    ]


def test_softmax_turns_tma_off_for_its_rows() -> None:
    rust = kernel(SOFTMAX).rust or ""
    assert rust.count("tma::Disabled") == 2
    assert "store_row(y, e / sum.reshape(shape![1, 1]).broadcast(shape![1, TN]));" in rust
    assert kernel(SOFTMAX, target="sm_100").rust != rust


def test_matmul_counts_tiles_and_accumulates_in_place() -> None:
    rust = kernel(MATMUL).rust or ""
    assert (
        """        let pa = a.partition(shape![TM, TK]);
        let pb = b.partition(shape![TK, TN]);
"""
        in rust
    )
    assert (
        """        for k in 0..num_tiles(&pa, 1) {
            let ta = pa.load([i, k]);
            let tb = pb.load([k, j]);
            acc = mma(ta, tb, acc);
        }
"""
        in rust
    )
    assert "unsafe" not in rust


def test_control_flow() -> None:
    rust = kernel(CONTROL).rust or ""
    assert "while a < n {" in rust
    assert "if k == b {\n                break;\n            }\n" in rust
    assert "k = k + 1;" in rust


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("unsafe", ["proved", "never"])
def test_rustfmt_has_nothing_to_change(name: str, unsafe: str) -> None:
    rustfmt = shutil.which("rustfmt")
    if rustfmt is None:
        pytest.skip("needs rustfmt")
    text = kernel(ALL[name], unsafe=unsafe).rust or ""
    done = subprocess.run([rustfmt, "--edition", "2021"], input=text, capture_output=True, text=True, check=True)
    assert done.stdout == text


@pytest.mark.parametrize("name", ALL)
def test_emission_is_deterministic(name: str) -> None:
    assert kernel(ALL[name]).rust == kernel(ALL[name]).rust


def test_the_source_map_goes_both_ways() -> None:
    found = kernel(VECTOR_ADD)
    lines = (found.rust or "").splitlines()
    line = next(n for n, text in enumerate(lines) if "let tx" in text)
    span = found.source_map.python_span(line)
    assert span is not None
    assert "ct.load(x" in VECTOR_ADD.encode()[span.start : span.end].decode()
    assert line in found.source_map.rust_lines(span)


def test_one_module_for_a_file() -> None:
    both = VECTOR_ADD + SOFTMAX.replace("import cuda.tile as ct\n", "")
    text = translate_document(Document(both)).render_file("kernels")
    assert text.count("#[cutile::module]") == 1
    assert text.startswith("#[cutile::module]\nmod kernels {\n")
    assert "fn vector_add<" in text and "fn softmax<" in text


def test_the_cache_is_used_and_edits_miss_it() -> None:
    cache = Cache()
    first = translate_document(Document(VECTOR_ADD), Options(), cache)
    again = translate_document(Document(VECTOR_ADD), Options(), cache)
    assert again.kernels[0] is first.kernels[0]
    edited = translate_document(Document(VECTOR_ADD.replace("tx + ty", "tx - ty")), Options(), cache)
    assert "z.store(tx - ty);" in (edited.kernels[0].rust or "")
