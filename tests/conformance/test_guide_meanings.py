"""What the guide gives as the Rust of a Python expression is that: proved, each in a kernel of its own."""

from __future__ import annotations

import pytest
from ferrotile.syntax.document import Document
from ferrotile.translate import translate_document
from ferrotile_runner.candidate import candidate_kernel
from ferrotile_runner.report import RungStatus
from ferrotile_runner.session import Session
from ferrotile_runner.verify import Work, verify_files
from ferrotile_server.guide.constructs import CONSTRUCTS
from ferrotile_server.guide.snippet import ENTRY, module_text

pytestmark = pytest.mark.compilers

PYTHON = """import cuda.tile as ct
# ferrotile: a: f32[64, 64], ai: i32[64, 64], au: u32[64, 64], ah: f16[64, 64], v: f32[64], half: f32[16, 64]
# ferrotile: out: {dtype}[64, 64], n: i32, q: i32, s: f32, grid=(1,)
@ct.kernel
def {entry}(a, ai, au, ah, v, half, n, q, s, out):
    x = ct.load(a, (0, 0), shape=(16, 32), padding_mode=ct.PaddingMode.ZERO)
    y = ct.load(a, (1, 0), shape=(16, 32), padding_mode=ct.PaddingMode.ZERO)
    i = ct.load(ai, (0, 0), shape=(16, 32), padding_mode=ct.PaddingMode.ZERO)
    k = ct.load(ai, (1, 0), shape=(16, 32), padding_mode=ct.PaddingMode.ZERO)
    h = ct.load(ah, (0, 0), shape=(16, 32), padding_mode=ct.PaddingMode.ZERO)
    w = ct.load(v, (0,), shape=(16,), padding_mode=ct.PaddingMode.ZERO)
    m = x < y
    r = {expression}
    ct.store(out, (0, 0), r)
"""
STORE = "let mut o = unsafe {{ out.partition_full_mut(shape![{shape}]) }};\no.store(r, [0i32, 0i32]);"

MEANINGS = {
    "ct.load(a, (n, 0), shape=(16, 32))": (
        "ct.load(a, (n, 0), shape=(16, 32), padding_mode=ct.PaddingMode.ZERO)",
        "f32",
        "16, 32",
    ),
    "ct.load(a, (0, n), shape=(16, 32), order=(1, 0))": (
        "ct.load(a, (0, n), shape=(16, 32), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)",
        "f32",
        "16, 32",
    ),
    "x + 2.0": ("x + 2.0", "f32", "16, 32"),
    "x * s": ("x * s", "f32", "16, 32"),
    "x / y": ("x / y", "f32", "16, 32"),
    "-x, -i": ("-x", "f32", "16, 32"),
    "~i, ~m": ("~i", "i32", "16, 32"),
    "x < y, x == y": ("x < y", "bool", "16, 32"),
    "x != y (floats)": ("x != y", "bool", "16, 32"),
    "i // k": ("i // k", "i32", "16, 32"),
    "i % k": ("i % k", "i32", "16, 32"),
    "ct.where(m, x, y)": ("ct.where(m, x, y)", "f32", "16, 32"),
    "ct.maximum(x, y), min(n, q)": ("ct.maximum(x, y)", "f32", "16, 32"),
    "ct.exp(x), ct.exp2(x), ct.sqrt(x), ct.rsqrt(x)": ("ct.exp(x)", "f32", "16, 32"),
    "ct.abs(x), ct.floor(x), ct.tanh(x)": ("ct.abs(x)", "f32", "16, 32"),
    "x.astype(ct.float16)": ("x.astype(ct.float16)", "f16", "16, 32"),
    "x.astype(ct.int32)": ("x.astype(ct.int32)", "i32", "16, 32"),
    "i.astype(ct.int64)": ("i.astype(ct.int64)", "i64", "16, 32"),
    "ct.sum(x, axis=1, keepdims=True)": ("ct.sum(x, axis=1, keepdims=True)", "f32", "16, 1"),
    "w[:, None] broadcast to x": ("x + w[:, None]", "f32", "16, 32"),
    "ct.transpose(x), ct.reshape": ("ct.transpose(x)", "f32", "32, 16"),
    "ct.permute(x, (1, 0))": ("ct.permute(x, (1, 0))", "f32", "32, 16"),
    "ct.cat((x, y), axis=1)": ("ct.cat((x, y), axis=1)", "f32", "16, 64"),
    "ct.cumsum(x, axis=0)": ("ct.cumsum(x, axis=0)", "f32", "16, 32"),
    "ct.mma(h, ct.transpose(h), acc)": (
        "ct.mma(h, ct.transpose(h), ct.full((16, 16), 0.0, dtype=ct.float32))",
        "f32",
        "16, 16",
    ),
    "if n > 0: ... else: ...": ("x if n > 0 else y", "f32", "16, 32"),
}
"""By what the guide calls them: one expression, the element type of its value, its shape."""


@pytest.mark.parametrize("name", MEANINGS)
def test_the_rust_is_the_python(session: Session, name: str) -> None:
    (construct,) = [c for c in CONSTRUCTS if c.python == name]
    expression, dtype, shape = MEANINGS[name]
    document = Document(PYTHON.format(entry=ENTRY, dtype=dtype, expression=expression))
    translated = translate_document(document)
    (kernel,) = translated.kernels
    rust = module_text(f"{construct.rust}\n{STORE.format(shape=shape)}")
    rust = rust.replace("        n: i32,\n", f"        out: &Tensor<{dtype}, {{ [-1, -1] }}>,\n        n: i32,\n")
    candidate = candidate_kernel(kernel, rust, session)
    (report,) = verify_files((Work(document, (candidate,), module=translated.module),), ("proved",), session)
    result = report.rungs["proved"]
    assert result.status is RungStatus.PASSED, result.detail
